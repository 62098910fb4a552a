// Package testbank runs banks for tests. The banks are separate from the service: they have their
// own ports, files and certificates, and share no code with the service.
//
// The package owns the parts that turn banks into a program: their addresses and certificates, the
// files that describe the banks to the service, and the loop that does the due work. It makes the
// certificates of a new folder. The behaviour of a bank is in package bank. Open returns an error
// that names the part that cannot be opened. A bank that fails later logs the error and responds
// with 500.
package testbank

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/eidas"
)

// Config is the configuration of a program of banks.
type Config struct {
	// Data is the folder of all files: certificates, bank files, and a file with each bank's books.
	Data string
	// Listen is the address for third parties, Pages is the address for browsers, and Control is
	// the address for the tester. Port 0 selects a free port.
	Listen, Pages, Control string
	// Address is the host and port at which third parties reach Listen through a proxy or a port
	// mapping. Empty means the address of Listen.
	Address string
	// Profiles are the names of the banks to open. Empty means all.
	Profiles []string
	// Settlement is how long a transfer stays pending. Instant and periodic transfers are booked at
	// once.
	Settlement time.Duration
	// SlowAnswer is how long a slow response takes.
	SlowAnswer time.Duration
	Log        *slog.Logger
}

// Program is a running set of test banks.
type Program struct {
	// Opened describes the banks.
	Opened []Opened
	// Folder is the folder of the files that describe the banks.
	Folder string
	// Control is the address of the tester's interface. Pages is the address of a page that leads
	// to the pages of all banks.
	Control, Pages string

	banks   map[string]*bank.Bank
	servers []server
	notes   chan bank.Note
	log     *slog.Logger
}

// Opened describes a bank for the user who started the program.
type Opened struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// API is the address of the bank's API. Pages is the address of its pages for browsers.
	API   string `json:"api"`
	Pages string `json:"pages"`
	// File is the path of the file that describes the bank to a service.
	File string `json:"file"`
}

type server struct {
	http     *http.Server
	listener net.Listener
}

// These are the files and folders in the data folder.
const (
	certsFolder = "certs"
	banksFolder = "banks"
	booksFolder = "books"
)

// maxNotes is the maximum number of waiting notifications. Further notifications are dropped.
const maxNotes = 1000

// Open opens the banks and the ports, and makes missing files.
func Open(ctx context.Context, c Config) (*Program, error) {
	p := &Program{Folder: filepath.Join(c.Data, banksFolder), banks: map[string]*bank.Bank{}, notes: make(chan bank.Note, maxNotes), log: c.Log}
	if err := p.open(ctx, c); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Program) open(ctx context.Context, c Config) error {
	profiles, err := chosen(c.Profiles)
	if err != nil {
		return err
	}
	for _, folder := range []string{banksFolder, booksFolder} {
		if err := os.MkdirAll(filepath.Join(c.Data, folder), 0o700); err != nil {
			return fmt.Errorf("make the data folder: %w", err)
		}
	}
	if err := makeCertificates(c); err != nil {
		return err
	}
	passwords, err := passwordKey(c.Data)
	if err != nil {
		return err
	}
	options := bank.Options{Settlement: c.Settlement, Notes: p.notes, Passwords: passwords}
	for _, profile := range profiles {
		b, err := bank.Open(ctx, profile, filepath.Join(c.Data, booksFolder, profile.Name+".db"), options)
		if err != nil {
			return err
		}
		p.banks[profile.Name] = b
	}
	return p.listen(c, profiles) //nolint:contextcheck // later calls have the contexts of their requests
}

func chosen(names []string) ([]bank.Profile, error) {
	if len(names) == 0 {
		return bank.Profiles(), nil
	}
	var all []bank.Profile
	for _, name := range names {
		profile, ok := bank.ProfileNamed(name)
		if !ok {
			return nil, fmt.Errorf("there is no profile %s: %s", name, profileNames())
		}
		all = append(all, profile)
	}
	return all, nil
}

func profileNames() string {
	text := "there are"
	for _, p := range bank.Profiles() {
		text += " " + p.Name
	}
	return text
}

// makeCertificates makes the certificates of a new data folder.
func makeCertificates(c Config) error {
	folder := filepath.Join(c.Data, certsFolder)
	if _, err := os.Stat(filepath.Join(folder, eidas.AuthorityFile+".pem")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("read the address to listen on: %w", err)
	}
	var hosts []string
	if host != "" {
		hosts = []string{host}
	}
	_, err = eidas.WriteFolder(folder, time.Now(), hosts...)
	return err
}

// passwordKey returns the key that decrypts passwords from third parties.
func passwordKey(data string) (*rsa.PrivateKey, error) {
	folder := filepath.Join(data, certsFolder)
	if err := eidas.WritePasswords(folder, time.Now()); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, eidas.PasswordsFile+".pem"), filepath.Join(folder, eidas.PasswordsFile+".key"))
	if err != nil {
		return nil, fmt.Errorf("load the key for passwords: %w", err)
	}
	key, is := pair.PrivateKey.(*rsa.PrivateKey)
	if !is {
		return nil, errors.New("the key for passwords is no RSA key")
	}
	return key, nil
}

// Serve serves the banks until the context ends or a server fails, and then closes them.
func (p *Program) Serve(ctx context.Context) error {
	failed := make(chan error, len(p.servers))
	for _, s := range p.servers {
		go func() { failed <- s.http.Serve(s.listener) }()
	}
	go p.notify(ctx)
	err := p.work(ctx, failed)
	return errors.Join(err, p.Close())
}

// work does everything that is due, once a second, until the context ends or a server fails.
func (p *Program) work(ctx context.Context, failed <-chan error) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-ticker.C:
			p.runDue(ctx)
		}
	}
}

func (p *Program) runDue(ctx context.Context) {
	for name, b := range p.banks {
		if err := b.Run(ctx); err != nil && ctx.Err() == nil {
			p.log.Error("due work failed", slog.String("bank", name), slog.Any("error", err))
		}
	}
}

// Close closes ports and banks. Calls in progress are cut off, as if the machine had stopped.
func (p *Program) Close() error {
	var all []error
	for _, s := range p.servers {
		all = append(all, s.http.Close(), ignoreClosed(s.listener.Close()))
	}
	for _, b := range p.banks {
		all = append(all, b.Close())
	}
	return errors.Join(all...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
