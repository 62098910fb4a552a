// Package roles reads from a certificate its kind and the PSD2 roles of the payment service
// provider.
//
// It owns the form of the PSD2 statement in ETSI TS 119 495. It does not own the check of the
// certificate. It never fails: a certificate without a readable statement has no roles.
package roles

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
)

// These are the object identifiers of RFC 3739 and ETSI TS 119 495.
var (
	statementsOID = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 3}
	psd2OID       = asn1.ObjectIdentifier{0, 4, 0, 19495, 2}
	kindOID       = asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 6} // QcType of ETSI EN 319 412-5
)

// kinds maps the last number of a QcType to the kind of a certificate.
var kinds = map[int]string{2: Seal, 3: Web}

// These are the kinds of certificates that banks require.
const (
	Seal = "QSealC"
	Web  = "QWAC"
)

// statement is one QCStatement of a certificate (RFC 3739). Its content can be of any type.
type statement struct {
	ID   asn1.ObjectIdentifier
	Info asn1.RawValue `asn1:"optional"`
}

// psd2Statement is the content of the PSD2 QCStatement (ETSI TS 119 495): the roles of a payment
// service provider, and the authority that granted them.
type psd2Statement struct {
	Roles []struct {
		ID   asn1.ObjectIdentifier
		Name string `asn1:"utf8"`
	}
	AuthorityName string `asn1:"utf8"`
	AuthorityID   string `asn1:"utf8"`
}

// Qualified reports whether a certificate has QCStatements. Qualified certificates have them, and
// test certificates often do not.
func Qualified(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(statementsOID) })
}

// statements returns the QCStatements with an identifier, or nil when they cannot be parsed.
func statements(c *x509.Certificate, id asn1.ObjectIdentifier) []statement {
	i := slices.IndexFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(statementsOID) })
	if i < 0 {
		return nil
	}
	var all []statement
	if _, err := asn1.Unmarshal(c.Extensions[i].Value, &all); err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(one statement) bool { return !one.ID.Equal(id) })
}

// Kind returns the kind of a certificate, Seal or Web, or "" when it names neither.
func Kind(c *x509.Certificate) string {
	for _, one := range statements(c, kindOID) {
		var named []asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(one.Info.FullBytes, &named); err != nil {
			return ""
		}
		for _, id := range named {
			if len(id) == len(kindOID)+1 && id[:len(kindOID)].Equal(kindOID) {
				return kinds[id[len(kindOID)]]
			}
		}
	}
	return ""
}

// Of returns the roles in the PSD2 statement of a certificate, or nil when the statement cannot be
// parsed.
func Of(c *x509.Certificate) []string {
	var names []string
	for _, one := range statements(c, psd2OID) {
		var said psd2Statement
		if _, err := asn1.Unmarshal(one.Info.FullBytes, &said); err != nil {
			return nil
		}
		for _, role := range said.Roles {
			names = append(names, role.Name)
		}
	}
	return names
}
