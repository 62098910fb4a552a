package delivery_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/webhook"
)

// BenchmarkDrain sends a backlog of 20,000 deliveries to one receiver on the loopback interface.
// The benchmark reports deliveries per second.
func BenchmarkDrain(b *testing.B) {
	for name, address := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) { benchmarkDrain(b, address(b)) })
	}
}

const backlog = 20_000

func benchmarkDrain(b *testing.B, url string) {
	db, err := store.Open(b.Context(), url, store.Options{Keys: keys.Generate()})
	fatal(b, err)
	defer db.Close()
	fatal(b, db.Database.Migrate(b.Context()))
	domain := passerelle.Domain{Name: "d", Kind: passerelle.Sandbox, BaseURL: "https://d.example/2.0", Created: time.Now()}
	fatal(b, db.Write(b.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&domain, "d.example") }))
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	d := delivery.New(delivery.Config{DB: db, Client: delivery.NewClient(open), Now: time.Now, Random: rand.Reader, Name: "A", Log: slog.New(slog.DiscardHandler)})
	_, err = d.Register(b.Context(), domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: server.URL})
	fatal(b, err)
	for n := range b.N {
		b.StopTimer()
		for first := 0; first < backlog; first += 500 {
			fatal(b, db.Write(b.Context(), func(tx *store.Tx) error { return emitMany(tx, domain.ID, int64(n), first, 500) }))
		}
		b.StartTimer()
		got, err := d.RunDue(b.Context(), domain)
		fatal(b, err)
		if got.Delivered != backlog {
			b.Fatalf("%+v", got)
		}
	}
	b.ReportMetric(float64(b.N*backlog)/b.Elapsed().Seconds(), "deliveries/s")
}

func emitMany(tx *store.Tx, domain passerelle.DomainID, version int64, first, count int) error {
	for id := first; id < first+count; id++ {
		err := tx.Emit(store.EmittedEvent{
			Domain: domain, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: int64(id), Version: version,
			Body: fmt.Appendf(nil, `{"id":%d,"version":%d,"filling":"%0500d"}`, id, version, 0), Created: time.Now(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func fatal(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
