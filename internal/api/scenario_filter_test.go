package api_test

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// variety creates payments with different and equal values for the filters and sort orders.
func (s *fixture) variety(t *testing.T) []*payment.Payment {
	t.Helper()
	s.configure(t, "home", map[string]string{"payment.periodic.enabled": "1"})
	plain := strings.Replace(minimalDraft, `"Invoice"`, `"skip/pdng:2d/done - x"`, 1)
	labelled := func(script string) string {
		return strings.Replace(minimalDraft, `"Invoice"`, strconv.Quote(script+" - x"), 1)
	}
	bulk := strings.NewReplacer("999999999.990", "20", "2026-11-20", "2026-12-24").Replace(bulkDraft)
	periodic := strings.Replace(minimalDraft, `"first_open_day"`, `"periodic","start_date":"2026-12-01","frequency":"monthly"`, 1)
	instant := strings.Replace(minimalDraft, "first_open_day", "instant", 1)
	british := strings.Replace(britishDraft, `"id_connector":41,`, "", 1)
	website := strings.Replace(validation, "{", `{"website":"shop one",`, 1)
	for i, one := range []struct{ draft, choice string }{
		{minimalDraft, ""},
		{plain, validation},
		{bulk, ""},
		{labelled("skip/done"), validation},
		{labelled("skip/rjct(insufficientFunds)"), website},
		{labelled("rjct(invalidAmount)"), validation},
		{instant, strings.Replace(website, `,"validated":true`, "", 1)},
		{periodic, ""},
		{british, strings.Replace(validation, testConnector, britishConnector, 1)},
		{bulk, validation},
		{labelled("skip/done"), strings.Replace(website, "one", "two", 1)},
		{minimalDraft, cancellation},
		{labelled("skip/pdng:2d/done"), strings.Replace(validation, testConnector, oneByOne, 1)},
		{minimalDraft, ""},
	} {
		s.pass(time.Duration(i%3) * 20 * time.Hour)
		var made struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: one.draft}).decode(t, &made)
		if one.choice != "" {
			s.do(t, ask{method: "POST", path: "/payments/" + strconv.FormatInt(made.ID, 10), token: "admin", body: one.choice}).says(t, 200, "", "")
		}
	}
	s.do(t, ask{method: "POST", path: "/sandbox/run", token: "config"}).says(t, 200, "", "") // otherwise loops would change the payments during the test
	rows, err := s.DB.Payments(t.Context(), store.PaymentFilter{Domain: s.Domain.ID}, store.Window{Order: "id", Limit: 1000}, false)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*payment.Payment, len(rows))
	for i, row := range rows {
		all[i] = row.Payment
	}
	return all
}

type filter struct {
	query string
	keeps func(*payment.Payment) bool
}

func query(name, value string) string { return name + "=" + url.QueryEscape(value) }

func anyLine(keeps func(payment.Instruction) bool) func(*payment.Payment) bool {
	return func(p *payment.Payment) bool { return slices.ContainsFunc(p.Instructions, keeps) }
}

// filters returns filters of the list, with values that occur and values that do not occur.
func (s *fixture) filters(all []*payment.Payment) []filter {
	var list []filter
	each := func(name string, of func(*payment.Payment) string) {
		seen := map[string]bool{"nothing": true}
		for _, p := range all {
			seen[of(p)] = true
		}
		for value := range seen {
			if value != "" {
				list = append(list, filter{query(name, value), func(p *payment.Payment) bool { return of(p) == value }})
			}
		}
	}
	each("bank_payment_id", func(p *payment.Payment) string { return p.BankPaymentID })
	each("website", func(p *payment.Payment) string { return p.Website })
	each("connector_uuid", func(p *payment.Payment) string { return p.Connector })
	each("payer_identification", func(p *payment.Payment) string {
		if p.Payer == nil {
			return ""
		}
		return p.Payer.Identification
	})
	for _, p := range all[:1] {
		list = append(list, filter{query("id_client", strconv.FormatInt(int64(p.Client), 10)), func(other *payment.Payment) bool { return other.Client == p.Client }})
	}
	ending := func(end string) func(*payment.Payment) bool {
		return func(p *payment.Payment) bool { return p.Payer != nil && strings.HasSuffix(p.Payer.Identification, end) }
	}
	list = append(list, filter{"payer_end=0189", ending("0189")}, filter{"payer_end=0000", ending("0000")}, filter{"id_client=9", func(*payment.Payment) bool { return false }})
	for _, state := range payment.States() {
		list = append(list, filter{query("state", string(state)), func(p *payment.Payment) bool { return p.State == state }})
	}
	for _, code := range payment.ErrorCodes() {
		list = append(list, filter{query("error_code", string(code)), func(p *payment.Payment) bool { return p.ErrorCode == code }})
	}
	for _, kind := range payment.DateTypes() {
		list = append(list, filter{query("execution_date_type", string(kind)), func(p *payment.Payment) bool { return p.DateType() == kind }})
	}
	return append(append(list, s.connectorFilters()...), lineFilters(all)...)
}

