package berlingroup_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/connector/berlingroup/tomlfile"
	"passerelle/internal/leftout"
)

// quiet discards what a server logs about handshakes that must fail.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)

// unknown acts as a bank that responds to each API request with "unknown resource".
func unknown(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		fmt.Fprintf(w, `{"authorization_endpoint": "https://%[1]s/authorise", "token_endpoint": "https://%[1]s/token"}`, r.Host)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"tppMessages": [{"category": "ERROR", "code": "RESOURCE_UNKNOWN"}]}`)
}

func TestCheck(t *testing.T) {
	for _, f := range newFixture(t, http.HandlerFunc(unknown), nil).load().Check(t.Context()) {
		if f.Wrong {
			t.Errorf("%s: %s", f.Check, f.Detail)
		}
	}
}

func TestCheckFails(t *testing.T) {
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		server  *x509.Certificate
		change  func(*fixture)
		says    string
	}{
		{"gone", unknown, nil, func(w *fixture) { w.server.Close() }, "Example Bank (check): it cannot be reached at address.api: the connection was refused"},
		{"no authorisation server", unknown, nil, func(w *fixture) {
			w.with(`metadata = "`+w.server.URL, `metadata = "https://127.0.0.1:9`)
		}, "Example Bank (metadata): it cannot be reached at oauth.metadata: the connection was refused"},
		{"another authority", unknown, nil, func(w *fixture) {
			w.write("ca.pem", berlingrouptest.Encode("CERTIFICATE", berlingrouptest.NewAuthority(w.t).Certificate.Raw))
		}, "an authority that tls.authorities does not contain"},
		{"another name", unknown, &x509.Certificate{DNSNames: []string{"bank.example"}, IPAddresses: []net.IP{{127, 0, 0, 9}}}, nil, "has another name than address.api"},
		{"a server that has expired", unknown, &x509.Certificate{IPAddresses: []net.IP{{127, 0, 0, 1}}, NotBefore: past.Add(-time.Hour), NotAfter: past}, nil, "this machine's clock"},
		{"ours has expired", unknown, nil, func(w *fixture) { w.certify(&x509.Certificate{NotBefore: past.Add(-time.Hour), NotAfter: past}) }, "replace it with the new certificate"},
		{"ours expires soon", unknown, nil, func(w *fixture) { w.certify(&x509.Certificate{NotAfter: time.Now().Add(29 * 24 * time.Hour)}) }, "renew it"},
		{"ours is of another authority", unknown, nil, func(w *fixture) {
			w.server.TLS.MaxVersion = tls.VersionTLS12 // with TLS 1.2 the alert arrives before the request is sent
			other := *w
			other.authority = berlingrouptest.NewAuthority(w.t)
			other.certify(&x509.Certificate{})
		}, "it refuses our transport certificate"},
		{"ours has another role", unknown, nil, func(w *fixture) {
			w.certify(&x509.Certificate{ExtraExtensions: berlingrouptest.PSD2(w.t, berlingroup.RoleInformation)})
		}, "lacks the roles that the profile needs: PSP_PI"},
		{"ours has no role", unknown, nil, func(w *fixture) {
			w.certify(&x509.Certificate{ExtraExtensions: berlingrouptest.QcType(w.t, 3)})
		}, "lacks the roles that the profile needs: PSP_PI"},
		{"ours is a seal", unknown, nil, func(w *fixture) {
			w.certify(&x509.Certificate{ExtraExtensions: berlingrouptest.QcType(w.t, 2)})
		}, "is a QSealC: the bank requires a QWAC here"},
		{"a certificate that it does not take", answers(401, `{"tppMessages": [{"category": "ERROR", "code": "CERTIFICATE_INVALID"}]}`), nil, nil, "it returns status 401 CERTIFICATE_INVALID: check tls.certificate and signature.certificate"},
		{"a signature that it does not take", answers(401, `{"type": "x", "code": "SIGNATURE_INVALID"}`), nil, nil, "it returns status 401 SIGNATURE_INVALID: check the table signature"},
		{"no bank", answers(200, `<html>`), nil, nil, "it returns status 200"},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		}, nil, nil, "it redirects to another address, which Passerelle does not follow"},
		{"too much", func(w http.ResponseWriter, _ *http.Request) {
			for page := strings.Repeat(" ", 1<<20); ; {
				if _, err := io.WriteString(w, page); err != nil {
					return
				}
			}
		}, nil, nil, "its response is larger than the limit"},
		{"too deep", answers(200, strings.Repeat(`{"a":`, 10000)+"1"+strings.Repeat("}", 10000)), nil, nil, "its response is not valid JSON of the standard"},
		{"an answer that is cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, nil, nil, "the connection was lost"},
		{"metadata without addresses", answers(200, `{}`), nil, nil, "its metadata lacks an https address"},
		{"metadata of an open server", answers(200, `{"authorization_endpoint": "https://a.example", "token_endpoint": "http://a.example"}`), nil, nil, "token_endpoint"},
		{"no metadata", answers(404, ``), nil, nil, "it returns status 404: check oauth.metadata"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFixture(t, test.handler, test.server)
			if test.change != nil {
				test.change(w)
			}
			var all []string
			for _, f := range w.load().Check(t.Context()) {
				if all = append(all, f.Detail); f.Wrong && strings.Contains(f.Detail, test.says) {
					return
				}
			}
			t.Errorf("%q is not among %q", test.says, all)
		})
	}
}

