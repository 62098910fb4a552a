package sandbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// Connector connects to one of the simulated banks. Bank.Connectors makes all Connectors. A
// connector whose bank cancels orders is also a connector.Canceller.
type Connector struct {
	shared *Bank
	bank   bank
}

var _ connector.Responder = (*Connector)(nil)

// Profile describes the connector. Callers must not change the result, because it is shared.
func (c *Connector) Profile() connector.Profile { return c.bank.profile }

// Initiate sends the order to the bank. The bank recognises the key of an order: it responds to a
// repeated order with the state of the first order, regardless of the content.
func (c *Connector) Initiate(ctx context.Context, in connector.Order) (payment.Report, error) {
	if err := ctx.Err(); err != nil {
		return payment.Report{}, fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	chosen, err := chooseUseCase(in.Fields[useCaseField])
	if err != nil {
		return payment.Report{}, err
	}
	o := newOrder(c.bank, chosen, c.shared.Timing, in)
	body, err := o.encode()
	if err != nil {
		return payment.Report{}, err
	}
	stored, _, _, err := c.shared.Ledger.Submit(ctx, in.Domain, in.Key, body)
	if err != nil {
		return payment.Report{}, fmt.Errorf("submit an order to the sandbox bank: %w", err)
	}
	if err := c.shared.deliver(ctx, stored); err != nil {
		return payment.Report{}, err
	}
	return c.Status(ctx, in)
}

// errLost and errSlow mean that the outcome of an order is unknown.
var (
	errLost = errors.New("the response of the sandbox bank was lost")
	errSlow = errors.New("the sandbox bank takes too long to respond")
)

// deliver simulates the delivery of the response to Initiate. With the timing Faithful, a slow bank
// delays the response. With another timing, a slow bank makes deliver fail with errSlow
// immediately.
func (b *Bank) deliver(ctx context.Context, stored []byte) error {
	o, err := decodeOrder(stored)
	if err != nil {
		return err
	}
	switch first := o.Plan.Steps[0]; {
	case first.Do == lose:
		return errLost
	case first.Do == slow && b.Timing == Faithful:
		return wait(ctx, first.Wait)
	case first.Do == slow:
		return errSlow
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errSlow, ctx.Err())
	}
}

// Status returns the state of the order with a key. A payer's approval takes effect when the
// service next asks.
func (c *Connector) Status(ctx context.Context, in connector.Order) (payment.Report, error) {
	return c.advance(ctx, in, (*order).speak)
}

// Answer sends the bank an answer. The bank ignores answers to questions that it has not asked.
func (c *Connector) Answer(ctx context.Context, in connector.Order, a connector.Answer) (payment.Report, error) {
	return c.advance(ctx, in, func(o *order) bool {
		answered := o.answer(a, in.Now)
		return o.advance(in.Now) || answered
	})
}

// advance brings an order up to date, calls the function do with the order, and returns the order's
// state.
func (c *Connector) advance(ctx context.Context, in connector.Order, do func(*order) bool) (payment.Report, error) {
	o, err := c.shared.change(ctx, in.Domain, in.Key, func(o *order) bool {
		if o.Connector != c.bank.profile.UUID {
			return false
		}
		moved := o.advance(in.Now)
		return do(o) || moved
	})
	if errors.Is(err, errNoOrder) || (err == nil && o.Connector != c.bank.profile.UUID) {
		return payment.Report{}, connector.ErrUnknownOrder
	}
	if err != nil {
		return payment.Report{}, err
	}
	r, err := scene{&o, in.Now, c.shared.Page(in.Domain, in.Key)}.report()
	if err != nil {
		return payment.Report{}, err
	}
	r.BankPaymentID = c.shared.reference(in.Domain, in.Key)
	r.Raw = o.remark(r.Raw)
	return r, nil
}

// remark appends the ignored steps of a script to the bank's status word. The author of the script
// then sees the ignored steps.
func (o *order) remark(raw string) string {
	if len(o.Ignored) == 0 {
		return raw
	}
	return raw + " (ignored: " + strings.Join(slices.Clone(o.Ignored), ", ") + ")"
}

// Page returns the address of the page on which a payer decides about an order or its cancellation.
// The page stands for the bank's site and for its app. Redirects lead to this page. The payer of a
// decoupled order opens the page in place of an app.
func (b *Bank) Page(domain passerelle.DomainID, key string) string {
	return b.Base(domain) + pagesPath + b.pageID(domain, key)
}

// reference returns the bank's own reference for an order. People can see the reference, which
// gives no access to the order's page.
func (b *Bank) reference(domain passerelle.DomainID, key string) string {
	sum := b.MAC("reference of the sandbox bank", orderName(domain, key))
	return "SBX-" + strings.ToUpper(hex.EncodeToString(sum[:6]))
}
