package eidas

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// These are the files of a folder of certificates, without .pem and .key.
const (
	AuthorityFile = "authority"
	ServerFile    = "server"
	QWACFile      = "qwac"
	QSealCFile    = "qsealc"
	PasswordsFile = "passwords"
)

// TestOrganization is the third party in most certificates of a folder.
const TestOrganization = "PSDDE-TEST-1"

// everyRole contains all roles of a third party.
var everyRole = []Role{PaymentInitiation, AccountInformation, CardIssuing}

// WriteFolder makes an authority, and all valid and invalid certificates that tests of a third
// party need. The folder must not have an authority yet. Each certificate is in NAME.pem, and its
// key is in NAME.key, which only the owner can read. WriteFolder returns the paths of the files.
func WriteFolder(folder string, now time.Time, hosts ...string) ([]string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of certificates: %w", err)
	}
	if _, err := os.Stat(filepath.Join(folder, AuthorityFile+".pem")); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has an authority already: choose another folder, or remove it", folder)
	}
	all, err := issueAll(now, hosts)
	if err != nil {
		return nil, err
	}
	var written []string
	for _, one := range all {
		paths, err := write(filepath.Join(folder, one.name), one.Issued)
		if err != nil {
			return nil, err
		}
		written = append(written, paths...)
	}
	return written, nil
}

// WritePasswords makes the certificate for passwords if a folder from an earlier version lacks it.
// The authority of the folder signs this certificate.
func WritePasswords(folder string, now time.Time) error {
	if _, err := os.Stat(filepath.Join(folder, PasswordsFile+".pem")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	authority, err := readAuthority(folder, now)
	if err != nil {
		return err
	}
	issued, err := authority.Passwords()
	if err != nil {
		return err
	}
	_, err = write(filepath.Join(folder, PasswordsFile), issued)
	return err
}

// readAuthority reads the authority of a folder.
func readAuthority(folder string, now time.Time) (*Authority, error) {
	path := filepath.Join(folder, AuthorityFile)
	pair, err := tls.LoadX509KeyPair(path+".pem", path+".key")
	if err != nil {
		return nil, fmt.Errorf("read the authority of the folder: %w", err)
	}
	key, is := pair.PrivateKey.(crypto.Signer)
	if !is {
		return nil, errors.New("read the authority of the folder: its key cannot sign")
	}
	return &Authority{certificate: pair.Leaf, key: key, now: now}, nil
}

type named struct {
	name string
	Issued
}

func issueAll(now time.Time, hosts []string) ([]named, error) {
	authority, err := NewAuthority("Example Test Authority", now)
	if err != nil {
		return nil, err
	}
	foreign, err := NewAuthority("Foreign Test Authority", now)
	if err != nil {
		return nil, err
	}
	good := Party{Organization: TestOrganization, Name: "Example Third Party", Roles: everyRole}
	with := func(change func(*Party)) Party { p := good; change(&p); return p }
	other := with(func(p *Party) { p.Organization, p.Name = "PSDDE-TEST-2", "Other Third Party" })
	expired := with(func(p *Party) { p.Until = now.Add(-time.Hour) })
	payments := with(func(p *Party) { p.Roles = []Role{PaymentInitiation} })
	accounts := with(func(p *Party) { p.Roles = []Role{AccountInformation} })

	// The authority comes last, because WriteFolder refuses a folder that has an authority. After
	// an interruption, WriteFolder can then run again.
	return issueEach([]request{
		{ServerFile, func() (Issued, error) { return authority.Server(hosts...) }},
		{QWACFile, func() (Issued, error) { return authority.QWAC(good) }},
		{PasswordsFile, authority.Passwords},
		{QSealCFile, func() (Issued, error) { return authority.QSealC(good) }},
		{"other-qwac", func() (Issued, error) { return authority.QWAC(other) }},
		{"expired-qwac", func() (Issued, error) { return authority.QWAC(expired) }},
		{"expired-qsealc", func() (Issued, error) { return authority.QSealC(expired) }},
		{"payments-qwac", func() (Issued, error) { return authority.QWAC(payments) }},
		{"accounts-qwac", func() (Issued, error) { return authority.QWAC(accounts) }},
		{"foreign-qwac", func() (Issued, error) { return foreign.QWAC(good) }},
		{"foreign-qsealc", func() (Issued, error) { return foreign.QSealC(good) }},
		{AuthorityFile, func() (Issued, error) { return authority.Certificate(), nil }},
	})
}

type request struct {
	name  string
	issue func() (Issued, error)
}

func issueEach(requests []request) ([]named, error) {
	all := make([]named, 0, len(requests))
	for _, r := range requests {
		issued, err := r.issue()
		if err != nil {
			return nil, fmt.Errorf("issue %s: %w", r.name, err)
		}
		all = append(all, named{r.name, issued})
	}
	return all, nil
}

func write(path string, issued Issued) ([]string, error) {
	key, err := x509.MarshalPKCS8PrivateKey(issued.Key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	files := []struct {
		path, kind string
		content    []byte
	}{
		{path + ".key", "PRIVATE KEY", key},
		{path + ".pem", "CERTIFICATE", issued.Certificate.Raw},
	}
	var paths []string
	for _, f := range files {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.content}), 0o600); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.path, err)
		}
		paths = append(paths, f.path)
	}
	return paths, nil
}
