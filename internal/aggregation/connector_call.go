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
	"passerelle/internal/bankcall"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// A connector is not trusted: it may return invalid data, ignore errors, or continue after its
// deadline. This file and package bankcall protect the run.

// lateGrace is the time in which a connector may still return after its deadline. renewalInterval
// is the time between two renewals of the lease during the call. Only tests change these times.
var (
	lateGrace       = 10 * time.Second
	renewalInterval = runLease / 5
)

var errRunOver = errors.New("the run is over")

// callConnector calls a connector to read, and renews the lease during the call. The run ends when
// the lease is lost: the connection was deleted, or another run reads it.
func (run *syncRun) callConnector(ctx context.Context, reader connector.DataReader, with connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limits := bankcall.Limits{Connector: run.lease.c.Connector, Deadline: maxRunTime, Grace: lateGrace, Interval: renewalInterval, Meanwhile: func() { run.lease.renew(ctx, cancel) }}
	return bankcall.Do(ctx, limits, func(ctx context.Context) (connector.Outcome, error) { return reader.Read(ctx, with, out) })
}

// errorOfLostLease returns err, unless err is a conflict. After a conflict, it returns the error
// for a deleted connection, or for a connection that another run has taken over.
func (a *Aggregation) errorOfLostLease(ctx context.Context, l *lease, err error) error {
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	if _, gone := a.Connection(ctx, l.domain, l.user.ID, l.c.ID); gone != nil {
		return gone
	}
	return locked()
}

// sink passes a connector's data to the importer, one call at a time. It stops passing data after a
// failure, even when the connector ignores the failure, and after the end of the run.
type sink struct {
	mu       sync.Mutex
	importer *importer
	err      error
}

func (s *sink) pass(take func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = take()
	}
	return s.err
}

// close closes the sink, and returns the sink's failure.
func (s *sink) close() error {
	var fault error
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, s.err = s.err, errRunOver
	return fault
}

func (s *sink) Accounts(all []passerelle.AccountDetails) error {
	return s.pass(func() error { return s.importer.Accounts(all) })
}

func (s *sink) Wanted(account string) (passerelle.Date, bool) {
	from, wanted := passerelle.Date{}, false
	_ = s.pass(func() error { from, wanted = s.importer.Wanted(account); return nil }) // without a call, wanted stays false
	return from, wanted
}

func (s *sink) Transactions(account string, page []passerelle.TransactionDetails) error {
	return s.pass(func() error { return s.importer.Transactions(account, page) })
}

// Gone marks transactions as deleted after a statement file has corrected them. Package statements
// calls it.
func (s *sink) Gone(account string, from passerelle.Date, matches func(key string) bool) error {
	return s.pass(func() error { return s.importer.Gone(account, from, matches) })
}

func (s *sink) Assets(account string, page passerelle.Assets) error {
	return s.pass(func() error { return s.importer.Assets(account, page) })
}

func (s *sink) AccountRead(account string, from passerelle.Date) error {
	return s.pass(func() error { return s.importer.AccountRead(account, from) })
}

func (s *sink) Subscriptions(all []passerelle.SubscriptionDetails) error {
	return s.pass(func() error { return s.importer.Subscriptions(all) })
}

func (s *sink) SubscriptionWanted(subscription string) bool {
	wanted := false
	_ = s.pass(func() error { wanted = s.importer.SubscriptionWanted(subscription); return nil })
	return wanted
}

func (s *sink) Documents(subscription string, page []passerelle.DocumentDetails) error {
	return s.pass(func() error { return s.importer.Documents(subscription, page) })
}

func (s *sink) SubscriptionRead(subscription string) error {
	return s.pass(func() error { return s.importer.SubscriptionRead(subscription) })
}

// atFault reports whether an error shows a fault of the connector itself.
func atFault(err error) bool {
	return errors.Is(err, connector.ErrPanicked) || errors.Is(err, errInvalidData)
}

// unread reports whether a call returned no usable outcome for a reason outside the connector, such
// as a cancellation.
func unread(outcome connector.Outcome, err error) bool {
	return err == nil && outcome.State == passerelle.WebsiteUnavailable || err != nil && !atFault(err)
}

// outcomeOf returns the outcome that is stored for a run. The run may have failed. A fault of the
// connector, or a failure of the store before the deadline, has the state Bug. Any other read that
// was interrupted or took too long has the state that the connector returned. If the connector
// returned no state, or an invalid state or memory, the state is WebsiteUnavailable.
func (run *syncRun) outcomeOf(outcome connector.Outcome, err error, late bool) connector.Outcome {
	if err == nil {
		outcome, err = bounded(outcome, run.started)
	}
	switch {
	case err == nil:
		return outcome
	case atFault(err):
		run.log.Error("a connector is at fault", "connection", run.lease.c.ID, "connector", run.lease.c.Connector, "error", err)
		return connector.Outcome{State: passerelle.Bug}
	case errors.Is(err, errStore) && !late:
		return connector.Outcome{State: passerelle.Bug}
	}
	run.log.Warn("a synchronisation broke off", "connection", run.lease.c.ID, "connector", run.lease.c.Connector, "error", err)
	broken, wrong := bounded(connector.Outcome{State: outcome.State, Memory: outcome.Memory, RetryAfter: outcome.RetryAfter}, run.started)
	if wrong != nil || broken.State == "" {
		broken.State = passerelle.WebsiteUnavailable
	}
	return broken
}

// These are the limits of an outcome.
const (
	maxMessage    = 1000
	maxAddress    = 8192 // the same limit as for the pages of payments
	maxMemory     = 1 << 20
	maxFields     = 192 << 10
	maxRetryAfter = 7 * 24 * time.Hour
	maxConsent    = 10 * 366 * 24 * time.Hour
)

// bounded limits an outcome so that it can be stored and shown.
func bounded(o connector.Outcome, now time.Time) (connector.Outcome, error) {
	switch {
	case !o.State.Known() || o.State == passerelle.Validating:
		return o, fmt.Errorf("%w: no run ends in such a state", errInvalidData)
	case len(o.Memory) > maxMemory || len(o.URL) > maxAddress || len(wire.Encode(o.Fields)) > maxFields:
		return o, fmt.Errorf("%w: a run leaves at most %d bytes, an address of %d and fields of %d", errInvalidData, maxMemory, maxAddress, maxFields)
	case o.ConsentUntil != nil && (o.ConsentUntil.Before(now) || o.ConsentUntil.Sub(now) > maxConsent):
		return o, fmt.Errorf("%w: a consent ends after now, and within ten years", errInvalidData)
	}
	if err := o.Check(); err != nil {
		return o, fmt.Errorf("%w: %w", errInvalidData, err)
	}
	o.Message, o.URL = passerelle.Excerpt(storable(o.Message), maxMessage), storable(o.URL)
	o.RetryAfter = min(o.RetryAfter, maxRetryAfter)
	return o, nil
}

// storable replaces characters that some databases cannot store: NUL, and invalid UTF-8 such as
// half of a surrogate pair.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
