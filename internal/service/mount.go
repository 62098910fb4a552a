package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/console"
	"passerelle/internal/console/page"
	"passerelle/internal/httpapi"
	"passerelle/internal/httpd"
	"passerelle/internal/reference"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview"
)

// place is a part of the URL space, with its handler. A prefix with a slash at its end matches
// everything below it.
type place struct {
	prefix  string
	handler http.Handler
}

// places is a handler that tries its places in order. A default handler gets every other request,
// even one without a path. A mux of net/http would handle some of these requests itself, with
// redirects and plain text.
type places struct {
	below []place
	rest  http.Handler
}

func (s *Service) places() places {
	return places{rest: s.entry().Wrap(s.busyPlaces()), below: []place{
		{"/healthz", httpd.Health(s.product())},
		{"/readyz", httpd.Ready(s.checks()...)},
	}}
}

// entry returns the limiter that the listeners of the API and the console share. The limiter
// refuses requests beyond the limits, except health checks. Pages of other origins cannot read such
// a refusal. The allowed origins are in the database, and a refusal must not cost a query.
func (s *Service) entry() *httpd.Limiter {
	if s.limiter != nil {
		return s.limiter
	}
	full := &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "The service is at its limit; try again later.", RetryAfter: 1}
	s.limiter = &httpd.Limiter{
		Limit: cmp.Or(s.config.MaxRequests, DefaultMaxRequests), Bodies: cmp.Or(s.config.MaxBodies, DefaultMaxBodies),
		Responses: cmp.Or(s.config.MaxResponses, DefaultMaxResponses), Full: full, Refuse: s.api.Refuse,
	}
	return s.limiter
}

func (s *Service) busyPlaces() places {
	pages := s.noteDevice(webview.New(webview.Config{
		Domain: s.domain, Wait: s.wait, RequestID: httpd.RequestID, Access: s.Access, DB: s.DB, Initiation: s.Initiation, Aggregation: s.Aggregation,
		Notifications: s.notifications, Logos: &s.logos, MAC: s.config.Keys.MAC, Now: s.config.Now, Log: s.config.Log,
	}), false)
	manual := s.ofDomain(reference.New(reference.Config{OpenAPI: func() []byte { return s.api.Document() }, Domain: s.domain, IDs: s.newestIDs, Log: s.config.Log}))
	welcome := reference.Welcome{Domain: s.domain, Console: s.config.ConsoleListen == "", Rest: s.noteDevice(s.api, true), Log: s.config.Log}
	return places{rest: welcome, below: append(s.consolePlaces(), versionTwice([]place{
		{"/sandbox/bank/", s.sandboxOnly(s.Bank.Pages())},
		{"/sandbox/shop/", s.sandboxOnly(s.Bank.Shop())},
		{receiverPath, s.sandboxOnly(http.HandlerFunc(s.receive))},
		{"/webview", pages},
		{"/webview/", pages},
		{web.AssetPath, s.ofDomain(pages)},
		{reference.Root, manual},
		{reference.Root + "/", manual},
		{"/2.0/auth/webview/", pages},
		{webview.SharePath, pages},
		{webview.SharePath + "/", pages},
		{webview.WebauthPath, pages},
		{webview.CallbackPath, pages},
		{webview.NotificationPath, pages},
		{webview.WebauthPath + "/", pages},
		{webview.CallbackPath + "/", pages},
	})...)}
}

// versionTwice adds each place below the version segment with the version twice, because clients
// add the version to a base address that already has it. The handlers of these places accept it.
func versionTwice(below []place) []place {
	const version = "/2.0"
	for _, one := range below {
		if strings.HasPrefix(one.prefix, version+"/") {
			below = append(below, place{version + one.prefix, one.handler})
		}
	}
	return below
}

// wait counts a request for a page, and returns the time for which the client's address must wait.
// A form counts towards the limit for addresses and the limit for forms.
func (s *Service) wait(r *http.Request, form bool) (time.Duration, error) {
	found, err := s.servedDomain(r.Context(), &s.DB.Reader, r.Host)
	if err != nil {
		return 0, err
	}
	length := s.api.Count(r, found.Domain, found.Settings, settings.AddressRate)
	if form {
		length = max(length, s.api.Count(r, found.Domain, found.Settings, settings.FormRate))
	}
	return length, nil
}

// ofDomain looks up the domain of a request, although the response body is the same for all
// domains. The lookup adds the header Strict-Transport-Security for a domain that is reached only
// over https.
func (s *Service) ofDomain(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = s.domain(r.Context(), r.Host) // an unknown host gets the same response
		handler.ServeHTTP(w, r)
	})
}

// consolePlaces returns the places of the console, if the console has no listener of its own.
func (s *Service) consolePlaces() []place {
	if s.config.ConsoleListen != "" {
		return nil
	}
	return s.operatorPlaces(s.domain)
}

