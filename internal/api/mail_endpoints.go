package api

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
)

func (s *Service) mailRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/sandbox/mails", Needs: config, Endpoint: httpapi.Handle(s.listMails),
			Summary: "List the mails about webhooks", Errors: []string{"notFound"},
			Doc: "Lists the mails to the addresses in svc.manager.email, newest first. Mails are listed even when no mail server is configured.",
		},
	}
}

type mailOutput struct {
	ID        int64   `json:"id"`
	IDWebhook *int64  `json:"id_webhook" doc:"the webhook that the mail is about"`
	Kind      string  `json:"kind" doc:"alert or recovery"`
	Recipient string  `json:"recipient" doc:"an address that was in svc.manager.email at the time"`
	Subject   string  `json:"subject"`
	Text      string  `json:"text"`
	Created   string  `json:"created"`
	Sent      bool    `json:"sent" doc:"whether a mail server accepted the mail; in dev, whether it was shown"`
	Attempts  int64   `json:"attempt_count" doc:"number of attempts to send the mail so far"`
	Failure   *string `json:"error" doc:"why the last attempt failed"`
}

func shownMail(c *httpapi.Caller, m store.Mail) mailOutput {
	out := mailOutput{
		ID: m.ID, IDWebhook: optionalInt(int64(m.Webhook)), Kind: m.Kind, Recipient: m.Recipient, Subject: m.Subject, Text: m.Text,
		Created: passerelle.FormatDateTime(m.Created, c.Location), Sent: m.Sent != nil, Attempts: m.Attempts,
	}
	if m.Failure != "" {
		out.Failure = &m.Failure
	}
	return out
}

type listMailsInput struct {
	httpapi.Paging
}

type listMailsOutput struct {
	Mails []mailOutput `json:"mails"`
	httpapi.Listing
}

func (s *Service) listMails(ctx context.Context, c *httpapi.Caller, in listMailsInput) (listMailsOutput, error) {
	if err := simulation.Open(c.Domain); err != nil {
		return listMailsOutput{}, err
	}
	fetch := func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.Mail, error) {
		return r.Mails(ctx, c.Domain.ID, store.Window{Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward})
	}
	position := func(m store.Mail) httpapi.Position { return httpapi.Position{m.ID} }
	count := func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountMails(ctx, c.Domain.ID) }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	out := listMailsOutput{Mails: make([]mailOutput, len(rows)), Listing: listing}
	for i, m := range rows {
		out.Mails[i] = shownMail(c, m)
	}
	return out, err
}
