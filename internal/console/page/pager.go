package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/store"
)

// PageSize is the number of rows in a page of a list.
const PageSize = 50

// Pager has the links to the neighbouring pages of a list. A link is empty if there is no such
// page.
type Pager struct {
	Older, Newer string
}

// Window returns the window of a list for the position in the address. The argument numbers says
// how many numbers form a position. The window has one row more than a page: the additional row
// shows that another page follows. A position gives no rights. A changed position only shows
// another part of the same list.
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

// placeText formats a position for a link, as numbers separated by dashes. It seals a position that
// begins with a text. Pages of live domains mask such texts, and browsers and proxies store
// addresses without masks.
func (pc *Context) placeText(place []any) string {
	if text, is := place[0].(string); is {
		sealed, _ := pc.handler.sealer.Seal(sealedPlace, textPlace{text, fmt.Sprint(place[1])}) // sealing cannot fail, because every text is valid JSON
		return sealed
	}
	words := make([]string, len(place))
	for i, word := range place {
		words[i] = fmt.Sprint(word)
	}
	return strings.Join(words, "-")
}

// textPlace is the sealed form of a position in a list that is ordered by a text.
type textPlace struct{ Text, ID string }

// sealedPlace is the name under which positions are sealed.
const sealedPlace = "place in a list"

// TextPlace reads a position in a list that is ordered by a text. It returns false for a position
// that this service has not sealed.
func (pc *Context) TextPlace(sealed string) ([]any, bool) {
	var p textPlace
	if !pc.handler.sealer.Open(sealedPlace, sealed, &p) {
		return nil, false
	}
	id, err := strconv.ParseInt(p.ID, 10, 64)
	return []any{p.Text, id}, err == nil
}

// place reads a position from a link. Dashes separate its numbers.
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

// Within returns the rows of a window from a list in memory. The rows keep the order of the list.
// For a backward window, they have the reverse order.
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

// Paged returns the rows of a window in the order of the list. It also returns the links to the
// neighbouring pages, which keep the other parameters of the address.
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

// ByID returns the position of a row in a list that is ordered by id.
func ByID[T ~int64](id T) []any { return []any{int64(id)} }