func (s *fixture) connectorFilters() []filter {
	with := func(uuids ...string) func(*payment.Payment) bool {
		return func(p *payment.Payment) bool { return slices.Contains(uuids, p.Connector) }
	}
	french := func(p *payment.Payment) bool { return p.Connector != "" && p.Connector != britishConnector }
	chosen := func(p *payment.Payment) bool { return p.Connector != "" }
	through := func(uuid string) func(*payment.Payment) bool {
		return func(p *payment.Payment) bool { return p.Connector == uuid && p.State != payment.Created }
	}
	return []filter{
		{"connector_uuid=null", with("")},
		{"id_connector=null", with("")},
		{"id_connector=40", with(testConnector)},
		{"id_connector=41", with(britishConnector)},
		{"id_connector=9999", with()},
		{"id_connector_source=401", through(testConnector)},
		{"id_connector_source=411", through(britishConnector)},
		{"id_connector_source=40", with()},
		{"country=FR", french},
		{"country=GB", chosen},
		{"country=fr,GB", chosen},
		{"country=US", with()},
		{"connector_uuid=&website=&country=", func(*payment.Payment) bool { return true }},
	}
}

func lineFilters(all []*payment.Payment) []filter {
	var list []filter
	for _, in := range slices.Concat(all[0].Instructions, all[2].Instructions, all[8].Instructions) {
		is := func(other payment.Instruction) bool { return other.ReferenceID == in.ReferenceID }
		to := func(other payment.Instruction) bool {
			return other.Beneficiary.Identification == in.Beneficiary.Identification
		}
		list = append(list, filter{query("reference_id", in.ReferenceID), anyLine(is)}, filter{query("beneficiary_identification", in.Beneficiary.Identification), anyLine(to)})
	}
	spaced := func(in payment.Instruction) bool {
		return in.Beneficiary.Identification == "FR7630006000011234567890189"
	}
	return append(list,
		filter{query("beneficiary_identification", "fr76 3000 6000 0112 3456 7890 189"), anyLine(spaced)},
		filter{query("beneficiary_identification", "20-00-00 55779911"), anyLine(func(in payment.Instruction) bool {
			return in.Beneficiary.Identification == "20000055779911"
		})},
		filter{query("beneficiary_identification", "nobody"), func(*payment.Payment) bool { return false }},
		filter{"beneficiary_end=0189", anyLine(spaced)},
		filter{"beneficiary_end=0000", func(*payment.Payment) bool { return false }},
		filter{"min_amount=12.51", func(p *payment.Payment) bool { return p.Total() > 1250 }},
		filter{"max_amount=12.5", func(p *payment.Payment) bool { return p.Total() <= 1250 }},
		filter{query("reference_id", "none"), func(*payment.Payment) bool { return false }},
		filter{"filter=validate_date&min_date=2026-11-22", func(p *payment.Payment) bool {
			return p.Validated != nil && !p.Validated.Before(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
		}},
		filter{"max_date=2026-11-22", func(p *payment.Payment) bool {
			return p.Created.Before(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
		}},
	)
}

func wanted(all []*payment.Payment, filters ...filter) []int64 {
	ids := []int64{}
	for _, p := range all {
		dropped := func(f filter) bool { return !f.keeps(p) }
		if !slices.ContainsFunc(filters, dropped) {
			ids = append(ids, int64(p.ID))
		}
	}
	return ids
}

// Each filter, alone and with another filter, selects the right payments.
func TestFiltersOfPayments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		all := s.variety(t)
		filters := s.filters(all)
		for i, one := range filters {
			s.paged(t, one.query+"&limit=2", wanted(all, one))
			for _, other := range filters[i+1:] {
				name, _, _ := strings.Cut(one.query, "=")
				if strings.HasPrefix(other.query, name+"=") || strings.Contains(other.query, "&"+name+"=") || strings.Contains(one.query, "filter=") && strings.Contains(other.query, "max_date") {
					continue
				}
				if want, got := wanted(all, one, other), s.list(t, "/payments?"+one.query+"&"+other.query); !slices.Equal(got.ids(), want) || got.Total != len(want) {
					t.Errorf("%s&%s: %v of %d, want %v", one.query, other.query, got.ids(), got.Total, want)
				}
			}
		}
	})
}

