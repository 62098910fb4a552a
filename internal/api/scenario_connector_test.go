package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

const (
	lowLimit   = "2de6ced7-8747-4bd5-8052-fa6635925a0c"
	oneByOne   = "7a4783c8-5fb4-4500-8a74-60e162321c8a"
	hiddenBank = "2f563544-83c1-4bd3-9fe7-ea9d8f121815"
	provider   = "b7f0e7d4-6c1c-5c0e-9b8a-5a0c7a2f9d11"
)

func TestConnectorScenarios(t *testing.T) {
	get := func(token, path string) ask { return ask{method: "GET", path: path, token: token} }
	play(t, "connectors", []scenario{
		{name: "one by uuid", status: 200, ask: get("", "/connectors/"+testConnector)},
		{name: "one by number, expanded", status: 200, ask: get("malformed", "/connectors/41?expand=payment_fields,countries,sources")},
		{name: "one with bounds", status: 200, ask: get("", "/connectors/"+lowLimit)},
		{name: "a hidden one", status: 200, ask: get("", "/connectors/"+hiddenBank)},
		{name: "one that reads documents, with everything", status: 200, ask: get("", "/connectors/"+provider+"?expand=fields,payment_fields,countries,sources,urls,unknown")},
		{name: "one that takes no connections", status: 200, ask: get("", "/connectors/65")},
		{name: "fields", status: 200, ask: get("", "/connectors/"+testConnector+"/fields")},
		{name: "fields of one that reads nothing", status: 200, ask: get("", "/connectors/41/fields")},
		{name: "fields of none", status: 404, ask: get("", "/connectors/9999/fields")},
		{name: "banks", status: 200, ask: get("", "/banks?limit=1")},
		{name: "a bank", status: 200, ask: get("", "/banks/40")},
		{name: "a bank that is a provider", status: 404, ask: get("", "/banks/"+provider)},
		{name: "providers", status: 200, ask: get("", "/providers?limit=1&offset=1")},
		{name: "a provider", status: 200, ask: get("", "/providers/"+provider+"?expand=sources")},
		{name: "a provider that is a bank alone", status: 404, ask: get("", "/providers/65")},
		{name: "categories of banks", status: 200, ask: get("", "/banks/categories")},
		{name: "the most used when none was", status: 200, ask: ask{domain: "live", method: "GET", path: "/connectors?top=3&top_key=payments"}},
		{name: "the most used of nothing", status: 400, ask: get("", "/connectors?top=0")},
		{name: "the most used for something else", status: 400, ask: get("", "/connectors?top=3&top_key=logins")},
		{name: "a connection that is restricted", status: 400, ask: ask{method: "POST", path: "/connections", token: "user", body: `{"connector_uuid":"4a1f6b0c-98d2-4c57-8e3b-5d6c7f0a2b19","login":"one","password":"1234"}`}},

		{name: "sources", status: 200, ask: get("", "/connectors/"+testConnector+"/sources")},
		{name: "sources by number", status: 200, ask: get("malformed", "/connectors/41/sources")},
		{name: "a source", status: 200, ask: get("", "/connectors/40/sources/401")},
		{name: "a source of another connector", status: 404, ask: get("", "/connectors/40/sources/411")},
		{name: "sources of none", status: 404, ask: get("", "/connectors/9999/sources")},
		{name: "a source of none", status: 404, ask: get("", "/connectors/9999/sources/401")},
		{name: "sources in a live domain", status: 404, ask: ask{domain: "live", method: "GET", path: "/connectors/40/sources"}},
		{name: "none by uuid", status: 404, ask: get("", "/connectors/00000000-0000-4000-8000-000000000000")},
		{name: "none by number", status: 404, ask: get("", "/connectors/9999")},
		{name: "none by another spelling of a number", status: 404, ask: get("", "/connectors/040")},
		{name: "a simulated one of a live domain", status: 404, ask: ask{domain: "live", method: "GET", path: "/connectors/" + testConnector}},
		{name: "list of a live domain", status: 200, ask: ask{domain: "live", method: "GET", path: "/connectors"}},
		{name: "list of a page", status: 200, ask: get("", "/connectors?limit=1&country_codes=gb&expand=countries")},
		{name: "list of an unknown country", status: 400, ask: get("", "/connectors?country_codes=FR,XX")},
		{name: "list for a payment without token", status: 401, ask: get("", "/connectors?id_payment={payment}")},
		{name: "list for a payment with a config token", status: 403, ask: get("config", "/connectors?id_payment={payment}")},
		{name: "list for another's payment", status: 404, ask: get("another's:validate", "/connectors?id_payment={payment}")},
		{name: "list for another domain's payment", status: 404, ask: get("admin", "/connectors?id_payment={other:payment}")},
		{name: "list for no payment", status: 404, ask: get("admin", "/connectors?id_payment="+noID)},
		{name: "list for what is no payment", status: 400, ask: get("admin", "/connectors?id_payment=first")},
		{name: "strictly", status: 400, ask: ask{method: "GET", path: "/connectors?expand=payment_field", header: map[string]string{"Prefer": "handling=strict"}}},

		{name: "nothing against an ordinary payment at most banks", status: 200, ask: get("read-only", "/payments/{payment}/incompatibilities")},
		{name: "the same, hidden banks too", status: 200, ask: get("own:cancel", "/payments/{payment}/incompatibilities?all")},
		{name: "against another's", status: 404, ask: get("another's:read-only", "/payments/{payment}/incompatibilities")},
		{name: "against another domain's", status: 404, ask: get("admin", "/payments/{other:payment}/incompatibilities")},
		{name: "against none", status: 404, ask: get("admin", "/payments/"+noID+"/incompatibilities")},
		{name: "against without token", status: 401, ask: get("", "/payments/{payment}/incompatibilities")},
	})
}

