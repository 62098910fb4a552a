package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

// TestWrongBankFilesAreCounted checks that a metric counts the bank files that are wrong at the
// start, and that it follows the files when the service reads them again.
func TestWrongBankFilesAreCounted(t *testing.T) {
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("right.toml", fmt.Sprintf(bankFile, 11, 11, "Bank A"))
	write("copy.toml", fmt.Sprintf(bankFile, 11, 11, "Bank A"))
	write("broken.toml", "uuid = 1")
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder, Quiet: true})
	expect := func(when string, want float64) {
		t.Helper()
		wantGauge(t, s, "passerelle_bank_files_wrong", when, want)
	}
	expect("at the start", 2)
	write("copy.toml", fmt.Sprintf(bankFile, 12, 12, "Bank B"))
	s.ReloadBanks(t.Context())
	expect("after a correction", 1)
	write("broken.toml", fmt.Sprintf(bankFile, 13, 13, "Bank C"))
	s.ReloadBanks(t.Context())
	expect("in the end", 0)
	write("right.toml", "uuid = 1")
	s.ReloadBanks(t.Context())
	expect("with a file that has become wrong", 1)
}

// wantGauge checks the value of a metric that has one value.
func wantGauge(t *testing.T, s *servicetest.Instance, name, when string, want float64) {
	t.Helper()
	families, err := service.Metrics(s.Service).(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			if got := family.GetMetric()[0].GetGauge().GetValue(); got != want {
				t.Errorf("%s, %s is %v, want %v", when, name, got, want)
			}
			return
		}
	}
	t.Errorf("%s, the metric %s is missing", when, name)
}
