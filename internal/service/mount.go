package service

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/console"
	"passerelle/internal/desk"
	"passerelle/internal/httpd"
	"passerelle/internal/protocol"
	"passerelle/internal/reference"
	"passerelle/internal/web"
	"passerelle/internal/webview"
)

// place is a part of the address space and who answers there. A prefix that
// ends in a slash stands for everything below it.
type place struct {
	prefix  string
	handler http.Handler
}

// places are tried in order; the interface answers whatever is left, also what
// has no path at all, so that every request that goes nowhere gets its error
// body. A mux of net/http would answer some of them itself, with redirects and
// plain text.
type places struct {
	below []place
	rest  http.Handler
}

func (s *Service) places() places {
	return places{rest: s.door().Around(s.busyPlaces()), below: []place{
		{"/healthz", httpd.Health()},
		{"/readyz", httpd.Ready(s.checks()...)},
	}}
}

// door turns away what would be too much at once, all but those who ask how the
// process is. What it says no page of another origin can read: which of them may is
// in the database, and who is turned away is to cost nothing there.
func (s *Service) door() *httpd.Door {
	full := &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "The service is at its limit; try again later.", RetryAfter: 1}
	return &httpd.Door{
		Limit: cmp.Or(s.config.MaxRequests, DefaultMaxRequests), Bodies: cmp.Or(s.config.MaxBodies, DefaultMaxBodies),
		Full: full, Refuse: s.api.Refuse,
	}
}

func (s *Service) busyPlaces() places {
	pages := webview.New(webview.Config{
		Domain: s.domain, RequestID: httpd.RequestID, Access: s.Access, DB: s.DB, Initiation: s.Initiation, Aggregation: s.Aggregation,
		MAC: s.config.Keys.MAC, Now: s.config.Now, Log: s.config.Log,
	})
	manual := reference.New(func() []byte { return s.api.Document() }, s.config.Log)
	return places{rest: s.api, below: []place{
		{"/sandbox/bank/", s.sandboxOnly(s.Bank.Pages())},
		{"/sandbox/shop/", s.sandboxOnly(s.Bank.Shop())},
		{receiverPath, s.sandboxOnly(http.HandlerFunc(s.receive))},
		{"/webview", pages},
		{"/webview/", pages},
		{web.AssetPath, pages},
		{desk.Root, s.console()},
		{strings.TrimSuffix(desk.Root, "/"), http.RedirectHandler(desk.Root, http.StatusSeeOther)},
		{reference.Root, manual},
		{reference.Root + "/", manual},
		{"/2.0/auth/webview/", pages},
		{webview.WebauthPath, pages},
		{webview.CallbackPath, pages},
	}}
}

// console is the pages of operators.
func (s *Service) console() http.Handler {
	address := func(r *http.Request) string { return protocol.Address(r, s.config.TrustedProxies) }
	return console.New(console.Config{
		Config: desk.Config{
			Domain: s.domain, Location: s.location, RequestID: httpd.RequestID, Admission: s.Admission, DB: s.DB,
			MAC: s.config.Keys.MAC, Now: s.config.Now, Log: s.config.Log,
		},
		Address: address, Initiation: s.Initiation, Aggregation: s.Aggregation, Delivery: s.Delivery, Access: s.Access, Files: s.Filing.Files, Lab: s.Lab,
		Scenarios: s.scenarios, Logins: logins(), Provider: s.provider,
	})
}

// ServeHTTP passes the request to the first place it falls into, and tells the
// access log which that was, because a path may hold identifiers.
func (p places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, place := range p.below {
		if r.URL.Path == place.prefix || (strings.HasSuffix(place.prefix, "/") && strings.HasPrefix(r.URL.Path, place.prefix)) {
			httpd.SetRoute(r.Context(), place.prefix)
			place.handler.ServeHTTP(w, r)
			return
		}
	}
	httpd.SetRoute(r.Context(), "/")
	p.rest.ServeHTTP(w, r)
}

// sandboxOnly keeps what belongs to simulated banks off hosts of no domain and
// of live ones.
func (s *Service) sandboxOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := s.domain(r.Context(), r.Host)
		if err == nil && d.Kind != passerelle.Sandbox {
			err = passerelle.Missing()
		}
		if err != nil {
			s.api.Refuse(w, r, err)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// asCalled gives every place the host that the client called. What a proxy says
// about it counts when the proxy is trusted.
func (s *Service) asCalled(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called := *r
		_, called.Host = protocol.Origin(r, s.config.TrustedProxies)
		handler.ServeHTTP(w, &called)
	})
}

// checks are what has to be right for requests to be served.
func (s *Service) checks() []httpd.Check {
	return []httpd.Check{
		{Name: "database", Probe: s.DB.Ping},
		{Name: "schema", Probe: s.DB.SchemaCurrent},
		{Name: "keys", Probe: s.DB.CheckKeys},
		{Name: "draining", Probe: func(context.Context) error {
			if s.draining.Load() {
				return passerelle.Unavailable
			}
			return nil
		}},
		{Name: "maintenance", Probe: func(ctx context.Context) error {
			closed, err := s.maintenance(ctx)
			if closed {
				return passerelle.Unavailable
			}
			return err
		}},
	}
}
