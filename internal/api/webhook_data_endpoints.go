package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func (s *Service) webhookDataRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/data", Needs: config, Endpoint: httpapi.Handle(s.listWebhookData),
			Summary: "List the payloads of a webhook", Doc: "Lists payloads, newest first. The range includes both dates.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/{webhookId}/logs", Needs: config, Endpoint: httpapi.Handle(s.webhookLogs),
			Summary: "List the requests to a webhook", Doc: "Lists every request, newest first. The range includes both dates. Without min_date, the range is one month.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/data/{dataId}/resend", Needs: config, Endpoint: httpapi.Handle(s.resendWebhookData),
			Summary: "Send a payload again",
			Doc:     "Sends the payload again now, even if it was accepted before, and waits for the receiver's response. Fails with conflict when the payload was erased, or when the webhook is deleted or disabled.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/recover", Needs: config, Endpoint: httpapi.Handle(s.recoverWebhook),
			Summary: "Retry undelivered payloads", Doc: "Schedules everything undelivered since the given time for delivery now, oldest first. Does not wait for the receiver.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/{webhookId}/test", Needs: config, Endpoint: httpapi.Handle(s.testWebhook),
			Summary: "Send a test to a webhook", Doc: "Sends one request with a payload of the webhook's event and returns the result. The request is authenticated as usual and is not retried.",
		},
	}
}

type webhookDataOutput struct {
	ID        int64               `json:"id" doc:"the id_webhook_data of the payload"`
	IDWebhook int64               `json:"id_webhook"`
	IDService *int64              `json:"id_service"`
	IDUser    *int64              `json:"id_user" doc:"the user that the event belongs to"`
	Event     webhook.Event       `json:"event"`
	Resource  int64               `json:"id_resource" doc:"id of the payment, connection or user that the event is about"`
	Data      *string             `json:"data" doc:"the payload as sent; null when it was erased or is larger than 16 KiB"`
	MediaType string              `json:"mimetype"`
	Created   string              `json:"created"`
	Success   bool                `json:"success" doc:"whether the receiver accepted it"`
	State     store.WebhookState  `json:"state"`
	Delivered *string             `json:"delivered"`
	Dropped   *string             `json:"dropped" doc:"when delivery was given up"`
	Reason    *string             `json:"drop_reason"`
	Count     int64               `json:"attempt_count"`
	NextTry   *string             `json:"next_try" doc:"earliest time of the next attempt, when known"`
	Attempts  *[]webhookLogOutput `json:"attempts,omitempty" expand:"true" doc:"the last ten attempts, oldest first; only with expand"`
}

type webhookLogOutput struct {
	ID           int64   `json:"id"`
	IDData       int64   `json:"id_webhook_data"`
	IDService    *int64  `json:"id_service"`
	IDUser       *int64  `json:"id_user"`
	Timestamp    string  `json:"timestamp"`
	ResponseDate *string `json:"response_date" doc:"null when no answer came"`
	ResponseCode *int64  `json:"response_code" doc:"null when no answer came"`
	Duration     int64   `json:"duration_ms"`
	Error        *string `json:"error" doc:"short reason why the request was not accepted; null when it was"`
	Answer       *string `json:"answer" doc:"beginning of the receiver's answer to a request that was not accepted"`
	Detail       *string `json:"detail" doc:"further details about the request"`
	NextTry      *string `json:"next_try" doc:"earliest time of the next attempt, when known"`
	Signed       *string `json:"signed" doc:"the signed text up to the payload; null when the request was not signed"`
	Signature    *string `json:"signature"`
	Next         *string `json:"next_signature" doc:"signature with the next secret, during a rotation"`
}

// nextTry returns when an undelivered delivery is sent next: when it is no longer held back, or in
// the next run of the flusher. The sender tries a new delivery immediately if the delivery is not
// held back, so nextTry then returns nil. If the webhook is stopped, even such a delivery waits for
// the flusher. nextTry also returns nil for a webhook that receives nothing: it is disabled or
// deleted, or its authentication provider was deleted.
func nextTry(c *httpapi.Caller, w store.Webhook, tried bool, notBefore *time.Time) *string {
	switch {
	case w.Deleted != nil || w.Disabled != nil || w.AuthDeleted:
		return nil
	case notBefore != nil:
		return optionalTime(c, notBefore)
	case tried || w.Stopped:
		return optionalTime(c, w.NextFlush)
	}
	return nil
}

