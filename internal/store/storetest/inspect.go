package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	_ "modernc.org/sqlite"             // registers the driver "sqlite"
)

// Inspection reads a database while a service uses it. A test can then compare the stored rows with
// the service's responses. An Inspection cannot write to SQLite and does not write to PostgreSQL.
type Inspection struct {
	t        testing.TB
	pool     *sql.DB
	tables   []string
	counts   string
	prepared sync.Map // *sql.Stmt by its text, because SQLite takes longer to parse a long text than to run it
	state    string   // the query of the state, see stateNow
	counted  struct {
		sync.Mutex
		watcher *sql.Conn // reads the state, and is opened by the first count
		state   string
		rows    map[string]int64
	}
}

// Event is a row of the table of events.
type Event struct {
	Domain    int64
	Name      string
	Subject   string
	SubjectID int64
	Version   int64
	Body      string
}

// Is reports whether two rows are the same event, ignoring the body. The body may have been erased
// between the two reads.
func (e Event) Is(other Event) bool {
	e.Body, other.Body = "", ""
	return e == other
}

// tablesOfPostgres reads the catalogue, because the view information_schema.tables takes twenty
// times as long. It selects the same kinds of relations as the view.
const tablesOfPostgres = `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'f')
	AND relname <> 'unit_mark' ORDER BY relname`

