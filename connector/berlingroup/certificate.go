package berlingroup

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"passerelle/connector/berlingroup/handshake"
	"passerelle/connector/berlingroup/pemfile"
	"passerelle/connector/berlingroup/roles"
	"passerelle/connector/berlingroup/signing"
	"passerelle/connector/berlingroup/tomlfile"
)

// Certificate describes a certificate of the operator that a bank file names.
type Certificate struct {
	// Field is the name in the bank file: tls.certificate or signature.certificate.
	Field string
	// From and Until are the first and the last instant at which the certificate is valid.
	From, Until time.Time
	// Roles are the PSD2 roles in the certificate, such as PSP_PI. A QCStatement lists them.
	Roles []string
	// Kind is roles.Web, roles.Seal, or empty when the certificate names neither. Qualified means
	// that the certificate has QCStatements, as every qualified certificate does.
	Kind      string
	Qualified bool
}

// These are the roles of ETSI TS 119 495 that a bank requires.
const (
	RoleInitiation  = "PSP_PI"
	RoleInformation = "PSP_AI"
)

// signer returns the signer of requests, or nil if the bank requires no signatures.
func (m material) signer(s *Signature) *signing.Signer {
	if s == nil {
		return nil
	}
	made := &signing.Signer{KeyID: s.KeyID, Digest: s.Digest, Headers: s.Headers, Certificate: m.sealing, Sign: signing.WithKey(m.sealKey)}
	if program := signing.NewProgram(s.Command); program != nil {
		made.Sign = signing.WithProgram(program)
	}
	return made
}

// material holds the certificates, keys and authorities that a bank file names.
type material struct {
	// pair has no private key if program signs handshakes.
	pair        tls.Certificate
	program     *signing.Program
	authorities *x509.CertPool
	sealing     *x509.Certificate
	sealKey     *rsa.PrivateKey
	// passwords is the bank's key for passwords, nil if the bank takes plain passwords.
	passwords *rsa.PublicKey
}

// load reads the files named in a bank file. The error joins all complaints.
func (f *File) load(where *tomlfile.Places) (material, error) {
	var m material
	r := &rules{where: where}
	if own := r.certificates("tls.certificate", f.TLS.Certificate); own != nil {
		m.loadPair(r, f.TLS, own)
	}
	if f.TLS.Authorities != "" {
		m.authorities = x509.NewCertPool()
		for _, one := range r.certificates("tls.authorities", f.TLS.Authorities) {
			m.authorities.AddCert(one)
		}
	}
	if s := f.Signature; s != nil {
		m.loadSeal(r, s)
	}
	if p := f.Passwords; p != nil {
		if all := r.certificates("passwords.certificate", p.Certificate); all != nil {
			var usable bool
			m.passwords, usable = all[0].PublicKey.(*rsa.PublicKey)
			r.hold(usable, "passwords.certificate", "is not for an RSA key")
		}
	}
	return m, errors.Join(r.wrong...)
}

func (m *material) loadPair(r *rules, t TLS, own []*x509.Certificate) {
	m.pair.Leaf, m.program = own[0], signing.NewProgram(t.Command)
	for _, one := range own {
		m.pair.Certificate = append(m.pair.Certificate, one.Raw)
	}
	if m.program == nil {
		m.pair.PrivateKey = r.key("tls.key", t.Key, own[0])
		return
	}
	r.hold(handshake.Usable(own[0]), "tls.certificate", "is not for an RSA key or a key on the curve P-256, P-384 or P-521, so command cannot sign")
}

func (m *material) loadSeal(r *rules, s *Signature) {
	seal := r.certificates("signature.certificate", s.Certificate)
	if seal == nil {
		return
	}
	m.sealing = seal[0]
	_, usable := m.sealing.PublicKey.(*rsa.PublicKey)
	r.hold(usable, "signature.certificate", "is not for an RSA key")
	if s.Key == "" {
		return
	}
	key := r.key("signature.key", s.Key, m.sealing)
	if key == nil {
		return
	}
	m.sealKey, usable = key.(*rsa.PrivateKey)
	r.hold(usable, "signature.key", "is not an RSA key")
}

// certificates returns the certificates in the file that a field names, or nil after a complaint.
func (r *rules) certificates(field, name string) []*x509.Certificate {
	all, err := pemfile.Certificates(r.where.Beside(name))
	r.hold(err == nil, field, "%v", err)
	return all
}

// key returns the private key in the file that a field names, or nil after a complaint. The key
// must belong to the certificate.
func (r *rules) key(field, name string, certificate *x509.Certificate) crypto.Signer {
	key, err := pemfile.Key(r.where.Beside(name))
	if err == nil && !pemfile.Belongs(key, certificate) {
		key, err = nil, errors.New("is not the key of the certificate")
	}
	r.hold(err == nil, field, "%v", err)
	return key
}

// Certificates returns the operator's certificates that the bank file names.
func (b *Bank) Certificates() []Certificate {
	all := []Certificate{describe("tls.certificate", b.material.pair.Leaf)}
	if b.material.sealing != nil {
		all = append(all, describe("signature.certificate", b.material.sealing))
	}
	return all
}

func describe(field string, c *x509.Certificate) Certificate {
	return Certificate{Field: field, From: c.NotBefore, Until: c.NotAfter, Roles: roles.Of(c), Kind: roles.Kind(c), Qualified: roles.Qualified(c)}
}

// Invalid names an operator's certificate that has expired or is not yet valid, and the remedy. The
// bank would refuse every call with this certificate. If all certificates are valid, Invalid
// returns "".
func (b *Bank) Invalid(now time.Time) string {
	for _, c := range b.Certificates() {
		if wrong := c.invalid(now); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (c Certificate) invalid(now time.Time) string {
	switch {
	case now.After(c.Until):
		return fmt.Sprintf("%s is not valid after %s: replace it with the new certificate and send SIGHUP, which makes the service read the banks again", c.Field, c.Until.UTC().Format(time.RFC3339))
	case now.Before(c.From):
		return fmt.Sprintf("%s is not valid before %s: check that this machine's clock is right, or use the former certificate until then", c.Field, c.From.UTC().Format(time.RFC3339))
	}
	return ""
}