type connectorPage struct {
	Connectors []struct {
		UUID      string
		ID        int64
		Hidden    bool
		Products  []string
		Countries []struct{ ID string }
	}
	Total int
	Links struct{ Self, Prev, Next *struct{ Href string } } `json:"_links"`
}

func (p connectorPage) uuids() []string {
	var uuids []string
	for _, c := range p.Connectors {
		uuids = append(uuids, c.UUID)
	}
	return uuids
}

func (p connectorPage) initiating() []string {
	var uuids []string
	for _, c := range p.Connectors {
		if slices.Contains(c.Products, "pay") {
			uuids = append(uuids, c.UUID)
		}
	}
	return uuids
}

func (s *fixture) connectors(t *testing.T, path, token string) connectorPage {
	t.Helper()
	var p connectorPage
	s.do(t, ask{method: "GET", path: path, token: token}).decode(t, &p)
	return p
}

// The pages contain all connectors, including hidden ones. The order is the same forward and
// backward.
func TestPagesOfConnectors(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		all := s.connectors(t, "/connectors?expand=countries", "")
		want := all.uuids()
		if all.Total != len(want) || len(want) < 20 || want[0] != testConnector || !slices.Contains(want, hiddenBank) {
			t.Fatalf("%d of %d connectors: %v", len(want), all.Total, want)
		}
		p := s.connectors(t, "/connectors?limit=4", "")
		there := p.uuids()
		for p.Links.Next != nil && len(there) <= len(want) {
			p = s.connectors(t, s.follow(t, p.Links.Next), "")
			there = append(there, p.uuids()...)
		}
		back := p.uuids()
		for p.Links.Prev != nil && len(back) <= len(want) {
			p = s.connectors(t, s.follow(t, p.Links.Prev), "")
			back = append(p.uuids(), back...)
		}
		if !slices.Equal(there, want) || !slices.Equal(back, want) {
			t.Errorf("there %v\nback %v\nwant %v", there, back, want)
		}
		if got := s.connectors(t, "/connectors?offset=3&limit=2", "").uuids(); !slices.Equal(got, want[3:5]) {
			t.Errorf("offset 3: %v, want %v", got, want[3:5])
		}
		if got := s.connectors(t, "/connectors?offset=99", ""); len(got.Connectors) != 0 || got.Total != len(want) {
			t.Errorf("beyond the end: %+v", got)
		}
		s.ofCountries(t, all)
	})
}

// The hidden bank accepts no bulk of three instructions. The list of incompatibilities contains
// this bank only with the parameter all.
func TestIncompatibilityOfAHiddenConnector(t *testing.T) {
	line := minimalDraft[strings.Index(minimalDraft, `[{`)+1 : strings.LastIndex(minimalDraft, `}]`)+1]
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for lines, want := range map[int][]string{2: nil, 3: {"maxBulk"}} {
			var made struct{ ID int64 }
			draft := strings.Replace(minimalDraft, line, strings.Join(slices.Repeat([]string{line}, lines), ","), 1)
			s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: draft}).decode(t, &made)
			_, open := s.against(t, strconv.FormatInt(made.ID, 10), false)
			_, all := s.against(t, strconv.FormatInt(made.ID, 10), true)
			if !slices.Equal(all[hiddenBank], want) {
				t.Errorf("%d lines: against the hidden bank speak %v, want %v", lines, all[hiddenBank], want)
			}
			delete(all, hiddenBank)
			if diff := cmp.Diff(open, all); diff != "" {
				t.Errorf("%d lines: the lists differ (-open +all):\n%s", lines, diff)
			}
		}
	})
}

