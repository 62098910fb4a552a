package eidas

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"slices"
	"time"
)

// Fault is the reason for which a bank refuses a certificate.
type Fault string

// These are the faults of certificates.
const (
	Missing Fault = "there is no certificate"
	Expired Fault = "the certificate is not valid at this time"
	Unknown Fault = "the certificate is not from an authority that the bank trusts, or not qualified for this purpose"
	NoRole  Fault = "the certificate does not carry the role for this service"
)

func (f Fault) Error() string { return string(f) }

// These are the types of qualified certificates (ETSI EN 319 412-5, section 4.2.3): for connections
// and for signatures.
var (
	Web  = webNumber
	Seal = sealNumber
)

// Judge checks that a certificate comes from one of the authorities, has the type, is valid now,
// and names an organization and a role. The error is a Fault.
func Judge(c *x509.Certificate, kind asn1.ObjectIdentifier, authorities *x509.CertPool, now time.Time) error {
	if c == nil {
		return Missing
	}
	_, err := c.Verify(x509.VerifyOptions{Roots: authorities, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case err != nil || Organization(c) == "" || len(Roles(c)) == 0 || !isOf(c, kind):
		return Unknown
	}
	return nil
}

// HasRole checks that a certificate permits the role.
func HasRole(c *x509.Certificate, role Role) error {
	if !slices.Contains(Roles(c), role) {
		return NoRole
	}
	return nil
}
