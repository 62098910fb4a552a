package bank

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle/testbank/ledger"
)

// Run does everything that is due at the bank's time, in the order of the due times.
func (b *Bank) Run(ctx context.Context) error {
	for {
		done := false
		err := b.book.Update(ctx, func(tx *ledger.Tx) error {
			kind, id, at, err := tx.NextDue(b.Now())
			if errors.Is(err, ledger.ErrNotFound) {
				done = true
				return nil
			}
			if err != nil {
				return err
			}
			return b.fallDue(tx, kind, id, at)
		})
		if err != nil || done {
			return err
		}
	}
}

// fallDue does the work that is due for a document. It stores the document with a later due time or
// without one, so that Run ends.
func (b *Bank) fallDue(tx *ledger.Tx, kind, id string, at time.Time) error {
	switch kind {
	case orderKind:
		var o Order
		if err := tx.Get(kind, id, &o); err != nil {
			return err
		}
		return b.orderDue(tx, &o, at)
	case authorisationKind:
		var a Authorisation
		if err := tx.Get(kind, id, &a); err != nil {
			return err
		}
		a.end("failed")
		return tx.Put(&a)
	case consentKind:
		var c Consent
		if err := tx.Get(kind, id, &c); err != nil {
			return err
		}
		return b.consentDue(tx, &c)
	}
	return fmt.Errorf("%s %s is due, but documents of this kind have no due time", kind, id)
}

func (b *Bank) orderDue(tx *ledger.Tx, o *Order, at time.Time) error {
	switch {
	case o.Status == "RCVD" || o.Status == "PATC":
		// The standard requires the bank to reject an order that was not authorised in time.
		o.finish("RJCT", "NOAS")
		return b.putOrder(tx, o)
	case o.Schedule != nil:
		return b.occur(tx, o, at)
	case o.Status == "ACSP":
		return b.settle(tx, o, at)
	}
	return b.execute(tx, o, at)
}
