package payment

import (
	"cmp"
	"slices"
	"time"

	"passerelle"
)

// MayCancel reports whether a cancellation can be asked for now; cancellable
// says whether the payment's connector is able to. A payment that is created
// needs no bank for it, and its payer can abandon one that they have not approved,
// see Unapproved, whatever the bank can. The errors are a Conflict for a payment that
// ended, has an instant instruction or is being cancelled already, and Invalid of code
// notSupported for a connector without the ability.
func (p *Payment) MayCancel(by Actor, cancellable bool) error {
	instant := func(in Instruction) bool { return in.DateType == Instant }
	switch {
	case p.State.Final():
		return passerelle.Conflicting("The payment is %s and cannot be cancelled any more.", p.State)
	case p.State == Created:
		return nil
	case by == ByPayer && p.Unapproved():
		return nil
	case !cancellable:
		return &passerelle.Error{Kind: passerelle.Invalid, Code: "notSupported", Message: "This bank does not cancel payments."}
	case slices.ContainsFunc(p.Instructions, instant):
		return passerelle.Conflicting("An instant payment cannot be cancelled once it was validated.")
	case p.Detail == Cancelling:
		return passerelle.Conflicting("A cancellation of the payment is under way.")
	}
	return nil
}

// Unapproved reports whether a bank has the payment and waits for the payer to approve
// it, as far as is known here, and nobody is cancelling it. One that waits for its
// client's confirmation was approved.
func (p *Payment) Unapproved() bool {
	return p.State == Validating && p.Detail != Cancelling && p.Action != Confirm
}

// AskCancellation keeps who asks for a cancellation, as the code that a granted
// one will end with, and where the payer goes afterwards, before the bank is
// asked. The bank's answer comes by Apply; until then nothing changes.
func (p *Payment) AskCancellation(code ErrorCode, redirectURI, state string) {
	p.CancelCode, p.CancelRedirectURI, p.CancelState = code, redirectURI, state
}

// RefuseCancellation lets the payment go on as if nobody had asked for a
// cancellation, and notes it when somebody had. Where the payer goes is kept,
// for one who is still on the way. Apply does the same for a report that says so.
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

// concede makes a report of a granted cancellation one of a declined order, for
// the reason and by the one who asked. Of an order that ended by itself, its
// bank's outcome counts and nothing said of a cancellation does.
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

// canceller is who stands behind the code of a cancellation.
func canceller(code ErrorCode) Actor {
	if code == CancelledByClient {
		return ByClient
	}
	return ByPayer
}

// applyCancellation takes over what a report says of a cancellation. One that
// says nothing of it leaves it as it was.
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
