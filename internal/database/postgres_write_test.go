package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"passerelle"
	"passerelle/internal/store/storetest"
)

// flaky creates an SQL function whose first calls fail with the error code in the argument `code`.
// The argument `failures` is the number of these calls. The function counts with a sequence,
// because a sequence keeps its number when a transaction is rolled back.
const flaky = `CREATE SEQUENCE calls;
CREATE FUNCTION flaky(failures BIGINT, code TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('calls') <= failures THEN
		RAISE EXCEPTION 'not yet' USING ERRCODE = code;
	END IF;
	RETURN 1;
END $$;`

func TestServerAsksToTryAgain(t *testing.T) {
	tests := map[string]struct {
		failures int
		code     string
		want     error
		resets   int
	}{
		"serialization": {2, "40001", nil, 2},
		"deadlock":      {1, "40P01", nil, 1},
		"for ever":      {attempts, "40001", passerelle.Unavailable, attempts - 1},
		"other code":    {1, "23514", ErrConstraint, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db := open(t, storetest.Postgres(t))
			script(t, db, flaky)
			resets, rows := 0, 0
			err := db.Write(t.Context(), all(insert(1, "a"), func(tx *Unit) error {
				tx.OnRetry(func() { resets++; rows = 0 })
				tx.Query(func(Row) error { rows++; return nil }, `SELECT id FROM probe`)
				tx.Query(func(Row) error { return nil }, `SELECT flaky($1, $2)`, test.failures, test.code)
				return nil
			}))
			wantError(t, err, test.want)
			if resets != test.resets || rows != 1 {
				t.Errorf("%d resets and %d rows, want %d and 1", resets, rows, test.resets)
			}
		})
	}
}

// TestServerRefusesCommit checks that a unit runs again when the server refuses a COMMIT that was
// sent separately, and that later units are written.
func TestServerRefusesCommit(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	script(t, db, flaky)
	script(t, db, `CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$
		BEGIN PERFORM flaky(2, '40001'); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON probe DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();`)
	judged := func(tx *Unit) error {
		tx.Query(func(Row) error { return nil }, `SELECT 1`)
		return nil
	}
	wantError(t, db.Write(t.Context(), all(insert(1, "a"), judged)), nil)
	wantError(t, db.Write(t.Context(), all(insert(2, "b"), judged)), nil)
	wantNames(t, db, "a b")
}

// TestContextEndsBeforeCommit cancels a unit that waits for a lock, and a unit whose results have
// all been read. Neither unit may be written.
func TestContextEndsBeforeCommit(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	waiting := func(tx *Unit, _ func()) { tx.Exec(`LOCK TABLE probe`) }
	reading := func(tx *Unit, cancel func()) {
		tx.Query(func(Row) error { cancel(); return nil }, `SELECT 1`)
	}
	holdLock(t, db)
	for name, last := range map[string]func(*Unit, func()){"waiting": waiting, "reading": reading} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "waiting" {
				go cancel()
			}
			err := db.Write(ctx, all(insert(1, "a"), func(tx *Unit) error { last(tx, cancel); return nil }))
			wantError(t, err, context.Canceled)
			wantNames(t, db, "")
		})
	}
}

