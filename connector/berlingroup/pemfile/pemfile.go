// Package pemfile reads certificates and private keys from PEM files.
//
// It owns the formats of keys and the check that only the owner and group of a file can read its
// key. It does not own the fields that name the files. It fails with the path of the file and the
// mistake.
package pemfile

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"passerelle/connector/berlingroup/tomlfile"
)

// blocks returns the PEM blocks in a file.
func blocks(path string) ([]*pem.Block, error) {
	content, err := tomlfile.Bounded(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []*pem.Block
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		all = append(all, block)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s contains no PEM block", path)
	}
	return all, nil
}

// Certificates returns the certificates in a file. It fails when the file has no certificate.
func Certificates(path string) ([]*x509.Certificate, error) {
	found, err := blocks(path)
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, block := range found {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s contains a certificate that cannot be read: %w", path, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s contains no certificate", path)
	}
	return all, nil
}

// othersRead is the read permission of users other than owner and group.
const othersRead = 0o004

// Key returns the private key in a file. It fails when users other than owner and group can read
// the file.
func Key(path string) (crypto.Signer, error) {
	found, err := blocks(path)
	if err != nil {
		return nil, err
	}
	for _, block := range found {
		key := parseKey(block.Bytes)
		if key == nil {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&othersRead != 0 {
			return nil, fmt.Errorf("%s is readable by everybody: run chmod o-r", path)
		}
		return key, nil
	}
	return nil, fmt.Errorf("%s contains no private key that can be read", path)
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

// Belongs reports whether a key is the key of a certificate.
func Belongs(key crypto.Signer, to *x509.Certificate) bool {
	public, comparable := key.Public().(interface{ Equal(x crypto.PublicKey) bool })
	return comparable && public.Equal(to.PublicKey)
}
