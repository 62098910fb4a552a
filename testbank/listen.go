package testbank

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/control"
	"passerelle/testbank/eidas"
	"passerelle/testbank/oauth"
	"passerelle/testbank/page"
	"passerelle/testbank/xs2a"
)

// These are the limits of connections.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// addresses holds the addresses for third parties and for browsers.
type addresses struct{ api, pages string }

// listen opens the ports, mounts the banks, and writes the files that describe the banks to the
// service.
func (p *Program) listen(c Config, profiles []bank.Profile) error {
	folder := filepath.Join(c.Data, certsFolder)
	secure, err := secured(folder)
	if err != nil {
		return err
	}
	api, pages, tester := http.NewServeMux(), http.NewServeMux(), &control.Control{Banks: p.banks, Log: c.Log}
	var at addresses
	if at.api, err = p.serve(c.Listen, api, secure); err != nil {
		return err
	}
	if c.Address != "" {
		at.api = "https://" + c.Address
	}
	if at.pages, err = p.serve(c.Pages, pages, nil); err != nil {
		return err
	}
	if p.Control, err = p.serve(c.Control, tester.Handler(), nil); err != nil {
		return err
	}
	authorities, err := pool(folder)
	if err != nil {
		return err
	}
	var shown []*page.Pages
	for _, profile := range profiles {
		shown = append(shown, p.mount(c, profile, at, api, pages, authorities))
		opened, err := describe(c.Data, profile, at)
		if err != nil {
			return err
		}
		p.Opened = append(p.Opened, opened)
	}
	p.Pages = at.pages
	pages.HandleFunc("GET /{$}", page.List(shown, c.Log))
	return nil
}

// mount registers the handlers of one bank under the bank's name, and returns its pages.
func (p *Program) mount(c Config, profile bank.Profile, at addresses, api, pages *http.ServeMux, authorities *x509.CertPool) *page.Pages {
	b, under := p.banks[profile.Name], "/"+profile.Name
	log := c.Log.With(slog.String("bank", profile.Name))
	server := &oauth.Server{Bank: b, Issuer: at.api + under, Pages: at.pages + under, Authorities: authorities, Clock: b.Machine, Log: log}
	interfaces := &xs2a.API{
		Bank: b, Base: at.api + under, Under: under, Pages: at.pages + under, Metadata: at.api + metadataPath + under,
		Authorities: authorities, SlowAnswer: c.SlowAnswer, Clock: b.Machine, Log: log,
	}
	api.Handle(under+"/", http.StripPrefix(under, interfaces.Handler()))
	api.HandleFunc("POST "+under+"/oauth/token", server.Token)
	api.HandleFunc("GET "+metadataPath+under, server.Metadata)
	shown := &page.Pages{Bank: b, Title: title(profile), Base: under, Log: log}
	pages.Handle(under+"/", http.StripPrefix(under, shown.Handler()))
	return shown
}

// metadataPath is the path of the metadata (RFC 8414, section 3.1). The path of the issuer follows
// it.
const metadataPath = "/.well-known/oauth-authorization-server"

// serve opens a port and returns its address.
func (p *Program) serve(address string, handler http.Handler, secure *tls.Config) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	scheme := "http://"
	at := listener.Addr().String()
	if secure != nil {
		scheme, listener = "https://", tls.NewListener(listener, secure)
	}
	p.servers = append(p.servers, server{
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		},
		listener: listener,
	})
	return scheme + at, nil
}

// secured returns a configuration that requests a client certificate, but accepts any certificate
// or none. The response can then describe the fault of a certificate, and browsers need no
// certificate.
func secured(folder string) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, eidas.ServerFile+".pem"), filepath.Join(folder, eidas.ServerFile+".key"))
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the server: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
		// The server offers only HTTP/1.1, so that a response that is cut off ends the connection.
		NextProtos: []string{"http/1.1"},
	}, nil
}

// pool returns the authorities that may issue certificates to third parties.
func pool(folder string) (*x509.CertPool, error) {
	path := filepath.Join(folder, eidas.AuthorityFile+".pem")
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the authority: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(encoded) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return authorities, nil
}
