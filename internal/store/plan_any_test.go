package store_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// planner makes PostgreSQL show its generic plans, because the program uses generic plans.
type planner struct {
	t  *testing.T
	db *pgx.Conn
}

func newPlanner(t *testing.T, url string) *planner {
	t.Helper()
	config, err := pgx.ParseConfig(storetest.Direct(t, url))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range database.PostgresParameters() {
		config.RuntimeParams[name] = value
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	db, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.WithoutCancel(t.Context())) })
	return &planner{t: t, db: db}
}

func (p *planner) plan(s database.Statement) []string {
	p.t.Helper()
	if _, err := p.db.Exec(p.t.Context(), `PREPARE this AS `+database.PostgresDialect().Text(s.SQL)); err != nil {
		p.t.Fatalf("prepare %s: %v", s.SQL, err)
	}
	execute := `EXECUTE this`
	if len(s.Args) > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", len(s.Args)), ", ") + ")"
	}
	rows, err := p.db.Query(p.t.Context(), `EXPLAIN (COSTS OFF) `+execute)
	if err != nil {
		p.t.Fatal(err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.db.Exec(p.t.Context(), `DEALLOCATE this`); err != nil {
		p.t.Fatal(err)
	}
	return steps
}

// crowdedTables matches the steps of a plan that read a table with many rows in
// TestRequestsAreRecordedByTheirIDs.
var crowdedTables = regexp.MustCompile(` on (payment|payment_transition|instruction|delivery|delivery_attempt|event|bank_transaction|bank_account|subscription|connection|connection_log|end_user|token|webhook|client|setting_change|attempt|document|consent|received)( \w+)?$`)

var more = []string{
	`INSERT INTO event (id, domain_id, name, subject, subject_id, version, user_id, body, created)
		SELECT i, CAST($3 AS BIGINT), 'PAYMENT_STATE_UPDATED', 'payment', i, 1, CASE WHEN i % 2 = 0 THEN i ELSE NULL END, CAST('{}' AS BYTEA), 1 FROM n`,
	`INSERT INTO attempt (payment_id, domain_id, number, kind, key, connector_uuid, mechanism, fields, waits, state, created, lease_until)
		SELECT i, CAST($3 AS BIGINT), 1, 'initiation', 'k' || CAST(i AS TEXT), 'a', 'redirect', CAST('' AS BYTEA), FALSE, 'answered', i, i FROM n`,
	`INSERT INTO document (id, domain_id, user_id, subscription_id, epoch, key, type, date, details, digest, found, last_update, changed)
		SELECT i, CAST($3 AS BIGINT), i % 1000, i, 0, 'k', 'bill', '2026-11-20', '{}', 1, i, i, i FROM n`,
	`INSERT INTO consent (domain_id, user_id, connection_id, text_version, origin, given) SELECT CAST($3 AS BIGINT), i % 1000, i, 'x', 'x', i FROM n`,
	`INSERT INTO received (domain_id, name, at, headers, body, verdict) SELECT CAST($3 AS BIGINT), 'x', i, '', CAST('' AS BYTEA), '' FROM n`,
}

func (s fixture) crowdAll() *userAccounts {
	s.t.Helper()
	const from, n = 100_000, 20 * fewDeliveries
	h, _ := longHistory(s.t, s, n)
	s.populateAfter(from, from+n)
	s.crowdIn(s.other, from+n, n)
	s.write(func(tx *store.Tx) error {
		for _, text := range more {
			tx.Unit().Exec(numbers+text, from+1, from+n, int64(s.domain))
		}
		return nil
	})
	s.crowded(from, n)
	s.crowdIn(s.domain, from, n)
	for _, table := range []string{"token", "connection", "bank_account", "subscription"} {
		if err := s.sql(`UPDATE ` + table + ` SET user_id = id WHERE user_id = 7 AND id > 100000`); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, statement := range []string{
		`UPDATE delivery SET delivered = created, dropped = NULL, event_id = id WHERE id > 100000`, `UPDATE delivery_attempt SET delivery_id = id`, `INSERT INTO sequence (name, next) VALUES ('bank_transaction', 1000000)`, `ANALYZE`,
	} {
		if err := s.sql(statement); err != nil {
			s.t.Fatal(err)
		}
	}
	return h
}

// TestStatisticsExpectManyDomains checks that each column domain_id in PostgreSQL has the setting
// n_distinct=100. With this setting, PostgreSQL expects a domain to have a small part of the rows.
func TestStatisticsExpectManyDomains(t *testing.T) {
	s := newFixture(t, storetest.Postgres(t))
	others, err := database.Collect(t.Context(), s.db.Rows(), database.ScanString, `SELECT relname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
		WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND a.attname = 'domain_id' AND NOT a.attisdropped
		AND a.attoptions IS DISTINCT FROM '{n_distinct=100}' ORDER BY relname`)
	if err != nil || len(others) > 0 {
		t.Errorf("ALTER COLUMN domain_id SET (n_distinct = 100), as migration 34 does, is missing for %v (%v)", others, err)
	}
}

// TestRequestsAreRecordedByTheirIDs checks that recording requests reads no large table completely.
// It must not read all waiting deliveries either, even when the statistics show few of them.
func TestRequestsAreRecordedByTheirIDs(t *testing.T) {
	url := storetest.EmptyPostgres(t)
	s := newFixture(t, url)
	w := s.receiver(webhook.PaymentStateUpdated)
	s.happen(1, 1, now)
	s.crowdAll()
	b := store.Batch{Webhook: w.ID, Holder: "test", Lease: time.Minute, Now: now, NextFlush: now}
	for id := range int64(64) {
		b.Attempts = append(b.Attempts, store.DeliveryAttempt{Delivery: passerelle.DeliveryID(id + 1), At: now})
		b.AcceptedEvents = append(b.AcceptedEvents, id+1)
		b.Void = append(b.Void, passerelle.DeliveryID(id+1))
	}
	var statements []database.Statement
	enough := errors.New("enough")
	s.db.Database.Observe(func(_ context.Context, all []database.Statement) error { statements = all; return enough })
	if err := s.try(func(tx *store.Tx) error { return tx.RecordBatches(w.Domain, b) }); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	p := newPlanner(t, url)
	for _, statement := range statements {
		steps := p.plan(statement)
		plan := strings.Join(steps, "\n")
		if strings.Contains(plan, "delivery_waiting") || strings.Contains(plan, "event_of_user") || slices.ContainsFunc(growing(steps), crowdedTables.MatchString) {
			t.Errorf("%s\n%s", statement.SQL, plan)
		}
	}
}
