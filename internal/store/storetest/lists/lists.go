// Package lists compares lists of the store with a reference that sorts and filters in Go.
//
// It owns the random windows, and computes the expected result of each. It does not own the rows: a
// test stores them and says which of them a filter selects. When a list differs from the reference,
// the test fails and prints the smallest failing window that it finds.
package lists

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"passerelle/internal/store"
)

// Spot is the position of a row in a list: its key and its id. Key is nil in lists that are ordered
// by id alone.
type Spot struct {
	Key any
	ID  int64
}

func (a Spot) compare(b Spot) int {
	order := 0
	switch key := a.Key.(type) {
	case string:
		order = cmp.Compare(key, b.Key.(string)) //nolint:errcheck // the keys of a list have one type
	case int64:
		order = cmp.Compare(key, b.Key.(int64)) //nolint:errcheck // the keys of a list have one type
	}
	return cmp.Or(order, cmp.Compare(a.ID, b.ID))
}

func (a Spot) position() []any {
	if a.Key == nil {
		return []any{a.ID}
	}
	return []any{a.Key, a.ID}
}

// Ways describes the order of a list, and which options of a window the list supports.
type Ways struct {
	// Newest means that the greatest spot is first.
	Newest bool
	// Directions means that the list supports Descending, and Skips means that it supports Offset.
	Directions, Skips bool
}

// List is a list with a filter. It has the spots of all rows, the spots of the selected rows, and
// functions that read and count the list.
type List struct {
	Ways
	All, Selected []Spot
	Read          func(store.Window) ([]int64, error)
	// Count is nil for lists that are not counted.
	Count func() (int64, error)
}

func (q List) window(w store.Window, from *Spot) []int64 {
	down := q.Newest != w.Backward
	if q.Directions {
		down = down != w.Descending
	}
	compare := func(a, b Spot) int {
		if down {
			return b.compare(a)
		}
		return a.compare(b)
	}
	var kept []Spot
	for _, one := range q.Selected {
		if from == nil || compare(one, *from) > 0 {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, compare)
	kept = kept[min(w.Offset, int64(len(kept))):]
	var ids []int64
	for _, one := range kept[:min(w.Limit, len(kept))] {
		ids = append(ids, one.ID)
	}
	return ids
}

// drawFrom draws the position of a row, a position that possibly no row has, or no position.
func (q List) drawFrom(t *rapid.T) *Spot {
	if len(q.All) == 0 || rapid.IntRange(0, 3).Draw(t, "from the start") == 0 {
		return nil
	}
	at := rapid.SampledFrom(q.All).Draw(t, "place")
	switch rapid.IntRange(0, 5).Draw(t, "shift") {
	case 0:
		at.ID = rapid.SampledFrom(q.All).Draw(t, "other id").ID
	case 1:
		at.ID += rapid.Int64Range(-2, 2).Draw(t, "beside")
	case 2:
		at.ID = rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}).Draw(t, "beyond")
	case 3:
		at = q.elsewhere(t, at)
	}
	return &at
}

func (q List) elsewhere(t *rapid.T, at Spot) Spot {
	switch key := at.Key.(type) {
	case string:
		at.Key = rapid.SampledFrom([]string{"", "2026-01-02", "2025-12-31", "9999-12-31", "0001-01-01"}).Draw(t, "day")
	case int64:
		at.Key = rapid.SampledFrom([]int64{key - 1, key + 1, 0, math.MinInt64, math.MaxInt64}).Draw(t, "instant")
	}
	return at
}

// Check compares a random window of the list, and the list's count, with the reference.
func (q List) Check(t *rapid.T) {
	from := q.drawFrom(t)
	w := store.Window{
		Limit:    rapid.IntRange(0, len(q.All)+1).Draw(t, "limit"),
		Backward: rapid.Bool().Draw(t, "backward"),
	}
	if rapid.Bool().Draw(t, "small") {
		w.Limit = min(w.Limit, 3)
	}
	if q.Directions {
		w.Descending = rapid.Bool().Draw(t, "descending")
	}
	if q.Skips {
		w.Offset = rapid.SampledFrom([]int64{0, 0, 1, 2, 5, int64(len(q.All)), math.MaxInt64}).Draw(t, "offset")
	}
	if from != nil {
		w.From = from.position()
	}
	got, err := q.Read(w)
	if want := q.window(w, from); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v lists %v, want %v; %v", w, got, want, err)
	}
	if q.Count == nil {
		return
	}
	if n, err := q.Count(); err != nil || n != int64(len(q.Selected)) {
		t.Errorf("counts %d, want %d; %v", n, len(q.Selected), err)
	}
}

// IDs returns a function that converts the result of a read to the ids of its rows.
func IDs[T any](id func(T) int64) func([]T, error) ([]int64, error) {
	return func(rows []T, err error) ([]int64, error) {
		var ids []int64
		for _, row := range rows {
			ids = append(ids, id(row))
		}
		return ids, err
	}
}

// Spots returns the spots of the rows that are selected.
func Spots[T any](rows []T, at func(T) Spot, selected func(T) bool) []Spot {
	var spots []Spot
	for _, row := range rows {
		if selected(row) {
			spots = append(spots, at(row))
		}
	}
	return spots
}

// Any selects every row: it returns true.
func Any[T any](T) bool { return true }

// Maybe sets a filter value in some draws, and leaves it unchanged in the others.
func Maybe[T any](t *rapid.T, name string, into *T, values ...T) {
	if rapid.IntRange(0, 4).Draw(t, "filter by "+name) == 0 {
		*into = rapid.SampledFrom(values).Draw(t, name)
	}
}

// Compare compares random windows of lists with the reference, with one subtest for each list.
func Compare(t *testing.T, lists map[string]func(*rapid.T) List) {
	for name, draw := range lists {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { draw(rt).Check(rt) })
		})
	}
}
