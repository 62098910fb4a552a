package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"passerelle/internal/database"
)

// Records of what happened are read from the newest on, by their instant and
// their id, each from one stretch of an index in that order.

// during bounds an instant: from is inclusive, until exclusive, zero is no
// bound.
func (s selection) during(column string, from, until time.Time) selection {
	if !from.IsZero() {
		s = s.and(column+" >= $%d", micros(from))
	}
	if !until.IsZero() {
		s = s.and(column+" < $%d", micros(until))
	}
	return s
}

// either narrows the selection to rows of which a clause is true, or a column
// has one of the values.
func (s selection) either(clause string, value any, column string, values []string) selection {
	args := []any{value}
	for _, one := range values {
		args = append(args, one)
		clause += " OR " + column + " = $%d"
	}
	return s.and("("+clause+")", args...)
}

// containing is a pattern of LIKE for texts in small letters that contain one.
func containing(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
}

// newest writes the query for a window of rows in the order of an instant and an
// id, the last first. Order and Descending of the window mean nothing.
func (s selection) newest(columns, instant, id string, w Window) (string, []any) {
	direction, sign := "DESC", "<"
	if w.Backward {
		direction, sign = "ASC", ">"
	}
	if w.From != nil {
		s = s.and("("+instant+", "+id+") "+sign+" ($%d, $%d)", w.From...)
	}
	return fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s %s, %s %s LIMIT %s OFFSET %s`,
		columns, s.from, s.conditions(), instant, direction, id, direction, s.bind(w.Limit), s.bind(w.Offset)), s.args
}

// countOf is the number of rows of a selection.
func (r *Reader) countOf(ctx context.Context, s selection) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM `+s.from+` WHERE `+s.conditions(), s.args...)
}
