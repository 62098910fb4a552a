// Package chooser makes the lists from which end users choose an institution.
//
// The package owns the order of a list, its sections and parts, the search, and the country that
// limits the list. It also makes the marks of institutions that have no picture. The callers of the
// package decide which institutions exist, where a choice leads and how a list looks. About the
// person, the package knows only the request and the institutions that the person used before. Its
// functions do not fail: a search without matches returns an empty list.
package chooser

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"passerelle/internal/web"
)

// many is the smallest number of institutions for which a list has a search field.
const many = 9

// Most is the usual largest number of institutions on one page of a list. Beyond it, a page lists
// only favourites and institutions that the user used before. Most keeps the page small on a phone,
// even with long names. Users find other institutions with the search field, or on the next pages
// of the list.
const Most = 60

// Institution is an entry of a list.
type Institution struct {
	UUID, Name string
	// key is the name in the form used for comparisons.
	key  string
	Mark Mark
	// Countries lists the countries of the institution. In a searchable list for all countries,
	// Place is the country's name if the institution is in only one country. Otherwise it is empty.
	Countries []string
	Place     string
	// Address is the page that opens when the user chooses the institution.
	Address string
	// Disturbed marks an institution that has failed several times in a row. Apart marks an
	// institution of the sandbox that behaves in a special way.
	Disturbed, Apart bool
}

// Section is a part of a list. Heading is the key of the heading's text. It is empty when the
// section has no heading.
type Section struct {
	Heading string
	Entries []Institution
}

// List is a list of the institutions that match a user's search. The service does the search. While
// the user types, the page's script only makes the browser ask the service again.
type List struct {
	Words web.Words
	// Path is the address of the page without its query. Kept lists the parameters that a search
	// must keep.
	Path string
	Kept []Parameter
	// Searchable is set when the list is long enough to need a search field.
	Searchable bool
	Search     string
	// Country is the name of the country that limits the list, or empty. CountryLink opens the page
	// to choose another country.
	Country, CountryLink string
	Sections             []Section
	// Found is the number of matching institutions in Country. Elsewhere is the number of matching
	// institutions in other countries. ElsewhereLink opens the list for all countries.
	Found, Elsewhere int
	ElsewhereLink    string
	Part
}

// Parameter is one parameter of an address.
type Parameter struct{ Name, Value string }

// These are the query parameters of a search. The country "any" means all countries.
const (
	SearchParameter  = "search"
	CountryParameter = "country"
	everywhere       = "any"
)

// StepCountry is the value of the parameter "step" that opens the list of countries.
const StepCountry = "country"

// Inquiry is the input for a list, apart from the institutions.
type Inquiry struct {
	HTTP  *http.Request
	Words web.Words
	// Recent lists the UUIDs of the institutions that the user used before. Favourites lists the
	// UUIDs of the institutions that the operator puts first.
	Recent, Favourites []string
	// Hints lists the countries to try, in this order, when neither the country that the user has
	// chosen nor the browser's country has institutions.
	Hints []string
}

// List returns the institutions that the address selects, or all institutions of a list without a
// search field. List sorts its argument in place.
func (r Inquiry) List(all []Institution) *List {
	c := &List{Words: r.Words, Path: r.HTTP.URL.Path, Searchable: len(all) >= many}
	sortEntries(all)
	if !c.Searchable {
		c.divide(r, all, Most)
		return c
	}
	query := r.HTTP.URL.Query()
	c.Search = query.Get(SearchParameter)
	found := matching(all, c.Search)
	code := r.country(all)
	there := within(found, code)
	if len(countriesOf(all)) > 1 {
		c.CountryLink = r.changed("step", StepCountry)
	}
	if code != "" {
		c.Country = r.countryName(code)
		c.Elsewhere, c.ElsewhereLink = len(found)-len(there), r.changed(CountryParameter, everywhere)
	}
	c.keep(query)
	c.Found, c.Part = len(there), NewPart(query, len(there), Most)
	if code == "" {
		r.place(there[c.First:c.End])
	}
	if c.Search != "" || c.First > 0 {
		c.Sections = []Section{{Entries: there[c.First:c.End]}}
		return c
	}
	c.divide(r, withRecent(there, found, r.Recent), c.End)
	return c
}

// Help adds the script that requests the list again while the user types, if the list has a search
// field.
func (c *List) Help(page *web.Page) {
	if c.Searchable {
		page.Module, page.Asks = "search.mjs", true
	}
}

