package main

import (
	"fmt"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

type clientCommand struct {
	domainFlags
	Create clientCreate `cmd:"" help:"Register an application and print its secret once."`
	List   clientList   `cmd:"" help:"List the applications, oldest first, with the approximate last use of their secrets."`
	Show   clientShow   `cmd:"" help:"Print one application."`
	Update clientUpdate `cmd:"" help:"Change an application, or give it a new secret."`
	Delete clientDelete `cmd:"" help:"Delete an application and revoke its tokens."`
}

// clientView is the printed form of an application. Only the commands that generate a secret print
// the secret.
type clientView struct {
	ID           passerelle.ClientID `json:"id"`
	Name         string              `json:"name"`
	Secret       string              `json:"secret,omitempty"`
	RedirectURIs []string            `json:"redirect_uris"`
	// The colours and the logo appear on the application's hosted pages.
	PrimaryColor   string `json:"primary_color,omitempty"`
	SecondaryColor string `json:"secondary_color,omitempty"`
	IDLogo         int64  `json:"id_logo,omitempty"`
	Created        string `json:"created"`
	Used           string `json:"last_used,omitempty"`
}

func (d target) viewClient(c store.Client) clientView {
	uris := append([]string{}, c.RedirectURIs...)
	return clientView{
		ID: c.ID, Name: c.Name, RedirectURIs: uris, PrimaryColor: c.PrimaryColor, SecondaryColor: c.SecondaryColor, IDLogo: c.Logo,
		Created: d.moment(&c.Created), Used: d.moment(c.Used),
	}
}

type clientCreate struct {
	Name         string   `required:"" placeholder:"TEXT" help:"Name that payers and operators see."`
	RedirectURIs []string `name:"redirect-uri" sep:"none" placeholder:"URI" help:"Address to which users may return; repeat for more. Without this flag: every address in a sandbox domain, no address in a live domain."`
}

// Run registers an application.
func (n *clientCreate) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d target) (any, error) {
		client, secret, err := d.access().Register(c.ctx, d.domain.ID, n.Name, n.RedirectURIs, d.act(access.ActCreateClient, access.SubjectClient))
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
	return g.at(c, func(d target) (any, error) {
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
	return g.at(c, func(d target) (any, error) {
		client, err := d.db.Client(c.ctx, d.domain.ID, s.ID)
		if err != nil {
			return nil, known(err, "id", s.ID)
		}
		return d.viewClient(client), nil
	})
}

type clientUpdate struct {
	ID           passerelle.ClientID `arg:"" help:"Id of the application."`
	Name         *string             `placeholder:"TEXT" help:"New name."`
	RedirectURIs []string            `name:"redirect-uri" sep:"none" placeholder:"URI" help:"Address to which users may return; repeat for more. The new addresses replace all earlier addresses."`
	ResetSecret  bool                `help:"Create a new secret and print it once. The old secret stops working."`
	// Everybody sees the pages, so the contrast of colours is checked against WCAG 2.2.
	PrimaryColor   *string `placeholder:"#RRGGBB" help:"Colour of buttons and links on hosted pages, dark enough to read on white. Empty restores the default."`
	SecondaryColor *string `placeholder:"#RRGGBB" help:"Colour of selection and focus on hosted pages, dark enough to see on white. Empty restores the default."`
	Logo           []byte  `type:"filecontent" placeholder:"FILE" help:"PNG or JPEG at the top of hosted pages. It replaces an earlier logo."`
}

// Run changes an application.
func (u *clientUpdate) Run(c *console, g *clientCommand) error {
	if u.Name == nil && u.RedirectURIs == nil && !u.ResetSecret && u.PrimaryColor == nil && u.SecondaryColor == nil && u.Logo == nil {
		return passerelle.MissingField("--name, --redirect-uri, --reset-secret, --primary-color, --secondary-color, --logo", "give at least one of them")
	}
	return g.at(c, func(d target) (any, error) {
		change := access.ClientUpdate{
			Name: u.Name, RedirectURIs: u.RedirectURIs, ResetSecret: u.ResetSecret, PrimaryColor: u.PrimaryColor, SecondaryColor: u.SecondaryColor, Logo: u.Logo,
		}
		client, secret, err := d.access().Update(c.ctx, d.domain.ID, u.ID, change, change.Acts(d.act)...)
		if err != nil {
			return nil, known(err, "id", u.ID)
		}
		view := d.viewClient(client)
		view.Secret = secret
		return view, nil
	})
}

type clientDelete struct {
	ID passerelle.ClientID `arg:"" help:"Id of the application."`
}

// Run removes an application.
func (r *clientDelete) Run(c *console, g *clientCommand) error {
	return g.at(c, func(d target) (any, error) {
		now, err := d.access().Delete(c.ctx, d.domain.ID, r.ID, d.act(access.ActDeleteClient, access.SubjectClient))
		if err != nil {
			return nil, known(err, "id", r.ID)
		}
		return removedView{int64(r.ID), d.moment(&now)}, nil
	})
}
