package initiation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/jackc/pgx/v5/stdlib" // with this driver, tests read tables without the store

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/bankcall"
	"passerelle/internal/initiation"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
	"passerelle/internal/wire"
	"passerelle/payment"
	"passerelle/webhook"
)

const (
	testConnector = "338178e6-3d01-564f-9a7b-52ca442459bf"
	shop          = "https://shop.test/back"
	webviewURL    = "https://shop.test/pay?order=1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixture is a domain with a client on a new database, with the simulated bank.
type fixture struct {
	*initiation.Initiation
	t      *testing.T
	url    string
	db     *store.DB
	raw    *sql.DB
	ring   *keys.Ring
	domain passerelle.Domain
	client store.Client
	bank   *sandbox.Bank
	line   *line
	log    *journal
	woken  atomic.Int64
}

// onEach runs a test with a fixture on each database, and then checks the invariants of
// payments.
func onEach(t *testing.T, run func(t *testing.T, w *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) {
		w := newFixture(t, url)
		run(t, w)
		w.checkInvariants(t)
	})
}

func newFixture(t *testing.T, url string) *fixture {
	t.Helper()
	w := &fixture{t: t, url: url, ring: keys.Generate(), log: &journal{}}
	w.db = w.openStore()
	must(t, w.db.Database.Migrate(t.Context()))
	w.raw = openRaw(t, url)
	w.domain, w.client = w.createDomain("shop", passerelle.Sandbox)
	w.bank = &sandbox.Bank{
		Ledger: store.SandboxLedger{DB: w.db}, MAC: w.ring.MAC, Timing: sandbox.CI, Log: slog.New(w.log.handler()),
		Base: func(passerelle.DomainID) string { return "https://bank.test" },
	}
	able, _ := w.bank.Connectors()[0].(connector.Initiator)
	w.line = &line{Initiator: able, profile: able.Profile()}
	w.Initiation = w.another()
	return w
}

func (w *fixture) openStore() *store.DB {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), w.url, store.Options{Keys: w.ring})
	must(w.t, err)
	w.t.Cleanup(func() { db.Close() })
	return db
}

// another returns another process. On SQLite, it shares the open database, because SQLite serves
// only one process.
func (w *fixture) another() *initiation.Initiation {
	w.t.Helper()
	db := w.db
	if strings.HasPrefix(w.url, "postgres") {
		db = w.openStore()
	}
	registry, err := connector.NewRegistry(w.line)
	must(w.t, err)
	return &initiation.Initiation{
		Callers: &bankcall.Callers{},
		DB:      db, Connectors: registry, Random: rand.Reader, Now: func() time.Time { return noon }, MAC: w.ring.MAC,
		Wake: func() { w.woken.Add(1) }, Log: slog.New(w.log.handler()),
	}
}

// createDomain creates a domain, a client, and one webhook for each payment event. Each payment
// event therefore has one delivery.
func (w *fixture) createDomain(name string, kind passerelle.DomainKind, uris ...string) (passerelle.Domain, store.Client) {
	w.t.Helper()
	d := passerelle.Domain{Name: name, Kind: kind, BaseURL: "https://" + name + ".test/2.0", Created: noon}
	c := store.Client{Name: name, SecretHash: []byte(name), RedirectURIs: uris, Created: noon}
	must(w.t, w.db.Write(w.t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, name+".test") }))
	c.Domain = d.ID
	must(w.t, w.db.Write(w.t.Context(), func(tx *store.Tx) error { return tx.CreateClient(&c) }))
	for _, entry := range webhook.Events() {
		if entry.Subject != webhook.SubjectPayment {
			continue
		}
		hook := store.Webhook{Domain: d.ID, Event: entry.Event, URL: "https://shop.test/hook", Created: noon}
		must(w.t, w.db.Write(w.t.Context(), func(tx *store.Tx) error { return tx.CreateWebhook(&hook) }))
	}
	return d, c
}

