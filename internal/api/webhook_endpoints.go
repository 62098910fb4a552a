package api

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
	"passerelle/webhook"
)

type webhookInput struct {
	IDAuth *protocol.Reference `body:"id_auth" doc:"authentication provider, by id or name; null for none"`
	URL    *string             `body:"url" doc:"absolute http(s) URL; https only in live domains"`
	Event  *string             `body:"event" doc:"name of an event" example:"PAYMENT_STATE_UPDATED"`
}

type createWebhookInput struct {
	webhookInput
	IDService *int64 `body:"id_service" min:"1" doc:"the application it belongs to"`
}

type oneWebhookInput struct {
	ID passerelle.WebhookID `path:"webhookId"`
}

type updateWebhookInput struct {
	oneWebhookInput
	webhookInput
}

type webhookOutput struct {
	ID        int64         `json:"id"`
	Created   string        `json:"created"`
	Updated   *string       `json:"updated"`
	Deleted   *string       `json:"deleted"`
	IDService *int64        `json:"id_service"`
	IDUser    *int64        `json:"id_user"`
	IDEvent   int           `json:"id_event"`
	Event     webhook.Event `json:"event"`
	IDAuth    *int64        `json:"id_auth"`
	URL       string        `json:"url"`
}

func (s *Service) webhook(c *protocol.Caller, w store.Webhook) webhookOutput {
	entry, _ := webhook.Lookup(string(w.Event))
	return webhookOutput{
		ID: int64(w.ID), Created: passerelle.FormatDateTime(w.Created, c.Location), Updated: optionalTime(c, w.Updated), Deleted: optionalTime(c, w.Deleted),
		IDService: optionalInt(int64(w.Client)), IDEvent: entry.Number, Event: w.Event, IDAuth: optionalInt(w.Auth), URL: w.URL,
	}
}

func optionalTime(c *protocol.Caller, t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := passerelle.FormatDateTime(*t, c.Location)
	return &text
}

func optionalInt(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

type listWebhooksOutput struct {
	Webhooks []webhookOutput `json:"webhooks"`
	Total    int             `json:"total"`
}

func (s *Service) listWebhooks(ctx context.Context, c *protocol.Caller, _ protocol.Nothing) (listWebhooksOutput, error) {
	all, err := s.DB.Webhooks(ctx, c.Domain.ID)
	out := listWebhooksOutput{Webhooks: make([]webhookOutput, len(all)), Total: len(all)}
	for i, w := range all {
		out.Webhooks[i] = s.webhook(c, w)
	}
	return out, err
}

func (s *Service) createWebhook(ctx context.Context, c *protocol.Caller, in createWebhookInput) (webhookOutput, error) {
	r := delivery.Registration{Event: value(in.Event), URL: value(in.URL), Auth: string(value(in.IDAuth))}
	if in.IDService != nil {
		r.Client = passerelle.ClientID(*in.IDService)
	}
	w, err := s.Delivery.Register(ctx, c.Domain, r)
	return s.webhook(c, w), err
}

func (s *Service) updateWebhook(ctx context.Context, c *protocol.Caller, in updateWebhookInput) (webhookOutput, error) {
	w, err := s.Delivery.Update(ctx, c.Domain, in.ID, delivery.Change{Event: in.Event, URL: in.URL, Auth: (*string)(in.IDAuth)})
	return s.webhook(c, w), err
}

func (s *Service) deleteWebhook(ctx context.Context, c *protocol.Caller, in oneWebhookInput) (protocol.Nothing, error) {
	return protocol.Nothing{}, s.Delivery.Delete(ctx, c.Domain, in.ID)
}

func value[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}
