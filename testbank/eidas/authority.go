package eidas

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is how long certificates of servers and parties are usually valid after they are issued.
const validity = 2 * 365 * 24 * time.Hour

// keyBits is the size of RSA keys, in bits.
const keyBits = 2048

// Authority issues certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	now         time.Time
}

// Issued is a certificate with its key.
type Issued struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// NewAuthority makes an authority, valid from 30 days before now.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	a := &Authority{key: key, now: now}
	template := a.template(pkix.Name{CommonName: name, Organization: []string{"Example Trust"}, Country: []string{"DE"}})
	template.NotAfter = now.Add(5 * validity)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	a.certificate = template
	issued, err := a.sign(template, key)
	if err != nil {
		return nil, err
	}
	a.certificate = issued.Certificate
	return a, nil
}

// Certificate returns the authority's own certificate.
func (a *Authority) Certificate() Issued { return Issued{a.certificate, a.key} }

// Server issues a certificate for a server. Clients may reach the server as localhost or as one of
// the hosts, which are names or IP addresses.
func (a *Authority) Server(hosts ...string) (Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, fmt.Errorf("make the key of a server: %w", err)
	}
	template := a.template(pkix.Name{CommonName: "Example Bank", Organization: []string{"Example Bank"}, Country: []string{"DE"}})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template, key)
}

// Party is a payment service that gets certificates.
type Party struct {
	// Organization is the organizationIdentifier, such as PSDDE-TEST-1.
	Organization string
	Name         string
	Roles        []Role
	// Until is the end of the certificate. Zero means the usual validity.
	Until time.Time
}

// Passwords issues a bank's certificate with which third parties encrypt passwords for the bank.
func (a *Authority) Passwords() (Issued, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Issued{}, fmt.Errorf("make the key for passwords: %w", err)
	}
	template := a.template(pkix.Name{CommonName: "Example Bank passwords", Organization: []string{"Example Bank"}, Country: []string{"DE"}})
	template.KeyUsage = x509.KeyUsageKeyEncipherment
	return a.sign(template, key)
}

// QWAC issues a certificate for connections.
func (a *Authority) QWAC(p Party) (Issued, error) {
	return a.qualified(p, webNumber, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth)
}

// QSealC issues a certificate for signing requests.
func (a *Authority) QSealC(p Party) (Issued, error) { return a.qualified(p, sealNumber) }

func (a *Authority) qualified(p Party, kind asn1.ObjectIdentifier, usage ...x509.ExtKeyUsage) (Issued, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Issued{}, fmt.Errorf("make the key of %s: %w", p.Organization, err)
	}
	extension, err := statements(kind, p.Roles)
	if err != nil {
		return Issued{}, err
	}
	template := a.template(pkix.Name{
		CommonName: p.Name, Organization: []string{p.Name}, Country: []string{"DE"},
		ExtraNames: []pkix.AttributeTypeAndValue{{Type: organizationNumber, Value: p.Organization}},
	})
	template.ExtKeyUsage, template.ExtraExtensions = usage, []pkix.Extension{extension}
	if !p.Until.IsZero() {
		template.NotAfter = p.Until
	}
	return a.sign(template, key)
}

// template returns a certificate with the fields that all certificates have. The validity begins 30
// days ago, so that an expired certificate also begins before it ends.
func (a *Authority) template(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject: subject, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: a.now.Add(-30 * 24 * time.Hour), NotAfter: a.now.Add(validity),
	}
}

func (a *Authority) sign(template *x509.Certificate, key crypto.Signer) (Issued, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Issued{}, fmt.Errorf("choose a serial number: %w", err)
	}
	template.SerialNumber = serial
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Issued{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		return Issued{}, fmt.Errorf("read a certificate just signed: %w", err)
	}
	return Issued{certificate, key}, nil
}
