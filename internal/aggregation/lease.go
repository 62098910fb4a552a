package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// runLease limits the time for which a connection stays locked after a crash. Each stored page
// renews the lease, and so does a timer during a call.
const runLease = time.Minute

// lease is a connection whose lease this process holds, with its user. The writes of a run use the
// lease. They fail once the lease has lapsed or the connection was deleted.
type lease struct {
	db *store.DB
	// now returns the present instant of the domain, and wake wakes the sender of webhooks.
	now    func() time.Time
	wake   func()
	holder string
	domain passerelle.Domain
	user   passerelle.User
	c      bankstore.Connection
	source bankstore.ConnectionSource
	// sources are all sources of the connection before the run.
	sources []bankstore.ConnectionSource
	// brokenOff means that the last run was interrupted.
	brokenOff bool
	// sync is the number of this run. The rows that the run changes store this number.
	sync int64
}

// write executes the statements of fn in one database transaction. It fails when the lease has
// lapsed, so that a late run does not write beside another run. Events get the next versions of the
// connection, in order. Events of a temporary user wait until the user is permanent.
func (l *lease) write(ctx context.Context, fn func(tx *store.Tx) error, events ...store.EmittedEvent) error {
	version := l.c.Version + int64(len(events))
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).KeepConnection(l.domain.ID, l.c.ID, l.holder, runLease)
		tx.HoldUserAs(l.user)
		if err := fn(tx); err != nil {
			return err
		}
		return l.emit(tx, version, events)
	})
	if errors.Is(err, store.ErrConflict) && l.userBecamePermanent(ctx) {
		return l.write(ctx, fn, events...)
	}
	if err != nil {
		return fmt.Errorf("store the data of connection %d: %w", l.c.ID, err)
	}
	l.c.Version = version
	return nil
}

func (l *lease) emit(tx *store.Tx, version int64, events []store.EmittedEvent) error {
	if len(events) == 0 {
		return nil
	}
	bankstore.In(tx).VersionConnection(l.domain.ID, l.c.ID, l.c.Version, version)
	tx.AfterCommit(l.wake)
	for i, e := range events {
		e.Domain, e.Subject, e.SubjectID, e.Version = l.domain.ID, string(webhook.SubjectConnection), int64(l.c.ID), l.c.Version+int64(i)+1
		e.User, e.Held, e.Created = l.user.ID, l.user.Permanent == nil, l.now()
		if err := tx.Emit(e); err != nil {
			return err
		}
	}
	return nil
}

// userBecamePermanent reports whether the user became permanent after the run loaded the user. Such
// a change makes a write fail. userBecamePermanent then updates the user of the lease.
func (l *lease) userBecamePermanent(ctx context.Context) bool {
	u, err := l.db.User(ctx, l.domain.ID, l.user.ID)
	changed := err == nil && (u.Permanent == nil) != (l.user.Permanent == nil)
	if changed {
		l.user = u
	}
	return changed
}

// create stores the connection and takes its lease, before the institution is called.
func (l *lease) create(ctx context.Context, values map[string]string, e store.Execution) error {
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		tx.HoldUserAs(l.user)
		if err := bankstore.In(tx).CreateConnection(&l.c, values, l.holder, runLease); err != nil {
			return err
		}
		l.source.Connection = l.c.ID
		if err := tx.Executed(e, int64(l.c.ID)); err != nil {
			return err
		}
		return bankstore.In(tx).CreateSource(l.domain.ID, &l.source)
	})
	if errors.Is(err, store.ErrConflict) && l.userBecamePermanent(ctx) {
		return l.create(ctx, values, e)
	}
	if err != nil {
		return fmt.Errorf("store a connection: %w", err)
	}
	l.sources = []bankstore.ConnectionSource{l.source}
	return nil
}

// take takes the lease, reads the connection and records the acts.
func (l *lease) take(ctx context.Context, acts []store.Audit) (bankstore.Leased, error) {
	var leased bankstore.Leased
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).BrokenOff(l.domain.ID, l.c.ID, &leased)
		bankstore.In(tx).LeaseConnection(l.domain.ID, l.c.ID, l.holder, runLease)
		bankstore.In(tx).Leased(l.domain.ID, l.c.ID, &leased)
		return tx.Audit(acts...)
	})
	if errors.Is(err, store.ErrConflict) {
		return leased, locked()
	}
	if err != nil {
		return leased, fmt.Errorf("lock connection %d: %w", l.c.ID, err)
	}
	if len(leased.Sources) == 0 {
		return leased, errors.Join(fmt.Errorf("connection %d has no source", l.c.ID), l.release(ctx))
	}
	l.c, l.source, l.sources, l.sync, l.brokenOff = leased.Connection, leased.Sources[0], leased.Sources, leased.Sync+1, leased.BrokenOff
	return leased, nil
}

func (l *lease) release(ctx context.Context) error {
	return l.db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		bankstore.In(tx).ReleaseConnection(l.domain.ID, l.c.ID, l.holder, l.brokenOff)
		return nil
	})
}

func (l *lease) save(ctx context.Context) error {
	err := l.write(ctx, func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(l.c, l.c.Version); return nil })
	if err == nil {
		l.c.StoredTry = l.c.NextTry
	}
	return err
}

// renew renews the lease. When the lease is lost, renew cancels the context of the caller. The call
// to the institution then ends, or the next write of the run fails.
func (l *lease) renew(ctx context.Context, end context.CancelCauseFunc) {
	err := l.db.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).KeepConnection(l.domain.ID, l.c.ID, l.holder, runLease)
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		end(err)
	}
}

// hold renews the lease at intervals until the returned function is called.
func (l *lease) hold(ctx context.Context) func() {
	ctx, cancel := context.WithCancelCause(ctx)
	over, interval := make(chan struct{}), renewalInterval
	go func() {
		defer close(over)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.renew(ctx, cancel)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel(nil)
		<-over
	}
}

const lockedCode = "connectionLocked"

// locked returns the error for a call while another run reads the connection.
func locked() error {
	return &passerelle.Error{Kind: passerelle.Conflict, Code: lockedCode, Message: "the connection is being synchronised; try again in a few seconds", RetryAfter: 2}
}
