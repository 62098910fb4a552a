package initiation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// Settlement is the outcome of an order that an operator has learned from the bank, because the
// service could not find it out.
type Settlement struct {
	// State is done when the bank has executed the order, and accepted when it will execute the
	// order. It is rejected when the bank does not have the order.
	State payment.State
	// Reason says how the operator knows the outcome. The timeline shows the reason.
	Reason string
}

// settled takes the place of the bank's status word in the timeline.
const settled = "settled"

// settledReports maps each valid Settlement.State to the report of a bank that leads to this state.
// For accepted, Settle adds the instructions to the report.
var settledReports = map[payment.State]payment.Report{
	payment.Done:     {Status: payment.Settled, By: payment.ByService, Raw: settled},
	payment.Accepted: {Status: payment.Settled, By: payment.ByService, Raw: settled},
	payment.Rejected: {Status: payment.Declined, Code: payment.WebsiteUnavailable, By: payment.ByService, Raw: settled},
}

// Settle ends a payment whose order has an unknown outcome, on behalf of an operator who has asked
// the bank. It asks the bank once more, unless the order cannot be decrypted or its connector was
// removed. If the bank knows the order, Settle applies the bank's response instead of the outcome,
// and fails with Conflict. It also fails with Conflict when the outcome was already known, when the
// service may still send the order again, or when another act on the payment is under way. It fails
// with Unavailable when the bank does not say whether it knows the order.
func (i *Initiation) Settle(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, outcome Settlement, acts ...store.Audit) (*payment.Payment, error) {
	report, known := settledReports[outcome.State]
	if !known {
		return nil, passerelle.InvalidField("state", "must be done, accepted or rejected")
	}
	if strings.TrimSpace(outcome.Reason) == "" {
		return nil, passerelle.MissingField("reason", "it says how the outcome of the order is known")
	}
	if err := passerelle.CheckText("reason", outcome.Reason, payment.MaxDescription); err != nil {
		return nil, err
	}
	s, err := i.unanswerable(ctx, d, id)
	if err != nil {
		return nil, err
	}
	p, now := *s.payment, i.now(d)
	for n := range p.Instructions {
		if outcome.State == payment.Accepted {
			report.Lines = append(slices.Clip(report.Lines), payment.Line{Position: n, State: payment.InstructionAccepted})
		}
	}
	steps, err := p.Apply(report, now)
	if err != nil {
		return nil, err
	}
	p.NoteSettlement(outcome.Reason, now)
	record := i.onRecord(d, nil, acts)
	err = i.commit(ctx, d, &p, steps, nil, func(tx *store.Tx) error {
		tx.AnswerAttempt(s.attempt)
		return record(tx)
	})
	return &p, raced(err)
}

// unanswerable returns the session of a payment if only a person can find out the outcome of its
// order. It fails for other payments.
func (i *Initiation) unanswerable(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (bankSession, error) {
	s, err := i.bankSession(ctx, d, id)
	sealed := errors.Is(err, store.ErrSealed) // the key of the order's fields is lost, so the service cannot ask the bank
	if err != nil && !sealed && !errors.Is(err, store.ErrNotFound) {
		return s, err
	}
	if s.attempt.State != store.AttemptUnknown || s.attempt.Kind != store.AttemptInitiation || s.payment.State != payment.Created {
		return s, passerelle.Conflicting("The outcome of the order is known, or the bank may be responding now.")
	}
	waits, err := i.mayArrive(ctx, s)
	if err != nil {
		return s, err
	}
	if waits {
		return s, passerelle.Conflicting("The service may still send the order again. It finds out the outcome by itself.")
	}
	if sealed {
		return s, nil
	}
	return s, i.askInVain(ctx, s)
}

// askInVain asks the bank about an order, outside any transaction. It succeeds only if the bank
// does not know the order, or if this program no longer has the connector. If the bank knows the
// order, askInVain applies the bank's response to the payment.
func (i *Initiation) askInVain(ctx context.Context, s bankSession) error {
	leave, err := i.Callers.EnterBank(s.attempt.Connector)
	if err != nil {
		return err
	}
	defer leave()
	report, err := i.callBank(ctx, s, status)
	if err == nil {
		if _, err = i.apply(ctx, s, report); err == nil {
			err = passerelle.Conflicting("The bank knows the order. The payment now has the state that the bank reports.")
		}
		return err
	}
	if errors.Is(err, connector.ErrUnknownOrder) || errors.Is(err, errNoConnector) {
		return nil
	}
	return &passerelle.Error{Kind: passerelle.Unavailable, Code: string(payment.WebsiteUnavailable), Message: "The bank cannot be asked about the order now. Try again later.", RetryAfter: 60}
}

// mayArrive reports whether the service may still send the order again. A repetition is possible
// while the outcome of the order is unknown and the bank still recognises its key.
func (i *Initiation) mayArrive(ctx context.Context, s bankSession) (bool, error) {
	if s.attempt.State != store.AttemptUnknown {
		return false, nil
	}
	return i.keyKnown(ctx, s, 0)
}
