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
		wantGauge(t, s, "passerelle_connector_programs_left_out", when, want)
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

// TestFailedFetchesFromProgramsAreCounted checks that metrics count the passes that fetch the files
// of a connector program, and the failed ones.
func TestFailedFetchesFromProgramsAreCounted(t *testing.T) {
	url := storetest.SQLite(t)
	s := opened(t, service.Config{Database: url})
	row := store.ConnectorProgram{UUID: "7d0d1c9e-0000-4000-8000-0000000000ab", Address: "http://127.0.0.1:9", Profile: `{}`, Added: time.Now()}
	if err := s.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.AddConnectorProgram(&row, servicetest.ConnectorSecret) }); err != nil {
		t.Fatal(err)
	}
	count := func(name string) float64 {
		t.Helper()
		families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, one := range family.GetMetric() {
				if family.GetName() == name && one.GetLabel()[0].GetValue() == "fetch files of "+row.UUID {
					return one.GetCounter().GetValue()
				}
			}
		}
		return -1
	}
	pass := func(counter string, want float64) {
		t.Helper()
		if err := service.FetchFromPrograms(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); count(counter) != want; {
			if time.Now().After(deadline) {
				t.Fatalf("%s is %v, want %v", counter, count(counter), want)
			}
		}
	}
	const passes, failures = "passerelle_background_passes_total", "passerelle_background_failures_total"
	if pass(passes, 1); count(failures) != 0 {
		t.Error("a successful pass counts as failed")
	}
	storetest.Break(t, url, `ALTER TABLE stored_file RENAME TO hidden`)
	if pass(failures, 1); count(passes) != 2 {
		t.Error("a failed pass does not count as a pass")
	}
}
