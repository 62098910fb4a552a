package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"passerelle/connector/berlingroup/berlingrouptest"
)

// ownCertificate is the certificate of a running service, in files that the test changes.
type ownCertificate struct {
	t          *testing.T
	authority  *berlingrouptest.Authority
	chain, key string
}

func newOwnCertificate(t *testing.T) ownCertificate {
	folder := t.TempDir()
	return ownCertificate{t: t, authority: berlingrouptest.NewAuthority(t), chain: filepath.Join(folder, "cert.pem"), key: filepath.Join(folder, "key.pem")}
}

func (o ownCertificate) write(number int64) {
	o.t.Helper()
	key := berlingrouptest.NewKey(o.t)
	certificate := o.authority.Sign(&x509.Certificate{SerialNumber: big.NewInt(number), DNSNames: []string{"localhost"}}, key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	err = errors.Join(err,
		os.WriteFile(o.chain, berlingrouptest.Encode("CERTIFICATE", certificate.Raw), 0o600),
		os.WriteFile(o.key, berlingrouptest.Encode("PRIVATE KEY", secret), 0o600))
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o ownCertificate) client() *http.Client {
	trusted := x509.NewCertPool()
	trusted.AddCert(o.authority.Certificate)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "localhost"}}}
}

func (o ownCertificate) number(client *http.Client, address string) int64 {
	o.t.Helper()
	answer, err := client.Get("https://" + address + "/healthz")
	if err != nil {
		o.t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		o.t.Fatal(err)
	}
	return answer.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// TestServeReadsItsCertificateAgain: after SIGHUP, new connections get the certificate in the
// files, and an open connection stays open. An invalid key file changes nothing.
func TestServeReadsItsCertificateAgain(t *testing.T) {
	own := newOwnCertificate(t)
	own.write(1)
	program, said := startProgram(t, "--tls-cert", own.chain, "--tls-key", own.key)
	open := own.client()
	reread := func() {
		t.Helper()
		if err := program.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !holds(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s did not happen", what)
			}
		}
	}
	if got := own.number(open, said.Listen); got != 1 {
		t.Fatalf("the certificate is %d", got)
	}
	own.write(2)
	reread()
	until("a new certificate", func() bool { return own.number(own.client(), said.Listen) == 2 })
	if err := os.WriteFile(own.key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	reread()
	until("a failure", func() bool {
		return strings.Contains(metricsOf(t, said.Ops), `passerelle_background_failures_total{loop="read the certificate"} 1`)
	})
	if got := own.number(own.client(), said.Listen); got != 2 {
		t.Errorf("with a wrong key, new connections get the certificate %d", got)
	}
	own.write(3)
	reread()
	until("another certificate", func() bool { return own.number(own.client(), said.Listen) == 3 })
	if got := own.number(open, said.Listen); got != 1 {
		t.Errorf("the open connection was replaced by one with the certificate %d", got)
	}
	open.CloseIdleConnections()
	if err := errors.Join(program.Process.Signal(syscall.SIGTERM), program.Wait()); err != nil {
		t.Errorf("the program ended with: %v", err)
	}
}

func metricsOf(t *testing.T, ops string) string {
	t.Helper()
	answer, err := http.Get("http://" + ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
