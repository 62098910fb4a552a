package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/tenancy"
)

// EnsureDomain creates the domain unless one of that name exists, and moves an
// existing one to the base URL.
func EnsureDomain(ctx context.Context, db *store.DB, d passerelle.Domain) (passerelle.Domain, error) {
	known, err := db.DomainByName(ctx, d.Name)
	if errors.Is(err, store.ErrNotFound) {
		err := tenancy.Create(ctx, db, &d)
		return d, err
	}
	if err != nil {
		return d, fmt.Errorf("look for domain %s: %w", d.Name, err)
	}
	if known.BaseURL == d.BaseURL {
		return known, nil
	}
	err = tenancy.Move(ctx, db, &known, d.BaseURL)
	return known, err
}

// domain finds the tenant that the host of a request names. On a developer's
// machine every loopback name is the first domain, whatever the port.
func (s *Service) domain(ctx context.Context, host string) (passerelle.Domain, error) {
	d, err := s.domainOf(ctx, strings.ToLower(host))
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return d, err
	}
	if !s.config.Loopback || !tenancy.Loopback(host) {
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
	for _, port := range tenancy.DefaultPorts {
		bare, named := strings.CutSuffix(host, ":"+port)
		if named && errors.Is(err, store.ErrNotFound) {
			return s.DB.DomainByHost(ctx, bare)
		}
	}
	return d, err
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