func (s *fixture) paged(t *testing.T, query string, want []int64) {
	t.Helper()
	p := s.list(t, "/payments?"+query)
	got := p.ids()
	for p.Links.Next != nil && len(got) <= len(want) {
		for name, values := range parsed(t, query) {
			if !slices.Equal(parsed(t, p.Links.Next.Href)[name], values) {
				t.Errorf("%s: the link %s does not keep %s", query, p.Links.Next.Href, name)
			}
		}
		p = s.list(t, s.follow(t, p.Links.Next))
		got = append(got, p.ids()...)
	}
	if diff := gocmp.Diff(want, got); diff != "" || p.Total != len(want) {
		t.Errorf("%s: total %d (-want +got):\n%s", query, p.Total, diff)
	}
	back := p.ids()
	for p.Links.Prev != nil && len(back) <= len(want) {
		p = s.list(t, s.follow(t, p.Links.Prev))
		back = append(p.ids(), back...)
	}
	if !slices.Equal(back, got) {
		t.Errorf("%s: %v there and %v back", query, got, back)
	}
}

func parsed(t *testing.T, address string) url.Values {
	t.Helper()
	_, query, found := strings.Cut(address, "?")
	if !found {
		query = address
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// sortKeys contains the orders of the list. Null comes last in both directions.
var sortKeys = map[string]func(*payment.Payment) (key any, null bool){
	"id":            func(p *payment.Payment) (any, bool) { return int64(p.ID), false },
	"register_date": func(p *payment.Payment) (any, bool) { return p.Created.UnixMicro(), false },
	"validate_date": func(p *payment.Payment) (any, bool) {
		if p.Validated == nil {
			return int64(0), true
		}
		return p.Validated.UnixMicro(), false
	},
	"state":               func(p *payment.Payment) (any, bool) { return string(p.State), false },
	"connectors":          func(p *payment.Payment) (any, bool) { return bankNames[p.Connector], p.Connector == "" },
	"amount":              func(p *payment.Payment) (any, bool) { return p.Total(), false },
	"instruction_count":   func(p *payment.Payment) (any, bool) { return int64(len(p.Instructions)), false },
	"execution_date_type": func(p *payment.Payment) (any, bool) { return string(p.DateType()), false },
}

var bankNames = map[string]string{testConnector: "Banque Exemple", britishConnector: "Example Bank", oneByOne: "Sandbox One By One"}

// Every order works in both directions, alone and with a filter.
func TestOrdersOfPayments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		all := s.variety(t)
		for order, key := range sortKeys {
			for _, reverse := range []bool{false, true} {
				for _, f := range []filter{
					{"", func(*payment.Payment) bool { return true }},
					{"state=created", func(p *payment.Payment) bool { return p.State == payment.Created }},
					{"country=FR", func(p *payment.Payment) bool { return p.Connector != "" && p.Connector != britishConnector }},
					{"beneficiary_identification=FR7630006000011234567890189", anyLine(func(in payment.Instruction) bool {
						return in.Beneficiary.Identification == "FR7630006000011234567890189"
					})},
				} {
					sorted := slices.SortedFunc(slices.Values(all), func(a, b *payment.Payment) int { return compared(key, a, b, reverse) })
					s.paged(t, fmt.Sprintf("%s&order_by=%s&reverse=%v&limit=3", f.query, order, reverse), wanted(sorted, f))
				}
			}
		}
	})
}

func compared(key func(*payment.Payment) (any, bool), a, b *payment.Payment, reverse bool) int {
	x, noX := key(a)
	y, noY := key(b)
	if noX != noY {
		return map[bool]int{true: 1, false: -1}[noX]
	}
	order := cmp.Compare(a.ID, b.ID)
	if !noX {
		order = cmp.Or(sided(x, y), order)
	}
	if reverse {
		return -order
	}
	return order
}

func sided(x, y any) int {
	if n, isNumber := x.(int64); isNumber {
		return cmp.Compare(n, y.(int64))
	}
	return strings.Compare(x.(string), y.(string))
}

// A list with a filter by the beginning of a label is ordered by label, and contains each payment
// once.
func TestLabelsOfPayments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		all := s.variety(t)
		for _, start := range []string{"i", "Invoice", "INVOICE ", "nothing", "%"} {
			first := func(p *payment.Payment) (found string) {
				for _, in := range p.Instructions {
					label := strings.ToLower(in.Label)
					if strings.HasPrefix(label, strings.ToLower(start)) && (found == "" || label < found) {
						found = label
					}
				}
				return found
			}
			f := filter{query("label", start), func(p *payment.Payment) bool { return first(p) != "" }}
			sorted := slices.SortedFunc(slices.Values(all), func(a, b *payment.Payment) int {
				return cmp.Or(strings.Compare(first(a), first(b)), cmp.Compare(a.ID, b.ID))
			})
			s.paged(t, f.query+"&limit=2", wanted(sorted, f))
		}
	})
}

