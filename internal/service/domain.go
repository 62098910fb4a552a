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
	host, err := HostOf(d.BaseURL)
	if err != nil {
		return d, err
	}
	known, err := db.DomainByName(ctx, d.Name)
	if errors.Is(err, store.ErrNotFound) {
		err = db.Write(ctx, func(tx *store.Tx) error { return tx.CreateDomain(&d, host) })
		return d, err
	}
	if err != nil {
		return d, fmt.Errorf("look for domain %s: %w", d.Name, err)
	}
	if known.BaseURL == d.BaseURL {
		return known, nil
	}
	known.BaseURL = d.BaseURL
	err = db.Write(ctx, func(tx *store.Tx) error {
		tx.MoveDomain(known.ID, host, d.BaseURL)
		return nil
	})
	return known, err
}

// HostOf checks the base URL of a domain, {scheme}://{host}/2.0, and returns
// the host by which requests for it are told.
func HostOf(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "/2.0" || u.RawQuery != "" || u.User != nil {
		return "", passerelle.InvalidField("base-url", "must be like https://bank.example/2.0, not %q", baseURL)
	}
	return strings.ToLower(u.Host), nil
}

// domain finds the tenant that the host of a request names. On a developer's
// machine every loopback name is the first domain, whatever the port.
func (s *Service) domain(ctx context.Context, host string) (passerelle.Domain, error) {
	d, err := s.DB.DomainByHost(ctx, strings.ToLower(host))
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return d, err
	}
	if !s.config.Loopback || !loopback(host) {
		return d, passerelle.Missing()
	}
	all, err := s.DB.Domains(ctx)
	if err != nil || len(all) == 0 {
		return d, errors.Join(err, passerelle.Missing())
	}
	return all[0], nil
}

func loopback(host string) bool {
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
