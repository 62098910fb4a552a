package berlingroup_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/berlingrouptest"
)

// fixture is a test server that acts as a bank, with the folder of the bank file.
type fixture struct {
	t         *testing.T
	authority *berlingrouptest.Authority
	folder    string
	server    *httptest.Server
	seal      *x509.Certificate
	// file is the content of the bank file. The method load writes it.
	file string
}

// newFixture starts a server that requires a client certificate. The argument certificate is the
// template of the server's certificate. Nil means a certificate for 127.0.0.1.
func newFixture(t *testing.T, handler http.Handler, certificate *x509.Certificate) *fixture {
	t.Helper()
	w := &fixture{t: t, authority: berlingrouptest.NewAuthority(t), folder: t.TempDir(), server: httptest.NewUnstartedServer(handler)}
	key := berlingrouptest.NewKey(t)
	if certificate == nil {
		certificate = &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	}
	own := w.authority.Sign(certificate, key)
	trusted := x509.NewCertPool()
	trusted.AddCert(w.authority.Certificate)
	w.server.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
	}
	w.server.Config.ErrorLog = quiet
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	w.seal = w.authority.Furnish(w.folder)
	w.file = strings.ReplaceAll(bankFile, "API", w.server.URL)
	return w
}

func (w *fixture) certify(c *x509.Certificate) {
	w.t.Helper()
	w.authority.Certify(w.folder, c)
}

func (w *fixture) write(name string, content []byte) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), content, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// with replaces a text in the bank file.
func (w *fixture) with(old, replacement string) *fixture {
	w.t.Helper()
	if !strings.Contains(w.file, old) {
		w.t.Fatalf("the file does not have %q", old)
	}
	w.file = strings.Replace(w.file, old, replacement, 1)
	return w
}

func (w *fixture) load() *berlingroup.Bank {
	w.t.Helper()
	w.write("bank.toml", []byte(w.file))
	bank, err := berlingroup.Load(filepath.Join(w.folder, "bank.toml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(bank.Close)
	return bank
}

const bankFile = `uuid = "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11"
id = 9101
name = "Example Bank"
countries = ["DE"]
sandbox = true

[standard]
kind = "berlin-group"
version = "1.3.11"

[address]
api = "API"

[tls]
certificate = "qwac.pem"
key = "qwac.key"
authorities = "ca.pem"

[signature]
certificate = "qsealc.pem"
key = "qsealc.key"

[oauth]
metadata = "API/.well-known/oauth-authorization-server"
client_id = "PSDDE-TEST-1"

[profile]
sca = ["redirect", "oauth", "decoupled", "embedded"]

[profile.payments]
single = ["sepa-credit-transfers", "instant-sepa-credit-transfers"]
bulk = ["sepa-credit-transfers"]
periodic = ["sepa-credit-transfers"]
future_dates = true
frequencies = ["weekly", "two-weekly", "monthly", "two-monthly", "quarterly", "four-monthly", "semiannually", "yearly", "daily"]
cancellation = "sca"
`

func TestInterfacesOfABank(t *testing.T) {
	accounts := "\n[profile.accounts]\nconsents = [\"global\"]\n"
	w := newFixture(t, http.NotFoundHandler(), nil)
	payments := w.file[strings.Index(w.file, "[profile.payments]"):]
	shared := strings.TrimSuffix(w.file, payments)
	for name, test := range map[string]struct {
		sections             string
		pays, cancels, reads bool
	}{
		"payments":                               {payments, true, true, false},
		"payments that cannot be cancelled":      {strings.Replace(payments, `cancellation = "sca"`, `cancellation = "none"`, 1), true, false, false},
		"accounts":                               {accounts, false, false, true},
		"both":                                   {payments + accounts, true, true, true},
		"both, but payments cannot be cancelled": {strings.Replace(payments, `cancellation = "sca"`, `cancellation = "none"`, 1) + accounts, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w.file = shared + test.sections
			bank := w.load().Connector()
			_, pays := bank.(connector.Initiator)
			_, cancels := bank.(connector.Canceller)
			_, reads := bank.(connector.DataReader)
			if pays != test.pays || cancels != test.cancels || reads != test.reads {
				t.Errorf("pays %t, cancels %t, reads %t, want %+v", pays, cancels, reads, test)
			}
		})
	}
}
