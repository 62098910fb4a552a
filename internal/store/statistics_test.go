package store_test

import (
	"slices"
	"testing"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// TestStatisticsArrive removes the statistics, because a database that was restored from a dump has
// none. The service must collect statistics again, in one process at a time.
func TestStatisticsArrive(t *testing.T) {
	url := storetest.EmptyPostgres(t)
	s, p := newFixture(t, url), newPlanned(t, url)
	s.populate(fewDeliveries)
	p.forgetStatistics()
	counts := func() string {
		return p.strings(`SELECT COALESCE(string_agg(tablename, ' ' ORDER BY tablename), '') FROM (SELECT DISTINCT tablename FROM pg_stats
			WHERE schemaname = current_schema() AND tablename IN ('payment', 'instruction', 'payment_transition')) AS known`)[0]
	}
	keep := func() {
		t.Helper()
		if err := s.db.Database.KeepStatistics(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	free := p.hold(`SELECT pg_advisory_xact_lock(hashtextextended('passerelle statistics of ' || current_schema(), 0))`)
	keep()
	if free(); counts() != "" {
		t.Error("two processes count at once")
	}
	if keep(); counts() != "instruction payment payment_transition" {
		t.Errorf("known are the tables %q", counts())
	}
	if left := s.uncounted(); len(left) > 0 {
		t.Errorf("still to be counted are %v", left)
	}
	p.do(`INSERT INTO connector_name (uuid, name) SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i`)
	p.do(`ANALYZE connector_name`)
	p.do(`INSERT INTO connector_name (uuid, name) SELECT i, repeat('x', 1000) FROM generate_series(1001, 3000) i`)
	if left := s.uncounted(); !slices.Equal(left, []string{"connector_name"}) {
		t.Errorf("to be counted are %v after one has grown", left)
	}
}

// uncounted returns the tables with missing or old statistics.
func (s fixture) uncounted() []string {
	s.t.Helper()
	tables, err := s.db.Database.Uncounted(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return tables
}

func (p *planned) hold(text string) (free func()) {
	p.t.Helper()
	tx, err := p.pool.BeginTx(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := tx.ExecContext(p.t.Context(), text); err != nil {
		p.t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

// TestLockedTableDoesNotStopStatistics checks that a migration that locks a table does not prevent
// the analysis of other tables.
func TestLockedTableDoesNotStopStatistics(t *testing.T) {
	url := storetest.EmptyPostgres(t)
	s, p := newFixture(t, url), newPlanned(t, url)
	s.populate(10)
	p.forgetStatistics()
	free := p.hold(`LOCK TABLE domain`)
	err := s.db.Database.KeepStatistics(t.Context())
	free()
	if err != nil {
		t.Fatal(err)
	}
	if left := s.uncounted(); !slices.Equal(left, []string{"domain"}) {
		t.Errorf("still to be counted are %v", left)
	}
}

// TestSQLitePlansByRule checks that the service removes SQLite's statistics. With statistics from a
// time when a table was small, SQLite would read the table completely.
func TestSQLitePlansByRule(t *testing.T) {
	url := storetest.EmptySQLite(t)
	s := newFixture(t, url)
	s.happen(1, 1, now)
	const remove = `DELETE FROM event WHERE id IN (1, 2, 3)`
	engine := &explained{rows: s.db.Database.Querier}
	plan := func() []string {
		engine.plans = nil
		if err := engine.explain(t.Context(), database.Statement{SQL: remove}); err != nil {
			t.Fatal(err)
		}
		return engine.plans
	}
	if err := s.sql(`ANALYZE`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.db.Database.KeepStatistics(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.count(`SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'`); n != 0 {
			t.Errorf("%d tables of statistics are left", n)
		}
	}
	if !slices.Contains(plan(), "SEARCH event USING INTEGER PRIMARY KEY (rowid=?)") {
		t.Errorf("three events are removed by %v", plan())
	}
}

// firstMinuteLimit is the longest time for one operation after a dump was restored.
const firstMinuteLimit = 50 * time.Millisecond

// TestMillionOfARestoredDump measures each operation before and after KeepStatistics collects
// statistics.
func TestMillionOfARestoredDump(t *testing.T) {
	url := storetest.EmptyPostgres(t)
	s, p := newFixture(t, url), newPlanned(t, url)
	n, long := crowd(t)
	s.numberFrom(100_000_000)
	w := s.receiver(webhook.PaymentStateUpdated)
	s.surround(w, 0, n)
	p.forgetStatistics()
	for _, when := range []string{"before", "after"} {
		for name, path := range s.paths(w) {
			took := time.Hour
			for _, one := range s.fresh(name, 5) {
				took = min(took, timed(func() { path(one) }))
			}
			t.Logf("%s takes %v %s statistics", name, took, when)
			if long && took > firstMinuteLimit {
				t.Errorf("%s takes %v among %d payments %s statistics", name, took, n, when)
			}
		}
		took := timed(func() {
			if err := s.db.Database.KeepStatistics(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("statistics %s: %v", when, took)
	}
	if left := s.uncounted(); len(left) > 0 {
		t.Errorf("still to be counted are %v", left)
	}
}
