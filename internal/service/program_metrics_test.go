package service_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestUnusableConnectorProgramsAreCounted checks that a metric counts the connector programs that
// the service cannot use, and that it follows the database.
func TestUnusableConnectorProgramsAreCounted(t *testing.T) {
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Quiet: true})
	expect := func(when string, want float64) {
		t.Helper()
		families, err := service.Metrics(s.Service).(prometheus.Gatherer).Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "passerelle_connector_programs_left_out" {
				if got := family.GetMetric()[0].GetGauge().GetValue(); got != want {
					t.Errorf("%s, %v programs are left out, want %v", when, got, want)
				}
				return
			}
		}
		t.Errorf("%s, the metric is missing", when)
	}
	change := func(fn func(tx *store.Tx) error) {
		t.Helper()
		if err := s.DB.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
		s.ReloadBanks(t.Context())
	}
	expect("at the start", 0)
	row := store.ConnectorProgram{UUID: "7d0d1c9e-0000-4000-8000-0000000000ab", Address: "http://127.0.0.1:9", Profile: `{"uuid":1}`, Added: time.Now()}
	change(func(tx *store.Tx) error { return tx.AddConnectorProgram(&row, servicetest.ConnectorSecret) })
	expect("with an invalid profile", 1)
	change(func(tx *store.Tx) error { tx.RemoveConnectorProgram(row.ID); return nil })
	expect("after the removal", 0)
}

// TestProgramsOutliveAFailureOfTheDatabase checks that the service still offers the connector
// programs after it could not read them again.
func TestProgramsOutliveAFailureOfTheDatabase(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		s := servicetest.Start(t, url, servicetest.Options{Quiet: true})
		const uuid = "7d0d1c9e-0000-4000-8000-0000000000ab"
		if _, err := service.Programs(s.DB).Add(t.Context(), servicetest.ServeProgram(t, uuid), servicetest.ConnectorSecret); err != nil {
			t.Fatal(err)
		}
		s.ReloadBanks(t.Context())
		storetest.Break(t, url, `ALTER TABLE connector_program RENAME COLUMN secret TO unreadable`)
		s.ReloadBanks(t.Context())
		if _, offered := s.Aggregation.Connectors.DataReader(uuid); !offered {
			t.Error("the service no longer offers the program")
		}
	})
}
