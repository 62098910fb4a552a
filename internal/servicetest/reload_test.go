package servicetest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/internal/servicetest"
)

const reloadedFile = `uuid = "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b%d"
id = %[1]d
name = "%s"
countries = ["DE"]
sandbox = true
[standard]
kind = "berlin-group"
version = "1.3.11"
[address]
api = "https://bank.example"
[tls]
certificate = "qwac.pem"
key = "qwac.key"
[profile]
sca = ["redirect"]
[profile.payments]
single = ["sepa-credit-transfers"]
`

// TestBanksAreReadAgainOnHangup: after SIGHUP, the program has the banks of the changed files. A
// bank does not change when its file has become invalid.
func TestBanksAreReadAgainOnHangup(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	write := func(number int, name string) {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.toml", number)), fmt.Appendf(nil, reloadedFile, number, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(11, "Bank A")
	p := servicetest.StartProcessWithBanks(t, "", folder)
	d := newDriver(t, p)
	named := func(number int) string {
		var bank struct{ Name string }
		_, answer := d.send("GET", fmt.Sprintf("/connectors/5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b%d", number), d.config, "", nil)
		_ = json.Unmarshal(answer, &bank) // an error response has no name
		return bank.Name
	}
	reread := func(number int, want string) {
		t.Helper()
		p.Hangup()
		for deadline := time.Now().Add(waitLimit); named(number) != want; <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("bank %d is called %q, want %q", number, named(number), want)
			}
		}
	}
	write(12, "Bank B")
	reread(12, "Bank B")
	write(11, "") // a bank needs a name
	write(12, "Bank B, renamed")
	reread(12, "Bank B, renamed")
	if got := named(11); got != "Bank A" {
		t.Errorf("the bank whose file is wrong is called %q", got)
	}
	if err := os.Remove(filepath.Join(folder, "12.toml")); err != nil {
		t.Fatal(err)
	}
	reread(12, "")
}