// TestCheckOfTestCertificates: a certificate without QCStatements is not wrong, because sandboxes
// accept it.
func TestCheckOfTestCertificates(t *testing.T) {
	w := newFixture(t, http.HandlerFunc(unknown), nil)
	w.certify(&x509.Certificate{})
	all := w.load().CheckCertificates(time.Now())
	if len(all) == 0 || all[0].Wrong || !strings.Contains(all[0].Detail, "without QCStatements") {
		t.Errorf("the check finds %+v", all)
	}
}

// TestOwnAddress: orders without the user's address contain our own address. The check reports a
// private address as wrong, unless the bank's address is private too.
func TestOwnAddress(t *testing.T) {
	for _, test := range []struct {
		name, file, own, bank string
		want                  string
		lookups               int
		wrong                 bool
	}{
		{name: "looked up", own: "198.51.100.4", bank: "198.51.100.1", want: "198.51.100.4", lookups: 1},
		{name: "in the file", file: "203.0.113.7", own: "10.0.0.5", bank: "198.51.100.1", want: "203.0.113.7"},
		{name: "private", own: "10.0.0.5", bank: "198.51.100.1", want: "10.0.0.5", lookups: 1, wrong: true},
		{name: "in a private network", own: "10.0.0.5", bank: "10.1.0.1", want: "10.0.0.5", lookups: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank := &answering{status: 201, body: map[string]any{"transactionStatus": "RCVD", "paymentId": "P1", "_links": map[string]any{}}}
			w := newFixture(t, bank, nil)
			if test.file != "" {
				w.with("[tls]", `own = "`+test.file+"\"\n[tls]")
			}
			loaded := w.load()
			lookups := loaded.SetRoute(test.own, test.bank)
			able, _ := loaded.Connector().(connector.Initiator)
			o := ordersByKind["single"]
			o.Device = connector.Device{}
			for range 2 {
				if _, err := able.Initiate(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				if got := bank.requests[len(bank.requests)-1].Header.Get("PSU-IP-Address"); got != test.want {
					t.Errorf("the order has the address %q, want %q", got, test.want)
				}
			}
			if lookups() != test.lookups {
				t.Errorf("the address was looked up %d times, want %d", lookups(), test.lookups)
			}
			all := loaded.Check(t.Context())
			at := slices.IndexFunc(all, func(f berlingroup.Finding) bool { return f.Check == "own address" })
			if at < 0 || all[at].Wrong != test.wrong || !strings.HasPrefix(all[at].Detail, test.want) {
				t.Errorf("the check finds %+v", all)
			}
		})
	}
}

