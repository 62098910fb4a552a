package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

func (s *Service) webhookRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks_events", Needs: httpapi.AnyToken, Endpoint: httpapi.Handle(s.webhookEvents),
			Summary: "List the events of webhooks", Doc: "Lists all events for which webhooks can be registered.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.listWebhooks),
			Summary: "List webhooks", Doc: "Lists webhooks, oldest first. With all, also lists disabled and deleted ones.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.createWebhook),
			Summary: "Register a webhook", Errors: []string{"conflict"},
			Doc: "Registers a webhook. From now on, the service sends every event of this name to the URL, authenticated by the associated provider.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhooks),
			Summary: "Delete all webhooks", Doc: "Deletes all webhooks, including disabled ones.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.oneWebhook),
			Summary: "Read a webhook", Doc: "Returns a webhook. Add all to read a disabled or deleted one.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.updateWebhook),
			Summary: "Change a webhook",
			Doc:     "Omitted members keep their values. If the URL changes, undelivered payloads go to the new URL. To change a disabled or deleted webhook, add all, or set disabled or deleted in the body. When a webhook is enabled again, the service sends its undelivered payloads, except those removed because of their age.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/{webhookId}", Needs: config, Endpoint: httpapi.Handle(s.deleteWebhook),
			Summary: "Delete a webhook", Doc: "Deletes the webhook. Undelivered payloads are kept for a while, in case the webhook is restored.",
		},
	}
}

type webhookInput struct {
	IDUser    httpapi.Nullable[int64]            `body:"id_user" doc:"only events of this user; null for all events, with or without a user"`
	IDService httpapi.Nullable[int64]            `body:"id_service" doc:"the application that the webhook belongs to and whose user tokens it sends; null for the only application of the domain, if there is exactly one"`
	IDAuth    httpapi.Nullable[httpapi.IDOrName] `body:"id_auth" doc:"authentication provider, by id or name; null for none"`
	URL       *string                            `body:"url" max:"2048" doc:"absolute http(s) URL; https only in live domains"`
	Event     *string                            `body:"event" doc:"name of an event" example:"PAYMENT_STATE_UPDATED"`
	Disabled  *bool                              `body:"disabled" doc:"a disabled webhook ignores new events; undelivered payloads wait"`
}

// change converts the input to a WebhookUpdate.
func (in webhookInput) change(c *httpapi.Caller) delivery.WebhookUpdate {
	out := delivery.WebhookUpdate{Event: in.Event, URL: in.URL, Disabled: in.Disabled, By: c.By()}
	if in.IDAuth.Present {
		out.Auth = (*string)(&in.IDAuth.Value)
	}
	if in.IDService.Present {
		out.Client = named[passerelle.ClientID](in.IDService)
	}
	if in.IDUser.Present {
		out.User = named[passerelle.UserID](in.IDUser)
	}
	return out
}

// named returns the id in a field, or zero for null. A zero in the field is not a valid id. It
// becomes -1, an id that no object has, and is then reported as not found.
func named[T ~int64](id httpapi.Nullable[int64]) *T {
	value := T(id.Value)
	if !id.Null && value == 0 {
		value = -1
	}
	return &value
}

type oneWebhookInput struct {
	ID passerelle.WebhookID `path:"webhookId"`
}

type readWebhookInput struct {
	oneWebhookInput
	httpapi.All
	httpapi.Expand[webhookOutput]
}

type updateWebhookInput struct {
	oneWebhookInput
	httpapi.All
	httpapi.Expand[webhookOutput]
	webhookInput
	Deleted httpapi.Nullable[string] `body:"deleted" doc:"a date or a DateTime deletes the webhook; null, also as the text null, restores it"`
}

type webhookOutput struct {
	ID           int64               `json:"id"`
	Created      string              `json:"created"`
	Updated      *string             `json:"updated"`
	Deleted      *string             `json:"deleted"`
	Disabled     *string             `json:"disabled"`
	IDService    *int64              `json:"id_service"`
	IDUser       *int64              `json:"id_user"`
	IDEvent      int                 `json:"id_event"`
	Event        webhook.Event       `json:"event"`
	IDAuth       *int64              `json:"id_auth"`
	URL          string              `json:"url"`
	AddToData    map[string]string   `json:"add_to_data" doc:"members added to each payload, each with the key in the user's config that its value comes from"`
	HealthData   healthOutput        `json:"health_data"`
	Warning      *string             `json:"warning" doc:"problems that need attention, in sentences; null for none"`
	WebhookEvent *webhookEventOutput `json:"webhook_event,omitempty" expand:"true" doc:"only with expand"`
}

