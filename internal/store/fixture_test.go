package store_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
	"passerelle/payment"
)

// now is a fixed instant. It is in whole microseconds, because stored instants have this precision.
var now = time.Date(2026, 11, 21, 15, 4, 5, 6000, time.UTC)

// dates lets cmp compare passerelle.Date values.
var dates = cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })

// fixture is a store with its complete schema and two sandbox domains.
type fixture struct {
	t             *testing.T
	db            *store.DB
	domain, other passerelle.DomainID
	client, alien passerelle.ClientID
}

func onEachDatabase(t *testing.T, run func(t *testing.T, s fixture)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, newFixture(t, url)) })
}

// onEachOwnDatabase is like onEachDatabase, but no other test uses the database or its statistics
// afterwards.
func onEachOwnDatabase(t *testing.T, run func(t *testing.T, s fixture)) {
	storetest.EachEmpty(t, func(t *testing.T, url string) { run(t, newFixture(t, url)) })
}

func newFixture(t *testing.T, url string) fixture {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := fixture{t: t, db: db}
	s.domain, s.client = s.createDomain("first", passerelle.Sandbox)
	s.other, s.alien = s.createDomain("second", passerelle.Sandbox)
	return s
}

func (s fixture) createDomain(name string, kind passerelle.DomainKind) (passerelle.DomainID, passerelle.ClientID) {
	s.t.Helper()
	d := passerelle.Domain{Name: name, Kind: kind, BaseURL: "https://" + name + ".example/2.0", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateDomain(&d, name+".example") })
	c := store.Client{Domain: d.ID, Name: "app", SecretHash: []byte("hash"), Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateClient(&c) })
	return d.ID, c.ID
}

func (s fixture) write(fn func(*store.Tx) error) {
	s.t.Helper()
	if err := s.try(fn); err != nil {
		s.t.Fatal(err)
	}
}

func (s fixture) try(fn func(*store.Tx) error) error { return s.db.Write(s.t.Context(), fn) }

func (s fixture) sql(text string, args ...any) error {
	return s.try(func(tx *store.Tx) error { tx.Unit().Exec(text, args...); return nil })
}

func (s fixture) count(text string, args ...any) int64 {
	s.t.Helper()
	n, err := database.One(s.t.Context(), s.db.Rows(), database.ScanInt, text, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s fixture) day(text string) passerelle.Date {
	s.t.Helper()
	d, err := passerelle.ParseDate("day", text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func instruction(minor int64) payment.Instruction {
	return payment.Instruction{
		Amount: passerelle.Money{Minor: minor, Currency: "EUR"}, Label: "Invoice é", DateType: payment.Instant,
		Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Shop"},
	}
}

func draft(amounts ...int64) payment.Draft {
	d := payment.Draft{ClientRedirectURI: "https://client.example/back"}
	for _, minor := range amounts {
		d.Instructions = append(d.Instructions, instruction(minor))
	}
	return d
}

func (s fixture) create(d payment.Draft, at time.Time) *payment.Payment {
	s.t.Helper()
	p, first, err := payment.New(d, payment.Policy{Periodic: true}, rand.Reader, at)
	if err != nil {
		s.t.Fatal(err)
	}
	p.Domain, p.Client = s.domain, s.client
	s.write(func(tx *store.Tx) error { return tx.CreatePayment(p, first) })
	return p
}

func (s fixture) load(p *payment.Payment) *payment.Payment {
	s.t.Helper()
	loaded, err := s.db.Payment(s.t.Context(), p.Domain, p.ID, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return loaded
}

func (s fixture) report(p *payment.Payment, r payment.Report, at time.Time) {
	s.t.Helper()
	steps, err := p.Apply(r, at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(func(tx *store.Tx) error { return tx.UpdatePayment(p, transitions(steps), nil) })
}

func transitions(steps []payment.Step) []payment.Transition {
	var list []payment.Transition
	for _, step := range steps {
		list = append(list, step.Transition)
	}
	return list
}

func wantSame[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, dates, cmpopts.IgnoreUnexported(store.AttemptOrder{})); diff != "" {
		t.Errorf("(-stored +loaded):\n%s", diff)
	}
}

func wantNotFound[T any](t *testing.T, _ T, err error) {
	t.Helper()
	wantError(t, err, store.ErrNotFound)
}