func newWebhookLog(c *httpapi.Caller, w store.Webhook, l store.WebhookLog) webhookLogOutput {
	out := webhookLogOutput{
		ID: l.ID, IDData: int64(l.Delivery), IDService: optionalInt(int64(w.Client)), IDUser: optionalInt(int64(l.User)),
		Timestamp: passerelle.FormatDateTime(l.At, c.Location), ResponseCode: optionalInt(int64(l.Status)), Duration: l.Duration.Milliseconds(),
		Error: optionalText(l.Failure), Answer: optionalText(l.Answer), Detail: optionalText(l.Detail),
		Signed: optionalText(l.Signed.Opening), Signature: optionalText(l.Signed.Signature), Next: optionalText(l.Signed.Next),
	}
	if answered := l.At.Add(l.Duration); l.Status != 0 {
		out.ResponseDate = optionalTime(c, &answered)
	}
	if l.Pending && l.Failure != "" {
		out.NextTry = nextTry(c, w, true, nil)
	}
	return out
}

func newWebhookData(c *httpapi.Caller, w store.Webhook, d store.WebhookData) webhookDataOutput {
	out := webhookDataOutput{
		ID: int64(d.ID), IDWebhook: int64(w.ID), IDService: optionalInt(int64(w.Client)), IDUser: optionalInt(int64(d.User)), Event: d.Event,
		Resource: d.Resource, MediaType: d.MediaType, Created: passerelle.FormatDateTime(d.Created, c.Location), Success: d.Delivered != nil,
		State: d.State(), Delivered: optionalTime(c, d.Delivered), Count: d.Attempts,
	}
	if d.State() == store.WebhookDropped {
		out.Dropped, out.Reason = optionalTime(c, d.Dropped), optionalText(d.DropReason)
	}
	if d.Body != nil {
		payload := delivery.Payload(d)
		out.Data = &payload
	}
	if d.State() == store.WebhookPending {
		out.NextTry = nextTry(c, w, d.Attempts > 0, d.NotBefore)
	}
	return out
}

type listWebhookDataInput struct {
	oneWebhookInput
	httpapi.Paging
	httpapi.DateRange
	httpapi.Expand[webhookDataOutput]
	State store.WebhookState `query:"state" doc:"only payloads in this state"`
}

type listWebhookDataOutput struct {
	Data []webhookDataOutput `json:"data"`
	httpapi.Listing
}

func (s *Service) listWebhookData(ctx context.Context, c *httpapi.Caller, in listWebhookDataInput) (listWebhookDataOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return listWebhookDataOutput{}, err
	}
	filter := store.WebhookDataFilter{Domain: c.Domain.ID, Webhook: w.ID, State: in.State, From: in.From(), Until: in.Until()}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.WebhookData, error) {
			return r.WebhookData(ctx, filter, w.OfRows())
		},
		func(d store.WebhookData) httpapi.Position { return d.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountWebhookData(ctx, filter) })
	if err != nil {
		return listWebhookDataOutput{}, err
	}
	out := listWebhookDataOutput{Data: make([]webhookDataOutput, len(rows)), Listing: listing}
	for i, d := range rows {
		out.Data[i] = newWebhookData(c, w, d)
	}
	return out, s.expandAttempts(ctx, c, w, out.Data, in.Expansion())
}

// expandAttempts embeds the last requests of each delivery, with one query.
func (s *Service) expandAttempts(ctx context.Context, c *httpapi.Caller, w store.Webhook, all []webhookDataOutput, e httpapi.Expansion) error {
	if !e.Has("attempts") {
		return nil
	}
	ids := make([]passerelle.DeliveryID, len(all))
	for i, d := range all {
		ids[i] = passerelle.DeliveryID(d.ID)
	}
	found, err := s.DB.LastAttempts(ctx, c.Domain.ID, ids)
	if err != nil {
		return fmt.Errorf("read the attempts of deliveries: %w", err)
	}
	for i, id := range ids {
		attempts := make([]webhookLogOutput, len(found[id]))
		for j, l := range found[id] {
			attempts[j] = newWebhookLog(c, w, l)
		}
		all[i].Attempts = &attempts
	}
	return nil
}

type webhookLogsInput struct {
	oneWebhookInput
	httpapi.Paging
	httpapi.DateRange
	IDUser *int64 `query:"id_user" min:"1" doc:"only requests for events of this user"`
}

type webhookLogsOutput struct {
	Logs []webhookLogOutput `json:"webhooklogs"`
	httpapi.Listing
}

