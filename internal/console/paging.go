package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle/internal/store"
)

// turn leads to the pages around a page, empty where there is none.
type turn struct {
	Before, After string
}

// window is the page of a list that an address asks for: after a place, before
// one, or the first. A place is so many numbers. It selects nothing, so whoever
// changes one sees another part of the same list.
func window(query url.Values, numbers int) store.Window {
	w := store.Window{Limit: pageSize + 1} // to see whether there is more
	if from, given := numbersIn(query.Get("after"), numbers); given {
		w.From = from
	} else if from, given := numbersIn(query.Get("before"), numbers); given {
		w.From, w.Backward = from, true
	}
	return w
}

// numbersIn reads a place as links have it: numbers with dashes between them.
func numbersIn(text string, numbers int) ([]any, bool) {
	parts := strings.Split(text, "-")
	if len(parts) != numbers {
		return nil, false
	}
	place := make([]any, numbers)
	for i, part := range parts {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, false
		}
		place[i] = n
	}
	return place, true
}

// page is what was read for a window, in the order of the list, and the links
// around it, which keep what else the address says.
func page[T any](query url.Values, w store.Window, rows []T, place func(T) []any) ([]T, turn) {
	more := len(rows) == w.Limit
	rows = rows[:min(len(rows), w.Limit-1)]
	if len(rows) == 0 {
		return nil, turn{}
	}
	if w.Backward {
		slices.Reverse(rows)
	}
	link := func(name string, row T) string {
		to := url.Values{}
		for key, values := range query {
			if key != "after" && key != "before" {
				to[key] = values
			}
		}
		text := make([]string, 0, 2)
		for _, number := range place(row) {
			text = append(text, fmt.Sprint(number))
		}
		to.Set(name, strings.Join(text, "-"))
		return "?" + to.Encode()
	}
	var around turn
	if more || w.Backward {
		around.After = link("after", rows[len(rows)-1])
	}
	if w.From != nil && (more || !w.Backward) {
		around.Before = link("before", rows[0])
	}
	return rows, around
}
