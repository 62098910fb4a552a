package webview_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/internal/store/storetest"
)

// european returns banks in several countries of Europe.
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

var listed = regexp.MustCompile(`<li><a class="choice" href="[^"]*bank=([^"&]+)[^"]*"><span class="mark [^"]*" aria-hidden="true">[^<]*</span><span class="name">([^<]+)<`)

func seen(body string) (names []string) {
	for _, found := range listed.FindAllStringSubmatch(body, -1) {
		names = append(names, strings.TrimSpace(html.UnescapeString(found[2])))
	}
	return names
}

// Without a script, the service searches for the words of a name. It ignores accents and case. It
// searches in the country of the payee, or on request in all countries.
func TestBanksAreFoundByNameAndCountry(t *testing.T) {
	each(t, european, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		for _, c := range []struct {
			search, country string
			want            []string
			more            bool
		}{
			{"", "", []string{"Banque des Deux Pays", "Crédit du Sud"}, false},
			{"sud", "any", []string{"Crédit du Sud", "Sparkasse Süd"}, false},
			{"sud", "", []string{"Crédit du Sud"}, true},
			{"", "FR", []string{"Banque des Deux Pays", "Crédit du Sud"}, false},
			{"SUD  credit", "FR", []string{"Crédit du Sud"}, false},
			{"sparkasse", "FR", nil, true},
			{"b", "any", []string{"Banco do Norte", "Bank number 5", "Bank number 6", "Bank number 7", "Bank number 8", "Banque des Deux Pays", "Österreichische Bank"}, false},
			{`"><script>`, "any", nil, false},
		} {
			query := url.Values{"search": {c.search}}
			if c.country != "" {
				query.Set("country", c.country)
			}
			body := s.get(t, page+"&"+query.Encode()).body
			if diff := cmp.Diff(c.want, seen(body)); diff != "" {
				t.Errorf("%q in %q finds (-want +got): %s", c.search, c.country, diff)
			}
			if none := strings.Contains(body, "No bank matches"); none != (c.want == nil) {
				t.Errorf("%q in %q: that there is none is said: %t", c.search, c.country, none)
			}
			if count := "Matches in all countries: " + strconv.Itoa(len(c.want)); c.country == "any" && !strings.Contains(body, count) {
				t.Errorf("%q: the page lacks %q: %s", c.search, count, body)
			}
			if more := strings.Contains(body, "Search in all countries"); more != c.more {
				t.Errorf("%q in %q: other countries are offered: %t", c.search, c.country, more)
			}
			if !strings.Contains(html.UnescapeString(body), `name="search" value="`+c.search+`"`) || strings.Contains(body, `"><script>`) {
				t.Errorf("%q is not in the field any more, or in the page: %s", c.search, body)
			}
		}
	})
}

// The page preselects the country in the browser's Accept-Language header if that country has
// banks. Otherwise it preselects the country of the payee.
func TestTheCountryIsPreset(t *testing.T) {
	s := start(t, storetest.SQLite(t), european)
	page := s.open(t, s.create(t, nil).ID, nil)
	for accept, want := range map[string]string{
		"de-AT, en;q=0.5": "Banks (Austria): 1", "de-DE": "Banks (Germany): 1", "en-US": "Banks (France): 2", "": "Banks (France): 2", "pt": "Banks (France): 2", "en;q=0.8, nl-BE": "Banks (Belgium): 1",
	} {
		request := s.request(t, http.MethodGet, page)
		request.Header.Set("Accept-Language", accept)
		if body := s.do(t, request).body; !strings.Contains(body, want) {
			t.Errorf("%q does not lead to %q: %s", accept, want, body)
		}
	}
}

