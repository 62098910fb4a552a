package main

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/domains"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// webhookDataView is the printed form of a delivery.
type webhookDataView struct {
	ID        passerelle.DeliveryID `json:"id"`
	Event     webhook.Event         `json:"event"`
	Resource  int64                 `json:"id_resource"`
	User      passerelle.UserID     `json:"id_user,omitempty"`
	State     store.WebhookState    `json:"state"`
	Created   string                `json:"created"`
	Delivered string                `json:"delivered,omitempty"`
	Dropped   string                `json:"dropped,omitempty"`
	Reason    string                `json:"drop_reason,omitempty"`
	Attempts  int64                 `json:"attempt_count"`
	Data      string                `json:"data,omitempty"`
}

func (d target) viewData(data store.WebhookData) webhookDataView {
	view := webhookDataView{
		ID: data.ID, Event: data.Event, Resource: data.Resource, User: data.User, State: data.State(), Created: d.moment(&data.Created),
		Delivered: d.moment(data.Delivered), Attempts: data.Attempts,
	}
	if view.State == store.WebhookDropped { // data.Dropped is also set for an accepted test
		view.Dropped, view.Reason = d.moment(data.Dropped), data.DropReason
	}
	if data.Body != nil {
		view.Data = delivery.Payload(data)
	}
	return view
}

// period contains the flags of lists that can be limited in time.
type period struct {
	MinDate string `placeholder:"YYYY-MM-DD" help:"Start at this day, month (YYYY-MM) or year (YYYY), in the domain's time zone."`
	MaxDate string `placeholder:"YYYY-MM-DD" help:"Stop at the end of this day, month or year."`
}

// bounds returns the first instant of a period and the first instant after it. Zero means no limit.
func (p period) bounds(zone *time.Location) (time.Time, time.Time, error) {
	var (
		from  time.Time
		until time.Time
	)
	if p.MinDate != "" {
		first, err := passerelle.ParsePeriod("--min-date", p.MinDate)
		if err != nil {
			return from, until, err
		}
		from = first.Start(zone)
	}
	if p.MaxDate != "" {
		last, err := passerelle.ParsePeriod("--max-date", p.MaxDate)
		if err != nil {
			return from, until, err
		}
		until = last.End(zone)
	}
	if !until.IsZero() && !until.After(from) {
		return from, until, passerelle.InvalidField("--max-date", "must not be before --min-date")
	}
	return from, until, nil
}

type webhookData struct {
	oneWebhook
	period
	State string `enum:"pending,delivered,dropped," default:"" placeholder:"STATE" help:"List only payloads in this state: pending, delivered or dropped."`
	Limit int    `default:"100" least:"1" most:"1000" placeholder:"N" help:"List at most this many payloads, up to 1000."`
}

// Run lists deliveries.
func (l *webhookData) Run(c *console, g *webhookCommand) error {
	return l.at(c, g, func(d target, w store.Webhook) (any, error) {
		from, until, err := l.bounds(d.zone)
		if err != nil {
			return nil, err
		}
		filter := store.WebhookDataFilter{Domain: d.domain.ID, Webhook: w.ID, State: store.WebhookState(l.State), From: from, Until: until}
		all, err := d.db.WebhookData(c.ctx, filter, store.Window{Limit: l.Limit})
		if err != nil {
			return nil, fmt.Errorf("list the deliveries: %w", err)
		}
		return views(all, d.viewData), nil
	})
}

// attemptView is the printed form of a request.
type attemptView struct {
	ID       int64                 `json:"id"`
	Data     passerelle.DeliveryID `json:"id_webhook_data"`
	User     passerelle.UserID     `json:"id_user,omitempty"`
	At       string                `json:"timestamp"`
	Duration int64                 `json:"duration_ms"`
	Status   int                   `json:"response_code,omitempty"`
	Error    string                `json:"error,omitempty"`
	Answer   string                `json:"answer,omitempty"`
	Detail   string                `json:"detail,omitempty"`
	Signed   string                `json:"signed,omitempty"`
	By       string                `json:"signature,omitempty"`
	Next     string                `json:"next_signature,omitempty"`
}

func (d target) viewAttempt(l store.WebhookLog) attemptView {
	return attemptView{
		ID: l.ID, Data: l.Delivery, User: l.User, At: d.moment(&l.At), Duration: l.Duration.Milliseconds(), Status: l.Status,
		Error: l.Failure, Answer: l.Answer, Detail: l.Detail, Signed: l.Signed.Opening, By: l.Signed.Signature, Next: l.Signed.Next,
	}
}

type webhookAttempts struct {
	oneWebhook
	period
	Limit int `default:"100" least:"1" most:"1000" placeholder:"N" help:"List at most this many requests, up to 1000."`
}

// Run lists requests.
func (l *webhookAttempts) Run(c *console, g *webhookCommand) error {
	return l.at(c, g, func(d target, w store.Webhook) (any, error) {
		from, until, err := l.bounds(d.zone)
		if err != nil {
			return nil, err
		}
		filter := store.WebhookLogFilter{Domain: d.domain.ID, Webhook: w.ID, From: from, Until: until}
		all, err := d.db.WebhookLogs(c.ctx, filter, store.Window{Limit: l.Limit})
		if err != nil {
			return nil, fmt.Errorf("list the requests: %w", err)
		}
		return views(all, d.viewAttempt), nil
	})
}

