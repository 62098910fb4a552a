package berlingroup

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"passerelle/connector/berlingroup/roles"
	"passerelle/connector/berlingroup/signing"
	"passerelle/connector/berlingroup/tomlfile"
)

// Certificate describes a certificate of the operator that a bank file names.
type Certificate struct {
	// Field is the name in the bank file: tls.certificate or signature.certificate.
	Field string
	// Until is the last instant at which the certificate is valid.
	Until time.Time
	// Roles are the PSD2 roles in the certificate, such as PSP_PI. A certificate without a PSD2
	// QCStatement has none.
	Roles []string
}

// The roles of ETSI TS 119 495 that a bank requires.
const (
	RoleInitiation  = "PSP_PI"
	RoleInformation = "PSP_AI"
)

// signer returns the signer of requests, or nil if the bank wants none.
func (m material) signer(s *Signature) *signing.Signer {
	if s == nil {
		return nil
	}
	made := &signing.Signer{Digest: s.Digest, Headers: s.Headers, Certificate: m.sealing, Sign: signing.WithKey(m.sealKey)}
	if len(s.Command) > 0 {
		made.Sign = signing.WithProgram(s.Command)
	}
	return made
}

// material holds the certificates, keys and authorities that a bank file names.
type material struct {
	pair        tls.Certificate
	authorities *x509.CertPool
	sealing     *x509.Certificate
	sealKey     *rsa.PrivateKey
	// passwords is the bank's key for passwords, nil if they are not encrypted.
	passwords *rsa.PublicKey
}

// load reads the files named in a bank file. The error joins all complaints.
func (f *File) load(where *tomlfile.Places) (material, error) {
	var m material
	r := &rules{where: where}
	own, key := r.certificates("tls.certificate", f.TLS.Certificate), r.key("tls.key", f.TLS.Key)
	if own != nil && key != nil && r.matches("tls.key", own[0], key) {
		m.pair = tls.Certificate{PrivateKey: key, Leaf: own[0]}
		for _, one := range own {
			m.pair.Certificate = append(m.pair.Certificate, one.Raw)
		}
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
	key := r.key("signature.key", s.Key)
	if key == nil || !r.matches("signature.key", m.sealing, key) {
		return
	}
	m.sealKey, usable = key.(*rsa.PrivateKey)
	r.hold(usable, "signature.key", "is not an RSA key")
}

// blocks returns the PEM blocks in the file that a field names.
func (r *rules) blocks(field, name string) []*pem.Block {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.where.Path), path)
	}
	content, err := tomlfile.Bounded(path)
	if err != nil {
		r.hold(false, field, "%s: %v", path, err)
		return nil
	}
	var all []*pem.Block
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block)
	}
	r.hold(len(all) > 0, field, "%s contains no PEM block", path)
	return all
}

func (r *rules) certificates(field, name string) []*x509.Certificate {
	var all []*x509.Certificate
	for _, block := range r.blocks(field, name) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			r.hold(false, field, "%s contains a certificate that cannot be read: %v", name, err)
			return nil
		}
		all = append(all, one)
	}
	return all
}

// othersRead is the read permission of users other than owner and group.
const othersRead = 0o004

func (r *rules) key(field, name string) crypto.Signer {
	for _, block := range r.blocks(field, name) {
		if key := parseKey(block.Bytes); key != nil {
			path := filepath.Join(filepath.Dir(r.where.Path), name)
			if filepath.IsAbs(name) {
				path = name
			}
			info, err := os.Stat(path)
			r.hold(err == nil && info.Mode().Perm()&othersRead == 0, field, "%s is readable by everybody: run chmod o-r", path)
			return key
		}
	}
	r.hold(len(r.wrong) > 0, field, "%s contains no private key that can be read", name)
	return nil
}

// parseKey tries all three formats of PEM keys, because their labels in files are unreliable.
func parseKey(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		signer, _ := key.(crypto.Signer)
		return signer
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

func (r *rules) matches(field string, certificate *x509.Certificate, key crypto.Signer) bool {
	public, comparable := key.Public().(interface{ Equal(x crypto.PublicKey) bool })
	right := comparable && public.Equal(certificate.PublicKey)
	r.hold(right, field, "is not the key of the certificate")
	return right
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
	return Certificate{Field: field, Until: c.NotAfter, Roles: roles.Of(c)}
}

// expired describes an operator's certificate that is no longer valid, or returns "" if there is
// none.
func (b *Bank) expired(now time.Time) string {
	for _, c := range b.Certificates() {
		if now.After(c.Until) {
			return fmt.Sprintf("%s is not valid after %s: put the new certificate in its place and have the banks read again (SIGHUP)", c.Field, c.Until.UTC().Format(time.RFC3339))
		}
	}
	return ""
}
