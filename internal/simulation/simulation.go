// Package simulation has the use cases of a sandbox: moving its clock, doing what is due,
// playing the scenarios of the simulated banks, and emptying its built-in receiver.
//
// It owns the order of these steps, and their limits. It does not own the rules of payments,
// connections and webhooks, for which it calls their use cases, or what simulated banks do
// (package connector/sandbox).
//
// It fails with NotFound in live domains and for unknown scenarios, and with Invalid when a
// clock would go backwards or too far. It fails with Conflict when another caller has moved the
// clock or a scenario needs other settings. It fails with Unavailable when too many callers wait
// for receivers of the domain.
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
	// Now is real time.
	Now func() time.Time
}

// Open fails for live domains, which have no sandbox.
func Open(d passerelle.Domain) error {
	if d.Kind != passerelle.Sandbox {
		return passerelle.Missing()
	}
	return nil
}

// maxPasses is the largest number of passes that Run makes, even if work is left.
const maxPasses = 1000

// Result counts the work that was done.
type Result struct {
	// Payments counts the payments that were checked at their banks or expired, Syncs the reads
	// of connections, and Deliveries the webhook requests.
	Payments, Syncs, Deliveries int
	// Truncated means that a limit was reached and work is left.
	Truncated bool
}

// Run does the work that is due in a sandbox until none is left. Payments and syncs come first,
// because they emit the events that are delivered afterwards. The entries of the audit log are
// stored before the work begins.
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
	return l.rest(ctx, d)
}

// enter fails for live domains, and when too many callers already wait for receivers. The
// returned function must be called at the end.
func (l *Simulation) enter(d passerelle.Domain) (func(), error) {
	if err := Open(d); err != nil {
		return nil, err
	}
	return l.Delivery.Await(d.ID)
}

func (l *Simulation) rest(ctx context.Context, d passerelle.Domain) (Result, error) {
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

// Received lists the requests that the built-in receiver got, oldest first.
func (l *Simulation) Received(ctx context.Context, d passerelle.Domain) ([]store.Received, error) {
	if err := Open(d); err != nil {
		return nil, err
	}
	return l.DB.ReceivedRequests(ctx, d.ID)
}

// Forget empties the built-in receiver.
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
