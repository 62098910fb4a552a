package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/httpd"
	"passerelle/internal/web"
	"passerelle/internal/webview"
)

// place is a part of the address space and who answers there. A prefix that
// ends in a slash stands for everything below it.
type place struct {
	prefix  string
	handler http.Handler
}

// places are tried in order; the interface answers whatever is left, so that
// every request that goes nowhere gets its error body. A mux of net/http would
// answer some of them itself, with redirects and plain text.
func (s *Service) places() places {
	pages := webview.New(webview.Config{
		Domain: s.domain, RequestID: httpd.RequestID, Access: s.Access, DB: s.DB, Initiation: s.Initiation,
		MAC: s.config.Keys.MAC, Now: s.config.Now, Log: s.config.Log,
	})
	return places{
		{"/healthz", httpd.Health()},
		{"/readyz", httpd.Ready(s.checks()...)},
		{"/sandbox/bank/", s.Bank.Pages()},
		{"/sandbox/shop/", s.Bank.Shop()},
		{"/sandbox/receiver/", http.HandlerFunc(s.receive)},
		{"/webview/", pages},
		{web.AssetPath, pages},
		{"/2.0/auth/webview/", pages},
		{"/2.0/webauth/callback", pages},
		{"/", s.API()},
	}
}

type places []place

// ServeHTTP passes the request to the first place it falls into, and tells the
// access log which that was, because a path may hold identifiers.
func (p places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, place := range p {
		if r.URL.Path == place.prefix || (strings.HasSuffix(place.prefix, "/") && strings.HasPrefix(r.URL.Path, place.prefix)) {
			httpd.SetRoute(r.Context(), place.prefix)
			place.handler.ServeHTTP(w, r)
			return
		}
	}
}

// checks are what has to be right for requests to be served.
func (s *Service) checks() []httpd.Check {
	return []httpd.Check{
		{Name: "database", Probe: s.DB.Ping},
		{Name: "schema", Probe: s.DB.SchemaCurrent},
		{Name: "maintenance", Probe: func(ctx context.Context) error {
			closed, err := s.maintenance(ctx)
			if closed {
				return passerelle.Unavailable
			}
			return err
		}},
	}
}

// maxReceived bounds a body for the built-in receiver.
const maxReceived = 1 << 20

// receive is the built-in receiver of a sandbox domain: it keeps what arrives
// and accepts it.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) {
	d, err := s.domain(r.Context(), r.Host)
	if err != nil || d.Kind != passerelle.Sandbox || r.Method != http.MethodPost {
		http.Error(w, "no receiver here: POST to a sandbox domain's /sandbox/receiver/{name}", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReceived))
	if err != nil {
		http.Error(w, fmt.Sprintf("a body of at most %d bytes is kept", maxReceived), http.StatusRequestEntityTooLarge)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/sandbox/receiver/")
	if _, err := s.Delivery.Receive(r.Context(), d, name, r.Header, r.URL.EscapedPath(), body); err != nil {
		s.config.Log.ErrorContext(r.Context(), "the built-in receiver could not keep a request", "error", err)
		http.Error(w, "the request could not be kept", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
