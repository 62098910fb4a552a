package signing_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"passerelle/connector/berlingroup/signing"
)

// TestOuterBlanks checks that the signature covers header values as they are sent: the HTTP client
// removes blanks around them.
func TestOuterBlanks(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var signed string
	sign := signing.WithKey(key)
	s := signing.Signer{
		Digest: "SHA-256", Headers: []string{"digest", "psu-id", "psu-corporate-id"},
		Certificate: &x509.Certificate{SerialNumber: big.NewInt(1), PublicKey: &key.PublicKey},
	}
	s.Sign = func(ctx context.Context, text []byte) ([]byte, error) {
		signed = string(text)
		return sign(ctx, text)
	}
	r, err := http.NewRequest(http.MethodGet, "https://bank.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("PSU-ID", " \tanna ")
	r.Header.Set("PSU-Corporate-ID", "  ")
	if err := s.Add(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(signed, "\npsu-id: anna") || !strings.Contains(r.Header.Get("Signature"), `headers="digest psu-id"`) {
		t.Errorf("the signature %q covers %q", r.Header.Get("Signature"), signed)
	}
}

// TestKeyID checks the name of the issuer in the keyId. It has the order of RFC 2253 for the order in
// the certificate, and the encoding of attributes without a short name.
func TestKeyID(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	type attribute struct {
		Type  asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	type partSET []attribute
	text := func(kind int, value string) partSET {
		return partSET{{asn1.ObjectIdentifier{2, 5, 4, kind}, asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(value)}}}
	}
	account := func(kind int, value string) partSET { // an attribute of RFC 4519 with the arc of the pilot directory
		return partSET{{asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, kind}, asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(value)}}}
	}
	const user, mail, component = 1, 3, 25
	const country, place, organization, name, identifier = 6, 7, 10, 3, 97
	for want, parts := range map[string][]partSET{
		"CN=Test%20CA,O=Trust,C=DE":                                {text(country, "DE"), text(organization, "Trust"), text(name, "Test CA")},
		"C=DE,O=Trust,CN=CA":                                       {text(name, "CA"), text(organization, "Trust"), text(country, "DE")},
		"CN=CA,2.5.4.97=#0c084e545244452d3131,O=Trust,L=Bonn,C=DE": {text(country, "DE"), text(place, "Bonn"), text(organization, "Trust"), text(identifier, "NTRDE-11"), text(name, "CA")},
		`UID=7,CN=CA,DC=a\+b,DC=example`:                           {account(component, "example"), account(component, "a+b"), text(name, "CA"), account(user, "7")},
		"CN=CA,0.9.2342.19200300.100.1.3=#16016d":                  {account(mail, "m"), text(name, "CA")},
		`CN=A\, B+O=Trust`:                                         {append(text(name, "A, B"), text(organization, "Trust")...)},
	} {
		issuer, err := asn1.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(0x9FA1)}
		der, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{RawSubject: issuer}, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest(http.MethodGet, "https://bank.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		s := signing.Signer{Digest: "SHA-256", Headers: []string{"digest"}, Certificate: certificate, Sign: signing.WithKey(key)}
		if err := s.Add(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if want = strings.ReplaceAll(want, " ", "%20"); !strings.HasPrefix(r.Header.Get("Signature"), `keyId="SN=9FA1,CA=`+want+`",`) {
			t.Errorf("%s, want %s", r.Header.Get("Signature"), want)
		}
	}
}