// TestCheckOfRanges: the check shows the IBAN prefixes of the bank, and its countries without a
// prefix.
func TestCheckOfRanges(t *testing.T) {
	for prefixes, want := range map[string]string{
		"":                            "",
		`"DE..50010517"`:              "which has DE..50010517; without a prefix of AT: list all prefixes of the bank, or none",
		`"DE..50010517", "AT..12000"`: "which has DE..50010517, AT..12000",
	} {
		w := newFixture(t, http.HandlerFunc(unknown), nil).with(`countries = ["DE"]`, `countries = ["DE", "AT"]`+"\niban_prefixes = ["+prefixes+"]")
		found := ""
		for _, f := range w.load().Check(t.Context()) {
			if f.Check == "iban_prefixes" {
				_, found, _ = strings.Cut(f.Detail, "offered this bank, ")
			}
			if f.Wrong {
				t.Errorf("%s: %s", f.Check, f.Detail)
			}
		}
		if found != want {
			t.Errorf("with the prefixes %s the check says %q, want %q", prefixes, found, want)
		}
	}
}

// TestCheckEnds checks that the check of a bank that does not respond ends at the deadline of its
// context.
func TestCheckEnds(t *testing.T) {
	hang := make(chan struct{})
	w := newFixture(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }), nil)
	defer close(hang)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, f := range w.load().Check(ctx) {
		if f.Check == "interface" && !strings.Contains(f.Detail, "it did not respond in time") {
			t.Error(f.Detail)
		}
	}
}

// TestSignature: the bank needs only the data of the request to verify our signature.
func TestSignature(t *testing.T) {
	leftout.Needs(t, "openssl")
	var seen http.Header
	w := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path[:4] == "/v1/" {
			seen = r.Header.Clone()
		}
		unknown(w, r)
	}), nil)
	helper := filepath.Join(w.folder, "sign")
	script := "#!/bin/sh\n[ -z \"$HOME\" ] && exec openssl dgst -sha256 -sign " + filepath.Join(w.folder, "qsealc.key") + "\n"
	if err := os.WriteFile(helper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{
		"a key":       `key = "qsealc.key"`,
		"a helper":    `command = ["` + helper + `"]`,
		"other terms": "key = \"qsealc.key\"\ndigest = \"SHA-512\"\nheaders = [\"x-request-id\", \"digest\"]",
	} {
		t.Run(name, func(t *testing.T) {
			own := *w
			own.with(`key = "qsealc.key"`, change).load().Check(t.Context())
			verify(t, &own, seen)
		})
	}
}

func verify(t *testing.T, w *fixture, seen http.Header) {
	t.Helper()
	parts := map[string]string{}
	for part := range strings.SplitSeq(seen.Get("Signature"), `",`) {
		name, value, _ := strings.Cut(part, `="`)
		parts[name] = strings.TrimSuffix(value, `"`)
	}
	if want := "SN=9FA1,CA=CN=Test%20Authority,O=Passerelle,C=DE"; parts["keyId"] != want || parts["algorithm"] != "rsa-sha256" {
		t.Errorf("keyId %q, algorithm %q, want %q", parts["keyId"], parts["algorithm"], want)
	}
	var lines []string
	for name := range strings.SplitSeq(parts["headers"], " ") {
		lines = append(lines, name+": "+seen.Get(name))
	}
	if !strings.Contains(parts["headers"], "digest") || !strings.Contains(parts["headers"], "x-request-id") {
		t.Errorf("signed are %q", parts["headers"])
	}
	der, err := base64.StdEncoding.DecodeString(seen.Get("TPP-Signature-Certificate"))
	if err != nil || string(der) != string(w.seal.Raw) {
		t.Errorf("the certificate header: %v", err)
	}
	signature, err := base64.StdEncoding.DecodeString(parts["signature"])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	if err := rsa.VerifyPKCS1v15(w.seal.PublicKey.(*rsa.PublicKey), crypto.SHA256, sum[:], signature); err != nil {
		t.Errorf("the signature: %v", err)
	}
	if want := "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; strings.HasPrefix(seen.Get("Digest"), "SHA-256=") && seen.Get("Digest") != "SHA-256="+want {
		t.Errorf("the digest of an empty body is %q", seen.Get("Digest"))
	}
}