type healthOutput struct {
	Average     *int64       `json:"average_duration_ms" doc:"average time in milliseconds that the receiver takes for a request; null when no request has reached it"`
	SuccessRate *json.Number `json:"success_rate" doc:"share of accepted requests, from 0 to 1; null when there were no requests"`
	Window      string       `json:"window" doc:"period that both figures cover" example:"24h"`
	Failures    int64        `json:"consecutive_failures" doc:"number of failed requests since the last accepted one"`
	LastSuccess *string      `json:"last_success"`
	LastFailure *string      `json:"last_failure"`
}

func newHealth(c *httpapi.Caller, w store.Webhook, h store.Health) healthOutput {
	out := healthOutput{
		Window: "24h", Failures: w.ConsecutiveFailures, LastSuccess: optionalTime(c, w.LastSuccess), LastFailure: optionalTime(c, w.LastFailure),
	}
	if h.Requests > 0 {
		rate := json.Number(portion(h.Successes, h.Requests))
		out.SuccessRate = &rate
	}
	if h.Reached > 0 {
		average := h.Average().Milliseconds()
		out.Average = &average
	}
	return out
}

// portion formats a fraction as a decimal with at most four digits, rounded down. The text 1 means
// all.
func portion(part, whole int64) string {
	if part == whole {
		return "1"
	}
	digits := strings.TrimRight(fmt.Sprintf("%04d", part*10000/whole), "0")
	if digits == "" {
		return "0"
	}
	return "0." + digits
}

type webhookEventOutput struct {
	ID          int             `json:"id"`
	Name        webhook.Event   `json:"name"`
	Description string          `json:"description" doc:"when the event is emitted"`
	Subject     webhook.Subject `json:"subject" doc:"kind of object that the event is about; deliveries about the same object keep their order"`
	Deprecated  bool            `json:"deprecated"`
}

func newWebhookEvent(e webhook.Entry) webhookEventOutput {
	return webhookEventOutput{ID: e.Number, Name: e.Event, Description: e.Description, Subject: e.Subject, Deprecated: e.Deprecated}
}

// shownWebhooks renders webhooks with their health, their warnings and, on request, their events.
// The number of queries does not depend on the number of webhooks.
func (s *Service) shownWebhooks(ctx context.Context, c *httpapi.Caller, all []store.Webhook, e httpapi.Expansion) ([]webhookOutput, error) {
	ids := make([]passerelle.WebhookID, len(all))
	for i, w := range all {
		ids[i] = w.ID
	}
	health, err := s.DB.Health(ctx, c.Domain.ID, c.Now, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the health of webhooks: %w", err)
	}
	out := make([]webhookOutput, len(all))
	for i, w := range all {
		out[i] = newWebhook(c, w, health[w.ID])
		if e.Has("webhook_event") {
			entry, _ := webhook.Lookup(string(w.Event))
			event := newWebhookEvent(entry)
			out[i].WebhookEvent = &event
		}
	}
	return out, nil
}

func newWebhook(c *httpapi.Caller, w store.Webhook, h store.Health) webhookOutput {
	entry, _ := webhook.Lookup(string(w.Event))
	out := webhookOutput{
		ID: int64(w.ID), Created: passerelle.FormatDateTime(w.Created, c.Location), Updated: optionalTime(c, w.Updated),
		Deleted: optionalTime(c, w.Deleted), Disabled: optionalTime(c, w.Disabled), IDService: optionalInt(int64(w.Client)), IDUser: optionalInt(int64(w.User)),
		IDEvent: entry.Number, Event: w.Event, IDAuth: optionalInt(w.Auth), URL: w.URL, AddToData: additions(w), HealthData: newHealth(c, w, h),
	}
	if warning := delivery.Warning(w, h); warning != "" {
		out.Warning = &warning
	}
	return out
}

func (s *Service) shownWebhook(ctx context.Context, c *httpapi.Caller, w store.Webhook, e httpapi.Expansion) (webhookOutput, error) {
	shown, err := s.shownWebhooks(ctx, c, []store.Webhook{w}, e)
	if err != nil {
		return webhookOutput{}, err
	}
	return shown[0], nil
}

func optionalTime(c *httpapi.Caller, t *time.Time) *string { return wire.Moment(t, c.Location) }

