package httpd_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"passerelle/internal/httpd"
)

// TestCertificateStaysUntilItsFilesHaveAnother checks that a missing or wrong file causes an error,
// and does not replace the certificate.
func TestCertificateStaysUntilItsFilesHaveAnother(t *testing.T) {
	folder := t.TempDir()
	chain, key := filepath.Join(folder, "chain"), filepath.Join(folder, "key")
	if _, err := httpd.LoadCertificate(chain, key); err == nil {
		t.Error("a certificate without files")
	}
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	pair := donor.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string][]byte{
		chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
	for name, text := range good {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := httpd.LoadCertificate(chain, key)
	if err != nil || !c.Expires().Equal(donor.Certificate().NotAfter) {
		t.Fatalf("%v, expires %v", err, c.Expires())
	}
	for name, text := range good {
		for _, wrong := range []func() error{
			func() error { return os.WriteFile(name, []byte("wrong"), 0o600) },
			func() error { return os.Remove(name) },
		} {
			if err := wrong(); err != nil {
				t.Fatal(err)
			}
			if changed, err := c.Reload(); err == nil || changed {
				t.Errorf("%s: changed %t, %v", name, changed, err)
			}
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := c.Reload(); err != nil || changed {
		t.Errorf("with the same files: changed %t, %v", changed, err)
	}
	if got, err := c.TLS().GetCertificate(nil); err != nil || string(got.Certificate[0]) != string(pair.Certificate[0]) {
		t.Errorf("another certificate, %v", err)
	}
}
