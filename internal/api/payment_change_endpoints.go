package api

import (
	"cmp"
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/initiation"
	"passerelle/internal/wire"
	"passerelle/payment"
)

const changeDoc = `The body is one of six requests. Its keys determine which one; keys of several requests together are refused. The payment's state and action determine which request it accepts. Fails with conflict for any other request; the message names the expected one.

- PaymentValidateRequest, in state created: stores the payer's choice of connector. With validated, also sends the order to the bank and returns the payer's next action.
- PaymentResumeRequest answers the action decoupled, PaymentSubmitFieldValuesRequest answers additionalInformationNeeded, PaymentSubmitPSUValidationRequest answers psuValidation, and PaymentConfirmRequest answers confirm. Confirming needs payments:admin. While state_detail is cancelling, psuValidation and confirm ask whether to cancel: true cancels the payment, and false lets the order continue; fields are for the cancellation. The bank may end the cancellation before the answer arrives, and ask about the payment instead. With cancelling, the service refuses an answer to the other question with conflict.
- PaymentCancelRequest, before the payment is final: cancels it. Needs payments:admin or payments:cancel; payments:cancel permits only this request. A payment that was not sent to a bank is rejected at once. Otherwise the service asks the bank to cancel it, and state_detail is cancelling until the payer has approved.`

func (s *Service) paymentChangeRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: httpapi.Update, Pattern: "/payments/{paymentId}", Needs: changePayments, Endpoint: httpapi.Handle(s.changePayment),
			Summary: "Validate a payment, answer its action, or cancel it", Errors: []string{"conflict", "notSupported", "unavailable"},
			Doc: changeDoc,
		},
	}
}

// changePaymentInput is the body of one of the six requests that change a payment. The payment's
// current state and action decide which requests are accepted.
type changePaymentInput struct {
	onePaymentInput
	httpapi.SensitiveInput
	Validate *validateBody `variant:"PaymentValidateRequest"`
	Resume   *resumeBody   `variant:"PaymentResumeRequest"`
	Submit   *submitBody   `variant:"PaymentSubmitFieldValuesRequest"`
	PSU      *psuBody      `variant:"PaymentSubmitPSUValidationRequest"`
	Confirm  *confirmBody  `variant:"PaymentConfirmRequest"`
	Cancel   *cancelBody   `variant:"PaymentCancelRequest"`
}

type validateBody struct {
	connectorInput
	ValidateMechanism string            `body:"validate_mechanism" doc:"webauth when omitted"`
	Fields            map[string]string `body:"fields" max:"8192" doc:"values of the connector's payment fields, in plain text or encrypted as compact JWE"`
	Website           *string           `body:"website" max:"255" doc:"deprecated, use the field website"`
	Payer             *accountInput     `body:"payer" doc:"the payer's account; for connectors that need it"`
	WebviewURL        string            `body:"webview_url,required" max:"2048" doc:"address the payer returns to after an action; may have a query"`
	Validated         bool              `body:"validated" doc:"whether to send the order now"`
}

func (in validateBody) fields() map[string]string {
	if in.Website == nil {
		return in.Fields
	}
	fields := map[string]string{"website": *in.Website}
	for name, value := range in.Fields {
		fields[name] = value
	}
	return fields
}

type resumeBody struct {
	Resume bool `body:"resume,required" doc:"true when the payer may have answered; for the action decoupled"`
}

type submitBody struct {
	Fields     map[string]string `body:"fields,required" max:"8192" doc:"values for the fields of the payment, in plain text or encrypted as compact JWE; for the action additionalInformationNeeded. During a cancellation, the bank needs them for the cancellation"`
	Cancelling *bool             `body:"cancelling" doc:"whether the answer is about a cancellation; omitted, the answer is to whatever the bank asks"`
}

type psuBody struct {
	Validate   bool  `body:"psu_validate,required" doc:"whether the payer has validated the payment; for the action psuValidation. During a cancellation, true cancels the payment, and false lets the order continue"`
	Cancelling *bool `body:"cancelling" doc:"whether the answer is about a cancellation; omitted, the answer is to whatever the bank asks"`
}

type confirmBody struct {
	Confirm    bool  `body:"confirm,required" doc:"whether to execute the payment; for the action confirm. During a cancellation, true cancels the payment, and false lets the order continue"`
	Cancelling *bool `body:"cancelling" doc:"whether the answer is about a cancellation; omitted, the answer is to whatever the bank asks"`
}

