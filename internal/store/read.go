package store

import (
	"context"
	"fmt"
	"slices"
)

// scanner is the row at hand.
type scanner interface {
	Scan(dest ...any) error
}

// one is the first row of a query, or ErrNotFound.
func one[T any](ctx context.Context, r *Reader, scan func(scanner) (T, error), sql string, args ...any) (T, error) {
	var found []T
	err := r.each(ctx, sql, args, func(row scanner) (bool, error) {
		value, err := scan(row)
		found = append(found, value)
		return false, err
	})
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}

// roomy is up to how many rows collect makes room for four times as many: rows of a
// page may be large, and are copied each time that room is made.
const roomy = 64

// collect is all rows of a query, nil when there are none.
func collect[T any](ctx context.Context, r *Reader, scan func(scanner) (T, error), sql string, args ...any) ([]T, error) {
	var found []T
	err := r.each(ctx, sql, args, func(row scanner) (bool, error) {
		value, err := scan(row)
		if n := len(found); n == cap(found) && n > 0 && n <= roomy {
			found = slices.Grow(found, 3*n)
		}
		found = append(found, value)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// scanInt reads the only column of a row.
func scanInt(row scanner) (int64, error) {
	var n int64
	err := row.Scan(&n)
	return n, err
}

// scanString is scanInt for a text.
func scanString(row scanner) (string, error) {
	var s string
	err := row.Scan(&s)
	return s, err
}

func (r *Reader) each(ctx context.Context, sql string, args []any, row func(scanner) (bool, error)) error {
	r.engine.words().seen(sql)
	return r.by(ctx, r.engine.read, sql, args, row)
}

// eachWhole is each for a query that goes through whole tables.
func (r *Reader) eachWhole(ctx context.Context, sql string, args []any, row func(scanner) (bool, error)) error {
	return r.by(ctx, r.engine.readWhole, sql, args, row)
}

func (r *Reader) by(ctx context.Context, read func(context.Context, string, []any, func(scanner) (bool, error)) error, sql string, args []any, row func(scanner) (bool, error)) error {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	values, err := arguments(args)
	if err == nil {
		err = read(ctx, sql, values, row)
	}
	if err != nil {
		return fmt.Errorf("read %q: %w", opening(sql), classify(resume(err)))
	}
	return nil
}
