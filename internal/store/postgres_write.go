package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// attempts is how often a unit is executed when the server asks for it
	// again or the connection is lost.
	attempts = 6
	// firstPause precedes the second attempt, give or take half; each further
	// one is twice as long.
	firstPause = 5 * time.Millisecond
	// settleLimit is how long COMMIT may take, and how long the server is asked
	// afterwards what became of it.
	settleLimit = 15 * time.Second
)

// errAgain wraps an error after which nothing was written and the unit may be
// executed anew.
var errAgain = errors.New("try again")

func (p *postgresEngine) write(ctx context.Context, tx *Tx) error {
	if p.sharers != nil && len(tx.statements) <= sharedStatements && tx.adds() {
		if err := p.sharers.submit(ctx, tx); !errors.Is(err, errApart) {
			return err
		}
		if err := guard(tx.reset); err != nil {
			return err
		}
	}
	return p.alone(ctx, tx)
}

func (p *postgresEngine) alone(ctx context.Context, tx *Tx) error {
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

// pause waits a little before the attempt after this one, unless the context
// ends.
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

// attempt executes statements in a transaction once. A connection released within a transaction is
// closed by the pool, which rolls back.
func (p *postgresEngine) attempt(ctx context.Context, statements []statement) (err error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	m := p.slots.take()
	defer func() { p.slots.give(m, conn.Conn().IsClosed() || errors.Is(err, ErrUnknown)) }()
	err = p.pipeline(ctx, conn, m, statements)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return p.commit(ctx, conn, m)
	}
	lost := conn.Conn().IsClosed() && ctx.Err() == nil
	if !lost {
		p.rollback(ctx, conn)
	}
	if lost || repeatable(err) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

const (
	leaveMark = `INSERT INTO unit_mark (slot, unit, at) VALUES ($1, $2, {now}) ON CONFLICT (slot) DO UPDATE SET unit = excluded.unit, at = excluded.at
		RETURNING CAST(pg_current_xact_id() AS TEXT)`
	// sweepMarks removes the slots of processes that are gone.
	sweepMarks = `DELETE FROM unit_mark WHERE slot IN (SELECT slot FROM unit_mark WHERE at < {now} - CAST(86400000000 AS BIGINT) FOR UPDATE SKIP LOCKED)`
)

// pipeline sends BEGIN, the mark and the statements in one round trip, and reads the
// results.
func (p *postgresEngine) pipeline(ctx context.Context, conn *pgxpool.Conn, m *mark, statements []statement) (err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	m.process = conn.Conn().PgConn().PID()
	batch.Queue(p.dialect.text(leaveMark), m.slot, m.unit)
	if m.first {
		statements = append(statements[:len(statements):len(statements)], statement{sql: sweepMarks})
	}
	for i := range statements {
		batch.Queue(p.dialect.text(statements[i].sql), statements[i].args...)
	}
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if closing := results.Close(); err == nil {
			err = closing
		}
	}()
	// The first result also reports statements that cannot be prepared.
	if _, err := results.Exec(); err != nil {
		return fmt.Errorf("begin the unit: %w", err)
	}
	if err := results.QueryRow().Scan(&m.number); err != nil {
		return fmt.Errorf("mark the transaction: %w", err)
	}
	for i := range statements {
		s := &statements[i]
		if err := s.failed(s.receive(results)); err != nil {
			return err
		}
	}
	return nil
}

func (s *statement) receive(results pgx.BatchResults) error {
	if s.scan == nil {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		return s.check(tag.RowsAffected())
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// repeatable reports that the server undid the transaction because of another
// one: serialization failure and deadlock.
func repeatable(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && (fault.Code == "40001" || fault.Code == "40P01")
}

func (p *postgresEngine) rollback(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := p.settling(ctx)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK")
}

// settling is a context in which a transaction is brought to its end although
// the caller may have left.
func (p *postgresEngine) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), p.settleLimit)
}

func (p *postgresEngine) commit(ctx context.Context, conn *pgxpool.Conn, m *mark) error {
	within, cancel := p.settling(ctx)
	defer cancel()
	tag, err := conn.Exec(within, "COMMIT")
	if err == nil && tag.String() == "COMMIT" {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the server answered %s", tag)
	}
	return p.settle(ctx, m, fmt.Errorf("commit: %w", err), conn.Conn().IsClosed() || repeatable(err))
}

// settle finds out what became of a transaction whose COMMIT was answered by
// cause, or not at all. An undone one may be executed again if again says so.
//
// Not even an error of the driver that calls itself safe to retry tells: it says so
// of a connection that ended after COMMIT was sent.
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
	// endBackend ends the server process that still holds the transaction: if its
	// client is gone it might wait for the COMMIT for hours.
	endBackend = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = $1 AND backend_xid = CAST(CAST(CAST($2 AS TEXT) AS xid8) AS xid)`
	// askMark writes the mark as it is, and so waits for the transaction to end.
	askMark = `INSERT INTO unit_mark (slot, unit, at) VALUES ($1, 0, {now}) ON CONFLICT (slot) DO UPDATE SET at = excluded.at RETURNING unit`
)

// outcome reports whether the transaction was committed, or that the server could
// not tell before the context ended.
func (p *postgresEngine) outcome(ctx context.Context, m *mark) (committed bool, err error) {
	for attempt := 1; ; attempt = min(attempt+1, attempts) {
		_, _ = p.pool.Exec(ctx, endBackend, m.process, m.number) // may not be permitted
		var last int64
		if err = p.pool.QueryRow(ctx, p.dialect.text(askMark), m.slot).Scan(&last); err == nil {
			return last == m.unit, nil
		}
		if pause(ctx, attempt) != nil {
			return false, fmt.Errorf("ask what became of it: %w", err)
		}
	}
}
