package database

import "math"

// Window is the part of a list to be read: A window has Limit rows in Order, from after the
// position From on, or before it when Backward, nearest first. A position is the value of the
// order's key, nil for none, and the id. Descending turns the order of keys and ids, but leaves
// rows without a key at the end.
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

// IDOrder reads a list ordered by id alone: rows whose id is on the side Sign of From, in
// Order.
type IDOrder struct {
	Sign, Order string
	From        int64
}

// ByID reads a window of such a list, whose positions are ids.
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
