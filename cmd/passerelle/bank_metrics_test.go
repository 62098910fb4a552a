package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsOfBanks: /metrics shows the state of a bank before the first call to the bank.
func TestMetricsOfBanks(t *testing.T) {
	banks := newBanks(t, "redirect")
	said, stop := started(t, "serve", "--json", "--database", "sqlite:"+filepath.Join(t.TempDir(), "bank.db"), "--key-file", keyFile(t), "--banks", banks.Folder,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0")
	defer stop()
	ops, _ := said["ops"].(string)
	answer, err := http.Get("http://" + ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`passerelle_bank_circuit_open{connector="` + banks.uuid("redirect") + `"} 0`,
		`passerelle_bank_refuses_service{connector="` + banks.uuid("redirect") + `"} 0`,
		`passerelle_bank_failures_in_a_row{connector="`,
		`passerelle_bank_certificate_expiry_timestamp_seconds{certificate="tls.certificate",connector="`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