type cancelBody struct {
	Cancel            bool   `body:"cancel,required" doc:"true"`
	ClientRedirectURI string `body:"client_redirect_uri,required" max:"2048" doc:"absolute URL without a query, which the payer returns to after the bank's page"`
	ClientState       string `body:"client_state" max:"2000" doc:"returned as state"`
}

// needs returns the scopes that allow the request. The token must have at least one of these
// scopes.
func (in changePaymentInput) needs() []passerelle.Scope {
	switch {
	case in.Cancel != nil:
		return []passerelle.Scope{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsCancel}
	case in.Confirm != nil:
		return []passerelle.Scope{passerelle.ScopePaymentsAdmin}
	}
	return validatePayments.AnyScope
}

func (s *Service) changePayment(ctx context.Context, c *httpapi.Caller, in changePaymentInput) (wire.Payment, error) {
	if needed := in.needs(); !c.Scopes.Has(needed...) {
		return wire.Payment{}, httpapi.Lacking(needed...)
	}
	if c.Payment != 0 && c.Payment != in.ID {
		return wire.Payment{}, passerelle.Missing()
	}
	p, err := s.change(ctx, c, in)
	if err != nil { // an unknown payment takes precedence over other errors
		_, missing := s.reach(ctx, c, in.ID, false)
		return wire.Payment{}, cmp.Or(missing, err)
	}
	if in.ShowSensitive {
		return s.onePayment(ctx, c, readPaymentInput{onePaymentInput: in.onePaymentInput, SensitiveInput: in.SensitiveInput})
	}
	return wire.NewPayment(p, s.view(c, in.SensitiveInput)), nil
}

func (s *Service) change(ctx context.Context, c *httpapi.Caller, in changePaymentInput) (*payment.Payment, error) {
	switch {
	case in.Validate != nil:
		return s.validatePayment(ctx, c, in.ID, *in.Validate)
	case in.Cancel != nil:
		return s.cancelPayment(ctx, c, in.ID, *in.Cancel)
	}
	by, answer, err := in.answer()
	if err != nil {
		return nil, err
	}
	return s.Initiation.Answer(ctx, c.Domain, in.ID, by, answer)
}

func (s *Service) validatePayment(ctx context.Context, c *httpapi.Caller, id passerelle.PaymentID, in validateBody) (*payment.Payment, error) {
	named, err := in.connector(s.Initiation.Connectors.Agreed)
	if err != nil {
		return nil, err
	}
	p, err := s.Initiation.Validate(ctx, c.Domain, id, initiation.Choice{
		Connector: named, Mechanism: in.ValidateMechanism, Fields: in.fields(),
		Payer: in.Payer.account(), WebviewURL: in.WebviewURL, Validated: in.Validated,
	})
	if err != nil {
		return nil, in.blame(err)
	}
	return p, nil
}

func (s *Service) cancelPayment(ctx context.Context, c *httpapi.Caller, id passerelle.PaymentID, in cancelBody) (*payment.Payment, error) {
	if !in.Cancel {
		return nil, passerelle.InvalidField("cancel", "must be true")
	}
	return s.Initiation.Cancel(ctx, c.Domain, id, initiation.CancelRequest{By: payment.ByClient, RedirectURI: in.ClientRedirectURI, State: in.ClientState})
}

// answer returns the answer to the payment's current action, and the actor that answers. The client
// confirms a payment, and the payer gives all other answers.
func (in changePaymentInput) answer() (payment.Actor, initiation.ActionAnswer, error) {
	switch {
	case in.Resume != nil:
		if !in.Resume.Resume {
			return "", initiation.ActionAnswer{}, passerelle.InvalidField("resume", "must be true")
		}
		return payment.ByPayer, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true}, nil
	case in.Submit != nil:
		return payment.ByPayer, initiation.ActionAnswer{Action: payment.FillFields, Cancelling: in.Submit.Cancelling, Fields: in.Submit.Fields}, nil
	case in.PSU != nil:
		return payment.ByPayer, initiation.ActionAnswer{Action: payment.PSUValidation, Cancelling: in.PSU.Cancelling, Yes: in.PSU.Validate}, nil
	case in.Confirm != nil:
		return payment.ByClient, initiation.ActionAnswer{Action: payment.Confirm, Cancelling: in.Confirm.Cancelling, Yes: in.Confirm.Confirm}, nil
	}
	return "", initiation.ActionAnswer{}, fmt.Errorf("change payment %d: a request without a body", in.ID)
}
