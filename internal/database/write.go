package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"passerelle/internal/failpoint"
	"passerelle/internal/tracing"
)

// Unit collects the statements of a unit of work. [Handle.Write] creates and executes each Unit.
type Unit struct {
	// ctx is the context of the caller. Collecting statements needs it, because reserving ids is a
	// write.
	ctx        context.Context
	handle     *Handle
	statements []statement
	totals     map[total]int64 // by how much each total changes
	after      []func()
	retries    []func()
	err        error // the error of the first argument that no column can store
	handedOver bool
	// renew returns a new argument for the statement that [Unit.Require] added. It is nil
	// without such a statement.
	renew func(ctx context.Context) ([]byte, error)
	// watched is the sequence of [Unit.Watch]. first is its first id in the unit.
	watched string
	first   int64
}

// Statement is a statement with its arguments, as [Handle.Observe] reports it.
type Statement struct {
	SQL  string
	Args []any
}

// statement is one statement of a unit. It returns rows if scan is set. It must change or find
// exactly one row if mismatch is set.
type statement struct {
	sql      string
	args     []any
	mismatch error
	scan     func(Row) error
	// judges means that an error from scan undoes the unit. COMMIT is therefore sent only after
	// scan has read the rows.
	judges bool
	// requires means that the statement only checks the condition of [Unit.Require]. When units
	// share a transaction on PostgreSQL, one unit executes this statement for all units with the
	// same value.
	requires bool
}

// Write executes the statements that fn collects as one unit: all of them or none. fn runs in the
// caller's goroutine, outside of any transaction. If fn fails, Write returns its error unchanged
// and executes nothing. A call of Write inside fn is a separate unit, which stays written even if
// the outer unit fails. On SQLite, Write withdraws a unit when the context ends while the unit
// waits. Once the writer has taken the unit, Write waits for the outcome. On PostgreSQL, a unit
// with its own transaction is undone when the context ends before COMMIT was sent. A unit in a
// shared transaction continues: Write returns after this transaction has ended, a few seconds later
// at most. A panic in fn, or in a function of [Unit.Query], undoes the unit. On PostgreSQL, a panic
// in a function of [Unit.Returning] may happen after the unit was written. Each panic continues in
// the caller.
func (p *Handle) Write(ctx context.Context, fn func(u *Unit) error) error {
	u := &Unit{ctx: ctx, handle: p}
	if err := fn(u); err != nil {
		return err
	}
	u.handedOver = true
	if err := p.execute(ctx, u); err != nil {
		return err
	}
	for _, hook := range u.after {
		hook()
	}
	return nil
}

func (p *Handle) execute(ctx context.Context, u *Unit) error {
	if u.err != nil || len(u.statements)+len(u.totals) == 0 {
		return u.err
	}
	if p.closed.Load() {
		return ErrClosed
	}
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	ctx, span := tracing.Start(ctx, "write", tracing.Client)
	span.Number("db.statements", int64(len(u.statements)+len(u.totals)))
	err := p.writeUnit(ctx, u)
	span.End(err)
	return err
}

// writeUnit executes a unit. When the value that the unit requires has changed, writeUnit renews
// the value and executes the unit again. The constant attempts limits the number of repetitions.
func (p *Handle) writeUnit(ctx context.Context, u *Unit) error {
	if err := u.observe(ctx); err != nil {
		return err
	}
	failpoint.Before("commit")
	err := p.engine.write(ctx, u)
	for n := 0; n < attempts && errors.Is(err, errOutdated); n++ {
		if err = u.renewed(ctx); err == nil {
			err = p.engine.write(ctx, u)
		}
	}
	if err != nil {
		return classify(resume(err))
	}
	failpoint.After("commit")
	return nil
}

// AfterCommit registers a function that Write calls in the caller's goroutine once the unit is
// durable. Write does not call the function when the unit fails. Write calls several functions in
// the order of their registration.
func (u *Unit) AfterCommit(fn func()) { u.after = append(u.after, fn) }

// Exec adds a statement that may change any number of rows.
func (u *Unit) Exec(sql string, args ...any) { u.add(statement{sql: sql}, args) }

// ExecOne adds an INSERT, UPDATE or DELETE that must change exactly one row. Otherwise the unit is
// undone, and Write returns an error that wraps mismatch.
func (u *Unit) ExecOne(mismatch error, sql string, args ...any) {
	u.add(statement{sql: sql, mismatch: mismatch}, args)
}

// Query adds a statement that returns rows, and calls scan for each row. An error from scan
// undoes the unit, so PostgreSQL needs another round trip for COMMIT. The values that scan has
// stored are valid only after Write has returned nil.
func (u *Unit) Query(scan func(row Row) error, sql string, args ...any) {
	u.add(statement{sql: sql, scan: scan, judges: true}, args)
}

// Returning does the same as Query, for a scan function that only sets variables. The function must
// not check anything, because the unit may already be written when the function fails. Write
// returns [ErrUnread] when the unit was written but its rows were lost with the connection, or
// could not be read. Use Returning only if the caller may repeat the unit, or if the loss of its
// rows does no harm.
func (u *Unit) Returning(scan func(row Row) error, sql string, args ...any) {
	u.add(statement{sql: sql, scan: scan}, args)
}

