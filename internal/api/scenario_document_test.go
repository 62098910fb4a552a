package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func TestDocumentScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
	strictly := func(path string) ask {
		return ask{method: "GET", path: path, token: "user", header: map[string]string{"Prefer": "handling=strict"}}
	}
	play(t, "documents", []scenario{
		{name: "types", status: 200, ask: ask{method: "GET", path: "/documenttypes"}},
		{name: "list of who has none", status: 200, ask: get("/documents")},
		{name: "list a page", status: 200, ask: get("/users/me/documents?limit=1&x={document}")},
		{name: "list of a subscription", status: 200, ask: get("/users/{user}/subscriptions/{subscription}/documents?limit=1&expand=type,thumbnails")},
		{name: "list of a connection", status: 200, ask: get("/connections/{subscribing}/documents?limit=1&offset=1")},
		{name: "list of what is withheld", status: 404, ask: get("/subscriptions/{withheld}/documents")},
		{name: "list of what is withheld, with all", status: 200, ask: get("/subscriptions/{withheld}/documents?all")},
		{name: "list of no subscription", status: 404, ask: get("/subscriptions/" + noID + "/documents?all")},
		{name: "list of no connection", status: 404, ask: get("/connections/" + noID + "/documents")},
		{name: "list of another user", status: 404, ask: get("/users/" + noID + "/documents")},
		{name: "list of another domain's subscription", status: 404, ask: get("/subscriptions/{other:subscription}/documents")},
		{name: "list strictly without limit", status: 400, ask: strictly("/documents")},
		{name: "list strictly", status: 200, ask: strictly("/documents?limit=1&min_date=2030")},
		{name: "list from no date", status: 400, ask: get("/documents?min_date=2026-13")},
		{name: "list from no amount", status: 400, ask: get("/documents?min_amount=much")},
		{name: "list to too exact an amount", status: 400, ask: get("/documents?max_amount=0.12345678901")},
		{name: "list from no timestamp", status: 400, ask: get("/documents?min_timestamp=yesterday")},
		{name: "list to no timestamp", status: 400, ask: get("/documents?max_timestamp=2026-11-20T09:00:00Z")},
		{name: "list of no type", status: 400, ask: get("/documents?id_type=0")},

		{name: "read", status: 200, ask: get("/documents/{document}")},
		{name: "read of a subscription", status: 200, ask: get("/users/me/subscriptions/{subscription}/documents/{document}?expand=type")},
		{name: "read of a connection", status: 200, ask: get("/connections/{subscribing}/documents/{document}")},
		{name: "read of another subscription", status: 404, ask: get("/subscriptions/{withheld}/documents/{document}?all")},
		{name: "read none", status: 404, ask: get("/documents/" + noID)},
		{name: "read another domain's", status: 404, ask: get("/documents/{other:document}")},
		{name: "read with a service token", status: 403, ask: ask{method: "GET", path: "/documents/{document}", token: "admin"}},
	})
}

// Links in responses have the host that the client called.
func TestLinksOfTheCalledHost(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		called := s.domainOf("")
		_, port, _ := strings.Cut(called.host, ":")
		called.host = "localhost:" + port
		for _, path := range []string{"/documents/{document}", "/webauth-url?client_id={client}&redirect_uri=https://shop.example/back&id_connector=40"} {
			var out struct{ URL string }
			s.do(t, s.fill(t, ask{method: "GET", path: path, token: "user"})).says(t, 200, "", "").decode(t, &out)
			if !strings.HasPrefix(out.URL, "http://localhost:"+port+"/2.0/") {
				t.Errorf("%s has the link %s", path, out.URL)
			}
		}
	})
}

type paper struct {
	ID             int64
	IDType         int64 `json:"id_type"`
	IDSubscription int64 `json:"id_subscription"`
	Date           string
}

// papers returns all documents of a list.
func (s *fixture) papers(t *testing.T, path string) []paper {
	t.Helper()
	var all []paper
	total := -1
	for path += "&limit=5"; path != ""; {
		var page struct {
			Documents []paper
			Total     int
			First     string                                `json:"first_date"`
			Last      string                                `json:"last_date"`
			Links     struct{ Next *struct{ Href string } } `json:"_links"`
		}
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &page)
		for _, d := range page.Documents {
			if d.Date < page.First || d.Date > page.Last {
				t.Errorf("%s: a document of %s is not between %s and %s", path, d.Date, page.First, page.Last)
			}
		}
		all, total, path = append(all, page.Documents...), page.Total, ""
		if page.Links.Next != nil {
			_, path, _ = strings.Cut(page.Links.Next.Href, version)
		}
	}
	if total != len(all) {
		t.Errorf("%d documents, said to be %d", len(all), total)
	}
	return all
}

