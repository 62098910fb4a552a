package storetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"passerelle/internal/store/storetest"
)

func open(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = storetest.Dial
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func process(conn *pgx.Conn) uint32 { return conn.PgConn().PID() }

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if err := conn.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestKeptSessionsAreReset(t *testing.T) {
	address := storetest.Postgres(t)
	first := open(t, address)
	run(t, first, `CREATE TEMP TABLE left_behind (n INT); SET statement_timeout = '7s'; LISTEN news; SELECT pg_advisory_lock(1);
		PREPARE known AS SELECT 1; SET search_path = pg_catalog`)
	end(t, first)
	second := open(t, address)
	defer end(t, second)
	if process(second) != process(first) {
		t.Fatal("the session was not kept")
	}
	var traces, schema, limit string
	err := second.QueryRow(t.Context(), `SELECT concat_ws(' ', to_regclass('pg_temp.left_behind'),
		(SELECT string_agg(name, ' ') FROM pg_prepared_statements WHERE name = 'known'), (SELECT string_agg(c, ' ') FROM pg_listening_channels() c),
		(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())), current_schema(), current_setting('statement_timeout')`,
	).Scan(&traces, &schema, &limit)
	if err != nil {
		t.Fatal(err)
	}
	if want := second.Config().RuntimeParams["search_path"]; traces != "0" || schema != want || limit != "0" {
		t.Errorf("the session has %q, schema %s instead of %s, and the limit %s", traces, schema, want, limit)
	}
}

// TestSessionsThatAreNotKept checks that a session is not kept if it has an open transaction or a
// cancelled query. A kept session must not be used after its end or with other settings.
func TestSessionsThatAreNotKept(t *testing.T) {
	address := storetest.Postgres(t)
	for name, spoil := range map[string]func(t *testing.T, conn *pgx.Conn){
		"in a transaction": func(t *testing.T, conn *pgx.Conn) { t.Helper(); run(t, conn, "BEGIN"); end(t, conn) },
		"ended by the server": func(t *testing.T, conn *pgx.Conn) {
			t.Helper()
			end(t, conn)
			watcher := open(t, address+"&application_name=watcher")
			defer end(t, watcher)
			var ended bool
			if err := watcher.QueryRow(t.Context(), "SELECT pg_terminate_backend($1, 5000)", process(conn)).Scan(&ended); err != nil || !ended {
				t.Fatal(ended, err)
			}
		},
		"cancelled": func(t *testing.T, conn *pgx.Conn) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := conn.Exec(ctx, "SELECT pg_sleep(60)"); err == nil {
				t.Fatal("a cancelled query succeeded")
			}
			<-conn.PgConn().CleanupDone()
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := open(t, address+"&application_name=spoilt")
			spoil(t, first)
			second := open(t, address+"&application_name=spoilt")
			defer end(t, second)
			run(t, second, "SELECT 1")
			if process(second) == process(first) {
				t.Error("the session was kept")
			}
		})
	}
	one, other := open(t, address+"&application_name=one"), ""
	end(t, one)
	two := open(t, address+"&application_name=two")
	defer end(t, two)
	if err := two.QueryRow(t.Context(), "SHOW application_name").Scan(&other); err != nil || other != "two" {
		t.Error(other, err)
	}
}