// The list first has the operator's favourites, and then the other banks.
func TestFavouriteBanks(t *testing.T) {
	each(t, european, func(t *testing.T, s *stack) {
		must(t, settings.Set(t.Context(), s.DB, s.domain.ID, map[string]string{settings.Favourites: fmt.Sprintf("00000000-0000-4000-8000-%012d", 7)}, s.Now()))
		s.offer(t, numberedBanks(s, 12)...)
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		if names := seen(body); len(names) != 12 || names[0] != "Bank 7" || !strings.Contains(body, "Frequently chosen") || !strings.Contains(body, "All banks") {
			t.Errorf("the list begins with %q: %s", names[:1], body)
		}
	})
}

// Operators may write the UUID of a favourite in capitals.
func TestFavouriteInCapitals(t *testing.T) {
	each(t, european, func(t *testing.T, s *stack) {
		const favourite = "00000000-0000-4000-8000-00000000abcd"
		must(t, settings.Set(t.Context(), s.DB, s.domain.ID, map[string]string{settings.Favourites: strings.ToUpper(favourite)}, s.Now()))
		banks := numberedBanks(s, 12)
		last := banks[11].(bank)
		last.profile.UUID = favourite
		banks[11] = last
		s.offer(t, banks...)
		if names := seen(s.get(t, s.open(t, s.create(t, nil).ID, nil)).body); len(names) != 12 || names[0] != "Bank 11" {
			t.Errorf("the list is %q", names)
		}
	})
}

func numberedBanks(s *stack, n int) []connector.Connector {
	able := s.simulated.Connectors()[0].(connector.Initiator)
	all := make([]connector.Connector, n)
	for i := range all {
		p := able.Profile()
		p.UUID, p.ID, p.Name, p.Sources = fmt.Sprintf("00000000-0000-4000-8000-%012d", i), int64(i+1), fmt.Sprintf("Bank %d", i), nil
		all[i] = bank{able, p}
	}
	return all
}

// People choose a country on a separate page. The language of the page decides the names and the
// order of the countries.
func TestCountriesOfBanks(t *testing.T) {
	s := start(t, storetest.SQLite(t), european)
	page := s.open(t, s.create(t, nil).ID, nil)
	options := regexp.MustCompile(`(?s)<li><a class="choice" href="([^"]*)"( aria-current="true")?><span class="name">([^<]+)</span><span class="place">(\d+)</span>`)
	for lang, want := range map[string][]string{
		"en": {"All countries 9", "Austria 1", "Belgium 1", "France 2 chosen", "Germany 1", "Netherlands 4", "Portugal 1"},
		"de": {"Alle Länder 9", "Belgien 1", "Deutschland 1", "Frankreich 2 chosen", "Niederlande 4", "Österreich 1", "Portugal 1"},
		"pt": {"Todos os países 9", "Alemanha 1", "Áustria 1", "Bélgica 1", "França 2 chosen", "Países Baixos 4", "Portugal 1"},
	} {
		here := strings.Replace(page, "/en/", "/"+lang+"/", 1)
		var names []string
		var last string
		for _, found := range options.FindAllStringSubmatch(s.get(t, here+"&step=country").body, -1) {
			name := html.UnescapeString(found[3]) + " " + found[4]
			if found[2] != "" {
				name += " chosen"
			}
			names, last = append(names, name), html.UnescapeString(found[1])
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got): %s", lang, diff)
		}
		path, _, _ := strings.Cut(here, "?")
		if names := seen(s.get(t, path+last).body); len(names) != 1 {
			t.Errorf("%s: the last country has %q", lang, names)
		}
	}
}

// The banks with which a person last paid come first the next time.
func TestBanksUsedBeforeComeFirst(t *testing.T) {
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
		names := seen(body)
		if want := []string{"Banco do Norte", "Bank number 6", "Banque des Deux Pays"}; !slices.Equal(names[:3], want) || !strings.Contains(body, "Last used") {
			t.Errorf("the list begins with %q, want %q", names[:3], want)
		}
		if len(names) != 4 {
			t.Errorf("besides the banks of the country and those used before there are %q", names)
		}
		s.browser = newBrowser(t)
		if body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body; strings.Contains(body, "Last used") {
			t.Error("another browser knows, too")
		}
	})
}
