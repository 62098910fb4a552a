package webview_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/payment"
)

var belonging = regexp.MustCompile(`(?:href|src)="(/[^"]*\.(?:css|mjs|svg)[^"]*)"`)

// light checks that a page with its style sheets, scripts and SVG files has less than 100 kB.
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

// turned returns the address of the next or previous part of the list. rel is "next" or "prev".
func turned(t *testing.T, a answer, rel string) string {
	t.Helper()
	return html.UnescapeString(regexpOne(t, `<a href="([^"]*)" rel="`+rel+`"`, a.body))
}

// crowd makes 2,000 banks with long names in 40 countries.
const (
	thousands   = 2000
	inCountries = 40
)

var codes = strings.Fields("AT BE BG CH CY CZ DE DK EE ES FI FR GB GR HR HU IE IS IT LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS SE SI SK SM UA VA")

func crowd(p connector.Profile) []connector.Profile {
	all := several(thousands)(p)
	for i := range all {
		all[i].UUID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		all[i].Name = fmt.Sprintf("Caisse régionale de crédit mutuel agricole de la ville %04d", i)
		all[i].Countries = []string{codes[i%inCountries]}
	}
	return all
}

func TestManyBanksToPayWith(t *testing.T) {
	each(t, crowd, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		path, _, _ := strings.Cut(page, "?")
		first := s.get(t, page)
		s.light(t, first)
		if names := seen(first.body); len(names) != thousands/inCountries || !strings.Contains(first.body, "Banks (France): 50") || strings.Contains(first.body, `rel="next"`) {
			t.Errorf("%d banks in the country of the payee: %s", len(names), first.body)
		}
		countries := s.get(t, page+"&step=country")
		s.light(t, countries)
		if n := strings.Count(countries.body, "country="); n < inCountries+1 {
			t.Errorf("%d countries", n)
		}
		all := s.get(t, page+"&country=any")
		s.light(t, all)
		if names := seen(all.body); len(names) != 60 || !strings.Contains(all.body, "Banks in all countries: 2000") || !strings.Contains(all.body, `class="place">Austria<`) {
			t.Errorf("%d banks on the first page: %s", len(names), all.body)
		}
		second := s.get(t, path+turned(t, all, "next"))
		s.light(t, second)
		if names := seen(second.body); len(names) != 60 || !strings.HasSuffix(names[0], "0060") {
			t.Errorf("%d banks on the second page: %q", len(names), names)
		}
		if back := s.get(t, path+turned(t, second, "prev")); !strings.Contains(back.body, "ville 0000<") {
			t.Error("there is no way back")
		}
		if found := s.get(t, page+"&country=any&search=ville+199"); len(seen(found.body)) != 12 || strings.Contains(found.body, `rel="next"`) {
			t.Errorf("%d banks are found", len(seen(found.body)))
		}
		if none := s.get(t, page+"&search=nobody"); len(seen(none.body)) != 0 || !strings.Contains(none.body, `role="search"`) {
			t.Errorf("no bank is found: %s", none.body)
		}
		for _, from := range []string{"-1", "x", "99999"} {
			if a := s.get(t, page+"&country=any&from="+from); len(seen(a.body)) != 60 {
				t.Errorf("from %s: %d banks", from, len(seen(a.body)))
			}
		}
		began := time.Now()
		for range 20 {
			s.get(t, page+"&country=any&search=ville")
		}
		t.Logf("a search of %d banks takes %s", thousands, time.Since(began)/20)
	})
}

func TestManyInstitutionsToConnect(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		var all []connector.Connector
		for i := range 1000 {
			all = append(all, newInstitutionConnector(int64(i+1), fmt.Sprintf("Caisse régionale de crédit mutuel agricole de la ville %04d", i), []string{"FR", "DE"}[i%2]))
		}
		s.offer(t, all...)
		first := s.openFlow(t)
		s.light(t, first)
		if len(seen(first.body)) != 60 || !strings.Contains(first.body, "Banks in all countries: 1000") || !strings.Contains(first.body, "Next page") {
			t.Errorf("%d institutions on the first page: %s", len(seen(first.body)), first.body)
		}
		handle := regexpOne(t, `name="session" value="([^"]*)"`, first.body)
		if second := s.get(t, "/webview/en/connect"+turned(t, first, "next")); len(seen(second.body)) != 60 || strings.Contains(second.body, "ville 0059<") {
			t.Errorf("%d institutions on the second page", len(seen(second.body)))
		}
		at := "/webview/en/connect?session=" + handle
		if german := s.get(t, at+"&country=DE&search=VILLE+099"); len(seen(german.body)) != 6 || !strings.Contains(german.body, `value="VILLE 099"`) {
			t.Errorf("%d institutions are found in Germany", len(seen(german.body)))
		}
		if none := s.get(t, at+"&search=nobody"); len(seen(none.body)) != 0 || !strings.Contains(none.body, "No bank matches") {
			t.Errorf("none is found: %s", none.body)
		}
		if countries := s.get(t, at+"&step=country"); !strings.Contains(countries.body, ">Germany<") {
			t.Errorf("no countries: %s", countries.body)
		}
	})
}

// A person chooses from 400 accounts on several pages. A form changes only the accounts on its own
// page.
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
		page := s.openFlow(t)
		action := func() string { return html.UnescapeString(regexpOne(t, `method="post" action="([^"]*)"`, page.body)) }
		token := regexpOne(t, `name="csrf" value="([^"]*)"`, page.body)
		page = s.walk(t, s.post(t, action(), "same-origin", url.Values{"csrf": {token}, "step": {"begin"}}))
		for part, want := range []int{150, 150, 100} {
			s.light(t, page)
			all := regexp.MustCompile(`name="account" value="(\d+)"`).FindAllStringSubmatch(page.body, -1)
			if len(all) != want {
				t.Fatalf("part %d has %d accounts: %s", part, len(all), page.body)
			}
			if last := !strings.Contains(page.body, "Save and show the next page"); last != (part == 2) {
				t.Errorf("part %d is the last: %t", part, last)
			}
			send := url.Values{"csrf": {token}, "step": {"share"}, "paged": {"1"}, "next": {regexpOne(t, `name="next" value="(\d*)"`, page.body)}, "account": {all[0][1], all[1][1]}}
			for _, one := range all {
				send.Add("listed", "account "+one[1])
			}
			got := s.post(t, action(), "same-origin", send)
			if part == 2 {
				if done := s.walk(t, got); !strings.Contains(done.body, "you share 6 accounts") {
					t.Errorf("the last part leads to %d %s", done.status, done.body)
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

func TestManyInstructionsToPay(t *testing.T) {
	each(t, generous, func(t *testing.T, s *stack) {
		p := s.create(t, func(d *payment.Draft) {
			d.Instructions[0].DateType = payment.FirstOpenDay
			for range 999 {
				d.Instructions = append(d.Instructions, d.Instructions[0])
			}
		})
		page := s.open(t, p.ID, nil)
		got := s.get(t, page)
		s.light(t, got)
		if n := strings.Count(got.body, "Order 1234"); n != 50 || !strings.Contains(got.body, "+ 950 …") || !strings.Contains(got.body, "1000 beneficiaries") {
			t.Errorf("the page shows %d instructions: %s", n, got.body)
		}
	})
}
