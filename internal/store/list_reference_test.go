package store_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"passerelle/internal/store"
)

// spot is the position of a row in a list: a key, which is nil in lists ordered by id alone, and
// the id.
type spot struct {
	key any
	id  int64
}

func (a spot) compare(b spot) int {
	order := 0
	switch key := a.key.(type) {
	case string:
		order = cmp.Compare(key, b.key.(string))
	case int64:
		order = cmp.Compare(key, b.key.(int64))
	}
	return cmp.Or(order, cmp.Compare(a.id, b.id))
}

// position returns the spot in the form that windows use.
func (a spot) position() []any {
	if a.key == nil {
		return []any{a.id}
	}
	return []any{a.key, a.id}
}

// ways describes which options of a window a list supports.
type ways struct {
	// newest means that the list begins with the greatest.
	newest bool
	// directions and skips mean that the list uses Descending and Offset.
	directions, skips bool
}

// listing is a list with a filter: the spots of all rows, the spots of selected rows, and
// functions that read and count the list.
type listing struct {
	ways
	all, selected []spot
	read          func(store.Window) ([]int64, error)
	// count is nil for lists that are not counted.
	count func() (int64, error)
}

// window computes the reference result: it sorts all spots, skips to the position, and cuts the
// page.
func (q listing) window(w store.Window, from *spot) []int64 {
	down := q.newest != w.Backward
	if q.directions {
		down = down != w.Descending
	}
	compare := func(a, b spot) int {
		if down {
			return b.compare(a)
		}
		return a.compare(b)
	}
	var kept []spot
	for _, one := range q.selected {
		if from == nil || compare(one, *from) > 0 {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, compare)
	kept = kept[min(w.Offset, int64(len(kept))):]
	var ids []int64
	for _, one := range kept[:min(w.Limit, len(kept))] {
		ids = append(ids, one.id)
	}
	return ids
}

// drawFrom draws the position of a row, selected by the filter or not, or a position without a
// row: between two rows of the same key, or after all rows.
func (q listing) drawFrom(t *rapid.T) *spot {
	if len(q.all) == 0 || rapid.IntRange(0, 3).Draw(t, "from the start") == 0 {
		return nil
	}
	at := rapid.SampledFrom(q.all).Draw(t, "place")
	switch rapid.IntRange(0, 5).Draw(t, "shift") {
	case 0:
		at.id = rapid.SampledFrom(q.all).Draw(t, "other id").id
	case 1:
		at.id += rapid.Int64Range(-2, 2).Draw(t, "beside")
	case 2:
		at.id = rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}).Draw(t, "beyond")
	case 3:
		at = q.elsewhere(t, at)
	}
	return &at
}

// elsewhere moves a position to a key that may belong to no row.
func (q listing) elsewhere(t *rapid.T, at spot) spot {
	switch key := at.key.(type) {
	case string:
		at.key = rapid.SampledFrom([]string{"", "2026-01-02", "2025-12-31", "9999-12-31", "0001-01-01"}).Draw(t, "day")
	case int64:
		at.key = rapid.SampledFrom([]int64{key - 1, key + 1, 0, math.MinInt64, math.MaxInt64}).Draw(t, "instant")
	}
	return at
}

func (q listing) check(t *rapid.T) {
	from := q.drawFrom(t)
	w := store.Window{
		Limit:    rapid.IntRange(0, len(q.all)+1).Draw(t, "limit"),
		Backward: rapid.Bool().Draw(t, "backward"),
	}
	if rapid.Bool().Draw(t, "small") {
		w.Limit = min(w.Limit, 3)
	}
	if q.directions {
		w.Descending = rapid.Bool().Draw(t, "descending")
	}
	if q.skips {
		w.Offset = rapid.SampledFrom([]int64{0, 0, 1, 2, 5, int64(len(q.all)), math.MaxInt64}).Draw(t, "offset")
	}
	if from != nil {
		w.From = from.position()
	}
	got, err := q.read(w)
	if want := q.window(w, from); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v lists %v, want %v; %v", w, got, want, err)
	}
	if q.count == nil {
		return
	}
	if n, err := q.count(); err != nil || n != int64(len(q.selected)) {
		t.Errorf("counts %d, want %d; %v", n, len(q.selected), err)
	}
}

// numbersOf are the ids of rows.
func numbersOf[T any](id func(T) int64) func([]T, error) ([]int64, error) {
	return func(rows []T, err error) (ids []int64, _ error) {
		for _, row := range rows {
			ids = append(ids, id(row))
		}
		return ids, err
	}
}

// spotsOf are the spots of the rows that are selected.
func spotsOf[T any](rows []T, at func(T) spot, selected func(T) bool) (spots []spot) {
	for _, row := range rows {
		if selected(row) {
			spots = append(spots, at(row))
		}
	}
	return spots
}

func anyRow[T any](T) bool { return true }

// maybe sets a filter value in some of the draws, and otherwise leaves it unset.
func maybe[T any](t *rapid.T, name string, into *T, values ...T) {
	if rapid.IntRange(0, 4).Draw(t, "filter by "+name) == 0 {
		*into = rapid.SampledFrom(values).Draw(t, name)
	}
}

// compareLists compares random windows of lists with the reference, with one subtest for each
// list.
func compareLists(t *testing.T, lists map[string]func(*rapid.T) listing) {
	for name, draw := range lists {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { draw(rt).check(rt) })
		})
	}
}
