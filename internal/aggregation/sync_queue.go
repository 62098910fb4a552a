package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/background"
	"passerelle/internal/bankstore"
	"passerelle/internal/syncqueue"
)

// BeginDue does the same as RunDue, but does not wait until the connections have been read. A slow
// institution therefore delays only its own connections. When a reader has read the connections of
// its queue, it looks for connections that have become due. BeginDue also returns the errors of
// reads since the last call. Call AwaitReaders after the last call of BeginDue.
func (a *Aggregation) BeginDue(ctx context.Context, d passerelle.Domain) error {
	return errors.Join(a.LapseConsents(ctx, d), a.fillQueues(ctx, d), a.ExpireConnections(ctx, d), a.queues.TakeErrors())
}

// AwaitReaders returns when all reads that BeginDue began have ended. The reads end soon after the
// context of BeginDue ends. Call AwaitReaders when BeginDue is not running.
func (a *Aggregation) AwaitReaders() { a.queues.Await() }

// fillQueues adds due connections of a domain to the queues that are not busy.
func (a *Aggregation) fillQueues(ctx context.Context, d passerelle.Domain) error {
	except := map[string]bool{}
	for {
		a.queues.Busy(d.ID, except)
		due, err := a.due(ctx, d, except)
		if err != nil {
			return err
		}
		b := newBatch()
		a.queues.Add(d, due, b, func(c bankstore.Connection) { b.pending[c.User]++ }, func(key syncqueue.QueueKey) { a.readQueue(ctx, key) })
		if len(due) < maxDue {
			return nil
		}
		for _, c := range due {
			except[c.Connector] = true
		}
	}
}

// readQueue reads the connections of a queue until the queue is empty. Then it fills the queues of
// the domain again, unless the last connection could not be read.
func (a *Aggregation) readQueue(ctx context.Context, key syncqueue.QueueKey) {
	var done passerelle.ConnectionID
	read := false
	for {
		next, more := a.queues.Next(ctx, key, done)
		if !more {
			break
		}
		done = next.Connection.ID
		a.queues.KeepError(ctx, background.Guard(func() error { return a.readQueued(ctx, next, &read) }))
	}
	if read && ctx.Err() == nil {
		a.queues.KeepError(ctx, background.Guard(func() error { return a.refillQueues(ctx, key.Domain) }))
	}
}

// readQueued reads a connection. It sets *read if the connection was read, and clears it otherwise.
func (a *Aggregation) readQueued(ctx context.Context, next syncqueue.Queued[*batch], read *bool) error {
	run, err := a.readOne(ctx, next.Domain, next.Connection, false)
	*read = run != nil && err == nil
	return errors.Join(err, a.endQueued(ctx, next, run))
}

// refillQueues fills the queues of a domain whose clock may have changed.
func (a *Aggregation) refillQueues(ctx context.Context, id passerelle.DomainID) error {
	d, err := a.DB.Domain(ctx, id)
	if err != nil {
		return fmt.Errorf("load domain %d: %w", id, err)
	}
	return a.fillQueues(ctx, d)
}

// endQueued adds a run to its batch. After the user's last run in the batch, it emits USER_SYNCED
// if the user has two or more finished runs in the batch.
func (a *Aggregation) endQueued(ctx context.Context, queued syncqueue.Queued[*batch], run *syncRun) error {
	user := queued.Connection.User
	runs := queued.Batch.endOne(user, run)
	if len(runs) < 2 {
		return nil
	}
	if err := a.emitUserSynced(ctx, queued.Domain, user, runs); err != nil {
		return fmt.Errorf("emit USER_SYNCED of user %d: %w", user, err)
	}
	return nil
}
