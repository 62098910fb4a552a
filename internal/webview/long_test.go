package webview_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

var belonging = regexp.MustCompile(`(?:href|src)="(/[^"]*\.(?:css|mjs|svg)[^"]*)"`)

// light wants a page to have fewer than 100 kB with all that belongs to it.
func (s *stack) light(t *testing.T, a answer) {
	t.Helper()
	total := len(a.body)
	for _, found := range belonging.FindAllStringSubmatch(a.body, -1) {
		total += len(s.get(t, found[1]).body)
	}
	if total >= 100_000 {
		t.Errorf("a page has %d bytes", total)
	}
}

// turned is where a page leads to another part of its list.
func turned(t *testing.T, a answer, rel string) string {
	t.Helper()
	return html.UnescapeString(regexpOne(t, `<a href="([^"]*)" rel="`+rel+`"`, a.body))
}

// A thousand banks with long names are on pages of their own, and searched by the
// service alone.
func TestManyBanksToPayWith(t *testing.T) {
	thousand := func(p connector.Profile) []connector.Profile {
		all := several(1000)(p)
		for i := range all {
			all[i].UUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			all[i].Name = fmt.Sprintf("Caisse régionale de crédit mutuel agricole de la ville %d", i)
		}
		return all
	}
	each(t, thousand, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		first := s.get(t, page)
		s.light(t, first)
		banks := func(a answer) int { return strings.Count(a.body, `type="radio"`) }
		if banks(first) != 150 || strings.Contains(first.body, "data-filter=") || strings.Contains(first.body, `rel="prev"`) {
			t.Errorf("%d banks on the first page: %s", banks(first), first.body)
		}
		path, _, _ := strings.Cut(page, "?")
		second := s.get(t, path+turned(t, first, "next"))
		s.light(t, second)
		if banks(second) != 150 || !strings.Contains(second.body, "ville 150<") || strings.Contains(second.body, "ville 149<") {
			t.Errorf("%d banks on the second page", banks(second))
		}
		if back := s.get(t, path+turned(t, second, "prev")); !strings.Contains(back.body, "ville 0<") {
			t.Error("there is no way back")
		}
		if found := s.get(t, page+"&bank=any&search=ville+99"); banks(found) != 11 || strings.Contains(found.body, `rel="next"`) {
			t.Errorf("%d banks are found", banks(found))
		}
		if none := s.get(t, page+"&bank=any&search=nobody"); banks(none) != 0 || !strings.Contains(none.body, `role="search"`) {
			t.Errorf("no bank is found: %s", none.body)
		}
		for _, from := range []string{"-1", "x", "99999"} {
			if a := s.get(t, page+"&from="+from); banks(a) != 150 {
				t.Errorf("from %s: %d banks", from, banks(a))
			}
		}
	})
}

func TestManyInstitutionsToConnect(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		var all []connector.Connector
		for i := range 1000 {
			all = append(all, newInstitutionConnector(int64(i+1), fmt.Sprintf("Caisse régionale de crédit mutuel agricole de la ville %d", i), []string{"FR", "DE"}[i%2]))
		}
		s.offer(t, all...)
		first := s.journey(t)
		s.light(t, first)
		shown := func(a answer) int { return strings.Count(a.body, `class="badge"`) }
		if shown(first) != 150 || !strings.Contains(first.body, "Further down the list") {
			t.Errorf("%d institutions on the first page", shown(first))
		}
		handle := regexpOne(t, `name="session" value="([^"]*)"`, first.body)
		if second := s.get(t, "/webview/en/connect"+turned(t, first, "next")); shown(second) != 150 || strings.Contains(second.body, "ville 149<") {
			t.Errorf("%d institutions on the second page", shown(second))
		}
		at := "/webview/en/connect?session=" + handle
		if german := s.get(t, at+"&country=DE&search=VILLE+99"); shown(german) != 6 || !strings.Contains(german.body, `value="VILLE 99"`) {
			t.Errorf("%d institutions are found in Germany", shown(german))
		}
		if none := s.get(t, at+"&search=nobody"); shown(none) != 0 || !strings.Contains(none.body, "No institution of that name is on the list.") {
			t.Errorf("none is found: %s", none.body)
		}
	})
}

// Four hundred accounts are shared part by part: what is on a page is taken, and
// nothing else.
func TestManyAccountsToShare(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		const accounts = 400
		rich := newInstitutionConnector(1, "Rich Bank", "FR")
		rich.read = func(_ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			var all []passerelle.AccountDetails
			for i := range accounts {
				all = append(all, passerelle.AccountDetails{Key: strconv.Itoa(i), Name: fmt.Sprintf("Compte courant de la société civile immobilière %d", i), Number: fmt.Sprintf("%011d", i), Type: "checking", Currency: "EUR"})
			}
			return connector.Outcome{}, out.Accounts(all)
		}
		s.offer(t, rich)
		page := s.journey(t)
		action := func() string { return html.UnescapeString(regexpOne(t, `method="post" action="([^"]*)"`, page.body)) }
		token := regexpOne(t, `name="csrf" value="([^"]*)"`, page.body)
		page = s.walk(t, s.post(t, action(), "same-origin", url.Values{"csrf": {token}, "step": {"begin"}}))
		for part, want := range []int{150, 150, 100} {
			s.light(t, page)
			all := regexp.MustCompile(`name="account" value="(\d+)"`).FindAllStringSubmatch(page.body, -1)
			if len(all) != want {
				t.Fatalf("part %d has %d accounts: %s", part, len(all), page.body)
			}
			if last := !strings.Contains(page.body, "Save, and show the next"); last != (part == 2) {
				t.Errorf("part %d is the last: %t", part, last)
			}
			send := url.Values{"csrf": {token}, "step": {"share"}, "paged": {"1"}, "next": {regexpOne(t, `name="next" value="(\d*)"`, page.body)}, "account": {all[0][1], all[1][1]}}
			for _, one := range all {
				send.Add("listed", "account "+one[1])
			}
			got := s.post(t, action(), "same-origin", send)
			if part == 2 {
				if !strings.HasPrefix(got.location, "https://shop.example/back?") {
					t.Errorf("the last part leads to %d %s", got.status, got.location)
				}
				break
			}
			page = s.walk(t, got)
		}
		kept, err := bankstore.From(s.DB).BankAccounts(t.Context(), bankstore.AccountFilter{Domain: s.domain.ID, User: 1}, store.Window{Limit: accounts})
		must(t, err)
		if len(kept) != 6 {
			t.Errorf("%d accounts are shared", len(kept))
		}
	})
}
