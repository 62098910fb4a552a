package connectortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"passerelle/connector"
	"passerelle/payment"
)

// play is one order and the payment that the connector's reports make of it.
type play struct {
	subject Subject
	order   connector.Order
	payment payment.Payment
}

func newPlay(s Subject) *play {
	o := s.Order()
	p := &play{subject: s, order: o, payment: o.Payment}
	p.payment.Instructions = slices.Clone(o.Payment.Instructions)
	return p
}

// initiate sends the order and applies the answer.
func (p *play) initiate(ctx context.Context) (payment.Report, error) {
	report, err := p.subject.Initiator.Initiate(ctx, p.order)
	p.remember(report)
	if err != nil {
		return report, fmt.Errorf("Initiate of a valid order: %w", err)
	}
	return report, p.take(report)
}

// remember keeps what the connector wants to know with its next call, as the service
// does.
func (p *play) remember(report payment.Report) {
	if report.Memory != nil {
		p.order.Memory = report.Memory
	}
}

// ask asks for the status and applies the answer. Being refused by then is an
// answer too.
func (p *play) ask(ctx context.Context) (payment.Report, error) {
	report, err := p.subject.Initiator.Status(ctx, p.order)
	p.remember(report)
	var refusal *payment.Refusal
	if errors.As(err, &refusal) {
		report, err = payment.Report{Status: payment.Declined, Code: refusal.Code, Description: refusal.Description}, nil
	}
	if err != nil {
		return report, fmt.Errorf("Status of an order that was sent: %w", err)
	}
	return report, p.take(report)
}

// take applies a report, which must be complete, legal and new.
func (p *play) take(report payment.Report) error {
	if err := wellFormed(report, len(p.payment.Instructions)); err != nil {
		return err
	}
	if _, err := p.payment.Apply(report, p.order.Now); err != nil {
		return fmt.Errorf("a %s payment refuses the report %+v: %w", p.payment.State, report, err)
	}
	return nil
}

// maxChecks is how often a bank may be asked until an approved order ends, and
// checkInterval how long to wait in between when the bank does not say.
const (
	maxChecks     = 100
	checkInterval = time.Hour
)

// follow asks until the payment is final, in the time of the order.
func (p *play) follow(ctx context.Context) error {
	for range maxChecks {
		if p.payment.State.Final() {
			return nil
		}
		report, err := p.ask(ctx)
		if err != nil {
			return err
		}
		p.order.Now = p.order.Now.Add(cmp.Or(report.CheckAfter, checkInterval))
	}
	return fmt.Errorf("the payment is still %s after %d questions", p.payment.State, maxChecks)
}

var (
	statuses = []payment.Status{payment.Awaiting, payment.Processing, payment.Settled, payment.Declined}
	actions  = []payment.Action{payment.Redirect, payment.Decoupled, payment.FillFields, payment.Confirm, payment.PSUValidation}

	cancellations = []payment.Cancellation{"", payment.CancellationAwaiting, payment.CancellationGranted, payment.CancellationRefused}

	errorCodes = []payment.ErrorCode{
		payment.InvalidEmitter, payment.InsufficientFunds, payment.InvalidAmount, payment.InvalidCurrency, payment.InvalidDate,
		payment.InvalidBeneficiary, payment.InvalidLabel, payment.InvalidReferenceID, payment.RegulatoryReason,
		payment.AuthenticationFailed, payment.NoAnswerFromCustomer, payment.NoSpecifiedReason, payment.CancelledByUser,
		payment.CancelledByClient, payment.ConfirmationRefused, payment.BankMessage, payment.InvalidValue,
		payment.WebsiteUnavailable, payment.Bug,
	}
	lineStates = []payment.InstructionState{
		payment.InstructionPending, payment.InstructionRejected, payment.InstructionDone, payment.InstructionAccepted,
	}
)

// wellFormed checks what Apply trusts a connector with: a report that it takes
// over as it is.
func wellFormed(r payment.Report, lines int) error {
	claims := []error{
		connector.Unless(slices.Contains(statuses, r.Status), "unknown status %q", r.Status),
		connector.Unless(r.CheckAfter >= 0, "the next question would be in the past: %s", r.CheckAfter),
		connector.Unless(r.Status != payment.Awaiting || slices.Contains(actions, r.Action), "the payer has to do something unknown: %q", r.Action),
		connector.Unless(r.Status != payment.Awaiting || r.Action != payment.Redirect || isAddress(r.ValidateURI), "a redirect without an address: %q", r.ValidateURI),
		connector.Unless(r.Status != payment.Awaiting || r.Action != payment.FillFields || len(r.Fields) > 0, "fields are asked for and there are none"),
		connector.Unless(r.Cancellation != payment.CancellationAwaiting || r.Action != "" && r.Action != payment.Redirect || isAddress(r.ValidateURI), "a cancellation to be approved without an address: %q", r.ValidateURI),
		connector.Unless(slices.Contains(cancellations, r.Cancellation), "unknown cancellation %q", r.Cancellation),
		connector.Unless(r.Status != payment.Declined || slices.Contains(errorCodes, r.Code), "declined with an unknown code: %q", r.Code),
	}
	claims = append(claims, occurrencesFormed(r.Occurrences)...)
	return errors.Join(append(claims, linesFormed(r.Lines, lines)...)...)
}

func occurrencesFormed(list []payment.Occurrence) []error {
	var claims []error
	for _, one := range list {
		claims = append(claims, connector.Unless(!one.Day.IsZero() && (one.Code == "" || slices.Contains(errorCodes, one.Code)), "an occurrence on %q with code %q", one.Day, one.Code))
	}
	return claims
}

func linesFormed(list []payment.Line, lines int) []error {
	var claims []error
	for _, l := range list {
		claims = append(claims,
			connector.Unless(l.Position >= 0 && l.Position < lines, "line %d of %d", l.Position, lines),
			connector.Unless(slices.Contains(lineStates, l.State), "line %d is in an unknown state: %q", l.Position, l.State),
			connector.Unless((l.State == payment.InstructionRejected) == slices.Contains(errorCodes, l.Code), "line %d is %s with code %q", l.Position, l.State, l.Code))
	}
	return claims
}

func isAddress(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