// sortEntries sorts by name, and puts the sandbox's institutions with special behaviour last.
func sortEntries(all []Institution) {
	for i := range all {
		all[i].key = folded(all[i].Name)
	}
	slices.SortStableFunc(all, func(a, b Institution) int {
		if a.Apart != b.Apart {
			return map[bool]int{true: 1, false: -1}[a.Apart]
		}
		return cmp.Compare(a.key, b.key)
	})
}

// keep stores those parameters that a search does not change.
func (c *List) keep(query url.Values) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains([]string{SearchParameter, FromParameter, "step"}, name) {
			c.Kept = append(c.Kept, Parameter{name, query.Get(name)})
		}
	}
}

// withRecent adds to a list those found institutions that the user used before.
func withRecent(there, found []Institution, recent []string) []Institution {
	for _, e := range found {
		same := func(other Institution) bool { return other.UUID == e.UUID }
		if slices.Contains(recent, e.UUID) && !slices.ContainsFunc(there, same) {
			there = append(there, e)
		}
	}
	return there
}

// divide splits a list into sections: institutions used before, favourites, other institutions, and
// institutions of the sandbox with special behaviour. An institution after the first `most`
// institutions is listed only if the user used it before or if it is a favourite.
func (c *List) divide(r Inquiry, all []Institution, most int) {
	sections := []Section{{Heading: "choose.recent"}, {Heading: "choose.favourites"}, {Heading: "choose.all"}, {Heading: "choose.apart"}}
	for i, e := range all {
		at := &sections[2]
		switch {
		case slices.Contains(r.Recent, e.UUID):
			at = &sections[0]
		case slices.Contains(r.Favourites, e.UUID):
			at = &sections[1]
		case i >= most:
			continue
		case e.Apart:
			at = &sections[3]
		}
		at.Entries = append(at.Entries, e)
	}
	byUse := func(order []string) func(a, b Institution) int {
		return func(a, b Institution) int { return slices.Index(order, a.UUID) - slices.Index(order, b.UUID) }
	}
	slices.SortStableFunc(sections[0].Entries, byUse(r.Recent))
	slices.SortStableFunc(sections[1].Entries, byUse(r.Favourites))
	c.Sections = slices.DeleteFunc(sections, func(s Section) bool { return len(s.Entries) == 0 })
	if len(c.Sections) == 1 && c.Sections[0].Heading != "choose.recent" {
		c.Sections[0].Heading = ""
	}
}

// matching returns the entries with a name that contains all searched words. Names that begin with
// the first searched word come first. Next are names in which a later word begins with that word.
func matching(all []Institution, search string) []Institution {
	wanted := strings.Fields(folded(search))
	if len(wanted) == 0 {
		return all
	}
	type match struct {
		Institution
		rank int
	}
	var found []match
	for _, e := range all {
		name := e.key
		if slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(name, word) }) {
			continue
		}
		rank := 2
		if strings.HasPrefix(name, wanted[0]) {
			rank = 0
		} else if strings.Contains(name, " "+wanted[0]) {
			rank = 1
		}
		found = append(found, match{e, rank})
	}
	slices.SortStableFunc(found, func(a, b match) int { return a.rank - b.rank })
	entries := make([]Institution, len(found))
	for i, m := range found {
		entries[i] = m.Institution
	}
	return entries
}

// within returns the entries in a country, or all entries when the country is empty.
func within(all []Institution, code string) []Institution {
	if code == "" {
		return all
	}
	var there []Institution
	for _, e := range all {
		if slices.Contains(e.Countries, code) {
			there = append(there, e)
		}
	}
	return there
}

// whole contains small Latin letters that Unicode does not decompose, each followed by what people
// type for the letter. The constant of the same name in internal/web/static/filter.mjs has the same
// letters.
var whole = []string{
	"æ", "ae", "œ", "oe", "ß", "ss", "þ", "th", "ð", "d", "đ", "d", "ø", "o", "ł", "l", "ħ", "h", "ı", "i", "ĸ", "k", "ŋ", "n", "ŧ", "t", "ə", "e",
	"ɛ", "e", "ɨ", "i", "ɔ", "o", "ɓ", "b", "ɲ", "n", "ƒ", "f", "ɣ", "g", "ɖ", "d", "ɗ", "d", "ƙ", "k", "ʉ", "u", "ǝ", "e", "ƴ", "y", "ʔ", "",
}

var simplified = strings.NewReplacer(whole...)

// folded returns a text in small letters and without accents, for comparisons. It also replaces the
// letters that the variable whole lists.
func folded(text string) string {
	bare := strings.Map(func(character rune) rune {
		if unicode.Is(unicode.Mn, character) {
			return -1
		}
		return character
	}, norm.NFD.String(strings.TrimSpace(text)))
	return simplified.Replace(strings.ToLower(bare))
}
