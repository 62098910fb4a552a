package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/store"
)

// PageSize is how many rows a page lists.
const PageSize = 50

// Pager has the links to the pages around one of a list, empty for none.
type Pager struct {
	Older, Newer string
}

// Window is the part of a list, newest first, that the address names, and one row more,
// which shows whether there is another page. A position in the list is a number of numbers.
// It gives no rights: a changed one shows another part of the same list.
func (pc *Context) Window(numbers int) store.Window {
	w := store.Window{Descending: true, Limit: PageSize + 1}
	query := pc.Request.URL.Query()
	if from, supplied := place(query.Get("after"), numbers); supplied {
		w.From = from
	} else if from, supplied := place(query.Get("before"), numbers); supplied {
		w.From, w.Backward = from, true
	}
	return w
}

// placeText writes a place for a link: numbers with dashes between them. A place that begins with a
// text is sealed: pages mask such texts, and addresses are stored where nobody masks.
func (pc *Context) placeText(place []any) string {
	if text, is := place[0].(string); is {
		sealed, _ := pc.handler.sealer.Seal(sealedPlace, textPlace{text, fmt.Sprint(place[1])}) // of texts, which are always valid JSON
		return sealed
	}
	words := make([]string, len(place))
	for i, word := range place {
		words[i] = fmt.Sprint(word)
	}
	return strings.Join(words, "-")
}

// textPlace is a place in the order of a text, as it is sealed.
type textPlace struct{ Text, ID string }

// sealedPlace is the name under which places are sealed.
const sealedPlace = "place in a list"

// TextPlace reads a place in a list ordered by a text. A place that was not sealed here counts as
// none.
func (pc *Context) TextPlace(sealed string) ([]any, bool) {
	var p textPlace
	if !pc.handler.sealer.Open(sealedPlace, sealed, &p) {
		return nil, false
	}
	id, err := strconv.ParseInt(p.ID, 10, 64)
	return []any{p.Text, id}, err == nil
}

// place reads a place as links have it: numbers with dashes between them.
func place(text string, numbers int) ([]any, bool) {
	words := strings.Split(text, "-")
	if len(words) != numbers {
		return nil, false
	}
	from := make([]any, numbers)
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, false
		}
		from[i] = n
	}
	return from, true
}

// Within is the window of a list that is in memory, in the order it has there.
func Within[T any, ID ~int64](w store.Window, all []T, id func(T) ID) []T {
	at := slices.IndexFunc(all, func(one T) bool { return w.From != nil && w.From[0] == int64(id(one)) })
	if !w.Backward {
		return all[at+1 : min(at+1+w.Limit, len(all))]
	}
	if at < 0 {
		at = len(all)
	}
	before := slices.Clone(all[max(0, at-w.Limit):at])
	slices.Reverse(before)
	return before
}

// Paged returns the rows of a window in the order of the list, and the links around them, which
// keep the rest of the address.
func Paged[T any](pc *Context, w store.Window, rows []T, place func(T) []any) ([]T, Pager) {
	more := len(rows) == w.Limit
	rows = rows[:min(len(rows), w.Limit-1)]
	if len(rows) == 0 {
		return rows, Pager{}
	}
	if w.Backward {
		slices.Reverse(rows)
	}
	link := func(name string, row T) string {
		query := pc.Request.URL.Query()
		query.Del("after")
		query.Del("before")
		query.Set(name, pc.placeText(place(row)))
		return "?" + query.Encode()
	}
	var around Pager
	if more || w.Backward {
		around.Older = link("after", rows[len(rows)-1])
	}
	if w.From != nil && (more || !w.Backward) {
		around.Newer = link("before", rows[0])
	}
	return rows, around
}

// ByID is the place of something in a list that is in the order of ids.
func ByID[T ~int64](id T) []any { return []any{int64(id)} }
