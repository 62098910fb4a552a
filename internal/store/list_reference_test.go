package store_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"passerelle/internal/store"
)

// spot is where a row stands in a list: a key, nil in lists by id alone, and the id.
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

// position is the spot as windows have it.
func (a spot) position() []any {
	if a.key == nil {
		return []any{a.id}
	}
	return []any{a.key, a.id}
}

// ways are how a list treats a window.
type ways struct {
	// newest lists begin with the greatest.
	newest bool
	// directions and skips mean that the list uses Descending and Offset.
	directions, skips bool
}

// listing is a list with a filter: the spots of all rows, the spots of selected rows, and the
// list as it is read and counted.
type listing struct {
	ways
	all, selected []spot
	read          func(store.Window) ([]int64, error)
	// count is nil for lists that are not counted.
	count func() (int64, error)
}

// window is the reference: sort all, skip to the place, cut.
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

// drawFrom is the place of a row, whether the filter selects it or not, or one where
// no row is: between two of the same key, or beyond all.
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

// elsewhere moves a place to a key that may be no row's.
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

// maybe draws a value one time in a few, and leaves the filter as it is otherwise.
func maybe[T any](t *rapid.T, name string, into *T, values ...T) {
	if rapid.IntRange(0, 4).Draw(t, "filter by "+name) == 0 {
		*into = rapid.SampledFrom(values).Draw(t, name)
	}
}

// compareLists asks arbitrary questions of lists, each under its name.
func compareLists(t *testing.T, lists map[string]func(*rapid.T) listing) {
	for name, draw := range lists {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { draw(rt).check(rt) })
		})
	}
}