func optionalInt(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

type listWebhooksInput struct {
	httpapi.Paging
	httpapi.All
	httpapi.Expand[webhookOutput]
}

type listWebhooksOutput struct {
	Webhooks []webhookOutput `json:"webhooks"`
	httpapi.Listing
}

func (s *Service) listWebhooks(ctx context.Context, c *httpapi.Caller, in listWebhooksInput) (listWebhooksOutput, error) {
	filter := store.WebhookFilter{Domain: c.Domain.ID, All: in.WithDisabled}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.Webhook, error) {
			return r.Webhooks(ctx, filter, w.OfRows())
		},
		func(w store.Webhook) httpapi.Position { return httpapi.Position{int64(w.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountWebhooks(ctx, filter) })
	if err != nil {
		return listWebhooksOutput{}, err
	}
	shown, err := s.shownWebhooks(ctx, c, rows, in.Expansion())
	return listWebhooksOutput{Webhooks: shown, Listing: listing}, err
}

func (s *Service) oneWebhook(ctx context.Context, c *httpapi.Caller, in readWebhookInput) (webhookOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err == nil && hidden(w) && !in.WithDisabled {
		err = passerelle.Missing()
	}
	if err != nil {
		return webhookOutput{}, err
	}
	return s.shownWebhook(ctx, c, w, in.Expansion())
}

// hidden reports whether lists exclude a webhook unless the caller requests all.
func hidden(w store.Webhook) bool { return w.Deleted != nil || w.Disabled != nil }

// webhook loads a webhook of the domain in any state.
func (s *Service) webhook(ctx context.Context, c *httpapi.Caller, id passerelle.WebhookID) (store.Webhook, error) {
	w, err := s.DB.Webhook(ctx, c.Domain.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return w, passerelle.Missing()
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", id, err)
	}
	return w, nil
}

func (s *Service) createWebhook(ctx context.Context, c *httpapi.Caller, in webhookInput) (webhookOutput, error) {
	if c.Made != 0 {
		return s.oneWebhook(ctx, c, readWebhookInput{oneWebhookInput: oneWebhookInput{passerelle.WebhookID(c.Made)}, All: httpapi.All{WithDisabled: true}})
	}
	asked := in.change(c)
	w, err := s.Delivery.Register(ctx, c.Domain, delivery.Registration{
		Client: value(asked.Client), User: value(asked.User), Event: value(in.Event), URL: value(in.URL), Auth: value(asked.Auth),
		Disabled: value(in.Disabled), By: asked.By, Execution: c.Execution,
	}, s.recordIn(c, delivery.ActRegisterWebhook, delivery.SubjectWebhook))
	if err != nil {
		return webhookOutput{}, err
	}
	return s.shownWebhook(ctx, c, w, nil)
}

// updateWebhook changes a webhook. It finds a disabled or deleted webhook only when the caller
// requests all webhooks, or when the body contains the member disabled or the member deleted.
func (s *Service) updateWebhook(ctx context.Context, c *httpapi.Caller, in updateWebhookInput) (webhookOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return webhookOutput{}, err
	}
	if hidden(w) && !in.WithDisabled && in.Disabled == nil && !in.Deleted.Present {
		return webhookOutput{}, passerelle.Missing()
	}
	change := in.change(c)
	if change.Deleted, err = in.deletion(c); err != nil {
		return webhookOutput{}, err
	}
	w, err = s.Delivery.Update(ctx, c.Domain, in.ID, change, s.recordIn(c, delivery.ActChangeWebhook, delivery.SubjectWebhook))
	if err != nil {
		return webhookOutput{}, err
	}
	return s.shownWebhook(ctx, c, w, in.Expansion())
}

// deletion returns true to delete the webhook, false to restore it, and nil to leave its state
// unchanged. The deletion takes place now, whatever date the field has.
func (in updateWebhookInput) deletion(c *httpapi.Caller) (*bool, error) {
	if !in.Deleted.Present {
		return nil, nil
	}
	deletes := !in.Deleted.Null && in.Deleted.Value != "null"
	if deletes {
		if _, err := passerelle.ParseInstant("deleted", in.Deleted.Value, c.Location); err != nil {
			return nil, err
		}
	}
	return &deletes, nil
}

func (s *Service) deleteWebhook(ctx context.Context, c *httpapi.Caller, in oneWebhookInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.Delete(ctx, c.Domain, in.ID, c.By(), s.recordIn(c, delivery.ActDeleteWebhook, delivery.SubjectWebhook))
}

func (s *Service) deleteWebhooks(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.DeleteAll(ctx, c.Domain, c.By(), s.recordIn(c, delivery.ActDeleteAllWebhooks, ""))
}

type webhookEventsOutput struct {
	Events []webhookEventOutput `json:"webhooks_events"`
	Total  int                  `json:"total"`
}

func (s *Service) webhookEvents(context.Context, *httpapi.Caller, httpapi.Nothing) (webhookEventsOutput, error) {
	var out webhookEventsOutput
	for _, entry := range webhook.Events() {
		out.Events = append(out.Events, newWebhookEvent(entry))
	}
	out.Total = len(out.Events)
	return out, nil
}

func value[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}
