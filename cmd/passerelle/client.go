package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

type clientCommand struct {
	tenant
	Create clientCreate `cmd:"" help:"Register an application; its secret is printed once."`
	List   clientList   `cmd:"" help:"List the applications, oldest first."`
	Show   clientShow   `cmd:"" help:"Print one application."`
	Update clientUpdate `cmd:"" help:"Change an application, or give it a new secret."`
	Delete clientDelete `cmd:"" help:"Remove an application and end the validity of its tokens."`
}

// clientView is an application as it is printed. Secret is known only to the
// command that makes it.
type clientView struct {
	ID           passerelle.ClientID `json:"id"`
	Name         string              `json:"name"`
	Secret       string              `json:"secret,omitempty"`
	RedirectURIs []string            `json:"redirect_uris"`
	Created      string              `json:"created"`
}

func (d desk) viewClient(c store.Client) clientView {
	uris := append([]string{}, c.RedirectURIs...)
	return clientView{ID: c.ID, Name: c.Name, RedirectURIs: uris, Created: d.moment(&c.Created)}
}

type clientCreate struct {
	Name         string   `required:"" placeholder:"TEXT" help:"Name that payers and operators see."`
	RedirectURIs []string `name:"redirect-uri" sep:"none" placeholder:"URI" help:"Where payers may be sent back to; repeat for more. None: anywhere in a sandbox domain, nowhere in a live one."`
}

// Run registers an application.
func (n *clientCreate) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d desk) (any, error) {
		keeper := access.Access{DB: d.db, Now: time.Now}
		client, secret, err := keeper.Register(c.ctx, d.domain.ID, n.Name, n.RedirectURIs)
		if err != nil {
			return nil, err
		}
		view := d.viewClient(client)
		view.Secret = secret
		return view, nil
	})
}

type clientList struct{}

// Run lists the applications.
func (clientList) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d desk) (any, error) {
		all, err := d.db.Clients(c.ctx, d.domain.ID)
		if err != nil {
			return nil, fmt.Errorf("list the clients: %w", err)
		}
		return views(all, d.viewClient), nil
	})
}

type clientShow struct {
	ID passerelle.ClientID `arg:"" help:"Id of the application."`
}

// Run prints an application.
func (s *clientShow) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d desk) (any, error) {
		client, err := d.db.Client(c.ctx, d.domain.ID, s.ID)
		if err != nil {
			return nil, known(err, "id", s.ID)
		}
		return d.viewClient(client), nil
	})
}

type clientUpdate struct {
	ID           passerelle.ClientID `arg:"" help:"Id of the application."`
	Name         *string             `placeholder:"TEXT" help:"Its new name."`
	RedirectURIs []string            `name:"redirect-uri" sep:"none" placeholder:"URI" help:"Where payers may be sent back to from now on, instead of those before; repeat for more."`
	ResetSecret  bool                `help:"Make a new secret, printed once; the old one is refused from now on."`
}

// Run changes an application.
func (u *clientUpdate) Run(c *console, g *clientCommand) error {
	if u.Name == nil && u.RedirectURIs == nil && !u.ResetSecret {
		return passerelle.MissingField("--name, --redirect-uri, --reset-secret", "give at least one of them")
	}
	return g.at(c, func(d desk) (any, error) {
		client, err := d.db.Client(c.ctx, d.domain.ID, u.ID)
		if err != nil {
			return nil, known(err, "id", u.ID)
		}
		return u.apply(c, d, client)
	})
}

func (u *clientUpdate) apply(c *console, d desk, client store.Client) (any, error) {
	if err := u.change(&client); err != nil {
		return nil, err
	}
	secret := ""
	if u.ResetSecret {
		secret, client.SecretHash = newSecret()
	}
	err := d.db.Write(c.ctx, func(tx *store.Tx) error {
		tx.UpdateClient(client)
		return nil
	})
	if err != nil {
		return nil, known(err, "id", u.ID)
	}
	view := d.viewClient(client)
	view.Secret = secret
	return view, nil
}

// change takes over what was given, after checking it as registration does.
func (u *clientUpdate) change(client *store.Client) error {
	if u.Name != nil {
		client.Name = *u.Name
	}
	if u.RedirectURIs != nil {
		client.RedirectURIs = u.RedirectURIs
	}
	for _, uri := range client.RedirectURIs {
		if _, err := passerelle.ParseRedirectURI("--redirect-uri", uri); err != nil {
			return err
		}
	}
	return passerelle.CheckText("--name", client.Name, maxName)
}

// newSecret is a random secret and the hash by which the store knows it.
func newSecret() (text string, hash []byte) {
	raw := make([]byte, sha256.Size)
	rand.Read(raw) // never fails, by its documentation
	text = hex.EncodeToString(raw)
	sum := sha256.Sum256([]byte(text))
	return text, sum[:]
}

type clientDelete struct {
	ID passerelle.ClientID `arg:"" help:"Id of the application."`
}

// Run removes an application.
func (r *clientDelete) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d desk) (any, error) {
		now := time.Now()
		err := d.db.Write(c.ctx, func(tx *store.Tx) error {
			tx.DeleteClient(d.domain.ID, r.ID, now)
			return nil
		})
		if err != nil {
			return nil, known(err, "id", r.ID)
		}
		return removedView{int64(r.ID), d.moment(&now)}, nil
	})
}
