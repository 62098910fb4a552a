package main

import (
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/domains"
	"passerelle/internal/store"
)

type domainCommand struct {
	databaseFlag
	Create domainCreate `cmd:"" help:"Create a domain."`
	List   domainList   `cmd:"" help:"List the domains, oldest first."`
	Show   domainShow   `cmd:"" help:"Print one domain."`
	Update domainUpdate `cmd:"" help:"Move a domain to another base URL."`

	RotateSignKey domainRotateSignKey `cmd:"" help:"Sign the responses of a domain with a new key. Earlier signatures stay valid."`
}

// domainView is the printed form of a domain, with times in its own zone.
type domainView struct {
	ID      passerelle.DomainID   `json:"id"`
	Name    string                `json:"name"`
	Kind    passerelle.DomainKind `json:"kind"`
	BaseURL string                `json:"base_url"`
	Created string                `json:"created"`
}

func viewDomain(c *console, db *store.DB, d passerelle.Domain) (domainView, error) {
	zone, err := zoneOf(c, db, d)
	return domainView{d.ID, d.Name, d.Kind, d.BaseURL, passerelle.FormatDateTime(d.Created, zone)}, err
}

type domainCreate struct {
	Name    string `arg:"" help:"Name of the domain in commands."`
	Kind    string `required:"" enum:"sandbox,live" placeholder:"sandbox|live" help:"sandbox simulates its banks; live uses real banks."`
	BaseURL string `required:"" placeholder:"URL" help:"Address that clients call, such as https://bank.example/2.0."`
	Created string `placeholder:"'YYYY-MM-DD HH:MM:SS'" help:"Creation date in UTC of a domain that moved here from another service. The API behaves as it did on this date (default: now)."`
}

// Run makes a domain. A name or a host in use is a conflict.
func (n *domainCreate) Run(c *console, g *domainCommand) error {
	d := passerelle.Domain{Name: n.Name, Kind: passerelle.DomainKind(n.Kind), BaseURL: n.BaseURL, Created: time.Now()}
	if n.Created != "" {
		var err error
		if d.Created, err = passerelle.ParseDateTime("--created", n.Created, time.UTC); err != nil {
			return err
		}
	}
	return g.do(c, nil, func(db *store.DB) (any, error) {
		if err := domains.Create(c.ctx, db, &d, act(0, domains.ActCreate, domains.Subject)); err != nil {
			return nil, err
		}
		return viewDomain(c, db, d)
	})
}

type domainList struct{}

// Run lists the domains.
func (domainList) Run(c *console, g *domainCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		all, err := db.Domains(c.ctx)
		if err != nil {
			return nil, fmt.Errorf("list the domains: %w", err)
		}
		shown := make([]domainView, len(all))
		for i, d := range all {
			if shown[i], err = viewDomain(c, db, d); err != nil {
				return nil, err
			}
		}
		return shown, nil
	})
}

type domainShow struct {
	Name string `arg:"" help:"Name of the domain."`
}

// Run prints a domain.
func (s *domainShow) Run(c *console, g *domainCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		d, err := namedDomain(c, db, s.Name)
		if err != nil {
			return nil, err
		}
		return viewDomain(c, db, d)
	})
}

func namedDomain(c *console, db *store.DB, name string) (passerelle.Domain, error) {
	d, err := db.DomainByName(c.ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return d, absent("name", "there is no domain %q", name)
	}
	return d, err
}

type domainUpdate struct {
	Name    string `arg:"" help:"Name of the domain."`
	BaseURL string `required:"" placeholder:"URL" help:"New address that clients call."`
}

// Run gives a domain a new base URL. After a change of the host, requests for the old host find no
// domain.
func (u *domainUpdate) Run(c *console, g *domainCommand) error {
	return g.do(c, nil, func(db *store.DB) (any, error) {
		d, err := namedDomain(c, db, u.Name)
		if err != nil {
			return nil, err
		}
		if err := domains.Move(c.ctx, db, &d, u.BaseURL, act(d.ID, domains.ActMove, domains.Subject)); err != nil {
			return nil, err
		}
		return viewDomain(c, db, d)
	})
}

type domainRotateSignKey struct {
	Name    string `arg:"" help:"Name of the domain."`
	KeyFile string `placeholder:"FILE" type:"path" help:"Key file with the keys that encrypt the new key (default: the file keys beside a SQLite database, or passerelle-data/keys)."`
}

// signKeyView is the printed form of a key that signs responses.
type signKeyView struct {
	ID        int64  `json:"id"`
	PublicKey string `json:"public_key"`
}

// Run makes a new key. The domain uses this key for signatures from now on.
func (r *domainRotateSignKey) Run(c *console, g *domainCommand) error {
	ring, err := g.openKeys(r.KeyFile)
	if err != nil {
		return err
	}
	return g.do(c, ring, func(db *store.DB) (any, error) {
		d, err := namedDomain(c, db, r.Name)
		if err != nil {
			return nil, err
		}
		made, err := (&access.Access{DB: db, Now: time.Now}).RotateAnswerKey(c.ctx, d.ID, act(d.ID, access.ActRotateSignKey, domains.Subject))
		return signKeyView{made.ID, made.Public}, err
	})
}
