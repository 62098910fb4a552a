// Package berlingrouptest makes certificates for tests that simulate a bank: an authority,
// transport certificates with PSD2 roles, a signing certificate, and the files that a bank file
// names.
//
// It owns the files that a test needs before it can read a bank file. It does not simulate the
// bank: the test does. An error fails the test.
package berlingrouptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Authority makes certificates for a test.
type Authority struct {
	Certificate *x509.Certificate

	t   testing.TB
	key crypto.Signer
}

// NewAuthority makes a certificate authority for tests.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: NewKey(t)}
	a.Certificate = a.Sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Test Authority", Organization: []string{"Passerelle"}, Country: []string{"DE"}},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, a.key)
	return a
}

// NewKey makes a key for a certificate.
func NewKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// life is the default validity of certificates.
const life = 100 * 24 * time.Hour

// Sign makes a certificate. By default it is valid now.
func (a *Authority) Sign(c *x509.Certificate, key crypto.Signer) *x509.Certificate {
	a.t.Helper()
	now := time.Now()
	if c.SerialNumber == nil {
		c.SerialNumber = big.NewInt(now.UnixNano())
	}
	if c.NotBefore.IsZero() {
		c.NotBefore = now.Add(-time.Hour)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = now.Add(life)
	}
	parent := a.Certificate
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made
}

// PSD2 returns the extension qcStatements with the PSD2 statement of ETSI TS 119 495. The statement
// contains the roles.
func PSD2(t testing.TB, roles ...string) []pkix.Extension {
	t.Helper()
	type role struct {
		ID   asn1.ObjectIdentifier
		Name string `asn1:"utf8"`
	}
	type content struct {
		Roles     []role
		Authority string `asn1:"utf8"`
		ID        string `asn1:"utf8"`
	}
	said := content{Authority: "BaFin", ID: "DE-BAFIN"}
	for i, name := range roles {
		said.Roles = append(said.Roles, role{asn1.ObjectIdentifier{0, 4, 0, 19495, 1, i + 1}, name})
	}
	value, err := asn1.Marshal([]struct {
		ID   asn1.ObjectIdentifier
		Info content
	}{{asn1.ObjectIdentifier{0, 4, 0, 19495, 2}, said}})
	if err != nil {
		t.Fatal(err)
	}
	return []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 3}, Value: value}}
}

// QcType returns the extension qcStatements with the statement QcType of ETSI EN 319 412-5. The
// argument kind is 2 for a seal and 3 for a website. The extension contains no roles.
func QcType(t testing.TB, kind int) []pkix.Extension {
	t.Helper()
	value, err := asn1.Marshal([]struct {
		ID   asn1.ObjectIdentifier
		Info []asn1.ObjectIdentifier
	}{{asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 6}, []asn1.ObjectIdentifier{{0, 4, 0, 1862, 1, 6, kind}}}})
	if err != nil {
		t.Fatal(err)
	}
	return []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 3}, Value: value}}
}

// Encode returns the data as PEM.
func Encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// sealKey generates the key of all signing certificates once, because generating a key is slow.
var sealKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Furnish writes into a folder the files that a bank file names: ca.pem, qwac.pem and qwac.key,
// qsealc.pem and qsealc.key. It returns the signing certificate.
func (a *Authority) Furnish(folder string) *x509.Certificate {
	a.t.Helper()
	a.write(folder, "ca.pem", Encode("CERTIFICATE", a.Certificate.Raw))
	a.Certify(folder, &x509.Certificate{ExtraExtensions: PSD2(a.t, "PSP_PI", "PSP_AI"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	key, err := sealKey()
	if err != nil {
		a.t.Fatal(err)
	}
	seal := a.Sign(&x509.Certificate{SerialNumber: big.NewInt(0x9fa1)}, key)
	a.write(folder, "qsealc.pem", Encode("CERTIFICATE", seal.Raw))
	a.write(folder, "qsealc.key", Encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	return seal
}

// Certify writes a new transport certificate, qwac.pem, and its key.
func (a *Authority) Certify(folder string, c *x509.Certificate) {
	a.t.Helper()
	key := NewKey(a.t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(folder, "qwac.pem", Encode("CERTIFICATE", a.Sign(c, key).Raw))
	a.write(folder, "qwac.key", Encode("PRIVATE KEY", der))
}

func (a *Authority) write(folder, name string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}
