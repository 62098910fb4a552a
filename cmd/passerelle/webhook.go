package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

type webhookCommand struct {
	domainFlags
	KeyFile string `placeholder:"FILE" type:"path" help:"Key file with the keys that encrypt signing secrets (default: the file keys beside a SQLite database, or passerelle-data/keys)."`

	Create  webhookCreate  `cmd:"" help:"Register a URL for an event."`
	List    webhookList    `cmd:"" help:"List the webhooks, oldest first."`
	Show    webhookShow    `cmd:"" help:"Print one webhook."`
	Update  webhookUpdate  `cmd:"" help:"Change a webhook. Undelivered payloads go to the new URL."`
	Enable  webhookEnable  `cmd:"" help:"Enable a disabled or deleted webhook. It receives its earlier undelivered payloads, but no events from the time in between."`
	Disable webhookDisable `cmd:"" help:"Disable a webhook. It receives no new events, and undelivered payloads wait."`
	Delete  webhookDelete  `cmd:"" help:"Delete a webhook. After a while, the service drops its undelivered payloads."`

	Data     webhookData     `cmd:"" help:"List the payloads of a webhook, delivered and undelivered, newest first."`
	Attempts webhookAttempts `cmd:"" help:"List the requests to a webhook, newest first."`
	Resend   webhookResend   `cmd:"" help:"Send a payload again now, and print the request."`
	Recover  webhookRecover  `cmd:"" help:"Make undelivered payloads due now. The running service sends them."`
	Test     webhookTest     `cmd:"" help:"Send one test payload of the webhook's event, and print the request."`
	Events   webhookEvents   `cmd:"" help:"List the events for which webhooks can be registered."`
	Auth     webhookAuth     `cmd:"" help:"Manage authentication providers, by which receivers recognise the service's requests."`
}

// withKeys runs a command on the domain, with the keys that encrypt signing secrets.
func (g *webhookCommand) withKeys(c *console, command func(target) (any, error)) error {
	ring, err := g.openKeys(g.KeyFile)
	if err != nil {
		return err
	}
	return g.sealed(c, ring, command)
}

// registry returns the use cases for webhooks. The use cases log changes to standard error, and
// cannot send requests until a command sets their Client.
func (d target) registry() *delivery.Delivery {
	return delivery.New(delivery.Config{DB: d.db, Now: time.Now, Random: rand.Reader, Log: d.log})
}

// webhookView is the printed form of a webhook.
type webhookView struct {
	ID       passerelle.WebhookID `json:"id"`
	Event    webhook.Event        `json:"event"`
	URL      string               `json:"url"`
	Client   passerelle.ClientID  `json:"id_client,omitempty"`
	User     passerelle.UserID    `json:"id_user,omitempty"`
	Auth     int64                `json:"id_auth,omitempty"`
	Created  string               `json:"created"`
	Updated  string               `json:"updated,omitempty"`
	Disabled string               `json:"disabled,omitempty"`
	Deleted  string               `json:"deleted,omitempty"`
	Stopped  bool                 `json:"stopped,omitempty"`
	Failures int64                `json:"consecutive_failures,omitempty"`
	Success  string               `json:"last_success,omitempty"`
	Failure  string               `json:"last_failure,omitempty"`
	NextTry  string               `json:"next_try,omitempty"`
	// Only the command webhook show sets these fields.
	Requests int64  `json:"requests_24h,omitempty"`
	Failed   int64  `json:"failed_24h,omitempty"`
	Average  int64  `json:"average_duration_ms,omitempty"`
	Warning  string `json:"warning,omitempty"`
}

func (d target) viewWebhook(w store.Webhook) webhookView {
	return webhookView{
		ID: w.ID, Event: w.Event, URL: w.URL, Client: w.Client, User: w.User, Auth: w.Auth,
		Created: d.moment(&w.Created), Updated: d.moment(w.Updated), Disabled: d.moment(w.Disabled), Deleted: d.moment(w.Deleted),
		Stopped: w.Stopped, Failures: w.ConsecutiveFailures, Success: d.moment(w.LastSuccess), Failure: d.moment(w.LastFailure), NextTry: d.moment(w.NextFlush),
	}
}

type webhookCreate struct {
	Event  string              `required:"" placeholder:"EVENT" help:"Name of the event, such as PAYMENT_STATE_UPDATED. passerelle webhook events lists all of them."`
	URL    string              `required:"" placeholder:"URL" help:"URL to send it to; https in a live domain."`
	Auth   string              `placeholder:"NAME|ID" help:"Provider that authenticates the requests (default: none)."`
	Client passerelle.ClientID `placeholder:"ID" help:"Application that the webhook belongs to (default: the only one of the domain)."`
	User   passerelle.UserID   `placeholder:"ID" help:"Send only events of this user (default: all users)."`
}

// Run registers a webhook.
func (n *webhookCreate) Run(c *console, g *webhookCommand) error {
	return g.withKeys(c, func(d target) (any, error) {
		if err := n.checkClient(c, d); err != nil {
			return nil, err
		}
		w, err := d.registry().Register(c.ctx, d.domain, delivery.Registration{Client: n.Client, User: n.User, Event: n.Event, URL: n.URL, Auth: n.Auth, By: settings.ByCommand},
			d.act(delivery.ActRegisterWebhook, delivery.SubjectWebhook))
		if err != nil {
			return nil, err
		}
		return d.viewWebhook(w), nil
	})
}

