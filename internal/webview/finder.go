package webview

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"

	"passerelle/internal/web"
)

// manyBanks is from how many banks on a list is easier to search than to read.
const manyBanks = 9

// finder narrows a long list of banks to those that a payer looks for. All of them
// stay on the page, most of them hidden, so that a script can do it, too.
type finder struct {
	// Path is the address of the page, without its query.
	Path            string
	Search, Country string
	Countries       []country
	// None is set when nothing is left.
	None bool
	// Long is set of a list that is too long for one page, which only the service
	// searches.
	Long bool
	span
}

// mostShown is how many of a list are on one page, which is to be small even with
// names that are long.
const mostShown = 150

// span is the part of a long list that is on a page, and where the parts around it
// are, empty for nowhere.
type span struct {
	first, end     int
	Earlier, Later string
}

// parts are the links around a part, in the words of the page.
type parts struct {
	span
	Words web.Words
}

// Parts is what the block of the same name shows.
func (s span) Parts(words web.Words) parts { return parts{s, words} }

// span is the part of a list of so many that the address names.
func (pc *pageContext) span(length int) span {
	query := pc.request.URL.Query()
	first, _ := strconv.Atoi(query.Get(fromParameter)) // none is the first
	if first < 0 || first >= length {
		first = 0
	}
	s := span{first: first, end: min(first+mostShown, length)}
	at := func(place int) string {
		query.Set(fromParameter, strconv.Itoa(place))
		return "?" + query.Encode()
	}
	if first > 0 {
		s.Earlier = at(max(0, first-mostShown))
	}
	if s.end < length {
		s.Later = at(s.end)
	}
	return s
}

const fromParameter = "from"

// page leaves of a list that is too long for one page the part that the address
// names of those that were looked for.
func (f *finder) page(pc *pageContext, all []bank) []bank {
	if f == nil || len(all) <= mostShown {
		return all
	}
	found := slices.DeleteFunc(slices.Clone(all), func(b bank) bool { return b.Hidden })
	f.Long, f.span = true, pc.span(len(found))
	return found[f.first:f.end]
}

// country is one that banks of a list are in.
type country struct{ Code, Name string }

// newFinder narrows the list as the address says. A short list has none.
func newFinder(pc *pageContext, all []bank) *finder {
	if len(all) < manyBanks {
		return nil
	}
	query := pc.request.URL.Query()
	f := &finder{Path: pc.request.URL.Path, Search: query.Get("search"), Country: query.Get("country"), Countries: countriesOf(pc, all), None: true}
	wanted := folded(f.Search)
	for i := range all {
		b := &all[i]
		b.Hidden = !strings.Contains(folded(b.Name+" "+b.Place), wanted) || f.Country != "" && !slices.Contains(b.Countries, f.Country)
		f.None = f.None && b.Hidden
	}
	return f
}

// countriesOf are those of the banks, by the names that the reader has for them.
func countriesOf(pc *pageContext, all []bank) []country {
	names := map[string]string{}
	for _, b := range all {
		for _, code := range b.Countries {
			names[code] = pc.countryName(code)
		}
	}
	list := make([]country, 0, len(names))
	for _, code := range slices.Sorted(maps.Keys(names)) {
		list = append(list, country{code, names[code]})
	}
	slices.SortStableFunc(list, func(a, b country) int { return cmp.Compare(folded(a.Name), folded(b.Name)) })
	return list
}

// countryName is what the reader's language calls a country of ISO 3166-1, or its
// code when it has no name for it.
func (pc *pageContext) countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return cmp.Or(display.Regions(language.Make(pc.words.Say("locale"))).Name(region), code)
}

// folded is a text for comparing, accents and case apart.
func folded(text string) string {
	return strings.ToLower(strings.Map(func(character rune) rune {
		if unicode.Is(unicode.Mn, character) {
			return -1
		}
		return character
	}, norm.NFD.String(strings.TrimSpace(text))))
}

// The banks with which somebody paid before are remembered in their browser alone.
const (
	recentCookie = "recent_banks"
	recentLife   = 180 * 24 * time.Hour
	maxRecent    = 3
)

func (w *Webview) recent(pc *pageContext) []string {
	var uuids []string
	_ = w.sealer.Read(pc.request, recentCookie, &uuids) // without one nothing is remembered
	return uuids
}

// rememberBank puts a bank before all others that this browser remembers. The cookie is
// never too long; and if it were, a payment that was ordered would matter more.
func (w *Webview) rememberBank(pc *pageContext, uuid string) {
	others := slices.DeleteFunc(w.recent(pc), func(other string) bool { return other == uuid })
	uuids := append([]string{uuid}, others...)
	_ = w.sealer.Set(pc.writer, web.Cookie{
		Name: recentCookie, Path: pc.root, Secure: pc.secure(), Life: recentLife,
	}, uuids[:min(len(uuids), maxRecent)])
}

// recentBanksFirst puts the banks that the browser remembers before all others.
func (w *Webview) recentBanksFirst(pc *pageContext, all []bank) {
	recent := w.recent(pc)
	place := func(b bank) int {
		if i := slices.Index(recent, b.UUID); i >= 0 {
			return i
		}
		return len(recent)
	}
	slices.SortStableFunc(all, func(a, b bank) int { return cmp.Compare(place(a), place(b)) })
	for i := range all {
		all[i].Recent = place(all[i]) < len(recent)
	}
}

// propose chooses the first bank that is seen, for payers who paid with it before,
// and in a sandbox for everybody.
func propose(pc *pageContext, all []bank) {
	i := slices.IndexFunc(all, func(b bank) bool { return !b.Hidden })
	if i >= 0 {
		all[i].Proposed = all[i].Recent || pc.simulated()
	}
}
