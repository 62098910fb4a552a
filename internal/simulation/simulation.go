// Package simulation has the use cases of a sandbox. It moves the sandbox's clock, does the due
// work, plays the scenarios of the simulated banks, emits test events, and empties the built-in
// receiver.
//
// The package owns the order of these steps, and their limits. It does not own the rules of
// payments, connections and webhooks: it calls their use cases. It does not own the behaviour of
// simulated banks (package connector/sandbox).
//
// The package fails with NotFound in live domains. It fails with Invalid for an unknown scenario,
// login or event, and when a clock would go backwards or too far. It fails with Conflict when
// another caller has moved the clock, or when a scenario needs other settings. It fails with
// Unavailable when too many callers wait for receivers of the domain.
package simulation

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/delivery"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
)

// Simulation works with the sandboxes of a deployment. Every field is required.
type Simulation struct {
	DB          *store.DB
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Delivery    *delivery.Delivery
	Bank        *sandbox.Bank
	// Now returns the real time.
	Now func() time.Time
}

// Open fails for live domains, which have no sandbox.
func Open(d passerelle.Domain) error {
	if d.Kind != passerelle.Sandbox {
		return passerelle.Missing()
	}
	return nil
}

// maxPasses is the largest number of passes that Run makes. Run then stops, even if some due work
// remains.
const maxPasses = 1000

// Result counts the work that Run did. It does not count the work that the loops of the service do
// in the same time, even though Run waits for their webhook requests.
type Result struct {
	// Payments counts the payments that expired, that the service checked at their banks, or whose
	// interrupted attempts it recovered. Syncs counts the reads of connections. Deliveries counts
	// the webhook requests.
	Payments, Syncs, Deliveries int
	// Truncated means that Run reached a limit and some due work remains.
	Truncated bool
}

// Run does the due work of a sandbox until no due work remains, or until Run reaches a limit.
// Payments and syncs come first, because they emit the events that Run delivers afterwards. Run
// stores the entries of the audit log before it does any work.
func (l *Simulation) Run(ctx context.Context, d passerelle.Domain, acts ...store.Audit) (Result, error) {
	leave, err := l.enter(d)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	if len(acts) > 0 {
		if err := l.DB.Write(ctx, func(tx *store.Tx) error { return tx.Audit(acts...) }); err != nil {
			return Result{}, fmt.Errorf("record a run of domain %d: %w", d.ID, err)
		}
	}
	return l.runUntilIdle(ctx, d)
}

// enter fails for live domains, and when too many callers already wait for receivers. The caller
// must call the returned function at the end of its work.
func (l *Simulation) enter(d passerelle.Domain) (func(), error) {
	if err := Open(d); err != nil {
		return nil, err
	}
	return l.Delivery.Await(d.ID)
}

func (l *Simulation) runUntilIdle(ctx context.Context, d passerelle.Domain) (Result, error) {
	var ran Result
	for range maxPasses {
		followed, err := l.Initiation.RunDue(ctx, d)
		if err != nil {
			return ran, err
		}
		read, err := l.Aggregation.RunDue(ctx, d)
		if err != nil {
			return ran, err
		}
		if err := l.Aggregation.TerminateConsents(ctx, d); err != nil {
			return ran, err
		}
		sent, err := l.Delivery.RunDue(ctx, d)
		if err != nil {
			return ran, err
		}
		did := followed.Checked + followed.Recovered + followed.Expired
		ran.Payments += did
		ran.Syncs += read
		ran.Deliveries += sent.Delivered + sent.Failed
		if did+read+sent.Delivered+sent.Failed == 0 {
			return ran, l.Delivery.Purge(ctx, d)
		}
	}
	ran.Truncated = true
	return ran, nil
}

// Received lists the requests to the built-in receiver, oldest first.
func (l *Simulation) Received(ctx context.Context, d passerelle.Domain) ([]store.Received, error) {
	if err := Open(d); err != nil {
		return nil, err
	}
	return l.DB.ReceivedRequests(ctx, d.ID)
}

// Forget deletes the requests that the built-in receiver has stored.
func (l *Simulation) Forget(ctx context.Context, d passerelle.Domain, acts ...store.Audit) error {
	if err := Open(d); err != nil {
		return err
	}
	err := l.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ForgetReceived(d.ID)
		return tx.Audit(acts...)
	})
	if err != nil {
		return fmt.Errorf("empty the receiver of domain %d: %w", d.ID, err)
	}
	return nil
}
