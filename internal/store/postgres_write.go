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
	if p.sharers != nil && tx.adds() {
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
func (p *postgresEngine) attempt(ctx context.Context, statements []statement) error {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	begun, err := p.pipeline(ctx, conn, statements)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return p.commit(ctx, conn, begun)
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

// transaction is one by its number. A number counts only for the run of the
// server, which its start tells: one that crashed gives those of which it had
// not yet written anything to others.
type transaction struct{ number, start string }

const askNumber = `SELECT CAST(pg_current_xact_id() AS TEXT), CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT)`

// pipeline sends BEGIN and the statements in one round trip, reads the results
// and returns the transaction.
func (p *postgresEngine) pipeline(ctx context.Context, conn *pgxpool.Conn, statements []statement) (begun transaction, err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(askNumber)
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
		return begun, fmt.Errorf("begin the unit: %w", err)
	}
	if err := results.QueryRow().Scan(&begun.number, &begun.start); err != nil {
		return begun, fmt.Errorf("number the transaction: %w", err)
	}
	for i := range statements {
		s := &statements[i]
		if err := s.failed(s.receive(results)); err != nil {
			return begun, err
		}
	}
	return begun, nil
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

func (p *postgresEngine) commit(ctx context.Context, conn *pgxpool.Conn, begun transaction) error {
	within, cancel := p.settling(ctx)
	defer cancel()
	tag, err := conn.Exec(within, "COMMIT")
	if err == nil && tag.String() == "COMMIT" {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the server answered %s", tag)
	}
	if pgconn.SafeToRetry(err) { // COMMIT was not sent: a server that lost its client undoes
		return fmt.Errorf("%w: commit: %w", errAgain, err)
	}
	return p.settle(ctx, begun, fmt.Errorf("commit: %w", err), conn.Conn().IsClosed() || repeatable(err))
}

// settle finds out what became of a transaction whose COMMIT was answered by
// cause, or not at all. An aborted one may be executed again if again says so.
func (p *postgresEngine) settle(ctx context.Context, begun transaction, cause error, again bool) error {
	within, cancel := p.settling(ctx)
	defer cancel()
	switch outcome := p.outcome(within, begun); {
	case outcome == "committed":
		return nil
	case outcome != "aborted":
		return fmt.Errorf("%w: %w", ErrUnknown, cause)
	case again:
		return fmt.Errorf("%w: %w", errAgain, cause)
	}
	return cause
}

const askStatus = `SELECT COALESCE(pg_xact_status(CAST(CAST($1 AS TEXT) AS xid8)), 'forgotten'),
	CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) = CAST($2 AS TEXT)`

// endBackend ends the server process that still holds the transaction: if its
// client is gone it might wait for the COMMIT for hours.
const endBackend = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_xid = CAST(CAST(CAST($1 AS TEXT) AS xid8) AS xid)
	AND CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) = CAST($2 AS TEXT)`

// futureNumber is how the server refuses to tell of a number that it has given
// to nobody.
const futureNumber = "22023"

// outcome is "committed", "aborted", or something else when the server could
// not tell before the context ended.
func (p *postgresEngine) outcome(ctx context.Context, asked transaction) string {
	for attempt := 1; ; attempt = min(attempt+1, attempts) {
		_, _ = p.pool.Exec(ctx, endBackend, asked.number, asked.start) // may not be permitted
		var status string
		var sameRun bool
		err := p.pool.QueryRow(ctx, askStatus, asked.number, asked.start).Scan(&status, &sameRun)
		if fault := (*pgconn.PgError)(nil); errors.As(err, &fault) && fault.Code == futureNumber {
			return "aborted"
		}
		if err == nil && !sameRun {
			return afterRestart(status)
		}
		if err == nil && status != "in progress" {
			return status
		}
		if err := pause(ctx, attempt); err != nil {
			return err.Error()
		}
	}
}

// afterRestart is what the status of a number says about a transaction of an
// earlier run. Had that one committed, nobody else could have its number; so
// anything but "committed" means that it did not, and "committed" that somebody
// did.
func afterRestart(status string) string {
	switch status {
	case "aborted", "in progress":
		return "aborted"
	case "committed":
		return "committed by somebody"
	}
	return status
}
