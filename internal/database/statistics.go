package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// KeepStatistics keeps the statistics of the query planner current. On PostgreSQL, it analyzes
// tables without statistics, for example after a restore. It also analyzes tables that have doubled
// in size since they were last analyzed. The server's autovacuum daemon runs once a minute at most.
// Until it runs, the server would use plans for a small table. On SQLite, KeepStatistics removes
// the statistics. Without statistics, SQLite plans as if every table were large. With statistics
// from a time when a table was small, it would read the whole table. Call KeepStatistics every few
// seconds. A call without work costs one query. Only one process at a time analyzes tables, one
// table after the other. Other work continues.
func (p *Handle) KeepStatistics(ctx context.Context) error {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	if err := p.engine.keepStatistics(ctx); err != nil {
		return fmt.Errorf("keep the statistics of the database: %w", classify(err))
	}
	return nil
}

func (s *sqliteEngine) keepStatistics(ctx context.Context) error {
	found := false
	err := s.read(ctx, `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'`, nil, func(Row) (bool, error) {
		found = true
		return false, nil
	})
	if err != nil || !found {
		return err
	}
	return s.write(ctx, &Unit{statements: slices.Clone(withoutStatistics)})
}

// withoutStatistics makes a SQLite connection drop its statistics. Other connections then load no
// statistics. The first ANALYZE creates the tables, so that DELETE finds them.
var withoutStatistics = []statement{
	{sql: `ANALYZE sqlite_schema`},
	{sql: `DELETE FROM sqlite_stat1`},
	{sql: `DELETE FROM sqlite_stat4`},
	{sql: `ANALYZE sqlite_schema`},
	{sql: `DROP TABLE sqlite_stat1`},
	{sql: `DROP TABLE sqlite_stat4`},
}

// selectUncounted lists the tables that should be analyzed. The smallest tables come first, because
// they take the least time. selectUncounted also checks whether the columns have statistics,
// because VACUUM records the number of pages but no statistics of columns. It leaves out tables
// that are known to be empty, because they cannot have statistics. It also leaves out a locked
// table, for example during a migration, because a query for the size of that table would wait for
// the lock.
const selectUncounted = `SELECT quote_ident(t.relname) FROM (
		SELECT c.oid, c.relname, c.relpages, c.reltuples,
			CASE WHEN c.oid IN (SELECT l.relation FROM pg_locks l WHERE l.mode = 'AccessExclusiveLock' AND l.relation IS NOT NULL) THEN 0
			ELSE pg_relation_size(c.oid) / CAST(current_setting('block_size') AS BIGINT) END AS pages
		FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind = 'r') t
	WHERE t.pages > 0 AND (t.reltuples < 0 OR t.pages > 2 * t.relpages
		OR (t.reltuples > 0 OR pg_stat_get_mod_since_analyze(t.oid) > 0)
			AND NOT EXISTS (SELECT 1 FROM pg_stats s WHERE s.schemaname = current_schema() AND s.tablename = t.relname))
	ORDER BY t.pages, t.relname`

// Uncounted lists the tables that [Handle.KeepStatistics] would analyze. On SQLite, it lists
// nothing.
func (p *Handle) Uncounted(ctx context.Context) ([]string, error) {
	server, ok := p.engine.(*postgresEngine)
	if !ok {
		return nil, nil
	}
	tables, err := server.uncounted(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tables without statistics: %w", classify(err))
	}
	return tables, nil
}

func (p *postgresEngine) uncounted(ctx context.Context) ([]string, error) {
	var tables []string
	err := p.readWhole(ctx, selectUncounted, nil, func(row Row) (bool, error) {
		table, err := ScanString(row)
		tables = append(tables, table)
		return true, err
	})
	return tables, err
}

func (p *postgresEngine) keepStatistics(ctx context.Context) error {
	tables, err := p.uncounted(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if mine, err := p.count(ctx, table); err != nil || !mine {
			return err
		}
	}
	return nil
}

// count analyzes a table, unless another process is doing so or the table is locked. After
// the analysis, PostgreSQL makes new plans for the statements that use the table.
func (p *postgresEngine) count(ctx context.Context, table string) (bool, error) {
	var (
		mine bool
		err  error
	)
	const lock = `SELECT pg_try_advisory_xact_lock(hashtextextended('passerelle statistics of ' || current_schema(), 0))`
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limitLocks); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, lock).Scan(&mine); err != nil || !mine {
			return err
		}
		_, err := tx.Exec(ctx, `ANALYZE `+table)
		return err
	})
	if fault := (*pgconn.PgError)(nil); errors.As(err, &fault) && fault.Code == lockNotAvailable {
		return mine, nil
	}
	if err != nil {
		return mine, fmt.Errorf("count %s: %w", table, err)
	}
	return mine, nil
}
