package database

import "math"

// Window is the part of a list to be read: Limit rows in Order, from after the
// position From (the value of the order's key, nil where there is none, and the
// id) on, or before it when Backward, the nearest first. Descending turns the
// order of keys and ids, but leaves rows without a key at the end.
type Window struct {
	Order      string
	Descending bool
	Limit      int
	Offset     int64
	From       []any
	Backward   bool
}

// End is after how many rows a window ends.
func (w Window) End() int64 {
	if w.Offset > math.MaxInt64-int64(w.Limit) {
		return math.MaxInt64
	}
	return int64(w.Limit) + w.Offset
}

// IDOrder is the way through a list that is ordered by id alone: rows whose id is on
// the side Sign of From, in Order.
type IDOrder struct {
	Sign, Order string
	From        int64
}

// ByID reads a window of such a list; its position is the id.
func (w Window) ByID() IDOrder {
	p := IDOrder{Sign: ">", Order: "ASC"}
	if w.Descending != w.Backward {
		p = IDOrder{Sign: "<", Order: "DESC", From: 1<<63 - 1}
	}
	if len(w.From) > 0 {
		p.From, _ = w.From[0].(int64)
	}
	return p
}
