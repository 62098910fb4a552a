package database

import (
	"context"
	"fmt"
	"slices"

	"passerelle/internal/tracing"
)

// Row is the current row of a result.
type Row interface {
	Scan(dest ...any) error
}

// One returns the first row of a query. It fails with ErrNotFound when the query finds no row.
func One[T any](ctx context.Context, r *Querier, scan func(Row) (T, error), sql string, args ...any) (T, error) {
	return first(scan, func(row func(Row) (bool, error)) error { return r.Each(ctx, sql, args, row) })
}

// ByKey does the same as One, for a query that finds a row by its key, which takes microseconds. On
// SQLite it costs less, and the query does not end when the context ends.
func ByKey[T any](ctx context.Context, r *Querier, scan func(Row) (T, error), sql string, args ...any) (T, error) {
	return first(scan, func(row func(Row) (bool, error)) error { return r.EachByKey(ctx, sql, args, row) })
}

func first[T any](scan func(Row) (T, error), each func(func(Row) (bool, error)) error) (T, error) {
	var found []T
	err := each(func(row Row) (bool, error) {
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

// roomy is the largest number of rows at which Collect quadruples the capacity of a full list.
// Longer lists grow as append decides. Each growth copies the rows, and rows may be large.
const roomy = 64

// Collect returns all rows of a query, or nil when the query finds no row.
func Collect[T any](ctx context.Context, r *Querier, scan func(Row) (T, error), sql string, args ...any) ([]T, error) {
	var found []T
	err := r.Each(ctx, sql, args, func(row Row) (bool, error) {
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

// ScanInt reads a number, the only column of a row.
func ScanInt(row Row) (int64, error) {
	var n int64
	err := row.Scan(&n)
	return n, err
}

// ScanString reads a text, the only column of a row.
func ScanString(row Row) (string, error) {
	var s string
	err := row.Scan(&s)
	return s, err
}

// Each calls row for each row of a query, until row returns false or an error.
func (r *Querier) Each(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return r.observed(ctx, r.engine.read, sql, args, row)
}

// EachByKey does the same as Each, for a query that finds a few rows by a key, see [ByKey].
func (r *Querier) EachByKey(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return r.observed(ctx, r.engine.readByKey, sql, args, row)
}

// reading is the signature of an engine's methods for reading.
type reading func(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error

func (r *Querier) observed(ctx context.Context, read reading, sql string, args []any, row func(Row) (bool, error)) error {
	r.engine.words().seen(sql)
	if err := r.observe(ctx, sql, args); err != nil {
		return err
	}
	return r.by(ctx, read, sql, args, row)
}

// EachWhole does the same as Each, for a query that reads whole tables.
func (r *Querier) EachWhole(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return r.by(ctx, r.engine.readWhole, sql, args, row)
}

func (r *Querier) by(ctx context.Context, read reading, sql string, args []any, row func(Row) (bool, error)) error {
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	ctx, span := tracing.Start(ctx, "read", tracing.Client)
	span.Text("db.query.summary", opening(sql))
	values, err := arguments(args)
	if err == nil {
		err = read(ctx, sql, values, row)
	}
	span.End(err)
	if err != nil {
		return fmt.Errorf("read %q: %w", opening(sql), classify(resume(err)))
	}
	return nil
}
