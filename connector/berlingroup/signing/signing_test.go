package signing_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
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
