package api

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/httpapi"
	"passerelle/internal/simulation"
	"passerelle/webhook"
)

func (s *Service) sandboxEventRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/sandbox/events", Needs: config, MaxBody: maxTrigger, Endpoint: httpapi.Handle(s.triggerEvent),
			Summary: "Emit an event to test a receiver", Errors: []string{"notFound"},
			Doc: "Emits the event with a sample or the given data. It is signed, sent, retried and ordered like any other.",
		},
	}
}

// maxTrigger is the largest body, in bytes, of a call that triggers an event. The event of a
// first sync can be as large.
const maxTrigger = 4 << 20

type triggerInput struct {
	Event      string                  `body:"event,required" doc:"name of an event; not one of payments, nor USER_CREATED and USER_DELETED, which happen in a sandbox as well" example:"CONNECTION_SYNCED"`
	User       passerelle.UserID       `body:"id_user" min:"1" doc:"the user it belongs to; nobody when it is left out"`
	Connection passerelle.ConnectionID `body:"id_connection" min:"1" doc:"the connection it is about; any number will do"`
	Data       httpapi.RawObject       `body:"data" doc:"the payload, without id_webhook_data; a sample when it is left out"`
}

type triggeredOutput struct {
	Event      webhook.Event           `json:"event"`
	Subject    webhook.Subject         `json:"subject" doc:"what kind of thing it is put in order by"`
	IDSubject  int64                   `json:"id_subject"`
	Held       bool                    `json:"held" doc:"whether it waits for its user to become permanent"`
	Deliveries []passerelle.DeliveryID `json:"deliveries" doc:"id_webhook_data for each webhook that it is sent to"`
}

func (s *Service) triggerEvent(ctx context.Context, c *httpapi.Caller, in triggerInput) (triggeredOutput, error) {
	if err := simulation.Open(c.Domain); err != nil {
		return triggeredOutput{}, err
	}
	t, err := s.Aggregation.Trigger(ctx, c.Domain, aggregation.TestEvent{Event: in.Event, User: in.User, Connection: in.Connection, Data: in.Data})
	out := triggeredOutput{
		Event: t.Event.Event, Subject: t.Event.Subject, IDSubject: t.SubjectID, Held: t.Held,
		Deliveries: append([]passerelle.DeliveryID{}, t.Deliveries...),
	}
	return out, err
}
