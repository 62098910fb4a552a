package main

import (
	"fmt"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// webhookDataView is a delivery as it is printed.
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

func (d desk) viewData(data store.WebhookData) webhookDataView {
	view := webhookDataView{
		ID: data.ID, Event: data.Event, Resource: data.Resource, User: data.User, State: data.State(), Created: d.moment(&data.Created),
		Delivered: d.moment(data.Delivered), Dropped: d.moment(data.Dropped), Reason: data.DropReason, Attempts: data.Attempts,
	}
	if data.Body != nil {
		view.Data = delivery.Payload(data)
	}
	return view
}

type webhookData struct {
	oneWebhook
	State string `enum:"pending,delivered,dropped," default:"" placeholder:"STATE" help:"Only what is pending, delivered or dropped."`
	Limit int    `default:"100" placeholder:"N" help:"Items at most, up to 1000."`
}

// Run lists deliveries.
func (l *webhookData) Run(c *console, g *webhookCommand) error {
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.at(c, g, func(d desk, w store.Webhook) (any, error) {
		filter := store.WebhookDataFilter{Domain: d.domain.ID, Webhook: w.ID, State: store.WebhookState(l.State)}
		all, err := d.db.WebhookData(c.ctx, filter, store.Window{Limit: l.Limit})
		if err != nil {
			return nil, fmt.Errorf("list the deliveries: %w", err)
		}
		return views(all, d.viewData), nil
	})
}

// attemptView is a request as it is printed.
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
}

func (d desk) viewAttempt(l store.WebhookLog) attemptView {
	return attemptView{
		ID: l.ID, Data: l.Delivery, User: l.User, At: d.moment(&l.At), Duration: l.Duration.Milliseconds(), Status: l.Status,
		Error: l.Failure, Answer: l.Answer, Detail: l.Detail,
	}
}

type webhookAttempts struct {
	oneWebhook
	Limit int `default:"100" placeholder:"N" help:"Requests at most, up to 1000."`
}

// Run lists requests.
func (l *webhookAttempts) Run(c *console, g *webhookCommand) error {
	if err := checkLimit(l.Limit); err != nil {
		return err
	}
	return l.at(c, g, func(d desk, w store.Webhook) (any, error) {
		all, err := d.db.WebhookLogs(c.ctx, store.WebhookLogFilter{Domain: d.domain.ID, Webhook: w.ID}, store.Window{Limit: l.Limit})
		if err != nil {
			return nil, fmt.Errorf("list the requests: %w", err)
		}
		return views(all, d.viewAttempt), nil
	})
}

// eventView is an event of the catalogue as it is printed.
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
