package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"passerelle/internal/failpoint"
	"passerelle/internal/keys"
)

// Tx collects the statements of a unit; see [DB.Write].
type Tx struct {
	// ctx is the caller's: reserving ids writes while statements are collected.
	ctx        context.Context
	db         *DB
	keys       *keys.Ring
	statements []statement
	totals     map[total]int64 // by how much it changes them
	after      []func()
	retries    []func()
	err        error // the first argument that no column can hold
	handedOver bool
	seals      bool
}

// statement is one statement of a unit. With scan it returns rows; with
// mismatch it must touch, or find, exactly one.
type statement struct {
	sql      string
	args     []any
	mismatch error
	scan     func(scanner) error
	// judges tells that an error of scan is to undo the unit, which is not to be
	// committed before.
	judges bool
	// proves means that the unit only checks which keys are in use. Of units that share a
	// transaction, one checks for all.
	proves bool
}

// Write executes the statements that fn collects as one unit: all or none. fn runs in the
// caller's goroutine, outside any transaction, and Write returns its error unchanged. A
// Write inside fn is another unit, which stays written whatever happens to this one. On
// SQLite, a context that ends while the unit waits withdraws it; once the writer has taken
// the unit, Write waits for the outcome. On PostgreSQL, a context that ends before COMMIT
// was sent undoes the unit; in a shared transaction, Write learns that when the transaction
// is over, after a few seconds at most. A panic in fn, or in a function that reads rows,
// undoes the unit and continues in the caller.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	tx := &Tx{ctx: ctx, db: db, keys: db.keys}
	if err := fn(tx); err != nil {
		return err
	}
	tx.handedOver = true
	if err := db.execute(ctx, tx); err != nil {
		return err
	}
	for _, hook := range tx.after {
		hook()
	}
	return nil
}

func (db *DB) execute(ctx context.Context, tx *Tx) error {
	if tx.err != nil || len(tx.statements)+len(tx.totals) == 0 {
		return tx.err
	}
	if db.closed.Load() {
		return ErrClosed
	}
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	failpoint.Before("commit")
	err := db.engine.write(ctx, tx)
	for n := 0; n < attempts && errors.Is(err, errUnproven); n++ {
		if err = db.proveAgain(ctx, tx); err == nil {
			err = db.engine.write(ctx, tx)
		}
	}
	if err != nil {
		return classify(resume(err))
	}
	failpoint.After("commit")
	return nil
}

// AfterCommit has fn called in the caller's goroutine once the unit is durable,
// and never when it is not. Functions are called in the order given.
func (tx *Tx) AfterCommit(fn func()) { tx.after = append(tx.after, fn) }

// exec adds a statement that may touch any number of rows.
func (tx *Tx) exec(sql string, args ...any) { tx.add(statement{sql: sql}, args) }

// execOne adds a statement that must touch exactly one row; otherwise the unit
// is undone and Write returns an error that wraps mismatch.
func (tx *Tx) execOne(mismatch error, sql string, args ...any) {
	tx.add(statement{sql: sql, mismatch: mismatch}, args)
}

// query adds a statement that returns rows and calls scan for each; an error
// of scan undoes the unit, which on PostgreSQL is therefore committed by a round trip of
// its own. What scan has read counts only after Write has returned nil.
func (tx *Tx) query(scan func(row scanner) error, sql string, args ...any) {
	tx.add(statement{sql: sql, scan: scan, judges: true}, args)
}

// returning is query for a scan that only fills variables: it finds nothing wrong with
// any row, and when it fails the unit may have been written all the same.
func (tx *Tx) returning(scan func(row scanner) error, sql string, args ...any) {
	tx.add(statement{sql: sql, scan: scan}, args)
}

// onRetry has fn called before the unit is executed anew, to forget what scan
// functions have gathered.
func (tx *Tx) onRetry(fn func()) { tx.retries = append(tx.retries, fn) }

func (tx *Tx) add(s statement, args []any) {
	if tx.handedOver {
		panic("store: a statement for a unit that is already being executed")
	}
	tx.db.engine.words().seen(s.sql)
	values, err := arguments(args)
	if err != nil && tx.err == nil {
		tx.err = fmt.Errorf("prepare %q: %w", opening(s.sql), err)
	}
	s.args = values
	tx.statements = append(tx.statements, s)
}

func (tx *Tx) reset() error {
	for _, fn := range tx.retries {
		fn()
	}
	return nil
}

// take gives the row at hand to the function that reads it.
func (s *statement) take(row scanner) error {
	return guard(func() error { return s.scan(row) })
}

// isCertain reports that a statement touches exactly one row or fails.
func (s *statement) isCertain() bool {
	return strings.HasPrefix(s.sql, "INSERT INTO ") && strings.Contains(s.sql, "VALUES (") && !strings.Contains(s.sql, "ON CONFLICT")
}

// check compares the rows touched with those expected.
func (s *statement) check(touched int64) error {
	if s.mismatch == nil || touched == 1 {
		return nil
	}
	return fmt.Errorf("%w (%d rows)", s.mismatch, touched)
}

// run is what a unit executes when it has a transaction to itself.
func (tx *Tx) run() []statement { return append(slices.Clip(tx.statements), tallies(tx)...) }

// adds reports whether the unit only adds rows and changes totals. Such units do not wait
// for each other, except at the totals. A unit that adds a row on a condition, or is undone
// otherwise, does not count: such units enforce limits, and would often be undone.
func (tx *Tx) adds() bool {
	return !slices.ContainsFunc(tx.statements, func(s statement) bool { return !s.proves && (s.scan != nil || !s.adds()) })
}

func (s *statement) adds() bool {
	certain := s.mismatch == nil || strings.Contains(s.sql, "VALUES (")
	return certain && strings.HasPrefix(s.sql, "INSERT INTO ") && !strings.Contains(s.sql, "DO UPDATE")
}

// controls reports whether a statement of the unit may end the transaction: it is
// none of those that read or change rows.
func (tx *Tx) controls() bool {
	return slices.ContainsFunc(tx.statements, func(s statement) bool {
		verb, _, _ := strings.Cut(strings.TrimLeft(s.sql, "\n\t "), " ")
		return !slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "SELECT", "WITH"}, verb)
	})
}

// failed names the statement in an error, which may be nil.
func (s *statement) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("execute %q: %w", opening(s.sql), err)
}

// arguments converts values to the few types that both databases store alike.
// It runs in the caller's goroutine, and so does any Valuer.
func arguments(args []any) ([]any, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, fmt.Errorf("argument $%d: %w", i+1, err)
		}
		switch value.(type) {
		case nil, int64, string, bool, []byte:
			values[i] = value
		default:
			return nil, fmt.Errorf("argument $%d: no column holds a %T", i+1, arg)
		}
	}
	return values, nil
}