func (s *Service) operatorPlaces(domain func(context.Context, string) (passerelle.Domain, error)) []place {
	return []place{
		{page.Root, s.console(domain)},
		{strings.TrimSuffix(page.Root, "/"), s.ofDomain(http.RedirectHandler(page.Root, http.StatusSeeOther))},
	}
}

// ownConsole returns the handler of the console's separate listener. For a host without a domain, it
// uses the first domain at the address that the browser called, which may be the address of a
// trusted proxy.
func (s *Service) ownConsole() http.Handler {
	type schemeKey struct{}
	domain := func(ctx context.Context, host string) (passerelle.Domain, error) {
		d, err := s.domain(ctx, host)
		if !errors.Is(err, passerelle.NotFound) {
			return d, err
		}
		first, err := s.DB.FirstServedDomain(ctx)
		if err != nil {
			return d, fmt.Errorf("find the first domain: %w", err)
		}
		scheme, _ := ctx.Value(schemeKey{}).(string)
		first.BaseURL = scheme + "://" + host + "/2.0"
		return first.Domain, nil
	}
	rest := http.RedirectHandler(page.Root, http.StatusSeeOther)
	all := s.entry().Wrap(places{rest: onlyRoot(rest), below: append(s.operatorPlaces(domain), place{web.AssetPath, web.Assets()})})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, _ := httpapi.Origin(r, s.config.TrustedProxies)
		all.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), schemeKey{}, scheme)))
	})
}

// onlyRoot passes on requests for the root, and responds to all other requests with 404.
func onlyRoot(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// unknownProxy warns, at most once an hour, that the service counts sign-ins by the address of a
// proxy. The failed attempts of a stranger could then lock out all operators.
func (s *Service) unknownProxy(r *http.Request, address string) {
	if r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == "" || address != peer(r) {
		return
	}
	now := s.config.Now()
	last := s.warned.Load()
	if now.UnixMicro()-last >= time.Hour.Microseconds() && s.warned.CompareAndSwap(last, now.UnixMicro()) {
		s.config.Log.Warn("operators sign in through a proxy that --trusted-proxies does not name: failures of all of them count as those of one address", "proxy", address)
	}
}

// peer returns the address at the other end of a request's connection.
func peer(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().String()
}

// console returns the handler of the operators' pages.
func (s *Service) console(domain func(context.Context, string) (passerelle.Domain, error)) http.Handler {
	address := func(r *http.Request) string {
		from := httpapi.Address(r, s.config.TrustedProxies)
		s.unknownProxy(r, from)
		return from
	}
	return console.New(console.Config{
		Config: page.Config{
			Domain: domain, Location: s.location, RequestID: httpd.RequestID, Operators: s.Operators, DB: s.DB,
			MAC: s.config.Keys.MAC, Now: s.config.Now, Log: s.config.Log,
		},
		Address: address, Initiation: s.Initiation, Aggregation: s.Aggregation, Delivery: s.Delivery, Access: s.Access, Files: s.Documents.Files, Simulation: s.Simulation,
		Scenarios: s.scenarios, Logins: logins(), Provider: s.provider, Programs: s.newPrograms(), Design: s.config.Loopback,
	})
}

// ServeHTTP passes the request to the first matching place. The access log gets the place's prefix
// instead of the path, because a path may contain ids.
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

// sandboxOnly refuses requests to unknown hosts and to live domains.
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

// asCalled sets the host of a request to the host that the client called. When a trusted proxy
// passes on the host in a header, asCalled uses that header.
func (s *Service) asCalled(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called := *r
		var scheme string
		if scheme, called.Host = httpapi.Origin(r, s.config.TrustedProxies); scheme == "https" {
			httpd.RequireTLS(r.Context())
		}
		handler.ServeHTTP(w, &called)
	})
}

// checkKeys checks that this process has the keys of the database. The first time that a key is
// missing, the log says what to do, because responses to clients do not.
func (s *Service) checkKeys(ctx context.Context) error {
	err := s.DB.CheckKeys(ctx)
	if errors.Is(err, store.ErrOtherKeys) && !s.lacksKey.Swap(true) {
		s.config.Log.Error("this process lacks the newest master key of the database, so /readyz fails, and requests that must encrypt a value get 503: restart the process with the newest key file", "error", err)
	}
	return err
}

// noteKeys runs checkKeys for a service that nobody asks for its readiness. Its log has the error
// once, and not once for each pass.
func (s *Service) noteKeys(ctx context.Context) error {
	if err := s.checkKeys(ctx); !errors.Is(err, store.ErrOtherKeys) {
		return err
	}
	return nil
}

// checks returns the conditions that must hold for the service to be ready.
func (s *Service) checks() []httpd.Check {
	return []httpd.Check{
		{Name: "database", Probe: s.DB.Database.Ping},
		{Name: "schema", Probe: s.DB.Database.SchemaCurrent},
		{Name: "keys", Probe: s.checkKeys},
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