// With any filter, a token for one payment lists at most that payment.
func TestFiltersOfABoundToken(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		id := s.created(t, "")
		s.created(t, "")
		credential := s.token(t, "", "own:read-only", id)
		for query, want := range map[string]int{"": 1, "state=created": 1, "state=done": 0, "connector_uuid=null": 1, "country=FR": 0, "order_by=connectors&reverse": 1, "beneficiary_identification=FR7630006000011234567890189": 1} {
			var p page
			s.do(t, ask{method: "GET", path: "/payments?" + query, credential: credential}).decode(t, &p)
			if len(p.Payments) != want || p.Total != want || want == 1 && passerelle.PaymentID(p.Payments[0].ID) != passerelle.PaymentID(id) {
				t.Errorf("%s: %+v", query, p)
			}
		}
	})
}

// The timeline of a payment contains the connector's source and the bank's identifier.
func TestTimelineHasSourceAndBankPaymentID(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		all := s.variety(t)
		type reported struct {
			ID       int64
			Timeline struct {
				BankPaymentID     *string `json:"bank_payment_id"`
				IDConnectorSource *int64  `json:"id_connector_source"`
				Transitions       []struct{ To *string }
			}
		}
		var list struct{ Payments []reported }
		s.do(t, ask{method: "GET", path: "/payments?order_by=id&expand=timeline", token: "admin"}).decode(t, &list)
		for i, p := range list.Payments {
			var one reported
			s.do(t, ask{method: "GET", path: fmt.Sprintf("/payments/%d?expand=timeline", p.ID), token: "admin"}).decode(t, &one)
			if diff := gocmp.Diff(p, one); diff != "" {
				t.Errorf("payment %d (-listed +alone):\n%s", p.ID, diff)
			}
			if through := p.Timeline.IDConnectorSource != nil; through != (all[i].Connector != "" && all[i].State != payment.Created) || len(p.Timeline.Transitions) == 0 {
				t.Errorf("payment %d, %s: %+v", p.ID, all[i].State, p.Timeline)
			}
			if id := p.Timeline.BankPaymentID; id != nil {
				got := s.do(t, ask{method: "GET", path: "/payments?" + query("bank_payment_id", *id), token: "admin"})
				if !strings.Contains(string(got.body), fmt.Sprintf(`"id":%d,`, p.ID)) {
					t.Errorf("payment %d is not found by %q", p.ID, *id)
				}
			}
		}
	})
}

// A label may be as long as the connector allows. The limit is 140 characters, or more if the
// connector's profile says so.
func TestLabelsAreAsLongAsTheConnectorTakes(t *testing.T) {
	const longLabels = "6c3057db-a418-4f92-af9c-30f6c40fd6c4"
	onEachFixture(t, func(t *testing.T, s *fixture) {
		create := func(length int, uuid string) reply {
			body := strings.Replace(minimalDraft, `"Invoice"`, strconv.Quote(strings.Repeat("é", length)), 1)
			if uuid != "" {
				body = strings.Replace(body, "{", `{"connector_uuid":"`+uuid+`",`, 1)
			}
			return s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: body})
		}
		create(140, "").says(t, 200, "", "")
		create(141, "").says(t, 400, "invalidValue", "instructions[0].label: must have at most 140 characters")
		create(141, testConnector).says(t, 400, "invalidValue", "instructions[0].label: must have at most 140 characters")
		create(281, longLabels).says(t, 400, "invalidValue", "instructions[0].label: must have at most 280 characters")
		var made struct{ ID int64 }
		create(280, longLabels).decode(t, &made)
		path := fmt.Sprintf("/payments/%d", made.ID)
		s.do(t, ask{method: "POST", path: path, token: "admin", body: validation}).says(t, 400, "invalidValue", "the label of instructions[0] is longer than it accepts")
		offered := s.do(t, ask{method: "GET", path: fmt.Sprintf("/connectors?id_payment=%d", made.ID), token: "admin"})
		if !strings.Contains(string(offered.body), longLabels) || strings.Contains(string(offered.body), testConnector) {
			t.Errorf("offered: %s", offered.body)
		}
		var excluded []struct {
			Type string
			UUID string `json:"connector_uuid"`
		}
		s.do(t, ask{method: "GET", path: path + "/incompatibilities?all", token: "admin"}).decode(t, &excluded)
		types := map[string]string{}
		for _, one := range excluded {
			types[one.UUID] = one.Type
		}
		if types[testConnector] != "incompatible" || types[longLabels] != "" {
			t.Errorf("incompatible are %v", types)
		}
		s.do(t, ask{method: "POST", path: path, token: "admin", body: strings.Replace(validation, testConnector, longLabels, 1)}).says(t, 200, "", "")
	})
}
