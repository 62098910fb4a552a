package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// attempts limits how often a unit is executed. A unit is executed again when the server
	// requests it, or when the connection is lost.
	attempts = 6
	// firstPause is the pause before the second attempt. Each later pause is twice as long. All
	// pauses vary at random by up to a half.
	firstPause = 5 * time.Millisecond
	// settleLimit limits the time for COMMIT or ROLLBACK. The queries for the outcome have this
	// limit too, counted from their start.
	settleLimit = 15 * time.Second
)

// errAgain wraps an error after which nothing was written. The unit may run again.
var errAgain = errors.New("try again")

// errScan wraps an error of a function that reads rows. The server does not know of this error, and
// may have executed the rest of the unit.
var errScan = errors.New("read a row")

func (p *postgresEngine) write(ctx context.Context, tx *Unit) error {
	if p.sharers != nil && len(tx.statements) <= sharedStatements && tx.OnlyAdds() {
		if err := p.sharers.submit(ctx, tx); !errors.Is(err, errApart) {
			return err
		}
		if err := guard(tx.reset); err != nil {
			return err
		}
	}
	return p.alone(ctx, tx)
}

func (p *postgresEngine) alone(ctx context.Context, tx *Unit) error {
	for attempt := 1; ; attempt++ {
		err := p.attempt(ctx, tx.run())
		if !errors.Is(err, errAgain) || attempt == attempts {
			return err
		}
		if pause(ctx, attempt) != nil {
			return err
		}
		if err := guard(tx.reset); err != nil {
			return err
		}
	}
}

// pause waits before the next attempt, unless the context ends.
func pause(ctx context.Context, attempt int) error {
	length := firstPause << (attempt - 1)
	timer := time.NewTimer(length/2 + rand.N(length))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt executes statements once, in a transaction.
func (p *postgresEngine) attempt(ctx context.Context, statements []statement) error {
	m := p.slots.acquire()
	received, doubtful, err := p.try(ctx, m, statements)
	again := repeatable(err) || m.lost && ctx.Err() == nil
	switch {
	case doubtful:
		cause := err
		err = p.settle(ctx, m, cause, again)
		if err == nil && slices.ContainsFunc(statements[received:], statement.returns) {
			err = fmt.Errorf("%w: %w", ErrUnread, cause)
		}
	case again:
		err = fmt.Errorf("%w: %w", errAgain, err)
	}
	p.slots.release(m, m.lost || doubtful && err != nil)
	return err
}

// try executes the statements once. It returns the number of statements whose results were
// received. The second result is true when the outcome is unknown, because a separate COMMIT failed
// or because, in a round trip that includes COMMIT, the connection was lost or a function could not
// read a row. The pool closes a connection that is released inside a transaction, and the server
// then rolls the transaction back.
func (p *postgresEngine) try(ctx context.Context, m *mark, statements []statement) (int, bool, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		m.lost = conn.Conn().IsClosed()
		conn.Release()
	}()
	m.recordConnection(conn.Conn())
	judged := slices.ContainsFunc(statements, func(s statement) bool { return s.judges })
	received, err := p.pipeline(ctx, conn, m, statements, !judged)
	if err == nil && judged {
		err = ctx.Err()
	}
	switch {
	case err != nil && (conn.Conn().IsClosed() || !judged && errors.Is(err, errScan)):
		return received, !judged, err
	case err != nil:
		p.rollback(ctx, conn)
		return received, false, err
	case judged:
		err = p.commit(ctx, conn)
	}
	return received, err != nil, err
}

const (
	// leaveMark writes the mark of the transaction into its slot. It fails if
	// [postgresEngine.outcome] has invalidated the slot. The transaction can then no longer be
	// committed.
	leaveMark = `INSERT INTO unit_mark (slot, unit, at) VALUES ($1, $2, {now}) ON CONFLICT (slot) DO UPDATE SET unit = excluded.unit, at = excluded.at
		WHERE unit_mark.unit >= 0`
	// sweepMarks removes the slots that no process has used for a day.
	sweepMarks = `DELETE FROM unit_mark WHERE slot IN (SELECT slot FROM unit_mark WHERE at < {now} - CAST(86400000000 AS BIGINT) FOR UPDATE SKIP LOCKED)`
)

// errAbandoned reports that the caller had given up a unit before the unit began.
var errAbandoned = errors.New("the transaction was given up before it began")