// openRaw opens a connection that bypasses the store.
func openRaw(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver, source := "pgx", url
	if path, lite := strings.CutPrefix(url, "sqlite:"); lite {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func column[T any](w *fixture, query string, args ...any) []T {
	w.t.Helper()
	rows, err := w.raw.QueryContext(context.Background(), query, args...)
	must(w.t, err)
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		must(w.t, rows.Scan(&one))
		all = append(all, one)
	}
	must(w.t, rows.Err())
	return all
}

func (w *fixture) execute(statement string, args ...any) {
	w.t.Helper()
	_, err := w.raw.ExecContext(context.Background(), statement, args...)
	must(w.t, err)
}

func (w *fixture) leasesLapse() {
	w.t.Helper()
	w.execute(`UPDATE attempt SET lease_until = 0`)
	w.execute(`UPDATE payment SET check_lease = 0`)
}

func (w *fixture) later(by time.Duration) passerelle.Domain {
	d := w.domain
	d.Clock.Offset += by
	return d
}

func draft(lines int, change ...func(*payment.Draft)) payment.Draft {
	d := payment.Draft{ClientRedirectURI: shop, ClientState: "basket 7"}
	for n := range lines {
		d.Instructions = append(d.Instructions, payment.Instruction{
			ReferenceID: fmt.Sprintf("ORDER-%d", n), Amount: passerelle.Money{Minor: 1250, Currency: "EUR"},
			Label: "Order", DateType: payment.FirstOpenDay,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000000000000000033", Label: "The Shop"},
		})
	}
	for _, do := range change {
		do(&d)
	}
	return d
}

func (w *fixture) create(lines int) passerelle.PaymentID {
	w.t.Helper()
	p, err := w.Create(w.t.Context(), w.domain, initiation.Creation{By: w.client.ID, Draft: draft(lines)})
	must(w.t, err)
	return p.ID
}

func validated(change ...func(*initiation.Choice)) initiation.Choice {
	c := initiation.Choice{Connector: testConnector, WebviewURL: webviewURL, Validated: true}
	for _, do := range change {
		do(&c)
	}
	return c
}

func (w *fixture) sent(lines int) *payment.Payment {
	w.t.Helper()
	p, err := w.Validate(w.t.Context(), w.domain, w.create(lines), validated())
	must(w.t, err)
	w.wantState(w.t, p.ID, payment.Validating)
	return p
}

// decide presses a button on the bank's page for the payer, and returns the state parameter of the
// redirect.
func (w *fixture) decide(p *payment.Payment, decision string) string {
	w.t.Helper()
	form := strings.NewReader(url.Values{"decision": {decision}}.Encode())
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, p.ValidateURI, form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	w.bank.Pages().ServeHTTP(answer, r)
	back, err := url.Parse(answer.Header().Get("Location"))
	must(w.t, err)
	if answer.Code != http.StatusSeeOther || !strings.HasPrefix(back.String(), w.domain.BaseURL+"/webauth/callback?") {
		w.t.Fatalf("the bank answered %d and sends the payer to %q", answer.Code, back)
	}
	return back.Query().Get("state")
}

func (w *fixture) stored(id passerelle.PaymentID) *payment.Payment {
	w.t.Helper()
	p, err := w.db.Payment(w.t.Context(), w.domain.ID, id, false)
	must(w.t, err)
	return p
}

func unlike(want, got *payment.Payment) string {
	return cmp.Diff(want, got, cmpopts.EquateComparable(passerelle.Date{}))
}

func (w *fixture) wantState(t *testing.T, id passerelle.PaymentID, want payment.State) {
	t.Helper()
	if p := w.stored(id); p.State != want {
		t.Errorf("the payment is %s (%s), want %s\n%s", p.State, p.ErrorCode, want, w.log)
	}
}

func (w *fixture) wantAttempt(t *testing.T, id passerelle.PaymentID, want string) {
	t.Helper()
	a, err := w.db.Attempt(t.Context(), w.domain.ID, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if a.State != want {
		t.Errorf("the attempt is %q, want %q\n%s", a.State, want, w.log)
	}
}

func (w *fixture) wantSubmissions(t *testing.T, id passerelle.PaymentID, want int64) {
	t.Helper()
	var got int64
	a, err := w.db.Attempt(t.Context(), w.domain.ID, id)
	if err == nil {
		got, err = w.db.SandboxSubmissions(t.Context(), w.domain.ID, a.Key)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the bank got the order %d times, want %d", got, want)
	}
}

func (w *fixture) runDue(t *testing.T, i *initiation.Initiation, d passerelle.Domain, want initiation.Done) {
	t.Helper()
	done, err := i.RunDue(t.Context(), d)
	if err != nil || done != want {
		t.Errorf("a pass did %+v, %v; want %+v", done, err, want)
	}
}

type event struct {
	Subject int64
	Version int64
	Body    wire.Payment
}

func (w *fixture) events(id passerelle.PaymentID) []event {
	w.t.Helper()
	const from = ` FROM event WHERE subject = 'payment' AND subject_id = $1 AND name = 'PAYMENT_STATE_UPDATED' ORDER BY version`
	versions := column[int64](w, `SELECT version`+from, int64(id))
	bodies := column[[]byte](w, `SELECT body`+from, int64(id))
	ids := column[int64](w, `SELECT id`+from, int64(id))
	all := make([]event, len(versions))
	for n := range all {
		parts := column[[]byte](w, `SELECT body FROM event_part WHERE event_id = $1 ORDER BY number`, ids[n])
		all[n] = event{Subject: int64(id), Version: versions[n]}
		must(w.t, json.Unmarshal(bytes.Join(append([][]byte{bodies[n]}, parts...), nil), &all[n].Body))
	}
	return all
}

// checkInvariants checks each payment's history and conditions that always hold in the database.
func (w *fixture) checkInvariants(t *testing.T) {
	t.Helper()
	for _, id := range column[int64](w, `SELECT id FROM payment ORDER BY id`) {
		domain := passerelle.DomainID(column[int64](w, `SELECT domain_id FROM payment WHERE id = $1`, id)[0])
		history, err := w.db.Transitions(t.Context(), domain, passerelle.PaymentID(id))
		must(t, err)
		w.checkHistory(t, id, history)
	}
	for what, query := range map[string]string{
		"deliveries that are not one for each event": `SELECT e.id FROM event e LEFT JOIN delivery d ON d.event_id = e.id GROUP BY e.id HAVING count(d.id) <> 1`,
		"orders sent more than once":                 `SELECT submissions FROM sandbox_order WHERE submissions <> 1`,
		"orders without an attempt":                  `SELECT version FROM sandbox_order o WHERE NOT EXISTS (SELECT 1 FROM attempt a WHERE a.key = o.key)`,
		"sent payments with an open attempt":         `SELECT a.id FROM attempt a JOIN payment p ON p.id = a.payment_id WHERE a.kind = 'initiation' AND a.state <> 'answered' AND p.state <> 'created'`,
		"final payments in doubt":                    `SELECT a.id FROM attempt a JOIN payment p ON p.id = a.payment_id WHERE a.state <> 'answered' AND p.next_check IS NULL AND p.state <> 'created'`,
		"cancellations without an action":            `SELECT id FROM payment WHERE state_detail IS NOT NULL AND action IS NULL`,
		"final payments to be asked about":           `SELECT id FROM payment WHERE next_check IS NOT NULL AND state NOT IN ('validating', 'pending')`,
	} {
		if found := column[int64](w, query); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
}

func (w *fixture) checkHistory(t *testing.T, id int64, history []payment.Transition) {
	t.Helper()
	reported := w.events(passerelle.PaymentID(id))
	if len(reported) != len(history)-1 {
		t.Fatalf("payment %d has %d transitions and %d events", id, len(history), len(reported))
	}
	at := payment.State("")
	for n, step := range history {
		if step.Seq != int64(n) || step.From != at {
			t.Errorf("payment %d: transition %d is %d and begins at %q, not %q", id, n, step.Seq, step.From, at)
		}
		if n > 0 && (reported[n-1].Version != step.Seq || reported[n-1].Body.State != step.To || reported[n-1].Body.ID != id) {
			t.Errorf("payment %d: of transition %+v receivers are told %+v", id, step, reported[n-1])
		}
		at = step.To
	}
	if state := column[string](w, `SELECT state FROM payment WHERE id = $1`, id)[0]; state != string(at) {
		t.Errorf("payment %d is %s and its history ends in %s", id, state, at)
	}
}

// rows counts the rows of every table and adds up the versions of payments.
func (w *fixture) rows() map[string]int64 {
	w.t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if strings.HasPrefix(w.url, "postgres") {
		query = `SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	counts := map[string]int64{"versions": column[int64](w, `SELECT CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM payment`)[0]}
	for _, table := range column[string](w, query) {
		counts[table] = column[int64](w, `SELECT count(*) FROM `+table)[0]
	}
	return counts
}

type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) handler() slog.Handler { return slog.NewTextHandler(j, nil) }

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var _ io.Writer = (*journal)(nil)
