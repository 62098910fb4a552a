package handshake

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
)

// schemeVariable is the variable that tells the program how to sign. Its value is the name of a
// scheme in the TLS registry of IANA.
const schemeVariable = "SIGNATURE_SCHEME"

// Unsigned means that the operator's program did not sign a handshake. The bank has received no
// request.
type Unsigned struct{ err error }

// Error names the field of the bank file and the remedy.
func (u *Unsigned) Error() string {
	return fmt.Sprintf("tls.command did not sign: %v: run it by hand to see why", u.err)
}

// Unwrap returns the error of the program.
func (u *Unsigned) Unwrap() error { return u.err }

// schemeNames contains the names of the schemes in which the program signs. The schemes for RSA
// keys are those that every implementation of TLS 1.3 and TLS 1.2 has, so the program needs no
// others.
var schemeNames = map[tls.SignatureScheme]string{
	tls.PSSWithSHA256:          "rsa_pss_rsae_sha256",
	tls.PKCS1WithSHA256:        "rsa_pkcs1_sha256",
	tls.ECDSAWithP256AndSHA256: "ecdsa_secp256r1_sha256",
	tls.ECDSAWithP384AndSHA384: "ecdsa_secp384r1_sha384",
	tls.ECDSAWithP521AndSHA512: "ecdsa_secp521r1_sha512",
}

// curveSchemes maps the size of a curve in bits to its scheme.
var curveSchemes = map[int]tls.SignatureScheme{256: tls.ECDSAWithP256AndSHA256, 384: tls.ECDSAWithP384AndSHA384, 521: tls.ECDSAWithP521AndSHA512}

// Usable reports whether a program can sign handshakes with the key of a certificate.
func Usable(certificate *x509.Certificate) bool { return len(schemes(certificate.PublicKey)) > 0 }

func schemes(public crypto.PublicKey) []tls.SignatureScheme {
	switch public := public.(type) {
	case *rsa.PublicKey:
		return []tls.SignatureScheme{tls.PSSWithSHA256, tls.PKCS1WithSHA256}
	case *ecdsa.PublicKey:
		if scheme, found := curveSchemes[public.Params().BitSize]; found {
			return []tls.SignatureScheme{scheme}
		}
	}
	return nil
}

// key is the private key of a certificate, which only the program can use. Each handshake has its
// own value of this type.
type key struct {
	certificate *x509.Certificate
	run         func(digest []byte, scheme string) ([]byte, error)
	failed      *error
}

// Public returns the public key of the certificate.
func (k *key) Public() crypto.PublicKey { return k.certificate.PublicKey }

// Sign makes the program sign a digest, and checks the signature.
func (k *key) Sign(_ io.Reader, digest []byte, how crypto.SignerOpts) ([]byte, error) {
	signature, err := k.sign(digest, how)
	if err != nil {
		*k.failed = &Unsigned{err}
		return nil, *k.failed
	}
	return signature, nil
}

func (k *key) sign(digest []byte, how crypto.SignerOpts) ([]byte, error) {
	scheme := schemeOf(k.certificate.PublicKey, how)
	signature, err := k.run(digest, schemeNames[scheme])
	if err != nil {
		return nil, err
	}
	if !verified(k.certificate.PublicKey, digest, signature, how) {
		return nil, errors.New("its output is not a signature by the key of tls.certificate")
	}
	return signature, nil
}

// schemeOf returns the scheme that a handshake chose among those of the key.
func schemeOf(public crypto.PublicKey, how crypto.SignerOpts) tls.SignatureScheme {
	all := schemes(public)
	if _, pss := how.(*rsa.PSSOptions); !pss {
		return all[len(all)-1]
	}
	return all[0]
}

func verified(public crypto.PublicKey, digest, signature []byte, how crypto.SignerOpts) bool {
	switch public := public.(type) {
	case *rsa.PublicKey:
		if pss, is := how.(*rsa.PSSOptions); is {
			return rsa.VerifyPSS(public, how.HashFunc(), digest, signature, pss) == nil
		}
		return rsa.VerifyPKCS1v15(public, how.HashFunc(), digest, signature) == nil
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(public, digest, signature)
	}
	return false
}
