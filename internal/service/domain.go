package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/domains"
	"passerelle/internal/httpd"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// EnsureDomain creates the domain. If a domain with this name already exists, EnsureDomain moves
// that domain to the base URL.
func EnsureDomain(ctx context.Context, db *store.DB, d passerelle.Domain) (passerelle.Domain, error) {
	known, err := db.DomainByName(ctx, d.Name)
	if errors.Is(err, store.ErrNotFound) {
		err := domains.Create(ctx, db, &d)
		return d, err
	}
	if err != nil {
		return d, fmt.Errorf("find domain %s: %w", d.Name, err)
	}
	if known.BaseURL == d.BaseURL {
		return known, nil
	}
	err = domains.Move(ctx, db, &known, d.BaseURL)
	return known, err
}

// servedDomain returns the domain of a request's host. On a developer's machine, a loopback name
// that belongs to no domain means the first domain.
func (s *Service) servedDomain(ctx context.Context, r *store.Reader, host string) (store.ServedDomain, error) {
	found, err := domainByHost(ctx, r, strings.ToLower(host))
	if errors.Is(err, store.ErrNotFound) && s.config.Loopback && domains.Loopback(host) {
		found, err = r.FirstServedDomain(ctx)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return found, passerelle.Missing()
	case err != nil:
		return found, fmt.Errorf("find the domain of %q: %w", host, err)
	}
	if strings.HasPrefix(found.BaseURL, "https:") {
		httpd.RequireTLS(ctx)
	}
	return found, nil
}

// domainByHost looks up a host as it is. If no domain has this host and the host has a default
// port, domainByHost looks it up without the port, because base URLs contain no default port.
func domainByHost(ctx context.Context, r *store.Reader, host string) (store.ServedDomain, error) {
	found, err := r.ServedDomainByHost(ctx, host)
	for _, port := range domains.DefaultPorts {
		bare, named := strings.CutSuffix(host, ":"+port)
		if named && errors.Is(err, store.ErrNotFound) {
			return r.ServedDomainByHost(ctx, bare)
		}
	}
	return found, err
}

func (s *Service) domain(ctx context.Context, host string) (passerelle.Domain, error) {
	found, err := s.servedDomain(ctx, &s.DB.Reader, host)
	return found.Domain, err
}

// origin returns the address of a domain without the version segment. The addresses of pages and
// receivers are below it.
func origin(d passerelle.Domain) string { return strings.TrimSuffix(d.BaseURL, "/2.0") }

// enter returns the domain of a request's host, and looks up the token of the request. It does not
// check that the token belongs to the domain: authenticate does.
func (s *Service) enter(ctx context.Context, host, bearer string) (store.ServedDomain, access.BearerToken, error) {
	var (
		found store.ServedDomain
		shown access.BearerToken
		err   error
	)
	if bearer == "" {
		found, err = s.servedDomain(ctx, &s.DB.Reader, host)
		return found, shown, err
	}
	err = s.DB.Together(ctx,
		func(r *store.Reader) error { var err error; found, err = s.servedDomain(ctx, r, host); return err },
		func(r *store.Reader) error { shown = s.Access.Lookup(ctx, r, bearer); return nil })
	return found, shown, err
}

func (s *Service) authenticate(ctx context.Context, d passerelle.Domain, shown access.BearerToken) (access.Principal, error) {
	return s.Access.Admit(ctx, d.ID, shown)
}

func (s *Service) location(ctx context.Context, d passerelle.Domain) (*time.Location, error) {
	values, err := settings.Load(ctx, &s.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	return values.Location(), nil
}

// eachDomain returns a function that calls the given function for every domain. A failure in one
// domain does not affect the other domains.
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