func selected(all []paper, keep func(paper) bool) (kept []paper) {
	for _, p := range all {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// Each filter, alone and with others, selects the right documents in the order of the list.
func TestFiltersOfDocuments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		who := s.domainOf("")
		subscriptions := s.subscribed(t, who, s.subscribe(t, who, who.user))
		share := aggregation.SubscriptionChange{Disabled: new(false), Origin: "api"}
		must(t, s.Aggregation.ChangeSubscriptions(t.Context(), who.domain, who.user, []passerelle.SubscriptionID{subscriptions[0].ID, subscriptions[1].ID}, share))
		s.runDue(t)
		all := s.papers(t, "/documents?all")
		if len(all) < 24 || !slices.IsSortedFunc(all, func(a, b paper) int {
			return strings.Compare(b.Date+fmt.Sprintf("%09d", b.ID), a.Date+fmt.Sprintf("%09d", a.ID))
		}) {
			t.Fatalf("%d documents, in order: %+v", len(all), all)
		}
		power, phone := int64(subscriptions[0].ID), int64(subscriptions[1].ID)
		day := all[7].Date
		for query, keep := range map[string]func(paper) bool{
			"id_type=4":                             func(paper) bool { return true },
			"id_type=2":                             func(paper) bool { return false },
			"id_type=99":                            func(paper) bool { return false },
			"min_date=" + day:                       func(p paper) bool { return p.Date >= day },
			"max_date=" + day:                       func(p paper) bool { return p.Date <= day },
			"min_date=2026-03&max_date=2026-05":     func(p paper) bool { return p.Date >= "2026-03-01" && p.Date <= "2026-05-31" },
			"max_date=2025":                         func(p paper) bool { return p.Date <= "2025-12-31" },
			"min_timestamp=" + day:                  func(p paper) bool { return p.Date >= day },
			"min_timestamp=" + day + "+00:00:01":    func(p paper) bool { return p.Date > day },
			"max_timestamp=" + day + "+00:00:00":    func(p paper) bool { return p.Date <= day },
			"max_timestamp=2026-05":                 func(p paper) bool { return p.Date <= "2026-05-31" },
			"min_amount=39.99":                      func(paper) bool { return true },
			"min_amount=39.9900000001":              func(p paper) bool { return p.IDSubscription == power },
			"max_amount=39.99":                      func(p paper) bool { return p.IDSubscription == phone },
			"min_amount=40&max_amount=84.6":         func(p paper) bool { return p.IDSubscription == power },
			"max_amount=39.98":                      func(paper) bool { return false },
			"min_amount=40&id_type=4&min_date=2026": func(p paper) bool { return p.IDSubscription == power && p.Date >= "2026" },
		} {
			want := selected(all, keep)
			if diff := cmp.Diff(want, s.papers(t, "/users/me/documents?"+query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
		for place, n := range map[string]int64{fmt.Sprintf("/subscriptions/%d", power): power, fmt.Sprintf("/subscriptions/%d", phone): phone} {
			want := selected(all, func(p paper) bool { return p.IDSubscription == n })
			if diff := cmp.Diff(want, s.papers(t, place+"/documents?")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", place, diff)
			}
		}
		s.do(t, ask{method: "PUT", path: fmt.Sprintf("/subscriptions/%d", power), token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		if left := s.papers(t, "/documents?all"); len(left) == 0 || slices.ContainsFunc(left, func(p paper) bool { return p.IDSubscription == power }) {
			t.Errorf("after it was withheld %+v are left", left)
		}
	})
}

// The timestamp of a document without a day is the time at which the service found the document.
// Filters use this time too. A day that the user sets replaces this time.
func TestTimestampsOfDocumentsWithoutADay(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"api.timezone":"Pacific/Auckland"}`}).says(t, 200, "", "")
		from, who := s.subscriber(t, ""), s.domainOf("")
		id, err := strconv.ParseInt(from["document"], 10, 64)
		must(t, err)
		subscriptions, err := bankstore.From(s.DB).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 1})
		must(t, err)
		undated := passerelle.DocumentDetails{Key: "undated", Type: "bill", Name: `a "Date":"2020-01-01" in a name`}
		s.write(t, func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateDocument(who.domain.ID, subscriptions[0], passerelle.DocumentID(id), undated, opening, 99)
		})
		read := func() (stamp string) {
			t.Helper()
			var d struct{ Timestamp string }
			s.do(t, ask{method: "GET", path: "/documents/" + from["document"], token: "user"}).decode(t, &d)
			return strings.ReplaceAll(d.Timestamp, " ", "+")
		}
		listed := func(query string) bool {
			t.Helper()
			var list struct{ Documents []paper }
			s.do(t, ask{method: "GET", path: "/documents?limit=1000&" + query, token: "user"}).decode(t, &list)
			return slices.ContainsFunc(list.Documents, func(p paper) bool { return p.ID == id })
		}
		for _, when := range []string{"found", "set"} {
			at := read()
			if !listed("min_timestamp="+at) || !listed("max_timestamp="+at) || !listed("min_timestamp="+at+"&max_timestamp="+at) {
				t.Errorf("%s: not listed at its own timestamp %s", when, at)
			}
			later, earlier := at[:len(at)-1]+"9", "2000-01-01+00:00:00"
			if later != at && listed("min_timestamp="+later) || listed("max_timestamp="+earlier) {
				t.Errorf("%s: listed outside of its timestamp %s", when, at)
			}
			s.do(t, ask{method: "PUT", path: "/documents/" + from["document"], token: "user", body: `{"date":"2026-03-01"}`}).says(t, 200, "", "")
		}
	})
}
