package httpd

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// ServerCertificate is the certificate of a server, in two files that may change while the server
// runs. Open connections keep the certificate with which they began.
type ServerCertificate struct {
	chainFile, keyFile string
	current            atomic.Pointer[keyPair]
}

// keyPair is a certificate with the contents of its files.
type keyPair struct {
	chain, key []byte
	parsed     tls.Certificate
}

// LoadCertificate reads a certificate chain and its private key from files in PEM.
func LoadCertificate(chainFile, keyFile string) (*ServerCertificate, error) {
	c := &ServerCertificate{chainFile: chainFile, keyFile: keyFile}
	c.current.Store(&keyPair{})
	_, err := c.Reload()
	return c, err
}

// Reload reads the files again, and reports whether there is a new certificate. If Reload fails,
// the certificate stays the same. Reload fails, for example, while only one of the files has been
// replaced. Only one goroutine may call Reload at a time.
func (c *ServerCertificate) Reload() (bool, error) {
	next := &keyPair{}
	var err error
	if next.chain, err = os.ReadFile(c.chainFile); err != nil {
		return false, fmt.Errorf("read the certificate of the service: %w", err)
	}
	if next.key, err = os.ReadFile(c.keyFile); err != nil {
		return false, fmt.Errorf("read the key of the service's certificate: %w", err)
	}
	if now := c.current.Load(); bytes.Equal(next.chain, now.chain) && bytes.Equal(next.key, now.key) {
		return false, nil
	}
	if next.parsed, err = tls.X509KeyPair(next.chain, next.key); err != nil {
		return false, fmt.Errorf("read the certificate of the service and its key: %w", err)
	}
	c.current.Store(next)
	return true, nil
}

// Expires returns the time at which the certificate ends.
func (c *ServerCertificate) Expires() time.Time { return c.current.Load().parsed.Leaf.NotAfter }

// TLS returns a configuration that gives each new connection the present certificate. It returns
// nil for a nil ServerCertificate.
func (c *ServerCertificate) TLS() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &c.current.Load().parsed, nil
	}}
}
