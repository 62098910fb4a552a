package store

import (
	"fmt"
	"strings"
)

// A page is read from one range of an index where this is possible. Otherwise it is merged from the
// beginnings of several ranges. The ranges separate rows with a sort key from rows without one.
// They also separate rows that have the last key of the previous page from later rows. In a list of
// several connectors, each connector may have its own ranges. For a single query over all these
// ranges, the database would read and sort all rows.

// stretch is a range of the list that an index can return in order. The order is by key and id, or
// by id alone when all keys are equal.
type stretch struct {
	clause string
	values []any
	same   bool
}

// place is the beginning of a page in an order. It divides the rest of the list into stretches, for
// one direction of reading.
type place struct {
	paymentOrder
	id       string
	down     bool
	from     []any
	backward bool
	// equalsApart is set for a database that needs a separate range for rows with the same key.
	equalsApart bool
}

func (p place) sign() string {
	if p.down {
		return "<"
	}
	return ">"
}

// stretches returns the parts of the list to read, in order. It returns at least one stretch, which
// may be empty.
func (p place) stretches() []stretch {
	if p.column == p.id {
		return p.byID()
	}
	keyed, bare := p.keyed(), p.bare()
	switch {
	case len(keyed)+len(bare) == 0:
		return []stretch{{clause: "FALSE"}}
	case p.backward:
		return append(bare, keyed...)
	}
	return append(keyed, bare...)
}

func (p place) byID() []stretch {
	if p.from == nil {
		return []stretch{{same: true}}
	}
	return []stretch{{clause: p.id + " " + p.sign() + " $%d", values: p.from[1:], same: true}}
}

// keyed returns the stretches of rows with a key. A position without a key comes after all rows
// with a key, even when the filter selects only rows with a key.
func (p place) keyed() []stretch {
	amongBare := p.from != nil && p.from[0] == nil
	switch {
	case amongBare && !p.backward:
		return nil
	case amongBare, p.from == nil && p.optional:
		return []stretch{{clause: p.column + " IS NOT NULL"}}
	case p.from == nil:
		return []stretch{{}}
	case !p.shared || !p.equalsApart:
		return []stretch{{clause: "(" + p.column + ", " + p.id + ") " + p.sign() + " ($%d, $%d)", values: p.from}}
	}
	return []stretch{
		{clause: p.column + " = $%d AND " + p.id + " " + p.sign() + " $%d", values: p.from, same: true},
		{clause: p.column + " " + p.sign() + " $%d", values: p.from[:1]},
	}
}

// bare returns the stretches of rows without a key. Their ORDER BY still begins with the key,
// although the key is null in all of these rows. PostgreSQL does not recognise that the index
// orders these rows by id.
func (p place) bare() []stretch {
	none := stretch{clause: p.column + " IS NULL"}
	switch {
	case !p.optional, p.from != nil && p.from[0] != nil && p.backward:
		return nil
	case p.from != nil && p.from[0] == nil:
		none.clause, none.values = none.clause+" AND "+p.id+" "+p.sign()+" $%d", p.from[1:]
	}
	return []stretch{none}
}

// order returns the ORDER BY clause for a stretch.
func (p place) order(s stretch) string {
	direction := " ASC"
	if p.down {
		direction = " DESC"
	}
	if s.same {
		return p.id + direction
	}
	return p.column + direction + ", " + p.id + direction
}

// page returns the query for a window, and its arguments.
func (f PaymentFilter) page(w Window, o paymentOrder, equalsApart bool) (string, []any) {
	if o.column == labelOrder {
		f = f.towards(w)
	}
	s := f.selection()
	p := place{paymentOrder: o, id: "id", down: w.Descending != w.Backward, from: w.From, backward: w.Backward, equalsApart: equalsApart}
	switch o.column {
	case "registered":
		p.column, p.id = s.registered, s.id
	case labelOrder:
		p.column, p.id = s.label, s.id
	}
	if f.bounds(o.column) {
		p.optional = false // a filter on dates excludes payments without a date, of which there may be many
	}
	alone := len(f.Connectors) < 2 || s.From != "payment"
	if alone {
		s = f.among(s)
	}
	if stretches := p.stretches(); alone && len(stretches) == 1 {
		return p.straight(s, stretches[0], w)
	}
	return p.joined(s, f.lists(alone), w)
}

// lists returns a stretch for each connector, or one stretch without a condition if alone is true.
func (f PaymentFilter) lists(alone bool) []stretch {
	if alone {
		return []stretch{{}}
	}
	each := make([]stretch, len(f.Connectors))
	for i, uuid := range f.Connectors {
		each[i] = stretch{clause: "connector_uuid = $%d", values: []any{uuid}}
	}
	return each
}

// within narrows a selection to the rows of a stretch.
func (s selection) within(x stretch) selection {
	if x.clause == "" {
		return s
	}
	return s.and(x.clause, x.values...)
}

// straight returns the query for a page within a single stretch.
func (p place) straight(s selection, x stretch, w Window) (string, []any) {
	s = s.within(x)
	return fmt.Sprintf(`SELECT %s, %s FROM %s WHERE %s ORDER BY %s LIMIT %s OFFSET %s`,
		paymentColumns, p.column, s.From, s.Conditions(), p.order(x), s.Bind(w.Limit), s.Bind(w.Offset)), s.Args
}

// joined returns a query for a page of several stretches. The query reads the beginning of every
// stretch of every list from the indexes, and then reads the payments of the page.
func (p place) joined(s selection, lists []stretch, w Window) (string, []any) {
	enough := s.Bind(w.End())
	var beginnings []string
	for part, x := range p.stretches() {
		for _, list := range lists {
			b := s.within(x).within(list)
			beginnings = append(beginnings, fmt.Sprintf(
				`SELECT * FROM (SELECT %d AS place_part, %s AS place_key, %s AS place_id FROM %s WHERE %s ORDER BY %s LIMIT %s) AS list_%d`,
				part, p.column, p.id, b.From, b.Conditions(), p.order(x), enough, len(beginnings)))
			s.Args = b.Args
		}
	}
	outer := place{paymentOrder: paymentOrder{column: "place_key"}, id: "place_id", down: p.down}
	order := "place_part, " + outer.order(stretch{})
	return fmt.Sprintf(`SELECT %s, place_key FROM (SELECT * FROM (%s) AS beginning ORDER BY %s LIMIT %s OFFSET %s) AS place
		JOIN payment ON payment.id = place_id ORDER BY %s`,
		paymentColumns, strings.Join(beginnings, " UNION ALL "), order, s.Bind(w.Limit), s.Bind(w.Offset), order), s.Args
}
