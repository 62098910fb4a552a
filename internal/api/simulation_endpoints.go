package api

import (
	"context"
	"net/http"

	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
	"passerelle/internal/simulation"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func (s *Service) simulationRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/sandbox/payments/{paymentId}/simulate", Needs: config, Endpoint: httpapi.Handle(s.simulate),
			Summary: "Simulate one step of a payment", Errors: []string{"conflict"}, Doc: "Changes the state of the payment, or of one instruction, as if the bank had reported it. Fails with conflict when the state table does not allow the change.",
		},
		{
			Method: http.MethodGet, Pattern: "/sandbox/scenarios", Needs: config, Endpoint: httpapi.Handle(s.listScenarios),
			Summary: "List the scenarios of the simulated banks", Errors: []string{"notFound"},
			Doc: "Lists scenarios for every state, action, error code, incompatibility, execution type and frequency. Each scenario says what to create, the steps, and the result.",
		},
	}
}

type simulateInput struct {
	onePaymentInput
	State       payment.State     `body:"state,required" doc:"the next state of the payment, or of the instruction when instruction is given"`
	ErrorCode   payment.ErrorCode `body:"error_code" doc:"reason of a rejection; noSpecifiedReason when omitted"`
	Instruction *int              `body:"instruction" doc:"position of an instruction, from 0; when omitted, the whole payment changes"`
}

// simulate changes a payment as if the bank had reported the change.
func (s *Service) simulate(ctx context.Context, c *httpapi.Caller, in simulateInput) (wire.Payment, error) {
	if err := simulation.Open(c.Domain); err != nil {
		return wire.Payment{}, err
	}
	p, err := s.Initiation.Simulate(ctx, c.Domain, in.ID, initiation.SimulatedChange{State: in.State, Code: in.ErrorCode, Instruction: in.Instruction})
	if err != nil {
		return wire.Payment{}, err
	}
	return wire.NewPayment(p, s.view(c, httpapi.SensitiveInput{})), nil
}

type listScenariosOutput struct {
	Scenarios []wire.Scenario `json:"scenarios"`
	Total     int             `json:"total"`
	Logins    []wire.Login    `json:"logins" doc:"logins for connections, and the result of each; the password is 1234"`
}

func (s *Service) listScenarios(_ context.Context, c *httpapi.Caller, _ httpapi.Nothing) (listScenariosOutput, error) {
	return listScenariosOutput{Scenarios: s.Scenarios, Total: len(s.Scenarios), Logins: s.Logins}, simulation.Open(c.Domain)
}