// ReturningIDs does the same as Returning, for rows that contain only an id. It collects the ids
// again when the unit runs again.
func (u *Unit) ReturningIDs(into *[]int64, sql string, args ...any) {
	u.OnRetry(func() { *into = nil })
	u.Returning(func(row Row) error {
		id, err := ScanInt(row)
		if err == nil {
			*into = append(*into, id)
		}
		return err
	}, sql, args...)
}

// OnRetry registers a function that Write calls before the unit runs again. The function must drop
// the values that scan functions have collected.
func (u *Unit) OnRetry(fn func()) { u.retries = append(u.retries, fn) }

func (u *Unit) add(s statement, args []any) {
	if u.handedOver {
		panic("database: a statement for a unit that is already being executed")
	}
	u.handle.engine.words().seen(s.sql)
	values, err := arguments(args)
	if err != nil && u.err == nil {
		u.err = fmt.Errorf("prepare %q: %w", opening(s.sql), err)
	}
	s.args = values
	u.statements = append(u.statements, s)
}

// Require makes the unit depend on a value, which is the argument of the query. The unit is written
// only if the query finds exactly one row. Otherwise Write calls renew for the present value, and
// runs the unit again a few times at most. If renew fails, Write fails with the error of renew. A
// unit may call Require at most once.
func (u *Unit) Require(sql string, value []byte, renew func(ctx context.Context) ([]byte, error)) {
	u.renew = renew
	u.add(statement{sql: sql, scan: func(Row) error { return nil }, mismatch: errOutdated, requires: true}, []any{value})
}

// errOutdated reports that the value of [Unit.Require] has changed.
var errOutdated = errors.New("a value that the unit requires has changed")

// renewed renews the value of [Unit.Require], and prepares the unit for another run.
func (u *Unit) renewed(ctx context.Context) error {
	value, err := u.renew(ctx)
	if err != nil {
		return err
	}
	for i := range u.statements {
		if u.statements[i].requires {
			u.statements[i].args = []any{value}
		}
	}
	return u.reset()
}

// observe reports the statements of the unit.
func (u *Unit) observe(ctx context.Context) error {
	if u.handle.observer == nil {
		return nil
	}
	all := u.run()
	statements := make([]Statement, len(all))
	for i, s := range all {
		statements[i] = Statement{s.sql, s.args}
	}
	return u.handle.observer(ctx, statements)
}

func (u *Unit) reset() error {
	for _, fn := range u.retries {
		fn()
	}
	return nil
}

// take passes the current row to the function that reads it.
func (s *statement) take(row Row) error {
	return guard(func() error { return s.scan(row) })
}

// isCertain reports whether a statement always adds the rows in its VALUES when it succeeds.
func (s *statement) isCertain() bool {
	return strings.HasPrefix(s.sql, "INSERT INTO ") && strings.Contains(s.sql, "VALUES (") && !strings.Contains(s.sql, "ON CONFLICT")
}

// check compares the number of changed rows with the expected number.
func (s *statement) check(touched int64) error {
	if s.mismatch == nil || touched == 1 {
		return nil
	}
	return fmt.Errorf("%w (%d rows)", s.mismatch, touched)
}

// run returns the statements of a unit that has its own transaction.
func (u *Unit) run() []statement { return append(slices.Clip(u.statements), tallies(u)...) }

// OnlyAdds reports whether the unit only adds rows and changes totals. Such units wait for each
// other only when they change the same totals or add the same unique key. OnlyAdds returns false
// for a unit that must add a row under a condition, with ExecOne. A unit with such a condition
// enforces a limit, and would often undo a shared transaction. A condition with {for share} does
// not count, because the row that it locks is hardly ever missing.
func (u *Unit) OnlyAdds() bool {
	return !slices.ContainsFunc(u.statements, func(s statement) bool { return !s.requires && (s.scan != nil || !s.adds()) })
}

func (s *statement) adds() bool {
	certain := s.mismatch == nil || s.isCertain() || strings.Contains(s.sql, "{for share}")
	return certain && strings.HasPrefix(s.sql, "INSERT INTO ") && !strings.Contains(s.sql, "DO UPDATE")
}

// controls reports whether the unit has a statement that neither reads nor changes rows. Such a
// statement, for example COMMIT, may end the transaction.
func (u *Unit) controls() bool {
	return slices.ContainsFunc(u.statements, func(s statement) bool {
		verb, _, _ := strings.Cut(strings.TrimLeft(s.sql, "\n\t "), " ")
		return !slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "SELECT", "WITH"}, verb)
	})
}

// failed adds the statement to an error, and returns nil for nil.
func (s *statement) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("execute %q: %w", opening(s.sql), err)
}

// arguments converts values to the few types that both databases store equally. It runs in the
// caller's goroutine. A driver.Valuer that panics therefore harms only its caller.
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
