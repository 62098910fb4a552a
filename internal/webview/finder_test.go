package webview_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/connector"
	"passerelle/internal/store/storetest"
)

// european are banks in countries of Europe, enough to be searched.
func european(p connector.Profile) []connector.Profile {
	all := several(9)(p)
	for i, place := range []struct {
		name      string
		countries []string
	}{
		{"Crédit du Sud", []string{"FR"}},
		{"Sparkasse Süd", []string{"DE"}},
		{"Österreichische Bank", []string{"AT"}},
		{"Banque des Deux Pays", []string{"BE", "FR"}},
		{"Banco do Norte", []string{"PT"}},
	} {
		all[i].Name, all[i].Countries = place.name, place.countries
	}
	for i := 5; i < len(all); i++ {
		all[i].Countries = []string{"NL"}
	}
	all[0].PaymentFields, all[0].Payments = nil, all[1].Payments
	return all
}

var listed = regexp.MustCompile(`<li data-countries="[^"]*"( hidden)?>.*value="([^"]+)" required( checked)?>.*class="name">([^<]+)<`)

// seen are the names of the banks that a page shows, and the UUID of the one that
// is chosen on it.
func seen(body string) (names []string, chosen string) {
	for _, found := range listed.FindAllStringSubmatch(html.UnescapeString(body), -1) {
		if found[1] == "" {
			names = append(names, strings.TrimSpace(found[4]))
		}
		if found[3] != "" {
			chosen = found[2]
		}
	}
	return names, chosen
}

// Without a script, the service searches: by name, accents and case apart, and by
// country.
func TestBanksAreFoundByNameAndCountry(t *testing.T) {
	each(t, european, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		for _, c := range []struct {
			search, country string
			want            []string
		}{
			{"sud", "", []string{"Crédit du Sud", "Sparkasse Süd"}},
			{"", "FR", []string{"Crédit du Sud", "Banque des Deux Pays"}},
			{"CREDIT", "FR", []string{"Crédit du Sud"}},
			{"sparkasse", "FR", nil},
			{"portugal", "", []string{"Banco do Norte"}},
			{`"><script>`, "XX", nil},
		} {
			body := s.get(t, page+"&bank=any&"+url.Values{"search": {c.search}, "country": {c.country}}.Encode()).body
			names, _ := seen(body)
			if diff := cmp.Diff(c.want, names); diff != "" {
				t.Errorf("%q in %q finds (-want +got): %s", c.search, c.country, diff)
			}
			if none := !strings.Contains(body, `data-filter-none="banks" role="status" hidden`); none != (c.want == nil) {
				t.Errorf("%q in %q: that there is none is said: %t", c.search, c.country, none)
			}
			if !strings.Contains(html.UnescapeString(body), `name="search" value="`+c.search+`"`) || strings.Contains(body, `"><script>`) {
				t.Errorf("%q is not in the field any more, or in the page: %s", c.search, body)
			}
		}
	})
}

// Countries have the names that readers of the page have for them, and are in
// their order.
func TestCountriesOfBanks(t *testing.T) {
	s := start(t, storetest.SQLite(t), european)
	page := s.open(t, s.create(t, nil).ID, nil)
	options := regexp.MustCompile(`<option value="([A-Z]*)">([^<]+)</option>`)
	for lang, want := range map[string][]string{
		"en": {"All countries", "Austria", "Belgium", "France", "Germany", "Netherlands", "Portugal"},
		"de": {"Alle Länder", "Belgien", "Deutschland", "Frankreich", "Niederlande", "Österreich", "Portugal"},
		"pt": {"Todos os países", "Alemanha", "Áustria", "Bélgica", "França", "Países Baixos", "Portugal"},
	} {
		var names []string
		for _, found := range options.FindAllStringSubmatch(s.get(t, strings.Replace(page, "/en/", "/"+lang+"/", 1)).body, -1) {
			names = append(names, html.UnescapeString(found[2]))
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got): %s", lang, diff)
		}
	}
}

// The banks with which somebody paid come first the next time, and nobody but
// their browser knows.
func TestBanksArePaidWithAgain(t *testing.T) {
	each(t, european, func(t *testing.T, s *stack) {
		pay := func(bank string) {
			t.Helper()
			page := s.open(t, s.create(t, nil).ID, nil)
			if got := s.post(t, page, "same-origin", url.Values{"bank": {bank}, "terms": {"1"}}); got.location != page+"&step=onward" {
				t.Fatalf("paying with %s was answered with %d to %q", bank, got.status, got.location)
			}
		}
		for _, bank := range []string{"bank-2", "bank-4", "bank-3", "bank-6", "bank-4"} {
			pay(bank)
		}
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		names, chosen := seen(body)
		if want := []string{"Banco do Norte", "Bank number 6", "Banque des Deux Pays"}; !slices.Equal(names[:3], want) || chosen != "bank-4" {
			t.Errorf("the list begins with %q, with %s chosen, want %q", names[:3], chosen, want)
		}
		if n := strings.Count(body, "Used last time"); n != 3 || len(names) != 9 {
			t.Errorf("%d of %d banks are said to have been used", n, len(names))
		}
		s.browser = newBrowser(t)
		if body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body; strings.Contains(body, "Used last time") {
			t.Error("another browser knows, too")
		}
	})
}
