package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/store"
)

// pageSize is how many rows a page lists.
const pageSize = 50

// turn leads to the pages around one of a list, empty where there is none.
type turn struct {
	Older, Newer string
}

// window is the part of a list, newest first, that the address names, and one row
// more, which tells whether there is another page. A place in the list is so many
// numbers. It selects nothing, so whoever changes one sees another part of the same
// list.
func (v *visit) window(numbers int) store.Window {
	w := store.Window{Descending: true, Limit: pageSize + 1}
	query := v.request.URL.Query()
	if from, given := place(query.Get("after"), numbers); given {
		w.From = from
	} else if from, given := place(query.Get("before"), numbers); given {
		w.From, w.Backward = from, true
	}
	return w
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

// page is the rows of a window in the order of the list, and the links around
// them, which keep what else the address says.
func page[T any](v *visit, w store.Window, rows []T, place func(T) []any) ([]T, turn) {
	more := len(rows) == w.Limit
	rows = rows[:min(len(rows), w.Limit-1)]
	if len(rows) == 0 {
		return rows, turn{}
	}
	if w.Backward {
		slices.Reverse(rows)
	}
	link := func(name string, row T) string {
		query := v.request.URL.Query()
		query.Del("after")
		query.Del("before")
		var words []string
		for _, number := range place(row) {
			words = append(words, fmt.Sprint(number))
		}
		query.Set(name, strings.Join(words, "-"))
		return "?" + query.Encode()
	}
	var around turn
	if more || w.Backward {
		around.Older = link("after", rows[len(rows)-1])
	}
	if w.From != nil && (more || !w.Backward) {
		around.Newer = link("before", rows[0])
	}
	return rows, around
}

// byID is the place of something in a list that is in the order of ids.
func byID[T ~int64](id T) []any { return []any{int64(id)} }
