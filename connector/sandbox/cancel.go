package sandbox

import (
	"context"

	"passerelle/connector"
	"passerelle/payment"
)

// cancellation is the state of a request to cancel an order.
type cancellation struct {
	State payment.Cancellation `json:"state"`
	// ReturnURL is the address to which the payer is redirected after the decision.
	ReturnURL string `json:"return_url"`
}

// cancellingConnector is the connector of a bank that cancels orders.
type cancellingConnector struct{ *Connector }

var _ connector.Canceller = cancellingConnector{}

// Cancel asks the bank to cancel an order. The bank asks the payer for approval on a page, cancels
// immediately, or refuses. It always refuses to cancel instant orders. An order that has ended does
// not change.
func (c cancellingConnector) Cancel(ctx context.Context, in connector.Order) (payment.Report, error) {
	return c.advance(ctx, in, func(o *order) bool { return o.cancel(c.bank.cancels, in.ReturnURL) })
}

// cancel records the request to cancel, and reports whether it is new.
func (o *order) cancel(usual payment.Cancellation, returnURL string) bool {
	if o.ended() || (o.Cancellation != nil && o.Cancellation.State != payment.CancellationRefused) {
		return false
	}
	o.Cancellation = &cancellation{State: usual, ReturnURL: returnURL}
	if o.Plan.Keeps || o.DateType == payment.Instant {
		o.Cancellation.State = payment.CancellationRefused
	}
	return true
}

// ended reports whether the order can no longer change.
func (o *order) ended() bool { return o.cancelled() || (o.step().Do == end && !o.waiting()) }

// waiting reports whether a bulk payment has instructions that end later than the others and have
// not ended yet. advance records their end in LinesEnded.
func (o *order) waiting() bool {
	if o.LinesEnded {
		return false
	}
	for _, l := range o.step().Lines {
		if l.Wait != 0 {
			return true
		}
	}
	return false
}

func (o *order) cancelled() bool {
	return o.Cancellation != nil && o.Cancellation.State == payment.CancellationGranted
}

func (o *order) cancelling() bool {
	return o.Cancellation != nil && o.Cancellation.State == payment.CancellationAwaiting && !o.ended()
}

// cancellation adds the state of a cancellation to a report. A granted cancellation replaces the
// report. If the order has ended for another reason, the report stays unchanged.
func (s scene) cancellation(r payment.Report) (payment.Report, error) {
	switch {
	case s.cancelled():
		return payment.Report{
			Status: payment.Declined, Code: byClient.Code, Description: byClient.spoken(s.speech()), By: byClient.By,
			Raw: "cancelled", Cancellation: payment.CancellationGranted,
		}, nil
	case s.cancelling():
		r.Action, r.ValidateURI, r.Fields = payment.Redirect, s.page, nil
		r.Cancellation = payment.CancellationAwaiting
	case s.Cancellation != nil && !s.ended():
		r.Cancellation = payment.CancellationRefused
	}
	return r, nil
}
