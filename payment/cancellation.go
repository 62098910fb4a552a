package payment

import (
	"cmp"
	"slices"
	"time"

	"passerelle"
)

// MayCancel returns nil when a cancellation may be requested now. It always allows the cancellation
// of a created payment, and a cancellation by the payer while Unapproved is true. It fails with
// Conflict when the payment has ended. For all other payments, two rules apply. If cancellable is
// false, because the connector cannot cancel, MayCancel fails with Invalid, code notSupported. If
// an instruction is instant or a cancellation is under way, it fails with Conflict.
func (p *Payment) MayCancel(by Actor, cancellable bool) error {
	instant := func(in Instruction) bool { return in.DateType == Instant }
	switch {
	case p.State.Final():
		return passerelle.Conflicting("The payment is %s and can no longer be cancelled.", p.State)
	case p.State == Created:
		return nil
	case by == ByPayer && p.Unapproved():
		return nil
	case !cancellable:
		return &passerelle.Error{Kind: passerelle.Invalid, Code: "notSupported", Message: "This bank does not cancel payments."}
	case slices.ContainsFunc(p.Instructions, instant):
		return passerelle.Conflicting("An instant payment cannot be cancelled after it was validated.")
	case p.Detail == Cancelling:
		return passerelle.Conflicting("A cancellation of the payment is already in progress.")
	}
	return nil
}

// Unapproved reports whether a bank waits for the payer's approval and no cancellation is under
// way. It uses only the stored data. A payment that waits for its client's confirmation is already
// approved.
func (p *Payment) Unapproved() bool {
	return p.State == Validating && p.Detail != Cancelling && p.Action != Confirm
}

// AskCancellation stores a request for a cancellation. The code says who requests the cancellation.
// It becomes the payment's error code if the bank grants the cancellation. After the bank's page,
// the payer is redirected to redirectURI, and state is added as a parameter. Callers must call
// AskCancellation before they call the bank. The payment's state does not change until Apply
// handles the bank's response.
func (p *Payment) AskCancellation(code ErrorCode, redirectURI, state string) {
	p.CancelCode, p.CancelRedirectURI, p.CancelState = code, redirectURI, state
}

// Abandon adds a note that the payer has abandoned a payment that they can still approve at the
// bank. The state does not change, because only the bank's response decides about the order.
func (p *Payment) Abandon(now time.Time) { p.record(NoteAbandoned, ByPayer, "", now) }

// RefuseCancellation drops a requested cancellation, if there is one, and adds a note about it. It
// keeps the redirect address, because the payer may still be on the bank's page. Apply does the
// same when a report refuses the cancellation.
func (p *Payment) RefuseCancellation(by Actor, now time.Time) {
	if p.Detail != Cancelling && p.CancelCode == "" {
		return
	}
	if p.Detail == Cancelling {
		p.Detail = ""
		p.ask(Report{})
	}
	p.CancelCode = ""
	p.record(NoteCancellationRefused, by, "", now)
}

// concede converts a report of a granted cancellation into a report of a declined order, with the
// requester's code and actor. When the order was settled, or was declined without a granted
// cancellation, concede keeps the bank's outcome and ignores the cancellation.
func (r Report) concede(code ErrorCode) Report {
	granted := r.Cancellation == CancellationGranted
	switch {
	case r.Status == Settled, r.Status == Declined && !granted:
		r.Cancellation = ""
	case granted:
		r.Status, r.Code = Declined, cmp.Or(code, CancelledByUser)
		r.By = canceller(r.Code)
	}
	return r
}

// canceller returns the actor for the code of a cancellation.
func canceller(code ErrorCode) Actor {
	if code == CancelledByClient {
		return ByClient
	}
	return ByPayer
}

// applyCancellation applies the cancellation status of a report. A report without a cancellation
// status changes nothing.
func (p *Payment) applyCancellation(r Report, now time.Time) {
	switch r.Cancellation {
	case CancellationAwaiting:
		if p.Detail != Cancelling {
			p.record(NoteCancelling, canceller(p.CancelCode), "", now)
		}
		p.Detail = Cancelling
		p.ask(r)
	case CancellationRefused:
		p.RefuseCancellation(r.By, now)
	case CancellationGranted:
		p.leaveCancelling(NoteCancellationGranted, r.By, now)
	}
}

// leaveCancelling ends a cancellation under way, if there is one.
func (p *Payment) leaveCancelling(kind string, by Actor, now time.Time) {
	if p.Detail == Cancelling {
		p.Detail = ""
		p.record(kind, by, "", now)
	}
}
