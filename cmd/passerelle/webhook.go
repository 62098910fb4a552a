package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/webhook"
)

type webhookCommand struct {
	tenant
	KeyFile string `default:"passerelle-data/keys" type:"path" help:"File with the keys of the deployment, which seal signing secrets."`

	Create webhookCreate `cmd:"" help:"Register a receiving URL for an event."`
	List   webhookList   `cmd:"" help:"List the webhooks, oldest first."`
	Show   webhookShow   `cmd:"" help:"Print one webhook."`
	Update webhookUpdate `cmd:"" help:"Change a webhook; what is undelivered goes to its new URL."`
	Delete webhookDelete `cmd:"" help:"End a webhook; what is undelivered is given up."`
	Auth   webhookAuth   `cmd:"" help:"Authentication providers, by which receivers tell our requests from others."`
}

// withKeys is at for commands that read or write signing secrets.
func (g *webhookCommand) withKeys(c *console, command func(desk) (any, error)) error {
	ring, err := keys.Load(g.KeyFile)
	if err != nil {
		return fmt.Errorf("open the key file of --key-file: %w", err)
	}
	return g.sealed(c, ring, command)
}

// registry is the use cases of registration, without the way out: nothing is
// sent from here.
func (d desk) registry() *delivery.Delivery {
	return &delivery.Delivery{DB: d.db, Now: time.Now, Random: rand.Reader}
}

// webhookView is a webhook as it is printed.
type webhookView struct {
	ID      passerelle.WebhookID `json:"id"`
	Event   webhook.Event        `json:"event"`
	URL     string               `json:"url"`
	Client  passerelle.ClientID  `json:"id_client,omitempty"`
	Auth    int64                `json:"id_auth,omitempty"`
	Created string               `json:"created"`
	Updated string               `json:"updated,omitempty"`
	Deleted string               `json:"deleted,omitempty"`
}

func (d desk) viewWebhook(w store.Webhook) webhookView {
	return webhookView{
		ID: w.ID, Event: w.Event, URL: w.URL, Client: w.Client, Auth: w.Auth,
		Created: d.moment(&w.Created), Updated: d.moment(w.Updated), Deleted: d.moment(w.Deleted),
	}
}

type webhookCreate struct {
	Event  string              `required:"" placeholder:"EVENT" help:"Name of the event, such as PAYMENT_STATE_UPDATED."`
	URL    string              `required:"" placeholder:"URL" help:"Where it is sent; https in a live domain."`
	Auth   string              `placeholder:"NAME|ID" help:"Provider that signs the requests (default: none)."`
	Client passerelle.ClientID `placeholder:"ID" help:"Application it belongs to (default: none in particular)."`
}

// Run registers a webhook.
func (n *webhookCreate) Run(c *console, g *webhookCommand) error {
	return g.withKeys(c, func(d desk) (any, error) {
		if err := n.checkClient(c, d); err != nil {
			return nil, err
		}
		w, err := d.registry().Register(c.ctx, d.domain, delivery.Registration{Client: n.Client, Event: n.Event, URL: n.URL, Auth: n.Auth})
		if err != nil {
			return nil, err
		}
		return d.viewWebhook(w), nil
	})
}

func (n *webhookCreate) checkClient(c *console, d desk) error {
	if n.Client == 0 {
		return nil
	}
	_, err := d.db.Client(c.ctx, d.domain.ID, n.Client)
	return known(err, "--client", n.Client)
}

type webhookList struct{}

// Run lists the webhooks that are not deleted.
func (webhookList) Run(c *console, g *webhookCommand) error {
	return g.at(c, func(d desk) (any, error) {
		all, err := d.db.Webhooks(c.ctx, d.domain.ID)
		if err != nil {
			return nil, fmt.Errorf("list the webhooks: %w", err)
		}
		return views(all, d.viewWebhook), nil
	})
}

type webhookShow struct {
	ID passerelle.WebhookID `arg:"" help:"Id of the webhook."`
}

// Run prints a webhook, also one that is deleted.
func (s *webhookShow) Run(c *console, g *webhookCommand) error {
	return g.at(c, func(d desk) (any, error) {
		w, err := d.db.Webhook(c.ctx, d.domain.ID, s.ID)
		if err != nil {
			return nil, known(err, "id", s.ID)
		}
		return d.viewWebhook(w), nil
	})
}

type webhookUpdate struct {
	ID    passerelle.WebhookID `arg:"" help:"Id of the webhook."`
	Event *string              `placeholder:"EVENT" help:"Another event."`
	URL   *string              `placeholder:"URL" help:"Another receiving URL."`
	Auth  *string              `placeholder:"NAME|ID" help:"Another provider; empty for none."`
}

// Run changes a webhook that is not deleted.
func (u *webhookUpdate) Run(c *console, g *webhookCommand) error {
	change := delivery.Change{Event: u.Event, URL: u.URL, Auth: u.Auth}
	if change == (delivery.Change{}) {
		return passerelle.MissingField("--event, --url, --auth", "give at least one of them")
	}
	return g.withKeys(c, func(d desk) (any, error) {
		w, err := d.registry().Update(c.ctx, d.domain, u.ID, change)
		if err != nil {
			return nil, known(err, "id", u.ID)
		}
		return d.viewWebhook(w), nil
	})
}

type webhookDelete struct {
	ID passerelle.WebhookID `arg:"" help:"Id of the webhook."`
}

// Run ends a webhook.
func (r *webhookDelete) Run(c *console, g *webhookCommand) error {
	return g.at(c, func(d desk) (any, error) {
		if err := d.registry().Delete(c.ctx, d.domain, r.ID); err != nil {
			return nil, known(err, "id", r.ID)
		}
		w, err := d.db.Webhook(c.ctx, d.domain.ID, r.ID)
		if err != nil {
			return nil, fmt.Errorf("read webhook %d: %w", r.ID, err)
		}
		return removedView{int64(r.ID), d.moment(w.Deleted)}, nil
	})
}
