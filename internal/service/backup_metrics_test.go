package service_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/service"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestMetricsShowTheLastBackup: the metrics have the time of the last copy of the database, or 0
// when there is no copy. They have no time while all domains are sandboxes.
func TestMetricsShowTheLastBackup(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := opened(t, service.Config{Database: url})
		wantBackup(t, s, "without a copy", []float64{0})
		begun := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
		err := s.DB.Write(t.Context(), func(tx *store.Tx) error {
			tx.NoteBackup(begun)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantBackup(t, s, "after a copy", []float64{float64(begun.Unix())})
		storetest.Break(t, url, `UPDATE domain SET kind = 'sandbox'`)
		wantBackup(t, s, "in sandboxes", nil)
	})
}

// wantBackup measures the service, and requires the times of the last copy in its metrics.
func wantBackup(t *testing.T, s *service.Service, when string, want []float64) {
	t.Helper()
	if err := service.Measure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, family := range families {
		if family.GetName() == "passerelle_last_backup_timestamp_seconds" {
			got = append(got, family.GetMetric()[0].GetGauge().GetValue())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, the metrics have the times (-want +got):\n%s", when, diff)
	}
}