// TestKeyIDOfTheFile checks that signatures have the keyId that the bank file names.
func TestKeyIDOfTheFile(t *testing.T) {
	seen := ""
	w := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, _, _ = strings.Cut(r.Header.Get("Signature"), ",algorithm")
		unknown(w, r)
	}), nil)
	w.with(`key = "qsealc.key"`, "key = \"qsealc.key\"\nkey_id = \"SN=9fa1,DN=CN=Test CA, O=Trust\"").load().Check(t.Context())
	if want := `keyId="SN=9fa1,DN=CN=Test CA, O=Trust"`; seen != want {
		t.Errorf("the signature begins with %s, want %s", seen, want)
	}
}

// TestHelperThatDoesNotSign checks that no request to the bank's API is sent when signing fails.
func TestHelperThatDoesNotSign(t *testing.T) {
	asked := 0
	w := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			asked++
		}
		unknown(w, r)
	}), nil)
	for command, says := range map[string]string{
		`["/bin/echo", "signed"]`:   "did not sign: its output is not a signature",
		`["/bin/false"]`:            "did not sign",
		`["/bin/cat", "/dev/zero"]`: "did not sign",
		`["/nowhere/sign"]`:         "did not sign",
	} {
		own := *w
		var all []string
		before := allocated()
		for _, f := range own.with(`key = "qsealc.key"`, "command = "+command).load().Check(t.Context()) {
			all = append(all, f.Detail)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, "signature.command "+says) || asked > 0 {
			t.Errorf("%s: asked %d times: %s", command, asked, text)
		}
		if n := allocated() - before; n > 64<<20 {
			t.Errorf("%s: %d bytes were allocated", command, n)
		}
	}
}

// TestTransportHelperThatDoesNotSign: when tls.command does not sign, no order is sent.
func TestTransportHelperThatDoesNotSign(t *testing.T) {
	for version, number := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		for command, says := range map[string]string{
			`["/bin/false"]`:          "exit status 1",
			`["/bin/echo", "signed"]`: "its output is not a signature by the key of tls.certificate",
			`["/nowhere/sign"]`:       "no such file or directory",
		} {
			t.Run(version+" "+command, func(t *testing.T) {
				bank := &answering{status: 500}
				w := newFixture(t, bank, nil)
				w.server.TLS.MinVersion, w.server.TLS.MaxVersion = number, number
				own := w.with(`key = "qwac.key"`, "command = "+command).load()
				_, err := own.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"])
				var fault *connector.Fault
				if !errors.As(err, &fault) || !errors.Is(err, connector.ErrNotSent) {
					t.Fatalf("the order fails with %v", err)
				}
				for _, text := range []string{"Example Bank (initiate): tls.command did not sign: ", says, "run it by hand"} {
					if !strings.Contains(fault.Says, text) {
						t.Errorf("the operator reads %q, want %q in it", fault.Says, text)
					}
				}
				details := ""
				for _, f := range own.Check(t.Context()) {
					details += f.Detail + "\n"
				}
				if !strings.Contains(details, "tls.command did not sign") || len(bank.requests) > 0 {
					t.Errorf("after %d requests the check says %s", len(bank.requests), details)
				}
			})
		}
	}
}