func (s *fixture) ofCountries(t *testing.T, all connectorPage) {
	t.Helper()
	for _, codes := range []string{"GB", "FR", "fr, GB", "US", ","} {
		var want []string
		for _, c := range all.Connectors {
			for _, country := range c.Countries {
				if strings.Contains(strings.ToUpper(codes), country.ID) && !slices.Contains(want, c.UUID) {
					want = append(want, c.UUID)
				}
			}
		}
		if codes == "," {
			want = all.uuids()
		}
		if got := s.connectors(t, "/connectors?country_codes="+strings.ReplaceAll(codes, " ", "%20"), ""); !slices.Equal(got.uuids(), want) || got.Total != len(want) {
			t.Errorf("of %q: %d %v, want %v", codes, got.Total, got.uuids(), want)
		}
	}
}

func (s *fixture) against(t *testing.T, id string, all bool) (types map[string]string, codes map[string][]string) {
	t.Helper()
	path := "/payments/" + id + "/incompatibilities"
	if all {
		path += "?all"
	}
	var list []struct {
		Type    string
		UUID    string `json:"connector_uuid"`
		ID      int64  `json:"id_connector"`
		Reasons []struct{ Code, Type, Description string }
	}
	s.do(t, ask{method: "GET", path: path, token: "read-only"}).decode(t, &list)
	types, codes = map[string]string{}, map[string][]string{}
	for _, one := range list {
		types[one.UUID] = one.Type
		severities := map[string]bool{}
		for _, r := range one.Reasons {
			codes[one.UUID] = append(codes[one.UUID], r.Code)
			severities[r.Type] = true
		}
		if severities["incompatible"] != (one.Type == "incompatible") || len(one.Reasons) == 0 || one.ID == 0 {
			t.Errorf("%s: %+v", id, one)
		}
	}
	return types, codes
}

// The list of incompatible connectors, the list of connectors for a payment, and the validation
// follow the same rules.
func TestRulesAboutConnectorsAgree(t *testing.T) {
	bulk := strings.NewReplacer(`"connector_uuid":"`+testConnector+`",`, "", "999999999.990", "1500").Replace(bulkDraft)
	onEachFixture(t, func(t *testing.T, s *fixture) {
		every := s.connectors(t, "/connectors", "").initiating()
		for name, draft := range map[string]string{
			"ordinary": minimalDraft, "bulk above a limit": bulk, "pounds": strings.Replace(britishDraft, `"id_connector":41,`, "", 1),
			"far away": strings.Replace(bulk, "2026-11-20", "2027-10-10", 2),
		} {
			t.Run(name, func(t *testing.T) {
				var made struct{ ID int64 }
				s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: draft}).decode(t, &made)
				id := strconv.FormatInt(made.ID, 10)
				types, codes := s.against(t, id, true)
				able := s.connectors(t, "/connectors?id_payment="+id, "validate").uuids()
				if slices.Contains(able, provider) {
					t.Error("a connector that initiates no payments is offered for one")
				}
				for _, uuid := range every {
					if (types[uuid] != "incompatible") != slices.Contains(able, uuid) {
						t.Errorf("%s: %q by one list, offered %v by the other", uuid, types[uuid], slices.Contains(able, uuid))
					}
					s.refusedFor(t, id, uuid, types[uuid], codes[uuid])
				}
				if seen, _ := s.against(t, id, false); len(seen) > len(types) || seen[hiddenBank] != "" {
					t.Errorf("without all: %v", slices.Sorted(maps.Keys(seen)))
				}
			})
		}
	})
}

