package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// testRoutes returns the calls with which an operator tests receivers.
func (s *Service) testRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/test/sync", Needs: config, Endpoint: httpapi.Handle(s.testSync), Errors: []string{"conflict", "notFound"},
			Summary: "Synchronise a connection to test receivers", Doc: "In a sandbox domain, synchronises a random working connection as if its end user had asked, and then returns it. Its events are sent as usual.",
		},
		{
			Method: http.MethodPost, Pattern: "/test/webhooks", Needs: config, Endpoint: httpapi.Handle(s.testWebhooks),
			Summary: "Send a test to all webhooks", Doc: "Sends a test request to the first 20 enabled webhooks, as POST /webhooks/{webhookId}/test does, and returns the results.",
		},
	}
}

func (s *Service) testSync(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (wire.Connection, error) {
	if err := simulation.Open(c.Domain); err != nil {
		return wire.Connection{}, err
	}
	found, err := bankstore.From(s.DB).SomeConnections(ctx, c.Domain.ID, "", new(passerelle.ConnectionState), 1)
	if err != nil {
		return wire.Connection{}, fmt.Errorf("find a connection: %w", err)
	}
	if len(found) == 0 {
		return wire.Connection{}, passerelle.Conflicting("No connection of the domain works; create one first.")
	}
	read, err := s.Aggregation.Resume(ctx, c.Domain, found[0].User, found[0].ID, aggregation.Request{})
	return s.Aggregation.Show(read, c.Location), err
}

const (
	// maxTested limits the webhooks that one call tests.
	maxTested = 20
	// testedAtOnce limits the tests of one call that run at the same time. In one process, at most
	// eight clients of a domain may wait for receivers at once. Each test counts as one client, so
	// four others may wait.
	testedAtOnce = 4
)

type testedOutput struct {
	IDWebhook int64             `json:"id_webhook"`
	Success   bool              `json:"success"`
	Error     *string           `json:"error" doc:"why nothing was sent, or why the request was not accepted; null when it was accepted"`
	Log       *webhookLogOutput `json:"log" doc:"the request; null when nothing was sent"`
}

type testWebhooksOutput struct {
	Tests []testedOutput `json:"tests"`
	Total int            `json:"total"`
}

func (s *Service) testWebhooks(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (testWebhooksOutput, error) {
	all, err := s.DB.Webhooks(ctx, store.WebhookFilter{Domain: c.Domain.ID}, store.Window{Limit: maxTested})
	if err != nil {
		return testWebhooksOutput{}, fmt.Errorf("list webhooks: %w", err)
	}
	out := testWebhooksOutput{Tests: make([]testedOutput, len(all)), Total: len(all)}
	faults := make([]error, len(all))
	var tests errgroup.Group
	tests.SetLimit(testedAtOnce)
	for i, w := range all {
		tests.Go(func() error {
			out.Tests[i], faults[i] = s.tested(ctx, c, w)
			return nil
		})
	}
	_ = tests.Wait() // faults contains the errors of all tests
	return out, errors.Join(faults...)
}

// tested sends a test to a webhook. It returns a passerelle.Error of the test as part of the
// result, and any other error as an error.
func (s *Service) tested(ctx context.Context, c *httpapi.Caller, w store.Webhook) (testedOutput, error) {
	out := testedOutput{IDWebhook: int64(w.ID)}
	log, err := s.testWebhook(ctx, c, testWebhookInput{oneWebhookInput: oneWebhookInput{w.ID}})
	var refused *passerelle.Error
	switch {
	case errors.As(err, &refused):
		out.Error = &refused.Message
		return out, nil
	case err != nil:
		return out, err
	}
	out.Log, out.Error, out.Success = &log, log.Error, log.Error == nil
	return out, nil
}
