// Package connectortest is the conformance suite of connectors: what
// the service relies on, whatever bank a connector leads to.
//
// It owns the rules that hold for every connector, and the reasons why. It does
// not own a bank: the test of a connector brings one, with a hand that acts as
// the payer. It does not look at what is special about a connector, which is
// for the connector's own tests. It fails by failing the test, once for each
// rule that is broken, with what the connector answered.
package connectortest

import (
	"context"
	"testing"

	"passerelle/connector"
	"passerelle/payment"
)

// Subject is a connector under test, in front of a bank that is new.
type Subject struct {
	Initiator connector.Initiator
	// Order makes an order that the connector can carry, of a payment in
	// state created, with a key that no order had before. It is called by
	// several goroutines at once.
	Order func() connector.Order
	// Approve does what the payer does to approve, given the order and the
	// report that asks for it. It lets the bank execute the order in time.
	Approve func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Refuse does what the payer does to refuse.
	Refuse func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Lasting makes an order like Order does, but one that is not executed for
	// a while once it is approved and that the bank may be asked to cancel. Only
	// a connector.Canceller needs it, and what the payer does when asked to
	// approve the cancellation: Agree to it, or Keep the order.
	Lasting     func() connector.Order
	Agree, Keep func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Submissions counts the orders the bank has taken since it was new. An
	// order that the bank recognised as one it has does not count.
	Submissions func() int
}

// Run holds a connector against every rule, each on a subject of its own. Run
// it with the race detector too: one of the rules is that calls may coincide.
func Run(t *testing.T, subject func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range rules {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(t.Context(), subject(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// rules are what the service relies on. Each returns how it is broken.
var rules = []struct {
	name  string
	check func(context.Context, Subject) error
}{
	{"the profile is coherent", coherentProfile},
	{"a sent order is known", sentOrderIsKnown},
	{"an order never sent is unknown", unsentOrderIsUnknown},
	{"a repeated key is one order", repeatedKeyIsOneOrder},
	{"an approved order ends", approvedOrderEnds},
	{"a refused order is declined", refusedOrderIsDeclined},
	{"a cancelled call returns", cancelledCallReturns},
	{"abilities are claimed", claimedAbilities},
	{"a stray answer is ignored", strayAnswerIsIgnored},
	{"a late answer is ignored", lateAnswerIsIgnored},
	{"an order never sent cannot be asked", unsentOrderCannotBeAsked},
	{"a cancellation is told", cancellationIsReported},
	{"a kept order goes on", keptOrderGoesOn},
	{"an ended order is not cancelled", endedOrderIsNotCancelled},
	{"calls may coincide", callsMayCoincide},
}
