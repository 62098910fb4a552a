package sandbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// Connector leads to the simulated bank under one of its profiles. Make it
// with Bank.Connectors.
type Connector struct {
	bank    *Bank
	profile connector.Profile
}

var _ connector.Initiator = (*Connector)(nil)

// Profile says what the connector is. It is shared and not to be changed.
func (c *Connector) Profile() connector.Profile { return c.profile }

// Initiate hands the order to the bank. The bank recognises its key: a repeated
// order is answered as the first one stands, whatever else is in it.
func (c *Connector) Initiate(ctx context.Context, in connector.Order) (payment.Report, error) {
	if err := ctx.Err(); err != nil {
		return payment.Report{}, fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	chosen, err := chooseUseCase(in.Fields[useCaseField])
	if err != nil {
		return payment.Report{}, err
	}
	body, err := newOrder(c.profile.UUID, chosen, in).encode()
	if err != nil {
		return payment.Report{}, err
	}
	if _, _, _, err := c.bank.Ledger.Submit(ctx, in.Domain, in.Key, body); err != nil {
		return payment.Report{}, fmt.Errorf("submit an order to the sandbox bank: %w", err)
	}
	return c.Status(ctx, in)
}

// Status says what became of the order of a key. To the bank, the first
// question after the approval is the moment at which execution begins.
func (c *Connector) Status(ctx context.Context, in connector.Order) (payment.Report, error) {
	o, err := c.bank.change(ctx, in.Domain, in.Key, func(o *order) bool {
		return o.begin(c.bank.Timing, in.Now)
	})
	if errors.Is(err, errNoOrder) || (err == nil && o.Connector != c.profile.UUID) {
		return payment.Report{}, connector.ErrUnknownOrder
	}
	if err != nil {
		return payment.Report{}, err
	}
	return c.report(in, o)
}

// begin fixes when an approved order is executed, and reports whether that was
// still open.
func (o *order) begin(timing Timing, now time.Time) bool {
	if o.Status != approved || o.Due != nil {
		return false
	}
	due := now.Add(timing.execution(o.DateType))
	o.Due = &due
	return true
}

// answers says what each of the bank's own statuses means to a payment.
var answers = map[status]payment.Report{
	awaiting: {Status: payment.Awaiting},
	approved: {Status: payment.Processing},
	executed: {Status: payment.Settled},
	refused: {
		Status: payment.Declined, Code: payment.CancelledByUser, By: payment.ByPayer,
		Description: "The payer refused the payment at the bank.",
	},
}

func (c *Connector) report(in connector.Order, o order) (payment.Report, error) {
	now := o.statusAt(in.Now)
	r := answers[now]
	r.Raw, r.BankPaymentID = string(now), c.bank.reference(in.Domain, in.Key)
	switch now {
	case awaiting:
		err := c.bank.ask(&r, in, o)
		return r, err
	case approved:
		r.CheckAfter = o.Due.Sub(in.Now)
	case executed:
		r.Lines = o.outcome()
	case refused: // the answer is whole
	}
	return r, nil
}

// ask completes the report of an order that waits for its payer.
func (b *Bank) ask(r *payment.Report, in connector.Order, o order) error {
	chosen, err := chooseUseCase(o.UseCase)
	if err != nil {
		return fmt.Errorf("a stored order: %w", err)
	}
	r.Action = chosen.action
	if chosen.page {
		r.ValidateURI = b.Base(in.Domain) + pagesPath + b.pageID(in.Domain, in.Key)
	}
	return nil
}

// outcome names the lines that do not simply end as done: of a series, the
// bank accepts the instruction and reports no single execution.
func (o order) outcome() []payment.Line {
	if o.DateType != payment.Periodic {
		return nil
	}
	lines := make([]payment.Line, len(o.Lines))
	for i := range lines {
		lines[i] = payment.Line{Position: i, State: payment.InstructionAccepted}
	}
	return lines
}

// reference is the bank's own name of an order. People see it, and it does not
// lead to the order's page.
func (b *Bank) reference(domain passerelle.DomainID, key string) string {
	sum := b.MAC("reference of the sandbox bank", orderName(domain, key))
	return "SBX-" + strings.ToUpper(hex.EncodeToString(sum[:6]))
}