// pipeline sends BEGIN, the mark, the statements and COMMIT in one round trip, and reads the
// results. It omits COMMIT when a function must check the results first. The server executes
// nothing after a statement that failed. pipeline returns the number of statements whose results
// were received.
func (p *postgresEngine) pipeline(ctx context.Context, conn *pgxpool.Conn, m *mark, statements []statement, whole bool) (received int, err error) {
	all := append([]statement{{sql: leaveMark, args: []any{m.slot, m.unit}, mismatch: errAbandoned}}, statements...)
	if m.first {
		all = append(all, statement{sql: sweepMarks})
	}
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for i := range all {
		batch.Queue(p.text(&all[i]), all[i].args...)
	}
	if whole {
		batch.Queue("COMMIT")
	}
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if closing := results.Close(); err == nil && !whole {
			err = closing
		}
	}()
	// The first result also reports statements that cannot be prepared.
	if _, err := results.Exec(); err != nil {
		return 0, fmt.Errorf("begin the unit: %w", err)
	}
	for i := range all {
		s := &all[i]
		if err := s.failed(s.receive(results)); err != nil {
			return max(i-1, 0), err // all[0] writes the mark and does not count
		}
	}
	if whole {
		return len(statements), committed(results.Exec())
	}
	return len(statements), nil
}

// text returns the executed text of a statement.
func (p *postgresEngine) text(s *statement) string {
	if s.mismatch == nil || s.isCertain() {
		return p.dialect.Text(s.sql)
	}
	return p.dialect.textOfOneRow(s.sql)
}

// returns reports whether a function reads the rows of the statement.
func (s statement) returns() bool { return s.scan != nil && s.mismatch == nil }

func (s *statement) receive(results pgx.BatchResults) error {
	if !s.returns() {
		_, err := results.Exec()
		var fault *pgconn.PgError
		if s.mismatch != nil && errors.As(err, &fault) && fault.Code == notOne {
			return s.mismatch
		}
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.take(rows); err != nil {
			return fmt.Errorf("%w: %w", errScan, err)
		}
	}
	return rows.Err()
}

// repeatable reports whether the server undid the transaction because of another transaction, by a
// serialization failure or a deadlock.
func repeatable(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && (fault.Code == "40001" || fault.Code == "40P01")
}

func (p *postgresEngine) rollback(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := p.settling(ctx)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK")
}

// settling returns a context for the end of a transaction. This context lasts for settleLimit, even
// when the caller's context has ended.
func (p *postgresEngine) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), p.settleLimit)
}

func (p *postgresEngine) commit(ctx context.Context, conn *pgxpool.Conn) error {
	within, cancel := p.settling(ctx)
	defer cancel()
	return committed(conn.Exec(within, "COMMIT"))
}

// committed returns an error unless the server has responded to COMMIT with COMMIT.
func committed(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("the server answered %s", tag)
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// settle is called after COMMIT failed or got no response. It finds out whether the transaction was
// committed. If the transaction was rolled back and the argument again is true, settle fails with
// errAgain, so that the unit runs again.
//
// The driver marks some errors as safe to retry. Such an error does not prove that nothing was
// committed: the driver also marks the error of a connection that was lost after COMMIT was sent.
func (p *postgresEngine) settle(ctx context.Context, m *mark, cause error, again bool) error {
	within, cancel := p.settling(ctx)
	defer cancel()
	switch committed, err := p.outcome(within, m); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(cause, err))
	case committed:
		return nil
	case again:
		return fmt.Errorf("%w: %w", errAgain, cause)
	}
	return cause
}

const (
	// endBackend ends the server process of a lost connection, if that process still serves the
	// connection. Otherwise the process might wait for hours, for a lock or for its client.
	endBackend = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = $1 AND backend_start <= clock_timestamp() - CAST($2 AS BIGINT) * INTERVAL '1 microsecond'`
	// selectMark writes to the slot. It therefore waits until the transaction has ended. A
	// transaction that arrives later finds an invalid slot and fails.
	selectMark = `INSERT INTO unit_mark (slot, unit, at) VALUES ($1, -1, {now}) ON CONFLICT (slot) DO UPDATE
		SET unit = CASE WHEN unit_mark.unit = $2 THEN unit_mark.unit ELSE -1 END, at = excluded.at RETURNING unit`
)

// outcome reports whether the transaction was committed. It fails when the server does not respond
// before the context ends. If outcome reports false, the transaction is never committed later.
func (p *postgresEngine) outcome(ctx context.Context, m *mark) (bool, error) {
	var err error
	for attempt := 1; ; attempt = min(attempt+1, attempts) {
		if m.lost && !p.pooled { // with a pooler, the process number is not that of the server process
			_, _ = p.pool.Exec(ctx, endBackend, m.process, time.Since(m.since).Microseconds()) // the role may lack the permission for this
		}
		var last int64
		if err = p.pool.QueryRow(ctx, p.dialect.Text(selectMark), m.slot, m.unit).Scan(&last); err == nil {
			return last == m.unit, nil
		}
		if pause(ctx, attempt) != nil {
			return false, fmt.Errorf("ask for the transaction's outcome: %w", err)
		}
	}
}
