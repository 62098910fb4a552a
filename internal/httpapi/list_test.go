package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/httpapi"
)

func (s *service) page(t *testing.T, address, token string) itemList {
	t.Helper()
	w := s.do(call{url: address, token: token})
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", address, w.Code, w.Body)
	}
	var got itemList
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func (l itemList) ids() []int64 {
	ids := []int64{}
	for _, i := range l.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

func (s *service) walk(t *testing.T, from itemList, link func(httpapi.Links) *httpapi.Link, join func(all, page []int64) []int64) ([]int64, itemList) {
	t.Helper()
	var all []int64
	for {
		all = join(all, from.ids())
		next := link(from.Links)
		if next == nil {
			return all, from
		}
		from = s.page(t, next.Href, "reader")
	}
}

func TestLinksWalkTheWholeListBothWays(t *testing.T) {
	s := newService(t)
	forward := func(l httpapi.Links) *httpapi.Link { return l.Next }
	backward := func(l httpapi.Links) *httpapi.Link { return l.Prev }
	for _, filter := range []string{"", "&parity=odd"} {
		whole := s.page(t, fmt.Sprintf("/2.0/items?limit=%d%s", httpapi.MaxLimit(), filter), "reader").ids()
		for limit := 1; limit <= lastItem+1; limit++ {
			first := s.page(t, fmt.Sprintf("/2.0/items?limit=%d%s", limit, filter), "reader")
			there, last := s.walk(t, first, forward, func(all, page []int64) []int64 { return append(all, page...) })
			if diff := cmp.Diff(whole, there); diff != "" {
				t.Errorf("limit %d forward (-want +got):\n%s", limit, diff)
			}
			back, again := s.walk(t, last, backward, func(all, page []int64) []int64 { return append(page, all...) })
			if diff := cmp.Diff(whole, back); diff != "" {
				t.Errorf("limit %d backward (-want +got):\n%s", limit, diff)
			}
			if last.Total != int64(len(whole)) || again.Total != last.Total {
				t.Errorf("limit %d: totals %d and %d, want %d", limit, last.Total, again.Total, len(whole))
			}
		}
	}
}

func TestPage(t *testing.T) {
	s := newService(t)
	got := s.page(t, "/2.0/items/?offset=3&limit=2&all&id_maker=null&country=fr,de&x=1", "reader")
	if diff := cmp.Diff([]int64{4, 5}, got.ids()); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	const kept = "http://one.example/2.0/items?all=&country=fr%2Cde&"
	if got.Links.Self.Href != kept+"id_maker=null&limit=2&offset=3&x=1" {
		t.Errorf("self %s", got.Links.Self.Href)
	}
	for name, link := range map[string]*httpapi.Link{"prev": got.Links.Prev, "next": got.Links.Next} {
		address, err := url.Parse(link.Href)
		if err != nil || !strings.HasPrefix(link.Href, kept+"cursor=") || address.Query().Has("offset") || address.Query().Get("limit") != "2" {
			t.Errorf("%s: %s (%v)", name, link.Href, err)
		}
	}
	if s.counted != 1 {
		t.Errorf("counted %d times", s.counted)
	}
	s.page(t, got.Links.Next.Href, "reader")
	s.page(t, "/2.0/items?offset=20", "reader")
	if s.counted != 1 {
		t.Error("counted although the total is known")
	}
}

func TestPageBeyondTheEnd(t *testing.T) {
	s := newService(t)
	got := s.page(t, "/2.0/items?offset=100&parity=odd", "reader")
	want := itemList{Items: []item{}, Listing: httpapi.Listing{Total: 13, Links: httpapi.Links{
		Self: httpapi.Link{Href: "http://one.example/2.0/items?offset=100&parity=odd"},
		Prev: &httpapi.Link{Href: "http://one.example/2.0/items?parity=odd"},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestPageParametersRefused(t *testing.T) {
	s := newService(t)
	next := s.page(t, "/2.0/items?limit=2&parity=odd", "reader").Links.Next.Href
	cursor := next[strings.Index(next, "cursor=")+len("cursor=") : strings.Index(next, "&")]
	altered := []byte(cursor)
	altered[3] ^= 1
	foreign := invalid("cursor: not a cursor of this list")
	outside, beyond := invalid(fmt.Sprintf("limit: must be from 1 to %d", httpapi.MaxLimit())), fmt.Sprintf("?limit=%d", httpapi.MaxLimit()+1)
	for query, want := range map[string]outcome{
		"?limit=0":                              outside,
		beyond:                                  outside,
		"?limit=-1":                             outside,
		"?limit=":                               invalid("limit: must be an integer"),
		"?limit=x":                              invalid("limit: must be an integer"),
		"?limit=99999999999999999999":           invalid("limit: must be an integer"),
		"?offset=-1":                            invalid("offset: must be at least 0"),
		"?parity=none":                          invalid("parity: must be one of odd, even"),
		"?id_maker=x":                           invalid("id_maker: must be an integer"),
		"?cursor=x":                             foreign,
		"?cursor=x.y":                           foreign,
		"?cursor=.":                             foreign,
		"?cursor=" + cursor:                     foreign,
		"?parity=even&cursor=" + cursor:         foreign,
		"?parity=odd&all&cursor=" + cursor:      foreign,
		"?parity=odd&cursor=" + string(altered): foreign,
		"?parity=odd&cursor=" + cursor + "A":    foreign,
		"?parity=odd&offset=1&cursor=" + cursor: invalid("offset: cannot be combined with a cursor"),
		"?parity=odd&limit=3&cursor=" + cursor:  {status: 200},
		"?parity=odd&limit=3&limit=4":           invalid("limit: given twice"),
	} {
		t.Run(query, func(t *testing.T) { s.check(t, call{url: "/2.0/items" + query, token: "reader"}, want) })
	}
	s.check(t, call{url: next, token: "admin"}, outcome{status: 200})
	s.check(t, call{url: next, token: "one"}, foreign)
	s.check(t, call{url: strings.Replace(next, "one.example", "two.example", 1), token: "reader"}, foreign)
}

func TestDateRange(t *testing.T) {
	s := newService(t)
	for query, want := range map[string][2]string{
		"": {`["",""]`, `["","",""]`},
		"?min_date=2024-03-01&max_date=2024-03-01": {
			`["2024-02-29T23:00:00Z","2024-03-01T23:00:00Z"]`, `["2024-02-29T23:00:00Z","2024-02-29T23:00:00Z",""]`,
		},
		"?min_date=2024-03&max_date=2024-07": {
			`["2024-02-29T23:00:00Z","2024-07-31T22:00:00Z"]`, `["2024-02-29T23:00:00Z","2024-06-30T22:00:00Z",""]`,
		},
		"?max_date=2024": {`["","2024-12-31T23:00:00Z"]`, `["","2023-12-31T23:00:00Z",""]`},
		"?min_date=":     {`["",""]`, `["","",""]`},
	} {
		s.check(t, call{url: "/2.0/inclusive" + query}, outcome{status: 200, body: `{"got":` + want[0] + `}`})
		s.check(t, call{url: "/2.0/resolved" + query}, outcome{status: 200, body: `{"got":` + want[1] + `}`})
	}
	s.check(t, call{url: "/2.0/inclusive?min_date=2024-13"}, invalid("min_date: must be"))
	s.check(t, call{url: "/2.0/inclusive?max_date=yesterday"}, invalid("max_date: must be"))
}

func TestExpand(t *testing.T) {
	s := newService(t)
	asked := func(names string) outcome { return outcome{status: 200, body: `{"got":["","","` + names + `"]}`} }
	for value, want := range map[string]outcome{
		"": asked(""), "parts": asked("parts"), " parts , maker ": asked("parts,maker"),
		"maker[country]": asked("maker[country]"), "maker[country,city,mayor],banks": asked("maker[country,city]"),
		"maker.city,parts":           asked("parts"),
		"maker[country],maker[city]": asked("maker[country,city]"), "maker,maker[ city ]": asked("maker[city]"),
		"maker[products[maker[city,bill]]],bill,maker[products[bill]]": asked("maker[products[maker[city],bill]]"),
		"a[b[c[d]]]":    asked(""),
		"a[b[c[d[e]]]]": invalid("expand: nested deeper than 4 levels"),
		strings.TrimSuffix(strings.Repeat("a,", 20), ","): asked(""),
		strings.Repeat("a,", 20) + "a":                    invalid("expand: more than 20 names"),
		"parts,":                                          invalid("expand: expected a name at character 7"),
		",parts":                                          invalid("expand: expected a name at character 1"),
		"maker[":                                          invalid("expand: expected a name"),
		"maker[]":                                         invalid("expand: expected a name"),
		"maker[city":                                      invalid("expand: expected a closing bracket"),
		"maker]":                                          invalid("expand: expected a comma or the end at character 6"),
		"maker[city]a":                                    invalid("expand: expected a comma or the end"),
		"[maker]":                                         invalid("expand: expected a name"),
	} {
		t.Run(value, func(t *testing.T) {
			s.check(t, call{url: "/2.0/resolved?expand=" + url.QueryEscape(value)}, want)
		})
	}
	s.check(t, call{url: "/2.0/resolved?expand=maker[contry]"}.strict(), invalid(`expand: "contry" is unknown here; did you mean "country"?`))
	s.check(t, call{url: "/2.0/resolved?expand=maker[country]"}.strict(), asked("maker[country]"))
	s.check(t, call{url: "/2.0/resolved?expand=bill"}.strict(), invalid(`expand: "bill" is unknown here`))
}
