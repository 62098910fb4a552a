package berlingroup_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/tomlfile"
	"passerelle/payment"
)

// TestVersions: a bank file cannot use elements that the bank's version of the standard lacks.
func TestVersions(t *testing.T) {
	for _, test := range []struct{ field, old, replacement, before, since string }{
		{"profile.notifications", "sca =", "notifications = true\nsca =", "1.3.2", "1.3.3"},
		{"passwords", "[profile]", "[passwords]\ncertificate = \"qsealc.pem\"\n\n[profile]", "1.3", "1.3.3"},
		{"profile.payments.frequencies", `"yearly"`, `"yearly"`, "1.3.4", "1.3.5"},
		{"profile.confirmation", "sca =", "confirmation = true\nsca =", "1.3.5", "1.3.6"},
	} {
		for _, version := range []string{test.before, test.since} {
			w := newFixture(t, &answering{}, nil).with(test.old, test.replacement).with("1.3.11", version)
			if test.field != "profile.payments.frequencies" {
				w.with(`"four-monthly", `, "")
			}
			w.write("bank.toml", []byte(w.file))
			_, err := berlingroup.Load(filepath.Join(w.folder, "bank.toml"))
			var wrong *tomlfile.Complaint
			if refused := errors.As(err, &wrong); refused != (version == test.before) || refused && (wrong.Field != test.field || !strings.Contains(wrong.Message, "needs version "+test.since)) {
				t.Errorf("%s at a bank with %s: %v", test.field, version, err)
			}
		}
	}
}

// TestNewMembers checks that a bank gets availableAccountsWithBalance and TPP-Decoupled-Preferred
// only if its version of the standard has them.
func TestNewMembers(t *testing.T) {
	for version, want := range map[string]struct {
		access    string
		decoupled bool
	}{
		"1.3.3":  {`{"availableAccounts":"allAccountsWithBalances"}`, false},
		"1.3.8":  {`{"availableAccountsWithBalance":"allAccounts"}`, false},
		"1.3.11": {`{"availableAccountsWithBalance":"allAccounts"}`, true},
	} {
		bank := &answering{status: 500}
		w := newFixture(t, bank, nil).with("1.3.11", version).with(`"four-monthly", `, "")
		w.file += "[profile.accounts]\nconsents = [\"available-accounts\"]\n"
		both := w.load().Connector()
		_, _ = both.(connector.Initiator).Initiate(t.Context(), orderOf(instruction(payment.FirstOpenDay)))
		_, _ = both.(connector.DataReader).Read(t.Context(), connector.DataRequest{Present: true, Now: noon}, &taken{})
		if len(bank.requests) != 2 {
			t.Fatalf("%s: the bank was asked %d times", version, len(bank.requests))
		}
		for _, r := range bank.requests {
			if _, has := r.Header["Tpp-Decoupled-Preferred"]; has != want.decoupled {
				t.Errorf("%s: the headers are %v", version, r.Header)
			}
		}
		if access, err := json.Marshal(bank.requests[1].body["access"]); err != nil || string(access) != want.access {
			t.Errorf("%s: the consent is for %s, %v", version, access, err)
		}
	}
}
