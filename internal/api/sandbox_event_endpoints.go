package api

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/simulation"
	"passerelle/webhook"
)

func (s *Service) sandboxEventRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/sandbox/events", Needs: config, MaxBody: maxTrigger, Endpoint: httpapi.Handle(s.triggerEvent),
			Summary: "Emit an event to test a receiver", Errors: []string{"notFound"},
			Doc: "Emits the event with sample data or the given data. The event is signed, sent, retried and ordered like any other.",
		},
	}
}

// maxTrigger limits the body of a call that triggers an event, in bytes. The event of a first sync
// can reach this size.
const maxTrigger = 4 << 20

type triggerInput struct {
	Event      string                  `body:"event,required" doc:"name of an event; payment events, USER_CREATED and USER_DELETED are refused, because a sandbox can cause them for real" example:"CONNECTION_SYNCED"`
	User       passerelle.UserID       `body:"id_user" min:"1" doc:"the user that the event belongs to; no user when omitted"`
	Connection passerelle.ConnectionID `body:"id_connection" min:"1" doc:"the connection that the event is about; any number is accepted"`
	Data       httpapi.RawObject       `body:"data" doc:"the payload, without id_webhook_data; sample data when omitted"`
}

type triggeredOutput struct {
	Event      webhook.Event           `json:"event"`
	Subject    webhook.Subject         `json:"subject" doc:"kind of object that determines the delivery order"`
	IDSubject  int64                   `json:"id_subject"`
	Held       bool                    `json:"held" doc:"whether the event is held back until its user becomes permanent"`
	Deliveries []passerelle.DeliveryID `json:"deliveries" doc:"id_webhook_data for each webhook that the event is sent to"`
}

func (s *Service) triggerEvent(ctx context.Context, c *httpapi.Caller, in triggerInput) (triggeredOutput, error) {
	if err := simulation.Open(c.Domain); err != nil {
		return triggeredOutput{}, err
	}
	t, err := s.Simulation.Trigger(ctx, c.Domain, simulation.TestEvent{Event: in.Event, User: in.User, Connection: in.Connection, Data: in.Data})
	out := triggeredOutput{
		Event: t.Event.Event, Subject: t.Event.Subject, IDSubject: t.SubjectID, Held: t.Held,
		Deliveries: append([]passerelle.DeliveryID{}, t.Deliveries...),
	}
	return out, err
}
