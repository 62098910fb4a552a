package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// way defines how a migration waits for transactions on its tables. While it waits for one
// transaction, all later transactions wait behind it. The migration therefore waits only for a
// short time, undoes everything, and tries again later.
type way struct {
	lock time.Duration // the longest wait for a lock
	// pause is the time between the first two tries. Each later pause is twice as long, up to the
	// limit in the field longest.
	pause, longest time.Duration
	tries          int
}

// givingWay defines how migrations of the service wait: they try for about two minutes.
var givingWay = way{lock: 2 * time.Second, pause: time.Second, longest: 5 * time.Second, tries: 20}

// migrate waits until other migrations of the schema have ended. When it would have to wait long
// for other transactions, it gives up and tries again later.
func (p *postgresEngine) migrate(ctx context.Context, fn func(session) error) error {
	length := p.giving.pause
	for try := 1; ; try++ {
		err := p.migrateOnce(ctx, fn)
		if fault := (*pgconn.PgError)(nil); !errors.As(err, &fault) || fault.Code != lockNotAvailable {
			return err
		}
		holders := p.holders(ctx)
		if try == p.giving.tries {
			return fmt.Errorf("gave up after %d tries of %v each, because other transactions hold a table: %s: %w", try, p.giving.lock, holders, err)
		}
		p.log.WarnContext(ctx, "a migration waits for transactions that do not end, and is tried again", "try", try, "open", holders)
		if err := sleep(ctx, length); err != nil {
			return err
		}
		length = min(2*length, p.giving.longest)
	}
}

// lockNotAvailable is the error code of a statement that waited too long for a lock.
const lockNotAvailable = "55P03"

func sleep(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *postgresEngine) migrateOnce(ctx context.Context, fn func(session) error) error {
	const lock = `SELECT pg_advisory_xact_lock(hashtextextended('passerelle migrations of ' || current_schema(), 0))`
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		session := postgresSession{tx}
		if err := session.script(ctx, `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0`); err != nil {
			return fmt.Errorf("remove the time limits: %w", err)
		}
		if err := session.exec(ctx, lock); err != nil {
			return fmt.Errorf("wait for other migrators: %w", err)
		}
		if err := session.script(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, p.giving.lock.Milliseconds())); err != nil {
			return fmt.Errorf("limit the wait for tables: %w", err)
		}
		return fn(session)
	})
}

// selectHolders lists at most three sessions that hold a lock on a table of the schema, in a
// transaction that has lasted at least as long as a migration waits. It omits their statements,
// which may contain any data.
const selectHolders = `SELECT format('process %s of %s (%s%s)', a.pid, COALESCE(NULLIF(a.application_name, ''), 'no name'), COALESCE(a.state, 'not shown to this role'),
		COALESCE(', for ' || CAST(extract(epoch FROM clock_timestamp() - a.xact_start) AS BIGINT) || ' s', ''))
	FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND COALESCE(a.xact_start < clock_timestamp() - make_interval(secs => $1), TRUE)
		AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation AND c.relkind = 'r' AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))
			WHERE l.pid = a.pid AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
	ORDER BY a.xact_start, a.pid LIMIT 3`

// holders describes the transactions for which a migration has waited.
func (p *postgresEngine) holders(ctx context.Context) string {
	rows, err := p.pool.Query(ctx, selectHolders, p.giving.lock.Seconds())
	if err == nil {
		var all []string
		if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil && len(all) > 0 {
			return strings.Join(all, ", ")
		}
	}
	return "transactions that have ended since"
}
