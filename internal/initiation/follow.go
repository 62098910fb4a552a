package initiation

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/payment"
)

// A payment is asked about again after a quarter of its age, so that a fast
// one is seen to end fast and a slow one costs little.
const (
	shortestWait = 15 * time.Second
	longestWait  = 6 * time.Hour
)

// batch is how many payments one pass takes over at a time.
const batch = 100

// returnPurpose separates the MAC of return links from every other.
const returnPurpose = "return from a bank"

// returnURL is where a bank sends the payer's browser. It names the payment
// and is authenticated, so that it is of use for this step alone.
func (i *Initiation) returnURL(d passerelle.Domain, id passerelle.PaymentID) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(id))
	state := base64.RawURLEncoding.EncodeToString(append(raw, i.returnMAC(d, raw)...))
	return d.BaseURL + "/webauth/callback?" + url.Values{"state": {state}}.Encode()
}

func (i *Initiation) returnMAC(d passerelle.Domain, id []byte) []byte {
	return i.MAC(returnPurpose, binary.BigEndian.AppendUint64(id[:8:8], uint64(d.ID)))[:16]
}

// Return receives the payer coming back from a bank with the state of the
// return link: the bank is asked at once, and the payment as it now stands
// tells where the payer goes next. An altered state is no such resource.
func (i *Initiation) Return(ctx context.Context, d passerelle.Domain, state string) (*payment.Payment, error) {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(raw) != 24 || subtle.ConstantTimeCompare(raw[8:], i.returnMAC(d, raw[:8])) != 1 {
		return nil, passerelle.Missing()
	}
	id := passerelle.PaymentID(binary.BigEndian.Uint64(raw))
	if err := i.check(ctx, d, id); err != nil {
		i.Log.WarnContext(ctx, "the bank could not be asked when the payer returned", "payment", id, "error", err)
	}
	return i.load(ctx, d, id)
}

// Done counts what one pass did.
type Done struct {
	// Checked payments were asked about; Recovered ones had an attempt that
	// nobody was working on any more.
	Checked, Recovered int
}

// RunDue does what is due in a domain: it recovers interrupted attempts and
// asks banks about payments whose time has come, a batch of each. A failure
// with one payment is logged and leaves the others alone.
func (i *Initiation) RunDue(ctx context.Context, d passerelle.Domain) (Done, error) {
	var interrupted, due []int64
	err := i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ClaimAttempts(d.ID, i.lease(), batch, &interrupted)
		tx.DuePayments(d.ID, i.now(d), i.lease(), batch, &due)
		return nil
	})
	if err != nil {
		return Done{}, fmt.Errorf("claim due payments: %w", err)
	}
	for _, id := range interrupted {
		i.attend(ctx, d, passerelle.PaymentID(id), i.recover)
	}
	for _, id := range due {
		i.attend(ctx, d, passerelle.PaymentID(id), i.check)
	}
	return Done{Checked: len(due), Recovered: len(interrupted)}, ctx.Err()
}

func (i *Initiation) attend(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, do func(context.Context, passerelle.Domain, passerelle.PaymentID) error) {
	err := do(ctx, d, id)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		i.Log.WarnContext(ctx, "a due payment could not be attended to", "payment", id, "error", err)
	}
}

// recover settles an attempt whose caller died or was left without an answer.
// The bank is asked; the order is sent again only if the bank has never seen
// its key and is known to recognise keys.
func (i *Initiation) recover(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	p, a, c, err := i.conversation(ctx, d, id)
	if err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, i.answerTime())
	defer cancel()
	report, err := c.Status(call, i.order(d, p, a))
	if errors.Is(err, connector.ErrUnknownOrder) && c.Profile().Idempotent {
		report, err = c.Initiate(call, i.order(d, p, a))
	}
	if refused, isRefusal := asReport(err); isRefusal {
		report, err = refused, nil
	}
	if err != nil {
		return errors.Join(err, i.doubt(ctx, a))
	}
	return i.apply(ctx, d, p, a, report)
}

// doubt plans the next question about an attempt, waiting longer each time.
func (i *Initiation) doubt(ctx context.Context, a store.Attempt) error {
	wait := min(shortestWait<<min(a.Asked, 20), longestWait)
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DoubtAttempt(a, wait)
		return nil
	})
}

// check asks the bank about a payment that was sent and stores what it says.
func (i *Initiation) check(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	p, a, c, err := i.conversation(ctx, d, id)
	if err != nil || p.State.Final() || a.State != store.AttemptAnswered {
		return err
	}
	call, cancel := context.WithTimeout(ctx, i.answerTime())
	defer cancel()
	report, err := c.Status(call, i.order(d, p, a))
	if err != nil {
		return errors.Join(err, i.postpone(ctx, d, p, payment.Report{}))
	}
	return i.apply(ctx, d, p, a, report)
}

// conversation loads a payment, its attempt and the connector it went through.
func (i *Initiation) conversation(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) (*payment.Payment, store.Attempt, connector.Initiator, error) {
	p, err := i.load(ctx, d, id)
	if err != nil {
		return nil, store.Attempt{}, nil, err
	}
	a, err := i.DB.Attempt(ctx, d.ID, id)
	if err != nil {
		return nil, a, nil, fmt.Errorf("load the attempt of payment %d: %w", id, err)
	}
	c, known := i.Connectors.Initiator(a.Connector)
	if !known {
		return nil, a, nil, fmt.Errorf("payment %d went through connector %s, which this program does not have", id, a.Connector)
	}
	return p, a, c, nil
}

// apply stores what a report makes of a payment, in one transaction with the
// attempt's being answered. A stale report changes nothing.
func (i *Initiation) apply(ctx context.Context, d passerelle.Domain, p *payment.Payment, a store.Attempt, report payment.Report) error {
	before := *p
	steps, err := p.Apply(report, i.now(d))
	if errors.Is(err, payment.ErrStale) || (err == nil && a.State == store.AttemptAnswered && len(steps) == 0 && reflect.DeepEqual(before, *p)) {
		return i.postpone(ctx, d, &before, report)
	}
	if err != nil {
		return fmt.Errorf("apply the bank's report to payment %d: %w", p.ID, err)
	}
	return i.commit(ctx, d, p, steps, i.nextCheck(d, p, report), func(tx *store.Tx) {
		if a.State != store.AttemptAnswered {
			tx.AnswerAttempt(a)
		}
	})
}

// nextCheck is when the bank is to be asked again; never about a final state.
func (i *Initiation) nextCheck(d passerelle.Domain, p *payment.Payment, report payment.Report) *time.Time {
	if p.State.Final() {
		return nil
	}
	now := i.now(d)
	wait := report.CheckAfter
	if wait <= 0 {
		wait = min(max(now.Sub(p.Created)/4, shortestWait), longestWait)
	}
	next := now.Add(wait)
	return &next
}

// postpone plans the next question after an answer that changed nothing.
func (i *Initiation) postpone(ctx context.Context, d passerelle.Domain, p *payment.Payment, report payment.Report) error {
	next := i.nextCheck(d, p, report)
	if next == nil {
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PostponeCheck(p, *next)
		return nil
	})
}
