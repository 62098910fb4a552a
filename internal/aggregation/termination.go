package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/background"
	"passerelle/internal/bankcall"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// After a failure, the service tries again after a minute. Each later pause is twice as long, up to
// a day. terminationTime limits one call to the institution. An institution whose call fails after
// slowTermination is as good as silent: the connector may have a shorter limit of its own.
const (
	firstTermination   = time.Minute
	longestTermination = 24 * time.Hour
	terminationTime    = 30 * time.Second
	slowTermination    = 10 * time.Second
)

// TerminateConsents ends the due consents of deleted connections at their institutions, one domain
// after the other, at all institutions of a domain at the same time. After an institution has not
// responded in time, it leaves the other consents there to a later call, in all domains. An
// institution that does not respond therefore delays others only once. TerminateConsents logs each failure at an
// institution. A later call tries again, until Termination.Over reports true. A failure in one
// domain does not affect the others.
func (a *Aggregation) TerminateConsents(ctx context.Context, domains ...passerelle.Domain) error {
	silent := map[string]bool{} // by connector
	var failed error
	for _, d := range domains {
		failed = errors.Join(failed, a.terminateDue(ctx, d, silent))
	}
	return failed
}

func (a *Aggregation) terminateDue(ctx context.Context, d passerelle.Domain, silent map[string]bool) error {
	for {
		due, err := bankstore.From(a.DB).TerminationsDue(ctx, d.ID, a.now(d), slices.Sorted(maps.Keys(silent)), maxDue)
		if err == nil {
			err = a.terminateAll(ctx, d, due, silent)
		}
		if err != nil || len(due) < maxDue {
			return err
		}
	}
}

// terminateAll tries each termination once. It adds the connectors that do not respond to silent.
func (a *Aggregation) terminateAll(ctx context.Context, d passerelle.Domain, due []bankstore.Termination, silent map[string]bool) error {
	of := map[string][]bankstore.Termination{}
	for _, t := range due {
		of[t.Connector] = append(of[t.Connector], t)
	}
	var ending sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for uuid, all := range of {
		ending.Go(func() {
			var mute bool
			err := background.Guard(func() error { var err error; mute, err = a.terminateEach(ctx, d, all); return err })
			mu.Lock()
			defer mu.Unlock()
			if mute {
				silent[uuid] = true
			}
			errs = append(errs, err)
		})
	}
	ending.Wait()
	return errors.Join(errs...)
}

// terminateEach tries the terminations of one connector until the institution does not respond in
// time. It then returns true.
func (a *Aggregation) terminateEach(ctx context.Context, d passerelle.Domain, all []bankstore.Termination) (bool, error) {
	var failed error
	for _, t := range all {
		silent, err := a.terminate(ctx, d, t)
		failed = errors.Join(failed, err)
		if silent {
			return true, failed
		}
	}
	return false, failed
}

// terminate tries to end one consent. It returns true if the institution does not respond in time.
func (a *Aggregation) terminate(ctx context.Context, d passerelle.Domain, t bankstore.Termination) (bool, error) {
	now := a.now(d)
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).TryTermination(t, now.Add(min(firstTermination<<min(t.Tries, 11), longestTermination)))
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil // another process is trying
	}
	if err != nil {
		return false, fmt.Errorf("claim the termination of the consent of connection %d: %w", t.Connection, err)
	}
	begun := a.Now()
	failed := a.callTerminator(ctx, d, t)
	silent := failed != nil && (errors.Is(failed, context.DeadlineExceeded) || a.Now().Sub(begun) > slowTermination)
	if failed != nil {
		a.Log.Warn("a consent could not be ended at its institution", "connection", t.Connection, "connector", t.Connector, "try", t.Tries+1, "error", failed)
	}
	if failed != nil && !t.Over(now) {
		return silent, nil
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).EndTermination(t, a.now(d))
		tx.AfterCommit(a.Erase)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("store that the consent of connection %d has ended: %w", t.Connection, err)
	}
	return silent, err
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
		err := terminator.Terminate(ctx, request)
		if err != nil {
			err = errors.Join(err, ctx.Err())
		}
		return struct{}{}, err
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