// refusedFor checks that the service refuses an incompatible connector for one of the codes. If the
// severity is not "incompatible", the service may refuse only the payer.
func (s *fixture) refusedFor(t *testing.T, id, uuid, severity string, codes []string) {
	t.Helper()
	body := fmt.Sprintf(`{"connector_uuid":%q,"webview_url":"https://shop.example/pay","payer":{"scheme_name":"iban","identification":"DE89370400440532013000","label":"Payer"}}`, uuid)
	if slices.Contains(codes, "nspPayer") || severity != "incompatible" {
		body = strings.Replace(body, `,"payer":{"scheme_name":"iban","identification":"DE89370400440532013000","label":"Payer"}`, "", 1)
	}
	r := s.do(t, ask{method: "POST", path: "/payments/" + id, token: "validate", body: body})
	if severity != "incompatible" {
		if _, message := r.message(t); r.status != 200 && !strings.Contains(message, "payer: ") {
			t.Errorf("%s: %d %s", uuid, r.status, r.body)
		}
		return
	}
	code, message := r.message(t)
	named := func(code string) bool { return strings.Contains(message, "("+code+")") }
	if r.status != 400 || code != "invalidValue" || !strings.HasPrefix(message, "connector_uuid: ") || !slices.ContainsFunc(codes, named) {
		t.Errorf("%s: %d %s, want a refusal for one of %v", uuid, r.status, r.body, codes)
	}
}

// TestConnectorInCapitals names a connector by its UUID in capitals, as some libraries write UUIDs.
func TestConnectorInCapitals(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		type named struct {
			UUID string `json:"connector_uuid"`
		}
		path := fmt.Sprintf("/payments/%d", s.created(t, ""))
		capitals := strings.ToUpper(testConnector)
		for _, a := range []ask{
			{method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "{", `{"connector_uuid":"`+capitals+`",`, 1)},
			{method: "POST", path: path, token: "validate", body: strings.Replace(validation, testConnector, capitals, 1)},
			{method: "POST", path: "/users/me/connections", token: "user", body: strings.Replace(connecting, testConnector, capitals, 1)},
		} {
			var out named
			if s.do(t, a).decode(t, &out); out.UUID != testConnector {
				t.Errorf("%s %s: the connector is %q", a.method, a.path, out.UUID)
			}
		}
		var listed struct{ Payments []named }
		s.do(t, ask{method: "GET", path: "/payments?connector_uuid=" + capitals, token: "admin"}).decode(t, &listed)
		if len(listed.Payments) != 2 {
			t.Errorf("the list has %d payments, want 2", len(listed.Payments))
		}
		s.do(t, ask{method: "GET", path: "/connectors/" + capitals}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: "/connectors/" + capitals, token: "config", body: `{"hidden":true}`}).says(t, 200, "", "")
	})
}

// A reason contains both compared values, in the terms of the API.
func TestReasonsHaveBothSides(t *testing.T) {
	bulk := strings.Replace(bulkDraft, `"connector_uuid":"`+testConnector+`",`, "", 1)
	onSQLite(t, func(t *testing.T, s *fixture) {
		var made struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: bulk}).decode(t, &made)
		var list []map[string]any
		s.do(t, ask{method: "GET", path: fmt.Sprintf("/payments/%d/incompatibilities", made.ID), token: "validate"}).decode(t, &list)
		got := map[string]string{}
		for _, one := range list {
			for _, reason := range one["reasons"].([]any) {
				reason := reason.(map[string]any)
				got[fmt.Sprint(one["connector_uuid"], " ", reason["code"])] = encoded(t, []any{reason["type"], reason["value_connector"], reason["value_payment"]})
			}
		}
		for reason, want := range map[string]string{
			lowLimit + " maxAmount":           `["warning",1000.00,1000000000.00]`,
			oneByOne + " nspBulk":             `["incompatible",1,2]`,
			britishConnector + " nspCurrency": `["incompatible",["GBP"],"EUR"]`,
			britishConnector + " nspDateType": `["incompatible",["first_open_day","instant"],"deferred"]`,
		} {
			if diff := cmp.Diff(want, got[reason]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", reason, diff)
			}
		}
	})
}

// The most used connectors come first, and the list has at most the requested number. The list
// omits connectors that nobody used in the last 30 days.
func TestMostUsedConnectors(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		choose := func(connector string) {
			path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
			s.do(t, ask{method: "POST", path: path, token: "validate", body: `{"connector_uuid":"` + connector + `","webview_url":"https://shop.example/pay"}`}).says(t, 200, "", "")
		}
		if got := s.connectors(t, "/connectors?top=2", "").uuids(); got != nil {
			t.Errorf("before any payment: %v", got)
		}
		for _, connector := range []string{testConnector, oneByOne, lowLimit, oneByOne, lowLimit, oneByOne} {
			choose(connector)
		}
		s.created(t, "") // the payment has no connector yet
		for path, want := range map[string][]string{
			"/connectors?top=5": {oneByOne, lowLimit, testConnector}, "/connectors?top=2&top_key=payments": {oneByOne, lowLimit},
			"/connectors?top=5&country_codes=US": nil,
		} {
			if got := s.connectors(t, path, "").uuids(); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
		s.pass(31 * 24 * time.Hour)
		if got := s.connectors(t, "/connectors?top=2", "").uuids(); got != nil {
			t.Errorf("a month later: %v", got)
		}
	})
}

