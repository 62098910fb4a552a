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
)

type listed struct {
	ID           int64
	State        string
	RegisterDate string `json:"register_date"`
	Instructions []struct{ Amount float64 }
}

type page struct {
	Payments []listed
	Total    int
	Links    struct{ Self, Prev, Next *struct{ Href string } } `json:"_links"`
}

func (p page) ids() []int64 {
	ids := []int64{}
	for _, l := range p.Payments {
		ids = append(ids, l.ID)
	}
	return ids
}

func (s *fixture) follow(t *testing.T, link *struct{ Href string }) string {
	t.Helper()
	path, here := strings.CutPrefix(link.Href, s.Origin)
	if !here {
		t.Fatalf("a link leads to %s", link.Href)
	}
	return path
}

func (s *fixture) list(t *testing.T, path string) page {
	t.Helper()
	var p page
	s.do(t, ask{method: "GET", path: path, token: "read-only"}).decode(t, &p)
	if at := s.follow(t, p.Links.Self); at != version+path && at != path {
		if sortedQuery(at) != sortedQuery(path) {
			t.Errorf("%s calls itself %s", path, at)
		}
	}
	return p
}

func sortedQuery(path string) string {
	_, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query)
	return values.Encode()
}

// history creates payments over 45 days around a new year. One payment is one second before the end
// of a month in Paris, and one is at the end.
func (s *fixture) history(t *testing.T) {
	t.Helper()
	s.configure(t, "home", map[string]string{"api.timezone": "Europe/Paris"})
	end := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	instants := []time.Time{end.Add(-time.Second), end}
	for i := range 55 {
		instants = append(instants, opening.Add(time.Duration(i)*20*time.Hour))
	}
	slices.SortFunc(instants, time.Time.Compare)
	for i, at := range instants {
		s.pass(at.Sub(s.now()))
		body := strings.Replace(minimalDraft, "12.5", fmt.Sprintf("%d.%02d", 1+i*i%7, i%3), 1)
		var made struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: body}).decode(t, &made)
		if i%5 == 0 {
			choice := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`
			s.do(t, ask{method: "POST", path: "/payments/" + strconv.FormatInt(made.ID, 10), token: "validate", body: choice}).says(t, 200, "", "")
		}
	}
}

// orders contains comparisons for four orders of the list. When a comparison returns 0, walkPages
// compares the ids.
var orders = map[string]func(a, b listed) int{
	"id":            func(a, b listed) int { return 0 },
	"register_date": func(a, b listed) int { return cmp.Compare(a.RegisterDate, b.RegisterDate) },
	"state":         func(a, b listed) int { return cmp.Compare(a.State, b.State) },
	"amount": func(a, b listed) int {
		return cmp.Compare(a.Instructions[0].Amount, b.Instructions[0].Amount)
	},
}

func idsOf(all []listed, keep func(listed) bool) []int64 {
	ids := []int64{}
	for _, l := range all {
		if keep(l) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

func TestPagesOfPayments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.history(t)
		all := s.list(t, "/payments").Payments
		if len(all) != 57 {
			t.Fatalf("%d payments", len(all))
		}
		for name, order := range orders {
			for _, reverse := range []bool{false, true} {
				s.walkPages(t, all, name, order, reverse)
			}
		}
		s.skips(t, all)
		s.periods(t, all)
		s.cursors(t)
		s.growth(t)
	})
}

// walkPages reads the list to its end and back.
func (s *fixture) walkPages(t *testing.T, all []listed, name string, order func(a, b listed) int, reverse bool) {
	t.Helper()
	sorted := slices.SortedFunc(slices.Values(all), func(a, b listed) int { return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID)) })
	path := "/payments?limit=10&order_by=" + name
	if reverse {
		slices.Reverse(sorted)
		path += "&reverse"
	}
	want := idsOf(sorted, func(listed) bool { return true })
	var there, back []int64
	p := s.list(t, path)
	if p.Links.Prev != nil {
		t.Errorf("%s has something before it", path)
	}
	for there = p.ids(); p.Links.Next != nil; there = append(there, p.ids()...) {
		p = s.list(t, s.follow(t, p.Links.Next))
		if p.Total != len(want) || !strings.Contains(p.Links.Self.Href, "order_by="+name) || len(there) > 60 {
			t.Fatalf("%s: total %d, self %s", path, p.Total, p.Links.Self.Href)
		}
	}
	for back = p.ids(); p.Links.Prev != nil && len(back) < 60; back = append(p.ids(), back...) {
		p = s.list(t, s.follow(t, p.Links.Prev))
	}
	if diff := gocmp.Diff(want, there); diff != "" {
		t.Errorf("%s forward (-want +got):\n%s", path, diff)
	}
	if diff := gocmp.Diff(want, back); diff != "" {
		t.Errorf("%s backward (-want +got):\n%s", path, diff)
	}
}

// skips starts at an offset in the middle of a list, and continues from there. It also starts at
// the end of the list.
func (s *fixture) skips(t *testing.T, all []listed) {
	t.Helper()
	want := idsOf(all, func(listed) bool { return true })
	p := s.list(t, "/payments?offset=50&limit=5")
	if !slices.Equal(p.ids(), want[50:55]) || p.Total != 57 || p.Links.Prev == nil || !strings.Contains(p.Links.Next.Href, "cursor=") || strings.Contains(p.Links.Next.Href, "offset=") {
		t.Errorf("offset 50: %v, total %d, links %+v", p.ids(), p.Total, p.Links)
	}
	if next := s.list(t, s.follow(t, p.Links.Next)); !slices.Equal(next.ids(), want[55:]) || next.Links.Next != nil {
		t.Errorf("after it: %v", next.ids())
	}
	if beyond := s.list(t, "/payments?offset=57"); len(beyond.Payments) != 0 || beyond.Total != 57 || beyond.Links.Prev == nil || beyond.Links.Next != nil {
		t.Errorf("beyond the end: %+v", beyond)
	}
}

// periods limits the list by days, months and years in the time zone of Paris. The list contains
// the first instant of the lower limit, but not the first instant of the upper limit.
func (s *fixture) periods(t *testing.T, all []listed) {
	t.Helper()
	for _, bounds := range [][2]string{
		{"2026-12-01", ""},
		{"", "2026-12-01"},
		{"2026-12", ""},
		{"", "2026-12"},
		{"2027", ""},
		{"", "2027"},
		{"2026", "2027"},
		{"2026-11-30", "2026-12-01"},
		{"2026-11", "2026-12-15"},
		{"2026-12-01", "2026-12-01"},
		{"2027", "2026"},
		{"2028", ""},
	} {
		low, high := bounds[0], bounds[1]
		query := url.Values{}
		if low != "" {
			query.Set("min_date", low)
		}
		if high != "" {
			query.Set("max_date", high)
		}
		want := idsOf(all, func(l listed) bool {
			return l.RegisterDate >= low && (high == "" || l.RegisterDate < high)
		})
		p := s.list(t, "/payments?"+query.Encode())
		if !slices.Equal(p.ids(), want) || p.Total != len(want) {
			t.Errorf("from %q to %q: %v total %d, want %v", low, high, p.ids(), p.Total, want)
		}
	}
	validating := idsOf(all, func(l listed) bool { return l.State == "validating" })
	p := s.list(t, "/payments?state=validating&filter=validate_date&min_date=2026&limit=5")
	if p.Total != len(validating) || !slices.Equal(p.ids(), validating[:5]) || !strings.Contains(p.Links.Next.Href, "state=validating") {
		t.Errorf("by validation: %v total %d, want %v", p.ids(), p.Total, validating)
	}
}

// cursors checks that a cursor is valid only for its own list.
func (s *fixture) cursors(t *testing.T) {
	t.Helper()
	next := s.list(t, "/payments?limit=10").Links.Next.Href
	u, err := url.Parse(next)
	if err != nil {
		t.Fatal(err)
	}
	cursor := u.Query().Get("cursor")
	if p := s.list(t, "/payments?limit=3&cursor="+cursor); len(p.Payments) != 3 {
		t.Errorf("a cursor with another limit: %d", len(p.Payments))
	}
	payment := s.thing(t, "home", "payment")
	id, _ := strconv.ParseInt(payment, 10, 64)
	for name, a := range map[string]ask{
		"another domain":     {domain: "other", path: "/payments?limit=10&cursor=" + cursor, token: "read-only"},
		"another filter":     {path: "/payments?limit=10&state=created&cursor=" + cursor, token: "read-only"},
		"another order":      {path: "/payments?limit=10&order_by=amount&cursor=" + cursor, token: "read-only"},
		"the other way":      {path: "/payments?limit=10&reverse&cursor=" + cursor, token: "read-only"},
		"with an offset":     {path: "/payments?limit=10&offset=1&cursor=" + cursor, token: "read-only"},
		"a bound token":      {path: "/payments?limit=10&cursor=" + cursor, credential: s.token(t, "", "own:read-only", id)},
		"cut short":          {path: "/payments?limit=10&cursor=" + cursor[:len(cursor)-1], token: "read-only"},
		"longer":             {path: "/payments?limit=10&cursor=" + cursor + "A", token: "read-only"},
		"without its seal":   {path: "/payments?limit=10&cursor=" + strings.Split(cursor, ".")[0], token: "read-only"},
		"with another place": {path: "/payments?limit=10&cursor=AAAA" + cursor, token: "read-only"},
	} {
		a.method = "GET"
		if r := s.do(t, a); r.status != 400 {
			t.Errorf("a cursor %s: %d %s", name, r.status, r.body)
		}
	}
	for i := range len(cursor) {
		bent := []byte(cursor)
		bent[i] = map[bool]byte{true: 'B', false: 'A'}[bent[i] == 'A']
		s.do(t, ask{method: "GET", path: "/payments?limit=10&cursor=" + string(bent), token: "read-only"}).says(t, 400, "invalidValue", "cursor")
	}
}

// growth adds a payment between the reads of two pages. The second page must repeat no payment.
func (s *fixture) growth(t *testing.T) {
	t.Helper()
	first := s.list(t, "/payments?limit=10&reverse")
	s.created(t, "")
	second := s.list(t, s.follow(t, first.Links.Next))
	for _, id := range second.ids() {
		if slices.Contains(first.ids(), id) {
			t.Errorf("payment %d is on two pages", id)
		}
	}
	if again := s.list(t, s.follow(t, second.Links.Prev)); !slices.Equal(again.ids(), first.ids()) {
		t.Errorf("back on the first page: %v, want %v", again.ids(), first.ids())
	}
}

// Links contain the host that the client called.
func TestLinksStayWithTheAddressCalled(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		s.created(t, "other")
		s.created(t, "other")
		for path, want := range map[string]string{
			"/2.0/payments?limit=1": "http://other.example/2.0/payments?", "/2.0/2.0/payments/?limit=1": "http://other.example/2.0/2.0/payments?",
		} {
			var p page
			s.do(t, ask{domain: "other", method: "GET", path: path, bare: true, token: "admin", header: map[string]string{"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}}).decode(t, &p)
			if !strings.HasPrefix(p.Links.Next.Href, want) || !strings.HasPrefix(p.Links.Self.Href, want) {
				t.Errorf("%s: %+v", path, p.Links.Next)
			}
		}
	})
}
