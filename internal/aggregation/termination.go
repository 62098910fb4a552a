package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// After a failure, the service tries again after a minute. Each later pause is twice as long, up to
// a day. terminationTime limits one call to the institution.
const (
	firstTermination   = time.Minute
	longestTermination = 24 * time.Hour
	terminationTime    = 30 * time.Second
)

// TerminateConsents ends the due consents of a domain's deleted connections at their institutions.
// It logs each failure at an institution. A later call tries again, until Termination.Over reports
// true.
func (a *Aggregation) TerminateConsents(ctx context.Context, d passerelle.Domain) error {
	due, err := bankstore.From(a.DB).TerminationsDue(ctx, d.ID, a.now(d), maxDue)
	for _, t := range due {
		err = errors.Join(err, a.terminate(ctx, d, t))
	}
	if err != nil || len(due) < maxDue {
		return err
	}
	return a.TerminateConsents(ctx, d)
}

func (a *Aggregation) terminate(ctx context.Context, d passerelle.Domain, t bankstore.Termination) error {
	now := a.now(d)
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).TryTermination(t, now.Add(min(firstTermination<<min(t.Tries, 11), longestTermination)))
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // another process is trying
	}
	if err != nil {
		return fmt.Errorf("claim the termination of the consent of connection %d: %w", t.Connection, err)
	}
	if failed := a.callTerminator(ctx, d, t); failed != nil {
		a.Log.Warn("a consent could not be ended at its institution", "connection", t.Connection, "connector", t.Connector, "try", t.Tries+1, "error", failed)
		if !t.Over(now) {
			return nil
		}
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).EndTermination(t, a.now(d))
		tx.AfterCommit(a.Erase)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store that the consent of connection %d has ended: %w", t.Connection, err)
	}
	return nil
}

func (a *Aggregation) callTerminator(ctx context.Context, d passerelle.Domain, t bankstore.Termination) error {
	if t.Sealed != nil {
		return fmt.Errorf("open the memory of the connection: %w", t.Sealed)
	}
	reader, _ := a.Connectors.DataReader(t.Connector)
	terminator, able := reader.(connector.Terminator)
	if !able {
		return errors.New("the connector is no longer offered")
	}
	request := connector.DataRequest{Domain: t.Domain, Connection: t.Connection, Memory: t.Memory, Save: a.saveTermination(t), Now: a.now(d)}
	_, err := bankcall.Do(ctx, bankcall.Limits{Connector: t.Connector, Deadline: terminationTime, Grace: lateGrace}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, terminator.Terminate(ctx, request)
	})
	return err
}

// saveTermination returns the function with which the connector stores its memory, such as a new
// token. The next try needs this memory. A failure is only logged.
func (a *Aggregation) saveTermination(t bankstore.Termination) func(context.Context, []byte) {
	return func(ctx context.Context, memory []byte) {
		err := a.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return bankstore.In(tx).SaveTermination(t, memory) })
		if err != nil {
			a.Log.Warn("the new memory of a connector could not be stored while its consent was being ended", "connection", t.Connection, "connector", t.Connector, "error", err)
		}
	}
}
