package service_test

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

const bankFile = `uuid = "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b%d"
id = %d
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

// TestAnInvalidCertificateIsLogged: when the service reads a file with an invalid client
// certificate, the log names the bank. The bank stays, because it may have payments.
func TestAnInvalidCertificateIsLogged(t *testing.T) {
	folder, authority := t.TempDir(), berlingrouptest.NewAuthority(t)
	authority.Furnish(folder)
	if err := os.WriteFile(filepath.Join(folder, "a.toml"), fmt.Appendf(nil, bankFile, 11, 11, "Bank A"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder, Quiet: true})
	if log := s.Logs.String(); strings.Contains(log, "is not valid") {
		t.Errorf("the log complains about a valid certificate:\n%s", log)
	}
	authority.Certify(folder, &x509.Certificate{NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)})
	s.ReloadBanks(t.Context())
	if log := s.Logs.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"bank":"Bank A","wrong":"tls.certificate is not valid after`) || !strings.Contains(log, `"banks":1`) {
		t.Errorf("the log does not name the bank and its certificate:\n%s", log)
	}
}

// TestCopiedBankFile checks that a copy of a bank file does not stop the reload of the other files.
// At the start and in commands, the first file by name counts.
func TestCopiedBankFile(t *testing.T) {
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	write := func(name string, number int, title string) {
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, bankFile, number, number, title), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("oauth.toml", 12, "Bank O")
	write("redirect.toml", 11, "Bank R")
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder, Quiet: true})
	expect := func(s *servicetest.Instance, when string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range s.Initiation.Connectors.All() {
			if p := c.Profile(); strings.HasPrefix(p.Name, "Bank ") {
				got = append(got, p.Name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	write("copy.toml", 11, "Bank Copy")
	write("oauth.toml", 12, "Bank O, renamed")
	s.ReloadBanks(t.Context())
	expect(s, "with a copy", "Bank O, renamed", "Bank R")
	copied, real := filepath.Join(folder, "copy.toml"), filepath.Join(folder, "redirect.toml")
	for _, want := range []string{
		`"file":"` + copied + `","line":1,"field":"uuid","wrong":"5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11 is taken by ` + real,
		`"file":"` + copied + `","line":2,"field":"id"`,
	} {
		if log := s.Logs.String(); !strings.Contains(log, want) || strings.Contains(log, "as they were") {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	write("oauth.toml", 11, "Bank O, renumbered")
	s.ReloadBanks(t.Context())
	expect(s, "with a bank that takes the number of another", "Bank O, renamed", "Bank R")
	expect(servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder, Quiet: true}), "at the start", "Bank Copy")
	files, err := service.BankFiles(folder, nil)
	if err != nil || len(files) != 3 || files[0].Err != nil || !strings.Contains(fmt.Sprint(files[2].Err), "redirect.toml:1:1: uuid: 5d4c6a1e") {
		t.Errorf("the list says %+v, %v", files, err)
	}
}

// TestAProgramCannotTakeABank checks that the UUID of a bank file remains with the bank: a
// connector program with this UUID is not added.
func TestAProgramCannotTakeABank(t *testing.T) {
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	if err := os.WriteFile(filepath.Join(folder, "a.toml"), fmt.Appendf(nil, bankFile, 11, 11, "Bank A"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder})
	grant, err := s.Access.IssueDeployment(t.Context(), s.Domain.ID)
	if err != nil {
		t.Fatal(err)
	}
	add := func(number int) servicetest.Answer {
		address := servicetest.ServeProgram(t, fmt.Sprintf("5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b%d", number))
		return s.Call("POST", "/connector_programs", grant.Text, map[string]any{"address": address, "secret": servicetest.ConnectorSecret})
	}
	if got := add(11); got.Status != 400 || !strings.Contains(string(got.Body), "already exists") {
		t.Errorf("a program with the UUID of a bank: %d %s", got.Status, got.Body)
	}
	s.OK(add(12))
	s.ReloadBanks(t.Context())
	var got []string
	for _, c := range s.Initiation.Connectors.All() {
		if p := c.Profile(); strings.HasPrefix(p.UUID, "5d4c6a1e-8a0f-4f0e-9c65-") {
			got = append(got, p.UUID[34:]+" "+p.Name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"11 Bank A", "12 Outside"}) {
		t.Errorf("the connectors are %q", got)
	}
}

// TestBanksAreReloaded checks that the fault of one bank file does not affect the banks of the
// other files. An invalid file must not change its own bank.
func TestBanksAreReloaded(t *testing.T) {
	folder := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(folder)
	write := func(name string, number int, title string) {
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, bankFile, number, number, title), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.toml", 11, "Bank A")
	write("b.toml", 0, "Bank B")
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: folder})
	expect := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range s.Initiation.Connectors.All() {
			if p := c.Profile(); strings.HasPrefix(p.Name, "Bank ") {
				got = append(got, p.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("with one that is wrong at the start", "Bank A")
	write("b.toml", 12, "Bank B")
	s.ReloadBanks(t.Context())
	expect("with both", "Bank A", "Bank B")
	// An operator's settings for a connector also apply to a bank from a file.
	uuid := fmt.Sprintf("5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b%d", 12)
	hidden := func() bool {
		var out struct{ Hidden bool }
		s.JSON(s.OK(s.Call("GET", "/connectors/"+uuid, s.ConfigToken, nil)), &out)
		return out.Hidden
	}
	before := hidden()
	s.OK(s.Call("PATCH", "/connectors", s.ConfigToken, map[string]any{uuid: map[string]any{"hidden": true}}))
	if s.ReloadBanks(t.Context()); before || !hidden() {
		t.Errorf("a bank that was hidden (before: %t) is hidden: %t", before, hidden())
	}
	write("a.toml", -1, "Bank of nothing")
	write("b.toml", 12, "Bank B, renamed")
	s.ReloadBanks(t.Context())
	expect("with one that became wrong", "Bank A", "Bank B, renamed")
	write("c.toml", 12, "Bank C")
	s.ReloadBanks(t.Context())
	expect("with one that has the number of another", "Bank A", "Bank B, renamed")
	if err := os.Remove(filepath.Join(folder, "b.toml")); err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	expect("with one that is gone", "Bank A", "Bank C")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	expect("without the folder", "Bank A", "Bank C")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	expect("with a file instead of the folder", "Bank A", "Bank C")
	if log := s.Logs.String(); !strings.Contains(log, `"file":"`+filepath.Join(folder, "a.toml")+`","line":2,"field":"id"`) {
		t.Errorf("the log does not name file, line and field of what was wrong:\n%s", log)
	}
}
