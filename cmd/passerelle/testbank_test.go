package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/servicetest"
)

// TestTestbankCommand starts the banks twice in one folder. The second time, the banks must have
// the stored data.
func TestTestbankCommand(t *testing.T) {
	data := t.TempDir()
	const free = "127.0.0.1:0"
	arguments := []string{"testbank", "--json", "--data", data, "--listen", free, "--pages", free, "--control", free, "--profile", "redirect,oauth"}
	var stored any
	for range 2 {
		said, stop := started(t, arguments...)
		banks, _ := said["banks"].([]any)
		if len(banks) != 2 {
			t.Fatalf("the command printed %v", said)
		}
		for _, one := range banks {
			bank, _ := one.(map[string]any)
			file, _ := bank["file"].(string)
			if content, err := os.ReadFile(file); err != nil || !bytes.Contains(content, []byte(`name = "Example Bank (Berlin Group, `)) {
				t.Errorf("the bank file %s: %v\n%s", file, err, content)
			}
			pages, _ := bank["pages"].(string)
			answers(t, pages+"/", 200)
		}
		control, _ := said["control"].(string)
		answers(t, control+"/banks/redirect/check", 200)
		stored = keepsAccounts(t, servicetest.TestBanks{Control: control}, stored)
		if status := stop(); status != succeeded {
			t.Errorf("the program ended with %d", status)
		}
	}
	if status := run(t.Context(), []string{"testbank", "--data", data, "--profile", "none"}, nil, t.Output(), t.Output()); status != failed {
		t.Errorf("a profile that is none ends with %d", status)
	}
}

func keepsAccounts(t *testing.T, banks servicetest.TestBanks, before any) (after any) {
	t.Helper()
	var present any
	err := banks.Steer("GET", "redirect/accounts", nil, &present)
	if diff := cmp.Diff(before, present); err != nil || before != nil && diff != "" {
		t.Errorf("the accounts of the second start: %v %s", err, diff)
	}
	booked := banks.Steer("POST", "redirect/accounts/anna-current/fill", map[string]any{"count": 5, "amount": "-0.25"}, nil)
	read := banks.Steer("GET", "redirect/accounts", nil, &after)
	if booked != nil || read != nil || cmp.Equal(present, after) {
		t.Errorf("the bookings changed no account: %v, %v", booked, read)
	}
	return after
}

// TestTestbankCertsCommand: the command makes certificates but does not change existing
// certificates.
func TestTestbankCertsCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "certs")
	var out bytes.Buffer
	if status := run(t.Context(), []string{"testbank", "certs", "--json", folder}, nil, &out, t.Output()); status != succeeded {
		t.Fatalf("the command ended with %d", status)
	}
	var printed certsView
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatalf("the command printed %s: %v", &out, err)
	}
	for _, path := range printed.Files {
		stat, err := os.Stat(path)
		if err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, stat, err)
		}
	}
	before, err := os.ReadFile(filepath.Join(folder, "qwac.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if status := run(t.Context(), []string{"testbank", "certs", folder}, nil, t.Output(), t.Output()); status != failed {
		t.Errorf("a second run in the folder ends with %d", status)
	}
	if after, err := os.ReadFile(filepath.Join(folder, "qwac.pem")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("a second run changed the certificates: %v", err)
	}
}
