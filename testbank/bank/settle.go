package bank

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle/testbank/ledger"
)

// executionStart is the time of day, in UTC, at which the bank executes an order for a later day.
const executionStart = 6 * time.Hour

// putOrder stores an order and notifies its third party.
func (b *Bank) putOrder(tx *ledger.Tx, o *Order) error {
	if o.Notify != "" {
		b.note(tx, Note{To: o.Notify, PaymentID: o.ID, Status: b.Reported(o)})
	}
	return tx.Put(o)
}

// accept continues with an order that its customers have authorised.
func (b *Bank) accept(tx *ledger.Tx, o *Order, at time.Time) error {
	manner := MannerOf(o)
	switch {
	case manner.Stays != "":
		o.Status, o.Next = manner.Stays, time.Time{}
		return b.putOrder(tx, o)
	case o.Schedule != nil:
		o.Status, o.Next = "ACTC", o.Schedule.next(0).Add(executionStart)
		return b.putOrder(tx, o)
	case o.Execution > at.Format(dayLayout):
		asked, err := time.Parse(dayLayout, o.Execution)
		if err != nil {
			return fmt.Errorf("read the execution day of order %s: %w", o.ID, err)
		}
		o.Status, o.Next = "ACTC", asked.Add(executionStart)
		return b.putOrder(tx, o)
	}
	return b.execute(tx, o, at)
}

// execute enters the movements of an order as pending. The settlement books these movements.
func (b *Bank) execute(tx *ledger.Tx, o *Order, at time.Time) error {
	if reason := MannerOf(o).Reason; reason != "" {
		o.finish("RJCT", reason)
		return b.putOrder(tx, o)
	}
	reason, err := b.enter(tx, o, at)
	if err != nil {
		return err
	}
	if reason != "" {
		o.finish("RJCT", reason)
		return b.putOrder(tx, o)
	}
	o.Status, o.Next = "ACSP", at.Add(b.settlement)
	if o.Product == Instant || b.settlement == 0 {
		return b.settle(tx, o, at)
	}
	return b.putOrder(tx, o)
}

// enter makes the movements of the lines that are not refused. When it can make no movement, it
// returns the reason.
func (b *Bank) enter(tx *ledger.Tx, o *Order, at time.Time) (string, error) {
	payer, err := tx.AccountByNumber(o.Debtor)
	if err != nil {
		return "", err
	}
	var sum int64
	for i := range o.Lines {
		line := &o.Lines[i]
		line.Reason = line.manner().Reason
		switch {
		case line.Reason != "":
		case line.IBAN == payer.Number:
			line.Reason = "AC01"
		default:
			sum += line.Amount
		}
	}
	refused := func(l Line) bool { return l.Reason != "" }
	switch {
	case !slices.ContainsFunc(o.Lines, func(l Line) bool { return !refused(l) }):
		return o.Lines[0].Reason, nil
	case payer.Expected-sum < -payer.Overdraft:
		return "AM04", nil
	}
	for i := range o.Lines {
		if refused(o.Lines[i]) {
			continue
		}
		if err := enterLine(tx, o, i, payer, at); err != nil {
			return "", err
		}
		o.Lines[i].Entered = true
	}
	return "", nil
}

func enterLine(tx *ledger.Tx, o *Order, i int, payer ledger.Account, at time.Time) error {
	line := o.Lines[i]
	to, err := tx.AccountByNumber(line.IBAN)
	if errors.Is(err, ledger.ErrNotFound) {
		to, err = ledger.Account{ID: clearing}, nil
	}
	if err != nil {
		return err
	}
	return tx.Enter(ledger.Movement{
		Cause: o.cause(i), From: payer.ID, To: to.ID, Amount: line.Amount,
		FromName: payer.Owner, FromNumber: payer.Number, ToName: line.Creditor, ToNumber: line.IBAN,
		Text: line.Text, Reference: line.EndToEnd, Day: at,
	})
}

// cause returns the Movement.Cause of a line for the current execution of the order.
func (o *Order) cause(line int) string {
	return fmt.Sprintf("%s%d:%d", o.causes(), o.Occurrences, line)
}

func (o *Order) causes() string { return "order:" + o.ID + ":" }

// settle books the pending movements and ends the order.
func (b *Bank) settle(tx *ledger.Tx, o *Order, at time.Time) error {
	if err := post(tx, o, at); err != nil {
		return err
	}
	status, err := settledStatus(tx, o)
	if err != nil {
		return err
	}
	o.finish(status, "")
	return b.putOrder(tx, o)
}

func post(tx *ledger.Tx, o *Order, at time.Time) error {
	for i := range o.Lines {
		if !o.Lines[i].Entered {
			continue
		}
		if err := tx.Post(o.cause(i), at); err != nil {
			return err
		}
		o.Lines[i].Posted = true
	}
	return nil
}

// settledStatus returns PART when lines were refused, ACCC when all creditors have their
// accounts at this bank, and ACSC otherwise.
func settledStatus(tx *ledger.Tx, o *Order) (string, error) {
	here := true
	for _, line := range o.Lines {
		if line.Reason != "" {
			return "PART", nil
		}
		_, err := tx.AccountByNumber(line.IBAN)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return "", err
		}
		here = here && err == nil
	}
	if here {
		return "ACCC", nil
	}
	return "ACSC", nil
}

// occur executes a periodic order once. Then it schedules the next execution or ends the order. It
// skips an execution that the bank refuses, for example for lack of funds.
func (b *Bank) occur(tx *ledger.Tx, o *Order, at time.Time) error {
	reason := MannerOf(o).Reason
	if reason == "" {
		var err error
		if reason, err = b.enter(tx, o, at); err != nil {
			return err
		}
	}
	if reason != "" {
		o.Skipped++
	} else if err := post(tx, o, at); err != nil {
		return err
	}
	o.Occurrences++
	next := o.Schedule.next(o.Occurrences)
	switch {
	case !o.Schedule.over(next):
		o.Status, o.Next = "ACSP", next.Add(executionStart)
	case o.Skipped == o.Occurrences:
		o.finish("RJCT", reason)
	default:
		o.finish("ACSC", "")
	}
	return b.putOrder(tx, o)
}

// checkOrders checks that orders agree with the books. A periodic order has one movement for
// each execution that was not skipped. Any other order has one for each entered line. A refused
// order has none.
func checkOrders(tx *ledger.Tx) ([]string, error) {
	orders, err := ledger.List[Order](tx, orderKind, "")
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, o := range orders {
		count, amount, err := tx.Booked(o.causes())
		if err != nil {
			return nil, err
		}
		wantCount, wantAmount := o.booked()
		if count != wantCount || amount != wantAmount {
			wrong = append(wrong, fmt.Sprintf("order %s is %s with %d movements of %s, and should have %d of %s",
				o.ID, o.Status, count, Decimal(amount), wantCount, Decimal(wantAmount)))
		}
	}
	return wrong, nil
}

// booked returns how many movements an order must have, and their sum.
func (o *Order) booked() (int64, int64) {
	var (
		count  int64
		amount int64
	)
	for _, line := range o.Lines {
		if line.Entered && line.Reason == "" {
			count, amount = count+1, amount+line.Amount
		}
	}
	if o.Schedule != nil {
		times := int64(o.Occurrences - o.Skipped)
		return times, times * o.Total()
	}
	return count, amount
}
