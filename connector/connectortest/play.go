package connectortest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/payment"
)

// play is one order with its payment. The suite applies the connector's reports to the payment.
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

func (p *play) initiate(ctx context.Context) (payment.Report, error) {
	report, err := p.subject.Initiator.Initiate(ctx, p.order)
	p.remember(report)
	if err != nil {
		return report, fmt.Errorf("Initiate of a valid order: %w", err)
	}
	return report, p.take(report)
}

// remember stores the connector's memory for its next call, as the service does.
func (p *play) remember(report payment.Report) {
	if report.Memory != nil {
		p.order.Memory = report.Memory
	}
}

// ask asks for the status and applies the report. A refusal also counts as a report.
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

// take applies a report, which must be complete and legal.
func (p *play) take(report payment.Report) error {
	if err := connector.CheckReport(report, len(p.payment.Instructions)); err != nil {
		return err
	}
	if _, err := p.payment.Apply(report, p.order.Now); err != nil {
		return fmt.Errorf("a %s payment refuses the report %s: %w", p.payment.State, remote.Response(report, nil), err)
	}
	return nil
}

// maxChecks is the maximum number of times that the suite asks a bank for the end of an order.
// checkInterval is the time between two checks, unless the bank sets a different time.
const (
	maxChecks     = 100
	checkInterval = time.Hour
)

// follow asks for the status until the payment is final. It advances the clock of the order.
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

// actions lists all actions that a report can request.
var actions = []payment.Action{payment.Redirect, payment.Decoupled, payment.FillFields, payment.Confirm, payment.PSUValidation}
