package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

const (
	// maxDue limits the connections, including deleted ones, in one list of due work.
	maxDue = 100
	// unattendedDay is the period in which reads without the user are counted.
	unattendedDay = 24 * time.Hour
)

// RunDue does the work that is due in a domain: it handles ended consents, reads connections, and
// removes connections that were never established. A failed step does not prevent the other steps.
// RunDue returns the number of connections that were due.
func (a *Aggregation) RunDue(ctx context.Context, d passerelle.Domain) (int, error) {
	errs := []error{a.LapseConsents(ctx, d)}
	var read int
	for range eraseBatches {
		n, err := a.SyncDue(ctx, d)
		read, errs = read+n, append(errs, err)
		if n == 0 || err != nil {
			break
		}
	}
	return read, errors.Join(append(errs, a.ExpireConnections(ctx, d))...)
}

// Withdrawn data, except the bodies of events, is erased in steps of leastStep to mostStep rows.
// When a step has taken longer than stepTime, the next step is smaller if possible. An ordinary
// write takes about as long as stepTime.
const (
	leastStep, mostStep = 10, 100
	stepTime            = 5 * time.Millisecond
)

// EraseWithdrawn erases withdrawn data of all domains in small steps. After each step, it waits for
// the duration of the step, so that others can write.
func (a *Aggregation) EraseWithdrawn(ctx context.Context) error {
	rows := mostStep
	for more := true; more && ctx.Err() == nil; {
		var err error
		begun := a.Now()
		if more, err = bankstore.EraseWithdrawn(ctx, a.DB, rows); err != nil {
			return err
		}
		took := a.Now().Sub(begun)
		if rows = min(2*rows, mostStep); took > stepTime {
			rows = max(rows/4, leastStep)
		}
		select {
		case <-time.After(took):
		case <-ctx.Done():
		}
	}
	return nil
}

// readOne reads a connection. The run is nil when the connection could not be locked, or when the
// connection was read or paused after the caller listed it.
func (a *Aggregation) readOne(ctx context.Context, d passerelle.Domain, c bankstore.Connection, attended bool) (*syncRun, error) {
	run, reader, err := a.takeLease(ctx, d, c.User, c.ID)
	var refused *passerelle.Error
	if errors.As(err, &refused) {
		return nil, a.skip(ctx, d, c) // the connection was deleted, another run is reading it, or its connector was removed
	}
	if err != nil {
		return nil, fmt.Errorf("read connection %d: %w", c.ID, err)
	}
	if run.lease.c.Sync != c.Sync || !attended && !run.lease.c.Active && run.lease.c.State != passerelle.Validating {
		return nil, run.lease.release(ctx) // the connection was read or paused after the caller listed it
	}
	run.attended = attended
	barred, err := run.barred(ctx)
	if !barred {
		err = a.read(ctx, run, reader, readRequest{attended: attended})
	}
	if err = a.errorOfLostLease(ctx, run.lease, err); errors.Is(err, passerelle.NotFound) || errors.Is(err, passerelle.Conflict) {
		return run, nil // the connection was deleted during the read, or another run has taken it over
	}
	return run, err
}

// skip handles a connection that could not be locked. It postpones the connection if its connector
// is not offered. Other connections, which are due later, can then be read.
func (a *Aggregation) skip(ctx context.Context, d passerelle.Domain, c bankstore.Connection) error {
	if _, offered := a.Connectors.DataReader(c.Connector); offered {
		return nil
	}
	return a.delay(ctx, d, c)
}

// delay postpones a connection that is due but cannot be read, so that it does not stay due.
func (a *Aggregation) delay(ctx context.Context, d passerelle.Domain, c bankstore.Connection) error {
	return a.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		bankstore.In(tx).PostponeConnection(c, a.now(d).Add(firstRetry))
		return nil
	})
}

// barred reports whether the user is away and a consent has ended, or the daily limit of the
// institution is reached. In this case, barred also ends the run and releases the connection.
func (run *syncRun) barred(ctx context.Context) (bool, error) {
	switch {
	case run.attended:
		return false, nil
	case run.lapsed() && !run.notified():
		return true, run.lapse(ctx)
	case !run.allowed():
		return true, run.postpone(ctx)
	}
	return false, nil
}

// notified reports whether the institution has sent a notification about a connection whose user is
// at the institution. Only a notification makes such a connection due. The user may then have given
// a new consent.
func (run *syncRun) notified() bool {
	c := run.lease.c
	there := c.State == passerelle.WebauthRequired || c.State == passerelle.Decoupled
	return there && c.NextTry != nil && !c.NextTry.After(run.started)
}

// allowed counts a read without the user, and reports whether the daily limit of the institution
// permits the read. It does not count a read of data that the user has just shared.
func (run *syncRun) allowed() bool {
	if run.lease.c.Soon {
		return true
	}
	bound := int64(run.profile.Data.UnattendedReads)
	if run.started.Sub(run.lease.c.UnattendedFrom) >= unattendedDay {
		run.lease.c.UnattendedFrom, run.lease.c.Unattended = run.started, 0
	}
	run.lease.c.Unattended++
	return bound == 0 || run.lease.c.Unattended <= bound
}

// postpone ends the run and sets the time at which the connection may be read again.
func (run *syncRun) postpone(ctx context.Context) error {
	next := run.lease.c.UnattendedFrom.Add(unattendedDay)
	run.lease.c.Unattended--
	return run.leave(ctx, &next)
}

// leave ends a run before its read begins, and sets the time of the next try.
func (run *syncRun) leave(ctx context.Context, next *time.Time) error {
	run.lease.c.NextTry = next
	return run.lease.write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).SaveConnection(run.lease.c, run.lease.c.Version)
		bankstore.In(tx).ReleaseConnection(run.lease.domain.ID, run.lease.c.ID, run.lease.holder, run.lease.brokenOff)
		return nil
	})
}

// ExpireConnections deletes a domain's connections that were not established in time. It leaves out
// a connection that was established after it was listed, and a connection that waits for a read or
// is being read.
func (a *Aggregation) ExpireConnections(ctx context.Context, d passerelle.Domain) error {
	expired, err := bankstore.From(a.DB).ConnectionsExpired(ctx, d.ID, a.now(d), maxDue)
	if err != nil {
		return fmt.Errorf("list unfinished connections: %w", err)
	}
	var errs []error
	for _, c := range expired {
		if a.queues.Contains(d.ID, c) {
			continue
		}
		err := a.disconnectWhile(ctx, d, c.User, c.ID, func(tx bankstore.Tx) { tx.HoldExpired(d.ID, c.ID, a.now(d)) })
		if err != nil && !errors.Is(err, passerelle.NotFound) && !errors.Is(err, store.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
