package database

import "math"

// Window is a part of a list that is sorted by Order. It contains the first rows after the position
// From, at most Limit. If Backward is set, the rows before From are selected. The rows nearest to
// From come first. A position consists of the value of the order's key and the id. The value is nil
// for a row without a key. Descending reverses the order of keys and ids, but keeps rows without a
// key at the end.
type Window struct {
	Order      string
	Descending bool
	Limit      int
	Offset     int64
	From       []any
	Backward   bool
}

// End returns the number of rows from the beginning of the list to the end of the window.
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

// ByID returns the IDOrder for a window of a list that is ordered by id alone. The positions of
// such a window are ids.
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