// sending contains the flags of commands that make requests themselves.
type sending struct {
	outbound
	Loopback bool `help:"Allow addresses of this machine, as passerelle dev does."`
}

// send runs a command that sends a request to a webhook, and prints the request. If the receiver
// does not accept the request, send fails.
func (s sending) send(c *console, g *webhookCommand, id passerelle.WebhookID, command func(target, *delivery.Delivery, store.Webhook) (passerelle.DeliveryID, error)) error {
	open, err := s.networks()
	if err != nil {
		return err
	}
	var made attemptView
	err = g.withKeys(c, func(d target) (any, error) {
		w, err := d.db.Webhook(c.ctx, d.domain.ID, id)
		if err != nil {
			return nil, known(err, "id", id)
		}
		sender := d.registry()
		sender.Name, sender.Client = rand.Text(), delivery.NewClient(delivery.Outbound{Loopback: s.Loopback, Networks: open, Ports: s.AllowPorts})
		sent, err := command(d, sender, w)
		if err != nil {
			return nil, err
		}
		made, err = d.lastAttempt(c, sent)
		made.Detail += s.advice(made, w)
		return made, err
	})
	if err == nil && made.Error != "" {
		return fmt.Errorf("the request was not accepted: %s", made.Error)
	}
	return err
}

// advice explains failures that a flag would prevent.
func (s sending) advice(made attemptView, w store.Webhook) string {
	u, err := url.Parse(w.URL)
	if err != nil || s.Loopback || made.Error != delivery.AddressRefused || !domains.Loopback(u.Host) {
		return ""
	}
	return " With --loopback, this command can reach the machine itself, as passerelle dev does."
}

func (d target) lastAttempt(c *console, id passerelle.DeliveryID) (attemptView, error) {
	found, err := d.db.LastAttempts(c.ctx, d.domain.ID, []passerelle.DeliveryID{id})
	if err != nil || len(found[id]) == 0 {
		return attemptView{}, fmt.Errorf("read the request for %d: %w", id, err)
	}
	return d.viewAttempt(found[id][len(found[id])-1]), nil
}

type webhookResend struct {
	oneWebhook
	sending
	Data passerelle.DeliveryID `arg:"" help:"The payload's id_webhook_data."`
}

// Run sends a delivery again.
func (r *webhookResend) Run(c *console, g *webhookCommand) error {
	return r.send(c, g, r.ID, func(d target, sender *delivery.Delivery, w store.Webhook) (passerelle.DeliveryID, error) {
		return r.Data, known(sender.Resend(c.ctx, d.domain, w, r.Data, d.act(delivery.ActResend, delivery.SubjectData)), "data", r.Data)
	})
}

type webhookTest struct {
	oneWebhook
	sending
	Payload string `placeholder:"JSON" help:"Payload, a JSON object (default: a sample of the event)."`
}

// Run sends a test.
func (n *webhookTest) Run(c *console, g *webhookCommand) error {
	var data []byte
	if n.Payload != "" {
		var err error
		if data, err = delivery.TestPayload("--payload", n.Payload); err != nil {
			return err
		}
	}
	return n.send(c, g, n.ID, func(d target, sender *delivery.Delivery, w store.Webhook) (passerelle.DeliveryID, error) {
		return sender.Test(c.ctx, d.domain, w, data, d.act(delivery.ActTestWebhook, delivery.SubjectWebhook))
	})
}

type webhookRecover struct {
	oneWebhook
	Since string `required:"" placeholder:"'YYYY-MM-DD HH:MM:SS'" help:"Make all undelivered payloads since this time due, in the domain's time zone. A day YYYY-MM-DD also works."`
}

// recoverView is the output of recover. Due is the number of events that are now due.
type recoverView struct {
	Due int64 `json:"due"`
}

// Run makes undelivered events due.
func (r *webhookRecover) Run(c *console, g *webhookCommand) error {
	return r.at(c, g, func(d target, w store.Webhook) (any, error) {
		since, err := passerelle.ParseInstant("--since", r.Since, d.zone)
		if err != nil {
			return nil, err
		}
		due, err := d.registry().Recover(c.ctx, d.domain, w, since, d.act(delivery.ActRecoverWebhook, delivery.SubjectWebhook))
		return recoverView{due}, err
	})
}

// eventView is the printed form of an event in the catalogue.
type eventView struct {
	Event       webhook.Event   `json:"event"`
	ID          int             `json:"id"`
	Subject     webhook.Subject `json:"subject"`
	Description string          `json:"description"`
	Deprecated  bool            `json:"deprecated,omitempty"`
}

type webhookEvents struct{}

// Run lists the catalogue.
func (webhookEvents) Run(c *console) error {
	return c.show(views(webhook.Events(), func(e webhook.Entry) eventView {
		return eventView{e.Event, e.Number, e.Subject, e.Description, e.Deprecated}
	}))
}
