package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
	"passerelle/webhook"
)

// meter counts the cost of each statement. In SQLite, the cost is the number of instructions of the
// virtual machine. In PostgreSQL, it is the number of blocks read, including the blocks for checks
// of references. The meter executes each statement before the program does, and undoes its changes.
type meter struct {
	t     *testing.T
	pool  *database.Handle // set for PostgreSQL
	conn  *sql.Conn        // set for SQLite
	plans *planned
	cost  int64
}

func meterOf(t *testing.T, s fixture, url string) (m *meter, stop func()) {
	t.Helper()
	m = &meter{t: t, plans: newPlanned(t, url)}
	if path, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
		m.conn = connectSQLite(t, path)
	} else {
		m.pool = openDatabase(t, url)
	}
	s.db.Database.Observe(m.measure)
	return m, func() { s.db.Database.Observe(nil) }
}

// connectSQLite makes a connection that enforces references, as the program's connections do.
func connectSQLite(t *testing.T, path string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func openDatabase(t *testing.T, url string) *database.Handle {
	t.Helper()
	pool, err := database.Open(t.Context(), url, database.Config{Migrations: store.Migrations})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

func (m *meter) measure(ctx context.Context, statements []database.Statement) error {
	if m.conn != nil {
		return m.measureSQLite(ctx, statements)
	}
	if s := statements[0]; len(statements) == 1 && strings.HasPrefix(s.SQL, "SELECT ") {
		m.cost += m.blocksOf(s.SQL, s.Args)
		return nil
	}
	err := m.pool.Write(ctx, func(unit *database.Unit) error {
		m.blocks(unit, -1, nil)
		for _, s := range statements {
			unit.Exec(s.SQL, s.Args...)
		}
		m.blocks(unit, 1, errMeasured)
		return nil
	})
	if !errors.Is(err, errMeasured) {
		return err
	}
	return nil
}

// errMeasured undoes measured statements.
var errMeasured = errors.New("measured")

func (m *meter) measureSQLite(ctx context.Context, statements []database.Statement) error {
	if _, err := m.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var prepared []*sql.Stmt
	var err error
	for _, s := range statements {
		stmt, failure := m.conn.PrepareContext(ctx, m.plans.words.Text(s.SQL))
		if err = failure; err != nil {
			break
		}
		prepared = append(prepared, stmt)
		if err = readAll(ctx, stmt, s.Args); err != nil {
			break
		}
	}
	m.cost += steps(m.t, m.conn)
	for _, stmt := range prepared {
		err = errors.Join(err, stmt.Close())
	}
	_, undo := m.conn.ExecContext(ctx, "ROLLBACK")
	return errors.Join(err, undo)
}

func readAll(ctx context.Context, stmt *sql.Stmt, args []any) error {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	more := true
	for more {
		more = rows.Next()
	}
	return rows.Err()
}

// lowestCost calls the function `do` with several payments, and returns the lowest cost of a call,
// because a page split in an index raises the cost of one call. The first call does not count,
// because it prepares the statements.
func (m *meter) lowestCost(payments []*payment.Payment, do func(*payment.Payment)) int64 {
	m.t.Helper()
	do(payments[0])
	least := int64(math.MaxInt64)
	for _, p := range payments[1:] {
		m.cost = 0
		do(p)
		least = min(least, m.cost)
	}
	return least
}

// steps returns the number of instructions of the virtual machine since the last call, for all
// prepared statements of a connection. The driver does not export these statements, so steps reads
// them by reflection.
func steps(t *testing.T, conn *sql.Conn) (sum int64) {
	t.Helper()
	err := conn.Raw(func(driver any) error {
		inside := reflect.ValueOf(driver).Elem()
		db := uintptr(inside.FieldByName("db").Uint())
		tls := (*libc.TLS)(unsafe.Pointer(inside.FieldByName("tls").Pointer()))
		for s := sqlite3.Xsqlite3_next_stmt(tls, db, 0); s != 0; s = sqlite3.Xsqlite3_next_stmt(tls, db, s) {
			sum += int64(sqlite3.Xsqlite3_stmt_status(tls, s, sqlite3.SQLITE_STMTSTATUS_VM_STEP, 1))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// blocks counts the blocks that the transaction has read so far. It multiplies this number by the
// argument `sign` and adds it to the cost. If the argument `end` is an error, it ends the
// transaction.
func (m *meter) blocks(unit *database.Unit, sign int64, end error) {
	unit.Query(func(row database.Row) error {
		n, err := database.ScanInt(row)
		m.cost += sign * n
		return cmp.Or(err, end)
	}, `SELECT CAST(COALESCE(SUM(pg_stat_get_xact_blocks_fetched(oid)), 0) AS BIGINT) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')`)
}

// blocksOf executes a query with a generic plan, as the program does.
func (m *meter) blocksOf(text string, args []any) (blocks int64) {
	m.t.Helper()
	m.plans.do(`PREPARE counted AS ` + m.plans.words.Text(text))
	defer m.plans.do(`DEALLOCATE counted`)
	execute := `EXECUTE counted`
	if len(args) > 0 {
		execute += "(" + strings.Join(literals(args), ", ") + ")"
	}
	m.plans.each(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) `+execute, func(row *sql.Rows) error {
		var plan []byte
		if err := row.Scan(&plan); err != nil {
			return err
		}
		var all []struct {
			Plan struct {
				Hit  int64 `json:"Shared Hit Blocks"`
				Read int64 `json:"Shared Read Blocks"`
			}
		}
		err := json.Unmarshal(plan, &all)
		for _, one := range all {
			blocks += one.Plan.Hit + one.Plan.Read
		}
		return err
	})
	return blocks
}

func literals(args []any) []string {
	all := make([]string, len(args))
	for i, arg := range args {
		switch value := arg.(type) {
		case nil:
			all[i] = "NULL"
		case string:
			all[i] = "'" + strings.ReplaceAll(value, "'", "''") + "'"
		case []byte:
			all[i] = fmt.Sprintf(`'\x%x'`, value)
		default:
			all[i] = fmt.Sprint(value)
		}
	}
	return all
}

// paths returns the measured operations by name. The pages and the retention step ignore their
// argument.
func (s fixture) paths(w store.Webhook) map[string]func(*payment.Payment) {
	ctx := s.t.Context()
	bank := func(r payment.Report) func(*payment.Payment) {
		return func(p *payment.Payment) { s.bankSays(p, r) }
	}
	page := func(f store.PaymentFilter, order string) func(*payment.Payment) {
		f.Domain = s.domain
		return func(*payment.Payment) {
			rows, err := s.db.Payments(ctx, f, store.Window{Order: order, Limit: pageOfList}, false)
			_, counting := s.db.CountPayments(ctx, f, 1001)
			if err := errors.Join(err, counting); err != nil || len(rows) != pageOfList {
				s.t.Fatalf("%d rows, %v", len(rows), err)
			}
		}
	}
	return map[string]func(*payment.Payment){
		"validate": func(p *payment.Payment) {
			a := store.Attempt{Payment: p.ID, Domain: s.domain, Number: 1, Kind: store.AttemptInitiation, Created: now, AttemptOrder: store.AttemptOrder{Key: fmt.Sprint(p.ID), Connector: "a", Mechanism: "webauth"}}
			s.write(func(tx *store.Tx) error { return tx.OpenAttempt(&a, time.Minute) })
			s.bankSays(p, payment.Report{Status: payment.Awaiting, Action: payment.Decoupled})
			s.write(func(tx *store.Tx) error { tx.AnswerAttempt(a); return nil })
		},
		"cancel":   bank(payment.Report{Status: payment.Declined, Code: payment.InsufficientFunds}),
		"simulate": bank(payment.Report{Status: payment.Settled}),
		"payer's return": func(p *payment.Payment) {
			s.write(func(tx *store.Tx) error {
				tx.PayerReturned(p, now)
				tx.DropHeldBack(s.domain, "payment", int64(p.ID), 1, now, "known")
				return nil
			})
		},
		"page": page(store.PaymentFilter{}, "register_date"), "page by state": page(store.PaymentFilter{State: string(payment.Expired)}, "register_date"),
		"page by label": page(store.PaymentFilter{LabelStart: "Invoice"}, store.LabelOrder),
		"retention step": func(*payment.Payment) {
			if err := s.db.PurgeEvents(ctx, store.Retention{Domain: s.domain, Events: time.UnixMicro(1_000_000_000), Health: now, Batch: 10, Batches: 1}); err != nil {
				s.t.Fatal(err)
			}
		},
		"erasure step": func(p *payment.Payment) {
			e := store.Erasure{Domain: s.domain, User: passerelle.UserID(p.ID)}
			s.write(func(tx *store.Tx) error { tx.Erase(e, 10, now); return nil })
			if _, err := s.db.AnyRemains(ctx, e); err != nil {
				s.t.Fatal(err)
			}
		},
	}
}

func (s fixture) bankSays(p *payment.Payment, r payment.Report) {
	s.t.Helper()
	p = s.load(p)
	steps, err := p.Apply(r, now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(func(tx *store.Tx) error {
		e := store.EmittedEvent{Domain: s.domain, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: int64(p.ID), Version: p.Version, Body: []byte(`{}`), Created: now}
		return errors.Join(tx.UpdatePayment(p, transitions(steps), nil), tx.Emit(e))
	})
}

// numberFrom makes new ids continue above the ids of rows that a test inserts.
func (s fixture) numberFrom(first int) {
	s.t.Helper()
	for _, name := range []string{"payment", "instruction", "event", "token"} {
		if err := s.sql(`INSERT INTO sequence (name, next) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET next = excluded.next`, name, first); err != nil {
			s.t.Fatal(err)
		}
	}
}

// surround adds payments, each with an event, a delivery and a token.
func (s fixture) surround(w store.Webhook, from, to int) {
	s.t.Helper()
	s.populateAfter(from, to)
	const step = 50_000
	for first := from + 1; first <= to; first += step {
		s.write(func(tx *store.Tx) error {
			for i, text := range around {
				args := []any{first, min(first+step-1, to), int64(s.domain), int64(w.ID)}
				tx.Unit().Exec(numbers+text, args[:3+i%2]...)
			}
			return nil
		})
	}
}

var around = []string{
	more[0],
	`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created, delivered)
		SELECT -i, CAST($3 AS BIGINT), CAST($4 AS BIGINT), i, 'payment', i, 1, i, CASE WHEN i % 2 = 0 OR i < 900 THEN i ELSE NULL END FROM n`,
	`INSERT INTO token (id, domain_id, kind, hash, scopes, user_id, created) SELECT i, CAST($3 AS BIGINT), 'user', CAST(CAST(i AS TEXT) AS {bytes}), '', i, i FROM n`,
}

// mostGrowth is the largest allowed ratio between the cost of an operation among many payments and
// its cost among few payments. Among many payments, PostgreSQL's indexes are deeper by a page or
// two, and the meter counts each page.
var mostGrowth = map[string]float64{"sqlite": 1.1, "postgres": 1.6}

const pageLimit = 10 * time.Millisecond

// TestMillionCostsAsAThousand measures each operation among few payments and among many. The labels
// of all payments begin with the same text.
func TestMillionCostsAsAThousand(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		n, long := crowd(t)
		const few, sameState, own = 1000, 4 * 1000, 100_000_000 // a quarter of the payments are in the state of the filter
		sizes := []int{few, sameState, n}
		s.numberFrom(own)
		w := s.receiver(webhook.PaymentStateUpdated)
		before := map[string]int64{}
		for i, size := range sizes {
			s.surround(w, append([]int{0}, sizes...)[i], size)
			m, stop := meterOf(t, s, url)
			for name, path := range s.paths(w) {
				cost := m.lowestCost(s.fresh(name, 6), path)
				if size == few || size == sameState && name == "page by state" {
					before[name] = cost
				}
				if size != n {
					continue
				}
				ratio := float64(cost) / float64(before[name])
				t.Logf("%s: %d among %d, %d among %d, %.2f times", name, before[name], few, cost, n, ratio)
				if ratio > mostGrowth[s.db.Rows().Dialect().Name] {
					t.Errorf("%s costs %d among %d payments and %d among %d", name, before[name], few, cost, n)
				}
			}
			stop()
		}
		for _, name := range []string{"page", "page by state", "page by label"} {
			took := quickest(s.paths(w)[name])
			t.Logf("%s takes %v", name, took)
			if long && took > pageLimit {
				t.Errorf("%s takes %v among %d payments", name, took, n)
			}
		}
	})
}

func quickest(path func(*payment.Payment)) time.Duration {
	took := time.Hour
	for range 9 {
		took = min(took, timed(func() { path(nil) }))
	}
	return took
}

// fresh creates payments that an operation has not used yet.
func (s fixture) fresh(path string, n int) []*payment.Payment {
	s.t.Helper()
	all := make([]*payment.Payment, n)
	for i := range all {
		all[i] = s.create(draft(1), now)
		if path == "cancel" || path == "simulate" {
			s.report(all[i], payment.Report{Status: payment.Awaiting, Action: payment.Decoupled}, now)
		}
	}
	return all
}