// With expand=connector, a connection contains its connector as GET /connectors/{connectorId}
// returns it.
func TestConnectorsInsideConnections(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		s.connected(t, "", "one")
		for _, expand := range []string{"countries", "fields,sources", "urls,payment_fields", "fields,payment_fields,countries,sources,urls"} {
			var page struct {
				Connections []struct{ Connector json.RawMessage }
			}
			s.do(t, ask{method: "GET", path: "/connections?expand=connector[" + expand + "]", token: "user"}).decode(t, &page)
			alone := s.do(t, ask{method: "GET", path: "/connectors/" + testConnector + "?expand=" + expand})
			if diff := cmp.Diff(string(alone.body), string(page.Connections[0].Connector)); diff != "" {
				t.Errorf("%s (-alone +inside):\n%s", expand, diff)
			}
		}
	})
}

// The list of a connector's connections contains the connections of the domain, and can be filtered
// by state.
func TestSomeConnections(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		h := s.holdings(t, "")
		some := func(query string) (ids []int64) {
			t.Helper()
			var out struct {
				Connections []struct{ ID int64 }
				Total       int
			}
			s.do(t, ask{method: "GET", path: "/connectors/" + testConnector + "/connections" + query, token: "config"}).decode(t, &out)
			for _, one := range out.Connections {
				ids = append(ids, one.ID)
			}
			if slices.Sort(ids); out.Total != len(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
				t.Errorf("%s: %v, total %d", query, ids, out.Total)
			}
			return ids
		}
		all := []int64{int64(h.connections[0]), int64(h.connections[1])}
		if got := some(""); !slices.Equal(got, all) {
			t.Errorf("%v, want %v", got, all)
		}
		if one := some("?range=1"); len(one) != 1 || !slices.Contains(all, one[0]) {
			t.Errorf("one of %v is %v", all, one)
		}
		s.write(t, func(tx *store.Tx) error {
			c, err := bankstore.From(s.DB).Connection(t.Context(), s.domainOf("").domain.ID, h.user, h.connections[1])
			if err == nil {
				c.State = passerelle.Wrongpass
				bankstore.In(tx).SaveConnection(c, c.Version)
			}
			return err
		})
		if got := some("?type=wrongpass"); !slices.Equal(got, all[1:]) {
			t.Errorf("in a state: %v", got)
		}
		if got := some("?type=null"); !slices.Equal(got, all[:1]) {
			t.Errorf("that are well: %v", got)
		}
		s.do(t, ask{method: "GET", path: "/banks/" + testConnector + "/connections?type=ill", token: "config"}).says(t, 400, "invalidValue", "type")
		s.do(t, ask{method: "GET", path: "/banks/none/connections", token: "config"}).says(t, 404, "notFound", "")
		if got := s.do(t, ask{domain: "other", method: "GET", path: "/connectors/" + testConnector + "/connections", token: "config"}); !strings.Contains(string(got.body), `"total":0`) {
			t.Errorf("of another domain: %s", got.body)
		}
	})
}

// The list of categories contains every category of a connector.
func TestCategoriesOfConnectors(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		type category struct {
			ID   int64
			Name string
		}
		var list struct {
			All []category `json:"bank_category"`
		}
		s.do(t, ask{method: "GET", path: "/banks/categories"}).decode(t, &list)
		var connectors struct {
			Connectors []struct{ Categories []category }
		}
		s.do(t, ask{method: "GET", path: "/connectors"}).decode(t, &connectors)
		used := map[category]bool{}
		for _, one := range connectors.Connectors {
			for _, c := range one.Categories {
				used[c] = true
				if !slices.Contains(list.All, c) {
					t.Errorf("%v is not in the list", c)
				}
			}
		}
		if len(used) < 3 || len(list.All) != 4 {
			t.Errorf("%v are in use of %v", used, list.All)
		}
	})
}