// Inspect opens an inspection of a database with a complete schema, and closes it when the test
// ends. The inspection leaves out the table unit_mark, whose rows only mark transactions.
func Inspect(t testing.TB, url string) *Inspection {
	t.Helper()
	driver, address, state, tables := "pgx", Direct(t, url), `SELECT pg_current_snapshot()::text`, tablesOfPostgres
	if path, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
		driver, address, state = "sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)", `PRAGMA data_version`
		tables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`
	}
	i := &Inspection{t: t, pool: poolOf(t, url, driver, address), state: state}
	t.Cleanup(i.forget)
	var selects []string
	i.query(tables, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		i.tables = append(i.tables, name)
		selects = append(selects, `SELECT '`+name+`', count(*) FROM "`+name+`"`)
		return err
	})
	i.counts = strings.Join(selects, " UNION ALL ")
	return i
}

// poolOf returns sessions for an inspection. The sessions of a schema that later tests use again
// stay open, because a new session of PostgreSQL reads the catalogue of all tables first.
func poolOf(t testing.TB, url, driver, address string) *sql.DB {
	t.Helper()
	if pool := keptPool(url); pool != nil {
		return pool
	}
	pool, err := sql.Open(driver, address)
	if err != nil {
		t.Fatalf("inspect the database: %v", err)
	}
	if !keepPool(url, pool) {
		t.Cleanup(func() { _ = pool.Close() })
	}
	return pool
}

func (i *Inspection) query(text string, row func(*sql.Rows) error) {
	i.t.Helper()
	rows, err := i.statement(text).QueryContext(context.Background()) //nolint:sqlclosecheck // the statement is used again
	if err != nil {
		i.t.Fatalf("inspect the database: %v", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			i.t.Fatalf("inspect the database: %v", err)
		}
	}
	if err := rows.Err(); err != nil {
		i.t.Fatalf("inspect the database: %v", err)
	}
}

func (i *Inspection) statement(text string) *sql.Stmt {
	i.t.Helper()
	found, _ := i.prepared.Load(text)
	if statement, is := found.(*sql.Stmt); is {
		return statement
	}
	statement, err := i.pool.PrepareContext(context.Background(), text)
	if err != nil {
		i.t.Fatalf("inspect the database: %v", err)
	}
	i.prepared.Store(text, statement)
	return statement
}

// Rows counts the rows of every table. It counts again only after a commit, because many callers
// ask whether a refused request has changed anything.
func (i *Inspection) Rows() map[string]int64 {
	i.t.Helper()
	i.counted.Lock()
	defer i.counted.Unlock()
	// The state comes first. A commit between the two queries then makes the next call count again.
	if now := i.stateNow(); now == "" || now != i.counted.state {
		i.counted.state, i.counted.rows = now, i.count()
	}
	return maps.Clone(i.counted.rows)
}

// stateNow returns a text that changes with every commit to the database. In SQLite, it is the data
// version, which is counted in each session. In PostgreSQL, it is the set of completed
// transactions, which also changes with commits to other databases. The text is empty when the
// session has ended, for example because a test killed the server.
func (i *Inspection) stateNow() string {
	i.t.Helper()
	if i.counted.watcher == nil {
		watcher, err := i.pool.Conn(context.Background())
		if err != nil {
			i.t.Fatalf("inspect the database: %v", err)
		}
		i.counted.watcher = watcher
	}
	var state string
	if err := i.counted.watcher.QueryRowContext(context.Background(), i.state).Scan(&state); err != nil {
		_ = i.counted.watcher.Close()
		i.counted.watcher = nil
		return ""
	}
	return state
}

func (i *Inspection) forget() {
	i.prepared.Range(func(_, found any) bool {
		if statement, is := found.(*sql.Stmt); is {
			_ = statement.Close()
		}
		return true
	})
	i.counted.Lock()
	defer i.counted.Unlock()
	if i.counted.watcher != nil {
		_ = i.counted.watcher.Close()
	}
}

func (i *Inspection) count() map[string]int64 {
	i.t.Helper()
	counts := map[string]int64{}
	i.query(i.counts, func(rows *sql.Rows) error {
		var table string
		var n int64
		err := rows.Scan(&table, &n)
		counts[table] = n
		return err
	})
	return counts
}

// Events lists all events, ordered by subject and version.
func (i *Inspection) Events() []Event {
	i.t.Helper()
	var events []Event
	i.query(`SELECT domain_id, name, subject, subject_id, version, body FROM event ORDER BY subject, subject_id, version`, func(rows *sql.Rows) error {
		var e Event
		var body []byte
		err := rows.Scan(&e.Domain, &e.Name, &e.Subject, &e.SubjectID, &e.Version, &body)
		e.Body = string(body)
		events = append(events, e)
		return err
	})
	return events
}

// EventsOf lists the events of one subject without their bodies, in the order of their versions.
func (i *Inspection) EventsOf(subject string, id int64) []Event {
	i.t.Helper()
	var events []Event
	text := fmt.Sprintf(`SELECT domain_id, name, subject, subject_id, version FROM event WHERE subject = '%s' AND subject_id = %d ORDER BY version`, subject, id)
	i.query(text, func(rows *sql.Rows) error {
		var e Event
		err := rows.Scan(&e.Domain, &e.Name, &e.Subject, &e.SubjectID, &e.Version)
		events = append(events, e)
		return err
	})
	return events
}

// Delivery is the delivery of an event to a webhook. ID is its id_webhook_data.
type Delivery struct {
	Event
	ID, Webhook        int64
	Delivered, Dropped bool
}

// Deliveries lists all deliveries in the order in which they were stored.
func (i *Inspection) Deliveries() []Delivery {
	i.t.Helper()
	var deliveries []Delivery
	i.query(`SELECT e.domain_id, e.name, e.subject, e.subject_id, e.version, e.body, d.id, d.webhook_id, d.delivered IS NOT NULL, d.dropped IS NOT NULL
		FROM delivery d JOIN event e ON e.id = d.event_id ORDER BY d.id`, func(rows *sql.Rows) error {
		var d Delivery
		var body []byte
		err := rows.Scan(&d.Domain, &d.Name, &d.Subject, &d.SubjectID, &d.Version, &body, &d.ID, &d.Webhook, &d.Delivered, &d.Dropped)
		d.Body = string(body)
		deliveries = append(deliveries, d)
		return err
	})
	return deliveries
}

// Count returns the number that a query selects.
func (i *Inspection) Count(query string) int64 {
	i.t.Helper()
	var n int64
	i.query(query, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n
}

// Lines returns the sorted rows of each query as text, by the name of the query.
func (i *Inspection) Lines(queries map[string]string) map[string][]string {
	i.t.Helper()
	all := map[string][]string{}
	for name, query := range queries {
		lines := []string{}
		i.query(query, func(rows *sql.Rows) error {
			line, err := printed(rows)
			lines = append(lines, line)
			return err
		})
		slices.Sort(lines)
		all[name] = lines
	}
	return all
}

// Columns returns the names of the columns of each table.
func (i *Inspection) Columns() map[string][]string {
	i.t.Helper()
	all := map[string][]string{}
	for _, table := range i.tables {
		columns, err := i.columns(table)
		if err != nil {
			i.t.Fatalf("inspect the database: %v", err)
		}
		all[table] = columns
	}
	return all
}

func (i *Inspection) columns(table string) ([]string, error) {
	rows, err := i.pool.QueryContext(context.Background(), `SELECT * FROM "`+table+`" LIMIT 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err())
}

// Digest returns a hash of every value of every table. It leaves out reserved identifiers, and the
// instant of the last backup, which is stored only after the copy. Two equal digests mean that the
// databases have the same content.
func (i *Inspection) Digest() string {
	i.t.Helper()
	hash := sha256.New()
	for _, table := range i.tables {
		if table == "sequence" || table == "last_backup" {
			continue
		}
		lines := i.Lines(map[string]string{table: `SELECT * FROM "` + table + `"`})
		fmt.Fprintln(hash, table, lines[table])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func printed(rows *sql.Rows) (string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	err = rows.Scan(into...)
	texts := make([]string, len(columns))
	for i, value := range values {
		if bytes, is := value.([]byte); is {
			value = string(bytes)
		}
		texts[i] = fmt.Sprint(value)
	}
	return fmt.Sprintf("%q", texts), err
}
