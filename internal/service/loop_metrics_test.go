package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/mail"
	"passerelle/internal/service"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// slowMailer sends a value when it begins to send a mail, and another value before it ends.
type slowMailer chan struct{}

func (m slowMailer) Send(ctx context.Context, _ mail.Message) error {
	for range 2 {
		select {
		case m <- struct{}{}:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// TestRunningPassesAreMeasured checks that a metric has the time at which a running pass began, and 0
// between passes.
func TestRunningPassesAreMeasured(t *testing.T) {
	mailer := slowMailer(make(chan struct{}))
	s := opened(t, service.Config{Database: storetest.SQLite(t), Mail: mailer})
	begun := func() float64 {
		t.Helper()
		families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, one := range family.GetMetric() {
				if family.GetName() == "passerelle_background_pass_begun_timestamp_seconds" && one.GetLabel()[0].GetValue() == "send mails" {
					return one.GetGauge().GetValue()
				}
			}
		}
		t.Fatal("the metric is missing")
		return 0
	}
	d, err := s.DB.DomainByName(t.Context(), "test.example")
	if err != nil {
		t.Fatal(err)
	}
	m := store.Mail{Domain: d.ID, Kind: "alert", Recipient: "ops@bank.example", Subject: "A", Text: "A", Created: time.Now()}
	if err := s.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateMail(&m) }); err != nil {
		t.Fatal(err)
	}
	if at := begun(); at != 0 {
		t.Errorf("before the first pass, the metric is %v", at)
	}
	earliest := time.Now().Add(-time.Second)
	s.Start()
	<-mailer
	if at := time.UnixMilli(int64(begun() * 1000)); at.Before(earliest) || at.After(time.Now()) {
		t.Errorf("the running pass began at %s, want a time since %s", at, earliest)
	}
	<-mailer
	for begun() != 0 {
	}
}
