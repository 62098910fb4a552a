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

// shortNames maps the attributes that have a short name in RFC 2253 to this name.
var shortNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

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
			if name := shortNames[one.Type.String()]; name != "" {
				text = name + "=" + escaped(decoded[i][j].Value)
			}
			texts = append(texts, text)
		}
		parts = append(parts, strings.Join(texts, "+"))
	}
	return strings.Join(parts, ",")
}

// escaped returns a value as RFC 2253 writes it. Package pkix does so only for attributes that it
// knows.
func escaped(value any) string {
	return strings.TrimPrefix(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: value}}}.String(), "CN=")
}