func (n *webhookCreate) checkClient(c *console, d target) error {
	if n.Client == 0 {
		return nil
	}
	_, err := d.db.Client(c.ctx, d.domain.ID, n.Client)
	return known(err, "--client", n.Client)
}

type webhookList struct {
	All bool `help:"Include disabled and deleted webhooks."`
}

// Run lists at most a thousand webhooks.
func (l *webhookList) Run(c *console, g *webhookCommand) error {
	return g.at(c, func(d target) (any, error) {
		all, err := d.db.Webhooks(c.ctx, store.WebhookFilter{Domain: d.domain.ID, All: l.All}, store.Window{Limit: store.MaxWebhooks})
		if err != nil {
			return nil, fmt.Errorf("list the webhooks: %w", err)
		}
		return views(all, d.viewWebhook), nil
	})
}

// oneWebhook is the argument of commands that act on one webhook.
type oneWebhook struct {
	ID passerelle.WebhookID `arg:"" help:"Id of the webhook."`
}

// at runs a command for the webhook, even for a deleted webhook.
func (o oneWebhook) at(c *console, g *webhookCommand, command func(target, store.Webhook) (any, error)) error {
	return g.at(c, func(d target) (any, error) {
		w, err := d.db.Webhook(c.ctx, d.domain.ID, o.ID)
		if err != nil {
			return nil, known(err, "id", o.ID)
		}
		return command(d, w)
	})
}

type webhookShow struct{ oneWebhook }

// Run prints a webhook with the results of its requests. The webhook may be deleted.
func (s *webhookShow) Run(c *console, g *webhookCommand) error {
	return s.at(c, g, func(d target, w store.Webhook) (any, error) {
		found, err := d.db.Health(c.ctx, d.domain.ID, d.domain.Clock.Now(time.Now()), w.ID)
		if err != nil {
			return nil, fmt.Errorf("read the health of webhook %d: %w", w.ID, err)
		}
		view, health := d.viewWebhook(w), found[w.ID]
		view.Requests, view.Failed, view.Average = health.Requests, health.Requests-health.Successes, health.Average().Milliseconds()
		view.Warning = delivery.Warning(w, health)
		return view, nil
	})
}

type webhookUpdate struct {
	oneWebhook
	Event *string `placeholder:"EVENT" help:"New event."`
	URL   *string `placeholder:"URL" help:"New URL."`
	Auth  *string `placeholder:"NAME|ID" help:"New provider; empty for none."`

	Client   *passerelle.ClientID `placeholder:"ID" help:"New application; 0 for the only one of the domain."`
	User     *passerelle.UserID   `placeholder:"ID" help:"Send only events of this user; 0 for all users."`
	Disabled *bool                `help:"Disable the webhook. --disabled=false enables it."`
}

// Run changes a webhook that is not deleted.
func (u *webhookUpdate) Run(c *console, g *webhookCommand) error {
	change := delivery.WebhookUpdate{Event: u.Event, URL: u.URL, Auth: u.Auth, Client: u.Client, User: u.User, Disabled: u.Disabled}
	if change == (delivery.WebhookUpdate{}) {
		return passerelle.MissingField("--event, --url, --auth, --client, --user, --disabled", "give at least one of them")
	}
	return g.withKeys(c, func(d target) (any, error) { return d.changed(c, u.ID, change) })
}

// changed changes a webhook and prints it.
func (d target) changed(c *console, id passerelle.WebhookID, change delivery.WebhookUpdate) (any, error) {
	change.By = settings.ByCommand
	w, err := d.registry().Update(c.ctx, d.domain, id, change, d.act(delivery.ActChangeWebhook, delivery.SubjectWebhook))
	if err != nil {
		return nil, known(err, "id", id)
	}
	return d.viewWebhook(w), nil
}

type webhookEnable struct{ oneWebhook }

// Run enables a disabled or deleted webhook again.
func (e *webhookEnable) Run(c *console, g *webhookCommand) error {
	no := false
	return g.at(c, func(d target) (any, error) {
		return d.changed(c, e.ID, delivery.WebhookUpdate{Disabled: &no, Deleted: &no})
	})
}

type webhookDisable struct{ oneWebhook }

// Run disables a webhook.
func (p *webhookDisable) Run(c *console, g *webhookCommand) error {
	yes := true
	return g.at(c, func(d target) (any, error) { return d.changed(c, p.ID, delivery.WebhookUpdate{Disabled: &yes}) })
}

type webhookDelete struct{ oneWebhook }

// Run deletes a webhook.
func (r *webhookDelete) Run(c *console, g *webhookCommand) error {
	return g.at(c, func(d target) (any, error) {
		if err := d.registry().Delete(c.ctx, d.domain, r.ID, settings.ByCommand, d.act(delivery.ActDeleteWebhook, delivery.SubjectWebhook)); err != nil {
			return nil, known(err, "id", r.ID)
		}
		w, err := d.db.Webhook(c.ctx, d.domain.ID, r.ID)
		if err != nil {
			return nil, fmt.Errorf("read webhook %d: %w", r.ID, err)
		}
		return removedView{int64(r.ID), d.moment(w.Deleted)}, nil
	})
}
