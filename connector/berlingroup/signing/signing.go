// Package signing signs requests to banks as the XS2A standard requires, according to the draft of
// Cavage et al.
//
// It owns the headers Digest, Signature and TPP-Signature-Certificate, and it runs the operator's
// signing program. It does not own the certificates: the bank file names them. It fails when the
// program does not sign, or signs with a key that does not belong to the certificate.
package signing

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Signer signs requests. Its fields must not change once it is in use.
type Signer struct {
	// Digest is the algorithm of the header Digest: SHA-256 or SHA-512.
	Digest string
	// Headers are the headers that the signature covers, in this order. Add skips headers that a
	// request does not have.
	Headers []string
	// Certificate is the certificate of the key. KeyID identifies the key. If it is empty, the
	// certificate's serial number and issuer do.
	Certificate *x509.Certificate
	KeyID       string
	// Sign makes an RSA signature: PKCS #1 v1.5 with SHA-256.
	Sign func(ctx context.Context, text []byte) ([]byte, error)
}

// digestOf returns the value of the Digest header.
func digestOf(algorithm string, body []byte) string {
	if algorithm == "SHA-512" {
		sum := sha512.Sum512(body)
		return algorithm + "=" + base64.StdEncoding.EncodeToString(sum[:])
	}
	sum := sha256.Sum256(body)
	return algorithm + "=" + base64.StdEncoding.EncodeToString(sum[:])
}

// keyID identifies the certificate by its serial number, in hexadecimal, and its issuer.
func keyID(c *x509.Certificate) string {
	return fmt.Sprintf("SN=%X,CA=%s", c.SerialNumber, strings.ReplaceAll(issuerOf(c), " ", "%20"))
}

// Add signs a request. All headers that Add does not set must already be set. The signature covers
// their values without leading and trailing blanks, which the HTTP client removes.
func (s *Signer) Add(ctx context.Context, r *http.Request, body []byte) error {
	r.Header.Set("Digest", digestOf(s.Digest, body))
	var names, lines []string
	for _, name := range s.Headers {
		if value := strings.Trim(r.Header.Get(name), " \t\r\n"); value != "" {
			names, lines = append(names, name), append(lines, name+": "+value)
		}
	}
	signature, err := s.Sign(ctx, []byte(strings.Join(lines, "\n")))
	if err == nil {
		err = s.verify([]byte(strings.Join(lines, "\n")), signature)
	}
	if err != nil {
		return err
	}
	r.Header.Set("Signature", fmt.Sprintf(`keyId="%s",algorithm="rsa-sha256",headers="%s",signature="%s"`,
		cmp.Or(s.KeyID, keyID(s.Certificate)), strings.Join(names, " "), base64.StdEncoding.EncodeToString(signature)))
	r.Header.Set("TPP-Signature-Certificate", base64.StdEncoding.EncodeToString(s.Certificate.Raw))
	return nil
}

// verify checks a signature with the certificate, so that a signature made with a different key is
// detected before the request is sent.
func (s *Signer) verify(text, signature []byte) error {
	public, usable := s.Certificate.PublicKey.(*rsa.PublicKey)
	sum := sha256.Sum256(text)
	if !usable || rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) != nil {
		return errors.New("signature.command did not sign: its output is not a signature by the key of signature.certificate")
	}
	return nil
}

// WithKey returns a function that signs with a key.
func WithKey(key *rsa.PrivateKey) func(context.Context, []byte) ([]byte, error) {
	return func(_ context.Context, text []byte) ([]byte, error) {
		sum := sha256.Sum256(text)
		return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	}
}

// WithProgram returns a function that signs with the operator's program.
func WithProgram(program *Program) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, text []byte) ([]byte, error) {
		signature, err := program.Run(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("signature.command did not sign: %w", err)
		}
		return signature, nil
	}
}
