package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// EnsureDomain creates the domain unless one of that name exists, and moves an
// existing one to the base URL.
func EnsureDomain(ctx context.Context, db *store.DB, d passerelle.Domain) (passerelle.Domain, error) {
	known, err := db.DomainByName(ctx, d.Name)
	if errors.Is(err, store.ErrNotFound) {
		return createDomain(ctx, db, d)
	}
	if err != nil {
		return d, fmt.Errorf("look for domain %s: %w", d.Name, err)
	}
	host, err := HostOf(known.Kind, d.BaseURL)
	if err != nil || known.BaseURL == d.BaseURL {
		return known, err
	}
	known.BaseURL = d.BaseURL
	err = db.Write(ctx, func(tx *store.Tx) error {
		tx.MoveDomain(known.ID, host, d.BaseURL)
		return nil
	})
	return known, err
}

func createDomain(ctx context.Context, db *store.DB, d passerelle.Domain) (passerelle.Domain, error) {
	host, err := HostOf(d.Kind, d.BaseURL)
	if err != nil {
		return d, err
	}
	err = db.Write(ctx, func(tx *store.Tx) error { return tx.CreateDomain(&d, host) })
	return d, err
}

// HostOf checks the base URL of a domain, {scheme}://{host}/2.0 and nothing
// else, and returns the host by which requests for it are told. It is https
// for a live domain, except on this machine.
func HostOf(kind passerelle.DomainKind, baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil || baseURL != u.Scheme+"://"+u.Host+"/2.0" {
		return "", passerelle.InvalidField("base-url", "must be like https://bank.example/2.0, not %q", baseURL)
	}
	if _, err := passerelle.ParseReturnURL("base-url", baseURL); err != nil {
		return "", err
	}
	if u.Port() != "" && u.Port() == defaultPorts[u.Scheme] {
		return "", passerelle.InvalidField("base-url", "must not name port %s, which %s has anyway", u.Port(), u.Scheme)
	}
	if kind == passerelle.Live && u.Scheme != "https" && !Loopback(u.Host) {
		return "", passerelle.InvalidField("base-url", "must begin with https:// for a live domain")
	}
	return strings.ToLower(u.Host), nil
}

// defaultPorts are left out by clients, who then name the host alone.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// domain finds the tenant that the host of a request names. On a developer's
// machine every loopback name is the first domain, whatever the port.
func (s *Service) domain(ctx context.Context, host string) (passerelle.Domain, error) {
	d, err := s.domainOf(ctx, strings.ToLower(host))
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return d, err
	}
	if !s.config.Loopback || !Loopback(host) {
		return d, passerelle.Missing()
	}
	all, err := s.DB.Domains(ctx)
	if err != nil || len(all) == 0 {
		return d, errors.Join(err, passerelle.Missing())
	}
	return all[0], nil
}

// domainOf looks for a host as it is, and then without a default port, which
// no base URL names.
func (s *Service) domainOf(ctx context.Context, host string) (passerelle.Domain, error) {
	d, err := s.DB.DomainByHost(ctx, host)
	for _, port := range defaultPorts {
		bare, named := strings.CutSuffix(host, ":"+port)
		if named && errors.Is(err, store.ErrNotFound) {
			return s.DB.DomainByHost(ctx, bare)
		}
	}
	return d, err
}

// Loopback reports whether a host, with a port or without, is this machine by
// its name or address. Names are not resolved.
func Loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || (ip != nil && ip.IsLoopback())
}

// origin is the address of a domain without the version segment, below which
// pages and receivers are.
func origin(d passerelle.Domain) string { return strings.TrimSuffix(d.BaseURL, "/2.0") }

func (s *Service) authenticate(ctx context.Context, d passerelle.Domain, token string) (access.Principal, error) {
	return s.Access.Authenticate(ctx, d.ID, token)
}

func (s *Service) location(ctx context.Context, d passerelle.Domain) (*time.Location, error) {
	values, err := settings.Load(ctx, &s.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	return values.Location(), nil
}

func (s *Service) queryToken(ctx context.Context, d passerelle.Domain) (bool, error) {
	values, err := settings.Load(ctx, &s.DB.Reader, d.ID)
	return values.On(settings.QueryToken), err
}

// eachDomain makes a pass over all domains of one over a single domain. One
// domain's failure leaves the others their turn.
func (s *Service) eachDomain(do func(context.Context, passerelle.Domain) error) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.DB.Domains(ctx)
		if err != nil {
			return fmt.Errorf("list the domains: %w", err)
		}
		var failed error
		for _, d := range all {
			failed = errors.Join(failed, do(ctx, d))
		}
		return failed
	}
}