func TestTransportHelper(t *testing.T) {
	leftout.Needs(t, "openssl")
	w := newFixture(t, http.HandlerFunc(unknown), nil)
	helper := filepath.Join(w.folder, "sign")
	script := "#!/bin/sh\n[ \"$SIGNATURE_SCHEME\" = ecdsa_secp256r1_sha256 ] && exec openssl pkeyutl -sign -inkey " + filepath.Join(w.folder, "qwac.key") + "\n"
	if err := os.WriteFile(helper, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.with(`key = "qwac.key"`, `command = ["`+helper+`"]`).load().Check(t.Context()) {
		if f.Check == "interface" && f.Wrong {
			t.Error(f.Detail)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestMaterial: an error in a certificate or key file is reported at the field of the bank file
// that names this file.
func TestMaterial(t *testing.T) {
	w := newFixture(t, http.HandlerFunc(unknown), nil)
	other, err := json.Marshal("no PEM")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(w.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for _, test := range []struct {
		name, file, field, says string
		content                 []byte
	}{
		{"no PEM", "qwac.pem", "tls.certificate", "no PEM block", other},
		{"a broken certificate", "qwac.pem", "tls.certificate", "cannot be read", berlingrouptest.Encode("CERTIFICATE", []byte("broken"))},
		{"no certificate", "qwac.pem", "tls.certificate", "contains no certificate", read("qwac.key")},
		{"no key", "qwac.key", "tls.key", "no private key", berlingrouptest.Encode("PRIVATE KEY", []byte("broken"))},
		{"another key", "qwac.key", "tls.key", "not the key of the certificate", read("qsealc.key")},
		{"another signing key", "qsealc.key", "signature.key", "not the key of the certificate", read("qwac.key")},
		{"a signing certificate for another kind of key", "qsealc.pem", "signature.certificate", "not for an RSA key", read("qwac.pem")},
		{"no authorities", "ca.pem", "tls.authorities", "no PEM block", other},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := read(test.file)
			defer w.write(test.file, before)
			w.write(test.file, test.content)
			w.write("bank.toml", []byte(w.file))
			_, err := berlingroup.Load(filepath.Join(w.folder, "bank.toml"))
			for _, c := range tomlfile.Complaints(err) {
				if c.Field == test.field && c.Line > 0 && strings.Contains(c.Message, test.says) {
					return
				}
			}
			t.Errorf("%v", err)
		})
	}
	if err := os.Chmod(filepath.Join(w.folder, "qwac.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := berlingroup.Load(filepath.Join(w.folder, "bank.toml")); !strings.Contains(fmt.Sprint(err), "chmod o-r") {
		t.Errorf("a key that everybody can read: %v", err)
	}
}

// newStatusFixture makes a bank without OAuth that responds to every call with *status, and counts
// the calls in *asked.
func newStatusFixture(t *testing.T, status, asked *int) *fixture {
	t.Helper()
	w := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.WriteHeader(*status)
	}), nil)
	return w.with("[oauth]", "[ignored]").with("[ignored]\nmetadata = \""+w.server.URL+"/.well-known/oauth-authorization-server\"\nclient_id = \"PSDDE-TEST-1\"\n", "").with(`"oauth", `, "")
}

// TestHealth: the connector stops calling a bank after five failures.
func TestHealth(t *testing.T) {
	status, asked := http.StatusServiceUnavailable, 0
	w := newStatusFixture(t, &status, &asked)
	bank := w.load()
	for range 7 {
		bank.Check(t.Context())
	}
	h := bank.Health()
	if asked != 5 || !h.Open || h.Failures != 5 || len(h.Calls) != 1 || h.Calls[0].Window != 5 || h.Calls[0].Good != 0 || !h.LastSuccess.IsZero() {
		t.Errorf("asked %d times: %+v", asked, h)
	}
	status = http.StatusNotFound
	other := w.load() // like another process, or the same process after a restart
	other.Check(t.Context())
	if h := other.Health(); h.Open || h.Calls[0].Good != 1 || h.LastSuccess.IsZero() || h.Calls[0].P95 <= 0 {
		t.Errorf("after an answer: %+v", h)
	}
}

// TestDisturbedBank: a failing bank gets a single call after a while. If the result of
// this call is connector.Answered, the bank is healthy again.
func TestDisturbedBank(t *testing.T) {
	status, asked := http.StatusServiceUnavailable, 0
	w := newStatusFixture(t, &status, &asked)
	bank := w.load()
	now := time.Now()
	bank.SetClock(func() time.Time { return now })
	calls := func(many int) int {
		before := asked
		for range many {
			bank.Check(t.Context())
		}
		return asked - before
	}
	if n := calls(7); n != 5 || !bank.Profile().Disturbed {
		t.Errorf("a bank that fails was asked %d times", n)
	}
	now = now.Add(31 * time.Second)
	if n := calls(3); n != 1 || !bank.Profile().Disturbed {
		t.Errorf("a bank that goes on failing was asked %d times", n)
	}
	again := w.load()
	if again.Continue(bank); !again.Profile().Disturbed {
		t.Error("a bank that is loaded again is healthy")
	}
	now, status = now.Add(31*time.Second), http.StatusNotFound
	if n := calls(3); n != 3 || bank.Profile().Disturbed || bank.Health().Open {
		t.Errorf("a bank that is back was asked %d times", n)
	}
	if first, soon := bank.Health().Expires(now.AddDate(0, 0, 80)); !soon || first.Field != "tls.certificate" && first.Field != "signature.certificate" {
		t.Errorf("the first certificate to end is %+v, %t", first, soon)
	}
	if _, soon := bank.Health().Expires(now); soon {
		t.Error("a certificate of 100 days ends soon")
	}
}

// TestRefusedService checks that the bank's health shows a refusal when the bank refuses the
// service itself.
func TestRefusedService(t *testing.T) {
	for code, refused := range map[string]bool{
		"CERTIFICATE_INVALID": true, "CERTIFICATE_BLOCKED": true, "ROLE_INVALID": true, "SIGNATURE_INVALID": true, "KID_MISSING": true, "TIMESTAMP_INVALID": true,
		"TOKEN_INVALID": false, "CONSENT_INVALID": false, "FORMAT_ERROR": false, "PSU_CREDENTIALS_INVALID": false,
	} {
		bank := &answering{status: http.StatusUnauthorized, body: map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": code}}}}
		loaded := newFixture(t, bank, nil).load()
		for range 20 {
			_, _ = loaded.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"])
		}
		if h := loaded.Health(); h.Refused != refused || h.Open != refused || loaded.Profile().Disturbed != refused {
			t.Errorf("%s: %+v", code, h)
		}
	}
	bank := &answering{status: http.StatusForbidden, body: "no"}
	w := newFixture(t, bank, nil)
	loaded := w.load()
	for range 20 {
		_, _ = loaded.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"])
	}
	if h := loaded.Health(); !h.Refused || h.Open || h.Failures > 0 {
		t.Errorf("without a code: %+v", h)
	}
	named := ordersByKind["single"]
	named.Fields = map[string]string{"psu_id": "anna"}
	loaded = newFixture(t, bank, nil).load()
	_, _ = loaded.Connector().(connector.Initiator).Initiate(t.Context(), named)
	if h := loaded.Health(); h.Refused {
		t.Errorf("without a code, with a customer: %+v", h)
	}
	b := newReadable(t)
	read := b.reader()
	b.answer = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
	_, _, _ = read.read(true)
	if h := read.reader.(connector.Monitored).Health(); h.Refused || h.Failures > 0 || len(h.Calls) == 0 {
		t.Errorf("without a code, with a consent: %+v", h)
	}
}
