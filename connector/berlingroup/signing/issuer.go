package signing

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// attribute is one attribute of a name, with the encoding of its value.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// attributeSET is one part of a name. Package asn1 reads types with this suffix as sets.
type attributeSET []attribute

// shortNames lists the attributes that have a short name in RFC 2253: CN, C, L, ST, STREET, O and OU.
var shortNames = []string{"2.5.4.3", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11"}

// issuerOf returns the name of the issuer as RFC 2253 writes it: the parts of the certificate from
// the last to the first, and other attributes with their encoding. Trust service providers have such
// an attribute, organizationIdentifier. Issuer.String would change the order.
func issuerOf(c *x509.Certificate) string {
	var encoded []attributeSET
	var decoded pkix.RDNSequence
	_, wrong := asn1.Unmarshal(c.RawIssuer, &encoded)
	if _, err := asn1.Unmarshal(c.RawIssuer, &decoded); err != nil || wrong != nil {
		return c.Issuer.String()
	}
	var parts []string
	for i, set := range slices.Backward(encoded) {
		var texts []string
		for j, one := range set {
			text := one.Type.String() + "=#" + hex.EncodeToString(one.Value.FullBytes)
			if slices.Contains(shortNames, one.Type.String()) {
				text = pkix.RDNSequence{{decoded[i][j]}}.String()
			}
			texts = append(texts, text)
		}
		parts = append(parts, strings.Join(texts, "+"))
	}
	return strings.Join(parts, ",")
}
