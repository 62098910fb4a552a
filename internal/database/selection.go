package database

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Selection is a filter in SQL: a source of rows, conditions and their arguments. The methods that
// add conditions return a narrower selection and do not change the receiver.
type Selection struct {
	From  string
	Where []string
	Args  []any
}

// And narrows the selection. Each %d in the clause stands for the number of a value's parameter.
func (s Selection) And(clause string, values ...any) Selection {
	numbers := make([]any, len(values))
	for i := range values {
		numbers[i] = len(s.Args) + 1 + i
	}
	s.Where = append(slices.Clip(s.Where), fmt.Sprintf(clause, numbers...))
	s.Args = append(slices.Clip(s.Args), values...)
	return s
}

// Conditions joins all conditions with AND.
func (s Selection) Conditions() string { return strings.Join(s.Where, " AND ") }

// Bind adds an argument to the receiver and returns its placeholder.
func (s *Selection) Bind(value any) string {
	s.Args = append(slices.Clip(s.Args), value)
	return fmt.Sprintf("$%d", len(s.Args))
}

// Opaque returns a condition that planners cannot analyse. They use no index for it, and do not
// assume that it selects only a few rows.
func Opaque(clause string) string { return "CASE WHEN " + clause + " THEN TRUE ELSE FALSE END" }

// Among narrows a selection to rows with one of the ids in a column.
func Among[T ~int64](s Selection, column string, ids []T) Selection {
	if len(ids) == 0 {
		return s.And("1 = 0")
	}
	var values []any
	for _, id := range Padded(ids) {
		values = append(values, int64(id))
	}
	return s.And(column+" IN ("+strings.TrimSuffix(strings.Repeat("$%d, ", len(values)), ", ")+")", values...)
}

// During narrows the selection to instants in a range. from is inclusive, and until is exclusive. A
// zero instant means no limit.
func (s Selection) During(column string, from, until time.Time) Selection {
	if !from.IsZero() {
		s = s.And(column+" >= $%d", Micros(from))
	}
	if !until.IsZero() {
		s = s.And(column+" < $%d", Micros(until))
	}
	return s
}

// Either narrows the selection to rows that match the clause or have one of the values in the
// column.
func (s Selection) Either(clause string, value any, column string, values []string) Selection {
	args := []any{value}
	for _, one := range values {
		args = append(args, one)
		clause += " OR " + column + " = $%d"
	}
	return s.And("("+clause+")", args...)
}

// Newest returns the query for a window of records, and its arguments. The records are sorted by an
// instant and an id, newest first. The query reads one range of an index in that order. Newest
// ignores Order and Descending of the window.
func (s Selection) Newest(columns, instant, id string, w Window) (string, []any) {
	direction, sign := "DESC", "<"
	if w.Backward {
		direction, sign = "ASC", ">"
	}
	if w.From != nil {
		s = s.And("("+instant+", "+id+") "+sign+" ($%d, $%d)", w.From...)
	}
	return fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s %s, %s %s LIMIT %s OFFSET %s`,
		columns, s.From, s.Conditions(), instant, direction, id, direction, s.Bind(w.Limit), s.Bind(w.Offset)), s.Args
}

// ByID returns the query for a window of rows that are sorted by id alone, and its arguments.
func (s Selection) ByID(columns, id string, w Window) (string, []any) {
	p := w.ByID()
	s = s.And(id+" "+p.Sign+" $%d", p.From)
	return fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s %s LIMIT %s OFFSET %s`,
		columns, s.From, s.Conditions(), id, p.Order, s.Bind(w.Limit), s.Bind(w.Offset)), s.Args
}

// Count returns the number of rows of the selection.
func (s Selection) Count(ctx context.Context, rows *Querier) (int64, error) {
	return One(ctx, rows, ScanInt, `SELECT count(*) FROM `+s.From+` WHERE `+s.Conditions(), s.Args...)
}
