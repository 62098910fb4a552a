package aggregation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// A connector is a stranger: it may be silent, give nonsense, panic, heed no
// error and no deadline, or go on when nobody listens any more. What is here
// stands between it and the visit.

// patience is how long after its deadline a connector may still come back, and
// beat how often the lease is renewed while it says nothing. Only tests change
// them.
var (
	patience = 10 * time.Second
	beat     = visitLease / 5
)

var (
	errDeaf = errors.New("the connector does not heed its deadline")
	errOver = errors.New("the visit is over")
)

// answer is what came back from a connector.
type answer struct {
	outcome connector.Outcome
	err     error
}

// converse has a connector read, in another goroutine, and keeps the lease
// meanwhile. When the lease is lost, because the connection is gone or because
// somebody else reads, so is the visit. A connector that does not come back is
// left behind.
func (v *visit) converse(ctx context.Context, reader connector.DataReader, with connector.Visit, out connector.Sink) (connector.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: connector.ErrPanicked} // and whatever else ends a goroutine
		defer func() { answers <- a }()
		a.err = connector.Guard(func() (err error) {
			a.outcome, err = reader.Read(ctx, with, out)
			return err
		})
	}()
	pulse := time.NewTicker(beat)
	defer pulse.Stop()
	for {
		select {
		case a := <-answers:
			return a.outcome, a.err
		case <-pulse.C:
			v.keep(ctx, cancel)
		case <-ctx.Done():
			return lastWord(answers)
		}
	}
}

// lastWord is the answer of a connector whose time is up.
func lastWord(answers <-chan answer) (connector.Outcome, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.outcome, a.err
	case <-timer.C:
		return connector.Outcome{}, errDeaf
	}
}

// keep renews the lease, and ends the visit when it is lost.
func (v *visit) keep(ctx context.Context, end context.CancelCauseFunc) {
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepConnection(v.domain.ID, v.c.ID, v.holder, visitLease)
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		end(err)
	}
}

// lost is the answer of a visit that ended with an error: its connection may
// have been deleted meanwhile, or taken over.
func (v *visit) lost(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	if _, gone := v.Connection(ctx, v.domain, v.user.ID, v.c.ID); gone != nil {
		return gone
	}
	return locked()
}

// sink hands what a connector gives to the intake: one call at a time, nothing
// after the first that failed, whether the connector heeds that or not, and
// nothing once the visit is over.
type sink struct {
	mu     sync.Mutex
	intake *intake
	fault  error
}

func (s *sink) give(take func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil {
		s.fault = take()
	}
	return s.fault
}

// close ends the giving, and says what it failed of.
func (s *sink) close() (fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, s.fault = s.fault, errOver
	return fault
}

func (s *sink) Accounts(all []passerelle.AccountDetails) error {
	return s.give(func() error { return s.intake.Accounts(all) })
}

func (s *sink) Wanted(account string) (from passerelle.Date, wanted bool) {
	err := s.give(func() error {
		from, wanted = s.intake.Wanted(account)
		return nil
	})
	return from, wanted && err == nil
}

func (s *sink) Transactions(account string, page []passerelle.TransactionDetails) error {
	return s.give(func() error { return s.intake.Transactions(account, page) })
}

func (s *sink) Wealth(account string, page passerelle.Wealth) error {
	return s.give(func() error { return s.intake.Wealth(account, page) })
}

func (s *sink) AccountRead(account string, from passerelle.Date) error {
	return s.give(func() error { return s.intake.AccountRead(account, from) })
}

func (s *sink) Subscriptions(all []passerelle.SubscriptionDetails) error {
	return s.give(func() error { return s.intake.Subscriptions(all) })
}

func (s *sink) SubscriptionWanted(subscription string) (wanted bool) {
	err := s.give(func() error {
		wanted = s.intake.SubscriptionWanted(subscription)
		return nil
	})
	return wanted && err == nil
}

func (s *sink) Documents(subscription string, page []passerelle.DocumentDetails) error {
	return s.give(func() error { return s.intake.Documents(subscription, page) })
}

func (s *sink) SubscriptionRead(subscription string) error {
	return s.give(func() error { return s.intake.SubscriptionRead(subscription) })
}

// settled is how a visit ended, whatever came of it. One that broke off, or
// whose time was up, is tried again like one of a site that is away; one whose
// connector is at fault, or that could not be stored, says so.
func (v *visit) settled(outcome connector.Outcome, err error, late bool) connector.Outcome {
	if err == nil {
		outcome, err = bounded(outcome, v.started)
	}
	switch {
	case err == nil:
		return outcome
	case errors.Is(err, connector.ErrPanicked) || errors.Is(err, errNonsense):
		v.Log.Error("a connector is at fault", "connection", v.c.ID, "connector", v.c.Connector, "error", err)
		return connector.Outcome{State: passerelle.Bug}
	case errors.Is(err, errStore) && !late:
		return connector.Outcome{State: passerelle.Bug}
	}
	v.Log.Warn("a visit broke off", "connection", v.c.ID, "connector", v.c.Connector, "error", err)
	return connector.Outcome{State: passerelle.WebsiteUnavailable}
}

// The bounds of what a visit may end with.
const (
	maxMessage    = 1000
	maxMemory     = 1 << 20
	maxFields     = 64 << 10
	maxRetryAfter = 7 * 24 * time.Hour
	maxConsent    = 10 * 366 * 24 * time.Hour
)

// bounded is an outcome as it can be stored and shown.
func bounded(o connector.Outcome, now time.Time) (connector.Outcome, error) {
	switch {
	case !o.State.Known() || o.State == passerelle.Validating:
		return o, fmt.Errorf("%w: no visit ends in such a state", errNonsense)
	case len(o.Memory) > maxMemory || len(o.URL) > maxMessage || len(wire.Encode(o.Fields)) > maxFields:
		return o, fmt.Errorf("%w: a visit leaves at most %d bytes, an address of %d and fields of %d", errNonsense, maxMemory, maxMessage, maxFields)
	case o.ConsentUntil != nil && (o.ConsentUntil.Before(now) || o.ConsentUntil.Sub(now) > maxConsent):
		return o, fmt.Errorf("%w: no consent lasts until %s", errNonsense, o.ConsentUntil)
	}
	o.Message, o.URL = legible(o.Message), legible(o.URL)
	if runes := []rune(o.Message); len(runes) > maxMessage {
		o.Message = string(runes[:maxMessage-1]) + "…"
	}
	o.RetryAfter = min(o.RetryAfter, maxRetryAfter)
	return o, nil
}

// legible is a text that both databases can keep: without what is not UTF-8,
// such as half of a surrogate pair, and without NUL.
func legible(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