// holdLock holds the lock that an insertion takes on the table probe, in another session, until the
// test ends. Others can read and add rows.
func holdLock(t *testing.T, db *Handle) {
	t.Helper()
	tx, err := db.engine.(*postgresEngine).pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), `LOCK TABLE probe IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionLost cuts the connection once, at different moments, and checks that the unit is
// written exactly once in every case.
func TestConnectionLost(t *testing.T) {
	tests := map[string]*cut{
		"while it is prepared":             {toServer: "INSERT INTO probe"},
		"before the statements":            {toServer: "lost", prepared: true},
		"after the statements":             {toClient: "INSERT 0 1\x00", prepared: true},
		"before COMMIT":                    {toServer: "COMMIT", judged: true},
		"after COMMIT":                     {toClient: "COMMIT\x00", judged: true},
		"after all":                        {toClient: "COMMIT\x00", prepared: true},
		"server does not notice":           {toServer: "lost", prepared: true, serverWaits: true},
		"server does not notice at COMMIT": {toServer: "COMMIT", judged: true, serverWaits: true},
	}
	for name, cut := range tests {
		t.Run(name, func(t *testing.T) {
			address := storetest.Postgres(t)
			direct := open(t, address)
			throughCut := openOnly(t, proxy(t, address, cut))
			if cut.prepared {
				cut.prepare(t, throughCut, insert(2, "other"))
			}
			called := 0
			err := throughCut.Write(t.Context(), all(insert(1, "lost"), func(tx *Unit) error {
				tx.AfterCommit(func() { called++ })
				if cut.judged {
					tx.Query(func(Row) error { return nil }, `SELECT 1`)
				}
				return nil
			}))
			if err != nil || called != 1 {
				t.Errorf("error %v, called %d times", err, called)
			}
			if !cut.done.Load() {
				t.Error("the connection was not cut")
			}
			wantNames(t, direct, map[bool]string{false: "lost", true: "lost other"}[cut.prepared])
		})
	}
}

// TestRowsLostAfterCommit cuts the connection after the server has committed a unit, before the
// unit's rows arrive. The caller must learn that the rows are missing, and the unit must be written
// once.
func TestRowsLostAfterCommit(t *testing.T) {
	address := storetest.Postgres(t)
	direct := open(t, address)
	// The server's response arrives in one piece, so the cut loses all of it.
	cut := &cut{toClient: "COMMIT\x00"}
	db := openOnly(t, proxy(t, address, cut))
	returning := func(id int, name string, got *string) func(*Unit) error {
		return func(tx *Unit) error {
			tx.Returning(func(row Row) error { return row.Scan(got) }, `INSERT INTO probe (id, name) VALUES ($1, $2) RETURNING name`, id, name)
			return nil
		}
	}
	var before, lost, after string
	cut.prepare(t, db, returning(1, "before", &before))
	err := db.Write(t.Context(), all(returning(2, "lost", &lost), func(tx *Unit) error {
		tx.AfterCommit(func() { t.Error("a unit whose rows were lost went on") })
		return nil
	}))
	wantError(t, err, ErrUnread)
	wantError(t, err, passerelle.Unavailable)
	if !cut.done.Load() || lost != "" {
		t.Errorf("cut: %t, read: %q", cut.done.Load(), lost)
	}
	if err := db.Write(t.Context(), returning(3, "after", &after)); err != nil || after != "after" {
		t.Errorf("afterwards: %q, %v", after, err)
	}
	wantNames(t, direct, "before lost after")
}

// TestRowsUnreadable uses a function that cannot read the rows of a unit. The server commits the
// unit before the function fails, unless it refuses a later part of the unit. Write must say which
// of both happened, and must execute the unit once.
func TestRowsUnreadable(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	script(t, db, flaky)
	unreadable := errors.New("the row is unreadable")
	returning := func(id int, name string, scan func(Row) error) func(*Unit) error {
		return func(tx *Unit) error {
			tx.OnRetry(func() { t.Error("the unit ran again") })
			tx.Returning(scan, `INSERT INTO probe (id, name) VALUES ($1, $2) RETURNING name`, id, name)
			return nil
		}
	}
	fails := func(Row) error { return unreadable }
	mistyped := func(row Row) error {
		var number int64
		return row.Scan(&number)
	}
	judged := func(tx *Unit) error {
		tx.Query(func(Row) error { return nil }, `SELECT 1`)
		return nil
	}
	refused := func(tx *Unit) error {
		tx.Exec(`INSERT INTO probe (id, amount) VALUES (9, flaky(9, '23514'))`)
		return nil
	}
	wantError(t, db.Write(t.Context(), returning(1, "a", fails)), ErrUnread)
	wantError(t, db.Write(t.Context(), returning(2, "b", mistyped)), ErrUnread)
	wantNames(t, db, "a b")
	for _, undone := range []func(*Unit) error{judged, refused} {
		err := db.Write(t.Context(), all(returning(3, "c", fails), undone))
		if wantError(t, err, unreadable); errors.Is(err, ErrUnread) {
			t.Errorf("a unit that was undone counts as written: %v", err)
		}
	}
	if err := db.Write(t.Context(), returning(3, "c", func(Row) error { return nil })); err != nil {
		t.Error(err)
	}
	wantNames(t, db, "a b c")
}

// TestReservationLost loses the response to the reservation of a block of ids, and checks that no
// id of that block is used.
func TestReservationLost(t *testing.T) {
	address := storetest.Postgres(t)
	open(t, address)
	cut := &cut{toClient: "COMMIT\x00"}
	db := openOnly(t, proxy(t, address, cut))
	cut.prepare(t, db, func(tx *Unit) error {
		_, err := tx.NewID("other")
		return err
	})
	id := func(tx *Unit) error {
		got, err := tx.NewID("probe")
		if err == nil && got <= blockSize {
			err = fmt.Errorf("the id is %d, want one after the lost block", got)
		}
		return err
	}
	wantError(t, db.Write(t.Context(), id), ErrUnread)
	if err := db.Write(t.Context(), id); err != nil || !cut.done.Load() {
		t.Errorf("afterwards: %v, cut: %t", err, cut.done.Load())
	}
}

// TestOutcomeUnknown uses a server that becomes permanently unreachable during COMMIT.
func TestOutcomeUnknown(t *testing.T) {
	address := storetest.Postgres(t)
	direct := open(t, address)
	db := openOnly(t, proxy(t, address, &cut{toClient: "COMMIT\x00", forGood: true}))
	engine := db.engine.(*postgresEngine)
	engine.settleLimit = engine.settleLimit / 100
	wantError(t, db.Write(t.Context(), insert(1, "a")), ErrUnknown)
	wantNames(t, direct, "a")
}

// cut defines where a proxy cuts a connection. The proxy cuts before it passes on the bytes that it
// recognises.
type cut struct {
	toServer, toClient string
	serverWaits        bool // only the connection to the client is closed
	forGood            bool // no new connections are possible afterwards
	prepared           bool // an earlier unit with the same statements precedes the cut
	judged             bool // the COMMIT of the unit is sent separately
	// held receives the bytes that were not passed on to the server. It is nil unless the bytes
	// must arrive later.
	held   chan []byte
	server net.Conn
	done   atomic.Bool
}

// hideSince removes the time at which a connection was made. Without this time, the service does
// not end the server process of a lost connection.
func hideSince(t *testing.T, db *Handle) {
	t.Helper()
	pool := db.engine.(*postgresEngine).pool
	for _, conn := range pool.AcquireAllIdle(t.Context()) {
		delete(conn.Conn().PgConn().CustomData(), connectedSince)
		conn.Release()
	}
}

func (c *cut) prepare(t *testing.T, db *Handle, unit func(*Unit) error) {
	t.Helper()
	c.done.Store(true)
	if err := db.Write(t.Context(), unit); err != nil {
		t.Fatal(err)
	}
	c.done.Store(false)
}

// deliver passes on the held bytes, and returns when the server has processed them.
func (c *cut) deliver(t *testing.T) {
	t.Helper()
	if _, err := c.server.Write(<-c.held); err != nil {
		t.Fatal(err)
	}
	if server, ok := c.server.(*net.TCPConn); ok {
		_ = server.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c.server)
}

func proxy(t *testing.T, address string, c *cut) string {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	network, target := pgconn.NetworkAddress(config.Host, config.Port)
	go c.accept(t, listener, network, target)
	through := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: listener.Addr().String(), Path: config.Database}
	through.RawQuery = url.Values{"sslmode": {"disable"}, "search_path": {config.RuntimeParams["search_path"]}}.Encode()
	return through.String()
}

func (c *cut) accept(t *testing.T, listener net.Listener, network, target string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(network, target)
		if err != nil {
			client.Close()
			return
		}
		t.Cleanup(func() { client.Close(); server.Close() })
		abandon := func() {
			if c.forGood { // before the client notices the cut, because the client could otherwise connect again
				listener.Close()
			}
			client.Close()
			if !c.serverWaits {
				server.Close()
			}
		}
		go c.pass(server, client, c.toServer, abandon)
		go c.pass(client, server, c.toClient, abandon)
	}
}

var errCut = errors.New("cut")

func (c *cut) pass(to, from net.Conn, at string, abandon func()) {
	_, err := io.Copy(writerFunc(func(p []byte) (int, error) {
		if at != "" && bytes.Contains(p, []byte(at)) && c.done.CompareAndSwap(false, true) {
			if c.held != nil {
				c.server = to // before the send to c.held, which signals that c.server is set
				c.held <- bytes.Clone(p)
			}
			return 0, errCut
		}
		return to.Write(p)
	}), from)
	switch {
	case errors.Is(err, errCut):
		abandon()
	case !c.serverWaits || !c.done.Load():
		to.Close()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestOutcome asks for the outcome of transactions as if the responses to their COMMITs were lost.
func TestOutcome(t *testing.T) {
	db := open(t, storetest.Postgres(t))
	p, ok := db.engine.(*postgresEngine)
	if !ok {
		t.Fatal("this is not PostgreSQL")
	}
	played := func(m *mark, end string) *mark {
		t.Helper()
		conn, err := p.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if _, err := p.pipeline(t.Context(), conn, m, nil, false); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		return m
	}
	committed := played(&mark{slot: 1, unit: 1, first: true}, "COMMIT")
	tests := map[string]struct {
		asked *mark
		want  error
	}{
		"committed":                     {committed, nil},
		"undone":                        {played(&mark{slot: 2, unit: 2}, "ROLLBACK"), errAgain},
		"undone, in a slot used before": {played(&mark{slot: 5, unit: 3}, "ROLLBACK"), errAgain},
		"not begun":                     {&mark{slot: 3, unit: 4}, errAgain},
	}
	played(&mark{slot: 5, unit: 5}, "COMMIT")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := p.settle(t.Context(), test.asked, errors.New("no answer"), true)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// TestLateUnitIsNotExecutedTwice delivers a unit to the server after the unit's outcome was settled
// and the unit was run again. The server must not execute the unit twice.
func TestLateUnitIsNotExecutedTwice(t *testing.T) {
	address := storetest.Postgres(t)
	direct := open(t, address)
	if err := direct.Write(t.Context(), insert(1, "late")); err != nil {
		t.Fatal(err)
	}
	late := &cut{toServer: "late", serverWaits: true, held: make(chan []byte, 1)}
	throughCut := openOnly(t, proxy(t, address, late))
	count := func(name string) func(*Unit) error {
		return func(tx *Unit) error {
			tx.Exec(`UPDATE probe SET amount = COALESCE(amount, 0) + 1 WHERE name = $1`, name)
			return nil
		}
	}
	late.prepare(t, throughCut, count("nobody"))
	hideSince(t, throughCut) // otherwise the server process would be ended
	err := throughCut.Write(t.Context(), count("late"))
	if err != nil || !late.done.Load() {
		t.Fatalf("error %v, cut %t", err, late.done.Load())
	}
	amount := func() int64 {
		t.Helper()
		n, err := One(t.Context(), &direct.Querier, ScanInt, `SELECT amount FROM probe`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := amount(); n != 1 {
		t.Fatalf("executed %d times before it came", n)
	}
	late.deliver(t)
	if n := amount(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

// TestSlotsAreSwept checks that a slot that no process has used for a day is removed.
func TestSlotsAreSwept(t *testing.T) {
	address := storetest.Postgres(t)
	db := open(t, address)
	p := db.engine.(*postgresEngine)
	if _, err := p.pool.Exec(t.Context(), `INSERT INTO unit_mark (slot, unit, at) VALUES (1, 1, 0)`); err != nil {
		t.Fatal(err)
	}
	fresh := openOnly(t, address)
	if err := fresh.Write(t.Context(), insert(1, "a")); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := p.pool.QueryRow(t.Context(), `SELECT count(*) FROM unit_mark WHERE slot = 1`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d left (%v)", left, err)
	}
}

// TestWholeTables checks that connections avoid reading and joining whole tables, and use generic
// plans. Exceptions are an address with other settings, and a query for whole tables. Such a query
// must not affect the next query.
func TestWholeTables(t *testing.T) {
	plain := storetest.Postgres(t)
	for name, values := range map[string][2]string{
		"enable_seqscan": {"off", "on"}, "enable_hashjoin": {"off", "on"}, "enable_mergejoin": {"off", "on"},
		"enable_bitmapscan": {"off", "on"}, "plan_cache_mode": {"force_generic_plan", "force_custom_plan"},
	} {
		few, all := values[0], values[1]
		for url, want := range map[string]string{plain: few, plain + "&" + name + "=" + all: all} {
			db, err := Open(t.Context(), url, Config{MaxConns: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var got []string
			note := func(row Row) (bool, error) {
				one, err := ScanString(row)
				got = append(got, one)
				return true, err
			}
			err = errors.Join(db.Each(t.Context(), `SHOW `+name, nil, note), db.EachWhole(t.Context(), `SHOW `+name, nil, note), db.Each(t.Context(), `SHOW `+name, nil, note))
			if !slices.Equal(got, []string{want, all, want}) || err != nil {
				t.Errorf("%s with %q: %v, %v, want %s but for whole tables", name, url[len(plain):], got, err, want)
			}
		}
	}
}