func (s *Service) webhookLogs(ctx context.Context, c *httpapi.Caller, in webhookLogsInput) (webhookLogsOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return webhookLogsOutput{}, err
	}
	filter := store.WebhookLogFilter{Domain: c.Domain.ID, Webhook: w.ID, User: passerelle.UserID(value(in.IDUser)), From: in.From(), Until: in.Until()}
	if filter.From.IsZero() {
		filter.From = monthBefore(c, filter.Until)
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.WebhookLog, error) {
			return r.WebhookLogs(ctx, filter, w.OfRows())
		},
		func(l store.WebhookLog) httpapi.Position { return l.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountWebhookLogs(ctx, filter) })
	out := webhookLogsOutput{Logs: make([]webhookLogOutput, len(rows)), Listing: listing}
	for i, l := range rows {
		out.Logs[i] = newWebhookLog(c, w, l)
	}
	return out, err
}

// monthBefore returns the time one month before the end of a range. A range without an end ends
// now. If the earlier month does not have this day, monthBefore returns a time on its last day.
func monthBefore(c *httpapi.Caller, end time.Time) time.Time {
	if end.IsZero() {
		end = c.Now
	}
	day := passerelle.DateOf(end, c.Location)
	return day.AddMonths(-1).In(c.Location).Add(end.Sub(day.In(c.Location)))
}

type resendInput struct {
	oneWebhookInput
	Data passerelle.DeliveryID `path:"dataId"`
}

// resendWebhookData sends a delivery again and shows the result.
func (s *Service) resendWebhookData(ctx context.Context, c *httpapi.Caller, in resendInput) (webhookDataOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return webhookDataOutput{}, err
	}
	if err := s.Delivery.Resend(ctx, c.Domain, w, in.Data, s.recordIn(c, delivery.ActResend, delivery.SubjectData)); err != nil {
		return webhookDataOutput{}, err
	}
	if w, err = s.webhook(ctx, c, in.ID); err != nil { // Resend may have changed the webhook
		return webhookDataOutput{}, err
	}
	d, err := s.DB.OneWebhookData(ctx, c.Domain.ID, w.ID, in.Data)
	if err != nil {
		return webhookDataOutput{}, fmt.Errorf("load delivery %d: %w", in.Data, err)
	}
	out := []webhookDataOutput{newWebhookData(c, w, d)}
	err = s.expandAttempts(ctx, c, w, out, httpapi.Expansion{{Name: "attempts"}})
	return out[0], err
}

type recoverInput struct {
	oneWebhookInput
	Since string `body:"since,required" doc:"a DateTime or a date: undelivered events since then become due now"`
}

type recoverOutput struct {
	Due  int64 `json:"due" doc:"number of payloads now due, counted up to 10000"`
	More bool  `json:"more" doc:"whether more payloads may be due"`
}

func (s *Service) recoverWebhook(ctx context.Context, c *httpapi.Caller, in recoverInput) (recoverOutput, error) {
	since, err := passerelle.ParseInstant("since", in.Since, c.Location)
	if err != nil {
		return recoverOutput{}, err
	}
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return recoverOutput{}, err
	}
	due, err := s.Delivery.Recover(ctx, c.Domain, w, since, s.recordIn(c, delivery.ActRecoverWebhook, delivery.SubjectWebhook))
	if err != nil {
		return recoverOutput{}, err
	}
	s.Wake()
	return recoverOutput{Due: due, More: due == delivery.MaxDue}, nil
}

type testWebhookInput struct {
	oneWebhookInput
	Data httpapi.RawObject `body:"data" doc:"the payload, at most 256 KiB; by default, sample data for the event"`
}

// testWebhook sends a test payload and shows the request.
func (s *Service) testWebhook(ctx context.Context, c *httpapi.Caller, in testWebhookInput) (webhookLogOutput, error) {
	w, err := s.webhook(ctx, c, in.ID)
	if err != nil {
		return webhookLogOutput{}, err
	}
	id, err := s.Delivery.Test(ctx, c.Domain, w, in.Data, s.recordIn(c, delivery.ActTestWebhook, delivery.SubjectWebhook))
	if err != nil {
		return webhookLogOutput{}, err
	}
	made, err := s.DB.LastAttempts(ctx, c.Domain.ID, []passerelle.DeliveryID{id})
	if err == nil && len(made[id]) != 1 {
		err = fmt.Errorf("%d requests are stored, want 1", len(made[id]))
	}
	if err != nil {
		return webhookLogOutput{}, fmt.Errorf("load the request of test %d: %w", id, err)
	}
	return newWebhookLog(c, w, made[id][0]), nil
}
