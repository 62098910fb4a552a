package eidas

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
)

// Role is a service that an authority permits a payment service provider to offer.
type Role string

// These are the roles of a payment service provider, by their names in certificates.
const (
	AccountServicing   Role = "PSP_AS"
	PaymentInitiation  Role = "PSP_PI"
	AccountInformation Role = "PSP_AI"
	CardIssuing        Role = "PSP_IC"
)

// roleNumbers maps roles to their identifiers in ETSI TS 119 495, section 4.2.1.
var roleNumbers = map[Role]asn1.ObjectIdentifier{
	AccountServicing:   {0, 4, 0, 19495, 1, 1},
	PaymentInitiation:  {0, 4, 0, 19495, 1, 2},
	AccountInformation: {0, 4, 0, 19495, 1, 3},
	CardIssuing:        {0, 4, 0, 19495, 1, 4},
}

// These are object identifiers: of the extension qcStatements, of its statements (ETSI EN 319 412-5
// and TS 119 495), of the types of certificates, and of the attribute organizationIdentifier.
var (
	statementsNumber   = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 3}
	complianceNumber   = asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 1}
	kindNumber         = asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 6}
	sealNumber         = asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 6, 2}
	webNumber          = asn1.ObjectIdentifier{0, 4, 0, 1862, 1, 6, 3}
	psd2Number         = asn1.ObjectIdentifier{0, 4, 0, 19495, 2}
	organizationNumber = asn1.ObjectIdentifier{2, 5, 4, 97}
)

// Certificates name this authority as the source of the roles.
const (
	authorityName = "Example Financial Authority"
	authorityID   = "DE-TEST"
)

type statement struct {
	ID   asn1.ObjectIdentifier
	Info asn1.RawValue `asn1:"optional"`
}

type namedRole struct {
	ID   asn1.ObjectIdentifier
	Name string `asn1:"utf8"`
}

type psd2 struct {
	Roles []namedRole
	Name  string `asn1:"utf8"`
	ID    string `asn1:"utf8"`
}

// statements encodes the type and the roles of a qualified certificate.
func statements(kind asn1.ObjectIdentifier, roles []Role) (pkix.Extension, error) {
	permitted := psd2{Name: authorityName, ID: authorityID}
	for _, role := range roles {
		permitted.Roles = append(permitted.Roles, namedRole{roleNumbers[role], string(role)})
	}
	kinds, err := asn1.Marshal([]asn1.ObjectIdentifier{kind})
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode the kind of a certificate: %w", err)
	}
	encoded, err := asn1.Marshal(permitted)
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode roles: %w", err)
	}
	value, err := asn1.Marshal([]statement{
		{ID: complianceNumber},
		{ID: kindNumber, Info: asn1.RawValue{FullBytes: kinds}},
		{ID: psd2Number, Info: asn1.RawValue{FullBytes: encoded}},
	})
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("encode the statements of a certificate: %w", err)
	}
	return pkix.Extension{Id: statementsNumber, Value: value}, nil
}

// Roles returns the roles in a certificate. It returns nil when the statement of roles is missing
// or cannot be read.
func Roles(c *x509.Certificate) []Role {
	var roles []Role
	for _, named := range permissions(c).Roles {
		for role, number := range roleNumbers {
			if number.Equal(named.ID) {
				roles = append(roles, role)
			}
		}
	}
	return roles
}

func permissions(c *x509.Certificate) psd2 { return roleStatement(statementsOf(c)) }

// isOf reports whether a certificate has the type.
func isOf(c *x509.Certificate, kind asn1.ObjectIdentifier) bool {
	for _, s := range statementsOf(c) {
		var kinds []asn1.ObjectIdentifier
		if !s.ID.Equal(kindNumber) {
			continue
		}
		if _, err := asn1.Unmarshal(s.Info.FullBytes, &kinds); err == nil && slices.ContainsFunc(kinds, kind.Equal) {
			return true
		}
	}
	return false
}

// statementsOf returns the statements of a certificate, or nil when they cannot be read.
func statementsOf(c *x509.Certificate) []statement {
	var all []statement
	for _, extension := range c.Extensions {
		if !extension.Id.Equal(statementsNumber) {
			continue
		}
		if _, err := asn1.Unmarshal(extension.Value, &all); err != nil {
			return nil
		}
	}
	return all
}

func roleStatement(all []statement) psd2 {
	for _, s := range all {
		var found psd2
		if !s.ID.Equal(psd2Number) {
			continue
		}
		if _, err := asn1.Unmarshal(s.Info.FullBytes, &found); err == nil {
			return found
		}
	}
	return psd2{}
}

// Organization returns the organizationIdentifier of a certificate's subject, such as
// PSDDE-TEST-1, or an empty text.
func Organization(c *x509.Certificate) string {
	for _, name := range c.Subject.Names {
		if text, ok := name.Value.(string); ok && name.Type.Equal(organizationNumber) {
			return text
		}
	}
	return ""
}
