package database

import "math"

// Window is a part of a list: Limit rows in Order after the position From or, if Backward is
// set, before it. The rows nearest to From come first. A position consists of the value of the
// order's key, nil for none, and the id. Descending reverses the order of keys and ids, but
// keeps rows without a key at the end.
type Window struct {
	Order      string
	Descending bool
	Limit      int
	Offset     int64
	From       []any
	Backward   bool
}

// End is the number of rows from the beginning of the list to the end of the window.
func (w Window) End() int64 {
	if w.Offset > math.MaxInt64-int64(w.Limit) {
		return math.MaxInt64
	}
	return int64(w.Limit) + w.Offset
}

// IDOrder contains the parts of a query for a list that is ordered by id alone. The condition is
// "id Sign From", such as "id > 7". Order is the direction of the list.
type IDOrder struct {
	Sign, Order string
	From        int64
}

// ByID returns the IDOrder for a window of a list that is ordered by id alone. Positions of the
// window are ids.
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
