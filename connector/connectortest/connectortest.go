// Package connectortest is the conformance suite for connectors. It contains the rules on which the
// service relies at every bank.
//
// It owns the rules for every connector, the reasons for them, and the form of a report about them.
// It does not provide a bank: the caller does, and acts as the payer. It does not test special
// features of a connector. For each rule that a connector fails, the suite reports a Breach.
package connectortest

import (
	"context"
	"errors"
	"fmt"

	"passerelle/connector"
	"passerelle/payment"
)

// Subject is a connector under test that is connected to a new bank.
type Subject struct {
	Initiator connector.Initiator
	// Order makes an order that the connector supports, for a payment in state created, with a new
	// key. Several goroutines may call it at the same time.
	Order func() connector.Order
	// Approve acts as the payer who approves the order, after the report that asks for approval. It
	// also makes the bank execute the order within maxChecks requests for the status.
	Approve func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Refuse acts as the payer who refuses the order.
	Refuse func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Lasting makes an order that the bank executes some time after the approval and can cancel
	// until the execution. Agree and Keep act as the payer that the bank asks about the
	// cancellation: Agree approves the cancellation, and Keep refuses it. Only a
	// connector.Canceller needs Lasting, Agree and Keep.
	Lasting     func() connector.Order
	Agree, Keep func(ctx context.Context, o connector.Order, asked payment.Report) error
	// Submissions returns the number of orders that the bank has accepted. A repeated order that
	// the bank recognised does not count.
	Submissions func() int
}

// Reporter receives findings. It is a *testing.T or a *Report. R is the type that implements it.
type Reporter[R any] interface {
	Context() context.Context
	// Run runs a rule and reports whether the rule found no error.
	Run(name string, rule func(R)) bool
	// Error reports a Breach. Log reports the reason why a rule does not apply.
	Error(args ...any)
	Log(args ...any)
}

// Breach describes how a connector breaks a rule, and the correct behaviour.
type Breach struct {
	Err   error
	Right string
}

// Error describes the breach and the correct behaviour.
func (b Breach) Error() string { return b.Err.Error() + "\nright would be: " + b.Right }

// Run checks that a connector keeps every rule. Each rule gets a new subject. Use the race detector
// too, because one rule makes concurrent calls.
func Run[R Reporter[R]](r R, subject func(R) Subject) { check(r, rules, subject) }

// RunReader checks that a connector that reads data keeps every rule. Each rule gets a new
// customer. Use the race detector too, because one rule makes concurrent reads.
func RunReader[R Reporter[R]](r R, customer func(R) Customer) { check(r, readingRules, customer) }

// rule is a property that the service relies on. The check returns an error that says how the
// connector breaks the rule, or errNotApplicable.
type rule[S any] struct {
	name, right string
	check       func(context.Context, S) error
}

var errNotApplicable = errors.New("does not apply")

func notApplicable(why string) error { return fmt.Errorf("%w: %s", errNotApplicable, why) }

func check[R Reporter[R], S any](r R, rules []rule[S], subject func(R) S) {
	for _, one := range rules {
		r.Run(one.name, func(r R) {
			err := one.check(r.Context(), subject(r))
			switch {
			case errors.Is(err, errNotApplicable):
				r.Log(err)
			case err != nil:
				r.Error(Breach{err, one.right})
			}
		})
	}
}

var rules = []rule[Subject]{
	{"the profile is coherent", "a profile that is complete, consistent and the same in every response, and a connector that accepts an order within its profile", coherentProfile},
	{"a sent order is known", "the status of a sent order equals the response to sending it, however often it is requested, and the request sends nothing", sentOrderIsKnown},
	{"an order never sent is unknown", "a request for the status of a key that was never sent reports that the order is unknown, and sends nothing", unsentOrderIsUnknown},
	{"a repeated key is one order", "a repeated order with the same key gets the same response and is one order at the bank, or the profile is not idempotent", repeatedKeyIsOneOrder},
	{"an approved order ends", "an order that its payer approves is settled, and its reports are complete and in a legal order", approvedOrderEnds},
	{"a refused order is declined", "an order that its payer refuses is declined, with a code of the protocol", refusedOrderIsDeclined},
	{"a cancelled call returns", "a cancelled call ends at once, and its error does not say that the bank was called", cancelledCallReturns},
	{"abilities are claimed", "the payment settings are cancellable exactly when the connector can cancel", claimedAbilities},
	{"a stray answer is ignored", "an answer that the bank did not request changes nothing, and returns the state of the order", strayAnswerIsIgnored},
	{"a late answer is ignored", "an answer after the end of an order returns its final state", lateAnswerIsIgnored},
	{"an order never sent cannot be asked", "an answer or a cancellation for a key that was never sent reports that the order is unknown, and sends nothing", unsentOrderCannotBeAsked},
	{"a cancellation is reported", "a cancellation returns whether it waits, is granted or is refused; a repeated request returns the same; a granted cancellation declines the order", cancellationIsReported},
	{"a kept order goes on", "an order whose payer does not agree to its cancellation continues to its end", keptOrderGoesOn},
	{"an ended order is not cancelled", "cancelling an order that has ended returns its final state and grants nothing", endedOrderIsNotCancelled},
	{"calls may coincide", "concurrent calls get separate responses, and the same order from two concurrent callers is one order if the profile is idempotent", callsMayCoincide},
}
