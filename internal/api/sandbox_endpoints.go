package api

import (
	"context"
	"encoding/json"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/simulation"
)

func (s *Service) sandboxRoutes() []httpapi.Route {
	const firedDoc = "The member fired counts only the work of this call. The service also does due work in the background, and the call waits for webhook requests that the background is sending."
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/sandbox/clock", Needs: config, Endpoint: httpapi.Handle(s.readClock),
			Summary: "Read the sandbox's clock", Errors: []string{"notFound"},
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/clock", Needs: config, Endpoint: httpapi.Handle(s.setClock),
			Summary: "Move the sandbox's clock", Errors: []string{"conflict", "notFound"},
			Doc: "Changes the sandbox's clock with one of advance, set and freeze. Responds after everything that became due is done. " + firedDoc,
		},
		{
			Method: http.MethodPost, Pattern: "/sandbox/run", Needs: config, Endpoint: httpapi.Handle(s.runSandbox),
			Summary: "Run everything that is due", Errors: []string{"notFound"}, Doc: "Runs everything that is due at the sandbox's current time, and then responds. " + firedDoc,
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.received),
			Summary: "List the requests to the built-in receiver", Errors: []string{"notFound"}, Doc: "Lists the last 1000 requests to /sandbox/receiver/{name}, oldest first, with the result of each signature check.",
		},
		{
			Method: http.MethodDelete, Pattern: "/sandbox/receiver", Needs: config, Endpoint: httpapi.Handle(s.forgetReceived),
			Summary: "Empty the built-in receiver", Errors: []string{"notFound"},
		},
	}
}

type clockOutput struct {
	Now    string `json:"now"`
	Frozen bool   `json:"frozen"`
}

type movedClockOutput struct {
	clockOutput
	ranOutput
}

type ranOutput struct {
	Fired     firedOutput `json:"fired"`
	Truncated bool        `json:"truncated" doc:"whether a limit was reached before all work was done"`
}

type firedOutput struct {
	Payments   int `json:"payments" doc:"number of payments that this call checked at a bank or expired"`
	Syncs      int `json:"syncs" doc:"number of connections that this call synchronised"`
	Deliveries int `json:"deliveries" doc:"number of webhook requests that this call sent"`
}

func (s *Service) readClock(_ context.Context, c *httpapi.Caller, _ httpapi.Nothing) (clockOutput, error) {
	return shownClock(c), simulation.Open(c.Domain)
}

func shownClock(c *httpapi.Caller) clockOutput {
	return clockOutput{Now: passerelle.FormatDateTime(c.Now, c.Location), Frozen: c.Domain.Clock.Frozen != nil}
}

type clockInput struct {
	Advance string `body:"advance" doc:"a duration such as 15m, 36h or 2d" example:"15m"`
	Set     string `body:"set" doc:"YYYY-MM-DD HH:MM:SS in the domain's time zone"`
	Freeze  *bool  `body:"freeze" doc:"true stops the clock, false restarts it"`
}

func (s *Service) setClock(ctx context.Context, c *httpapi.Caller, in clockInput) (movedClockOutput, error) {
	moved, ran, err := s.Simulation.Move(ctx, c.Domain, simulation.ClockChange{Advance: in.Advance, Set: in.Set, Freeze: in.Freeze, Zone: c.Location})
	c.Domain, c.Now = moved, moved.Clock.Now(s.Now())
	return movedClockOutput{clockOutput: shownClock(c), ranOutput: shownRun(ran)}, err
}

func (s *Service) runSandbox(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (ranOutput, error) {
	ran, err := s.Simulation.Run(ctx, c.Domain)
	return shownRun(ran), err
}

func shownRun(r simulation.Result) ranOutput {
	return ranOutput{Fired: firedOutput{Payments: r.Payments, Syncs: r.Syncs, Deliveries: r.Deliveries}, Truncated: r.Truncated}
}

type receivedOutput struct {
	ID             int64           `json:"id"`
	Name           string          `json:"name" doc:"last segment of the request path"`
	Received       string          `json:"received"`
	Headers        json.RawMessage `json:"headers"`
	Body           string          `json:"body" doc:"body as received"`
	SignatureCheck string          `json:"verdict" doc:"result of the signature check"`
}

type listReceivedOutput struct {
	Requests []receivedOutput `json:"requests"`
	Total    int              `json:"total"`
}

func (s *Service) received(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (listReceivedOutput, error) {
	got, err := s.Simulation.Received(ctx, c.Domain)
	out := listReceivedOutput{Requests: make([]receivedOutput, len(got)), Total: len(got)}
	for i, r := range got {
		out.Requests[i] = receivedOutput{
			ID: r.ID, Name: r.Name, Received: passerelle.FormatDateTime(r.At, c.Location),
			Headers: json.RawMessage(r.Headers), Body: string(r.Body), SignatureCheck: r.SignatureCheck,
		}
	}
	return out, err
}

func (s *Service) forgetReceived(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Simulation.Forget(ctx, c.Domain)
}
