package chooser

import (
	"cmp"
	"slices"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// country returns the country that limits a list. It tries the country in the address, the reader's
// region and the hints, and returns the first one that has institutions. It returns an empty text
// when the list has all countries.
func (r Inquiry) country(all []Institution) string {
	named := r.HTTP.URL.Query().Get(CountryParameter)
	if named == everywhere {
		return ""
	}
	for _, code := range append([]string{named, r.region()}, r.Hints...) {
		if code != "" && len(within(all, code)) > 0 {
			return code
		}
	}
	return ""
}

// region returns the country that the reader's browser names first, or an empty text.
func (r Inquiry) region() string {
	wanted, _, err := language.ParseAcceptLanguage(r.HTTP.Header.Get("Accept-Language"))
	if err != nil {
		return ""
	}
	for _, tag := range wanted {
		if region, confidence := tag.Region(); confidence == language.Exact {
			return region.String()
		}
	}
	return ""
}

// place sets the shown country of those institutions that are in only one country.
func (r Inquiry) place(all []Institution) {
	for i := range all {
		if len(all[i].Countries) == 1 {
			all[i].Place = r.countryName(all[i].Countries[0])
		}
	}
}

// changed returns the address of the page with a different value for one parameter. It omits the
// parameter for the position in the list.
func (r Inquiry) changed(name, value string) string {
	query := r.HTTP.URL.Query()
	query.Del(FromParameter)
	query.Del("step")
	query.Set(name, value)
	return "?" + query.Encode()
}

// Nation is a country that has institutions, or the choice of all countries.
type Nation struct {
	Name  string
	Count int
	// Address is the page that opens when the user chooses the country. Chosen marks the current
	// choice.
	Address string
	Chosen  bool
}

// countriesOf returns the number of institutions for each country code.
func countriesOf(all []Institution) map[string]int {
	counts := map[string]int{}
	for _, e := range all {
		for _, code := range e.Countries {
			counts[code]++
		}
	}
	return counts
}

// Nations returns the countries to choose from, ordered by their names in the reader's language.
func (r Inquiry) Nations(all []Institution) []Nation {
	chosen := r.country(all)
	var list []Nation
	for code, count := range countriesOf(all) {
		list = append(list, Nation{r.countryName(code), count, r.changed(CountryParameter, code), code == chosen})
	}
	slices.SortFunc(list, func(a, b Nation) int { return cmp.Compare(folded(a.Name), folded(b.Name)) })
	return append([]Nation{{r.Words.Say("choose.everywhere"), len(all), r.changed(CountryParameter, everywhere), chosen == ""}}, list...)
}

// countryName returns the name of a country of ISO 3166-1 in the reader's language, or its code
// when the language has no name for it.
func (r Inquiry) countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return cmp.Or(display.Regions(language.Make(r.Words.Say("locale"))).Name(region), code)
}
