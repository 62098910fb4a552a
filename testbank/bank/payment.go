package bank

import (
	"context"
	"encoding/json"
	"fmt"

	"passerelle/testbank/ledger"
)

// Order reads a third party's order.
func (b *Bank) Order(ctx context.Context, c Caller, id string) (*Order, error) {
	var o *Order
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		o, err = b.order(tx, c.Party, id)
		return err
	})
	return o, err
}

// Content returns the received order, with the fields that the bank has added.
func (b *Bank) Content(o *Order) (map[string]any, error) {
	var content map[string]any
	if err := json.Unmarshal(o.Body, &content); err != nil {
		return nil, fmt.Errorf("read the body of order %s: %w", o.ID, err)
	}
	content["transactionStatus"] = b.Reported(o)
	if o.Debtor != "" {
		content["debtorAccount"] = Reference{IBAN: o.Debtor, Currency: currency}
	}
	return content, nil
}

// Cancel cancels an order, or reports that the customer must first authorise the cancellation.
func (b *Bank) Cancel(ctx context.Context, c Caller, id string) (*Order, bool, error) {
	var (
		o        *Order
		needsSCA bool
	)
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if o, err = b.order(tx, c.Party, id); err != nil {
			return err
		}
		waits := o.waits()
		switch {
		case o.Final() || !waits && (o.Product == Instant || b.Profile.Cancellation == NoCancellation):
			return Refuse("CANCELLATION_INVALID", "", "the order is "+b.Reported(o)+" and cannot be cancelled")
		case waits || b.Profile.Cancellation == DirectCancellation:
			return b.cancelled(tx, o)
		}
		o.Cancelling, needsSCA = true, true
		if c.Return.OK != "" {
			o.Return = c.Return
		}
		return b.putOrder(tx, o)
	})
	return o, needsSCA, err
}

// cancelled ends an order as cancelled. Pending money stays in the paying account.
func (b *Bank) cancelled(tx *ledger.Tx, o *Order) error {
	if o.Final() {
		return nil // the order was executed before the customer authorised the cancellation
	}
	for i, line := range o.Lines {
		if !line.Entered || o.Schedule != nil {
			continue
		}
		if err := tx.Drop(o.cause(i)); err != nil {
			return err
		}
		o.Lines[i].Entered = false
	}
	o.finish("CANC", "")
	return b.putOrder(tx, o)
}
