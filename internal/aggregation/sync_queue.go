package aggregation

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"passerelle"
	"passerelle/internal/background"
	"passerelle/internal/bankstore"
)

const (
	// maxReading limits how many connections of one connector in a domain the queues read at the
	// same time. It also limits the concurrent reads of a call of SyncDue or SyncAll.
	maxReading = 8
	// maxFurther limits the readers of all queues beyond the first reader of each queue. A slow
	// institution can use up these readers, but never the first reader of another queue.
	maxFurther = 64
	// maxReadErrors limits the errors that are kept until takeErrors returns them.
	maxReadErrors = 100
)

// syncQueues contains the connections that are to be read in the background, and the connections
// that its readers are reading. Each connector has a queue of its own in each domain.
type syncQueues struct {
	mu     sync.Mutex
	queues map[queueKey]*syncQueue
	// further counts the readers beyond the first reader of each queue.
	further int
	// paused contains the domains whose queues must stay empty. The value is true when add was
	// called in the meantime.
	paused map[passerelle.DomainID]bool
	// emptied is closed when a queue has become empty and its last reader has ended.
	emptied chan struct{}
	errs    []error
	readers sync.WaitGroup
}

type queueKey struct {
	domain    passerelle.DomainID
	connector string
}

type syncQueue struct {
	waiting []queuedSync
	// known contains the connections that wait and the connections that are being read.
	known   map[passerelle.ConnectionID]bool
	readers int
}

// queuedSync is a connection in a queue. domain has the clock with which the connection was listed.
type queuedSync struct {
	domain     passerelle.Domain
	connection bankstore.Connection
	batch      *batch
}

// BeginDue does the same as RunDue, but does not wait until the connections have been read. A slow
// institution therefore delays only its own connections. When a reader has read the connections of
// its queue, it looks for connections that have become due. BeginDue also returns the errors of
// reads since the last call. Call AwaitReaders after the last call of BeginDue.
func (a *Aggregation) BeginDue(ctx context.Context, d passerelle.Domain) error {
	return errors.Join(a.LapseConsents(ctx, d), a.fillQueues(ctx, d), a.ExpireConnections(ctx, d), a.queues.takeErrors())
}

// AwaitReaders returns when all reads that BeginDue began have ended. The reads end soon after the
// context of BeginDue ends. Call AwaitReaders when BeginDue is not running.
func (a *Aggregation) AwaitReaders() { a.queues.readers.Wait() }

// fillQueues adds due connections of a domain to the empty queues with fewer than maxReading
// readers.
func (a *Aggregation) fillQueues(ctx context.Context, d passerelle.Domain) error {
	except := map[string]bool{}
	for {
		a.queues.addBusy(d.ID, except)
		due, err := a.due(ctx, d, except)
		if err != nil {
			return err
		}
		for _, key := range a.queues.add(d, due) {
			a.queues.readers.Go(func() { a.readQueue(ctx, key) })
		}
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
func (a *Aggregation) readQueue(ctx context.Context, key queueKey) {
	var done passerelle.ConnectionID
	read := false
	for {
		next, more := a.queues.next(ctx, key, done)
		if !more {
			break
		}
		done = next.connection.ID
		a.queues.keepError(ctx, background.Guard(func() error { return a.readQueued(ctx, next, &read) }))
	}
	if read && ctx.Err() == nil {
		a.queues.keepError(ctx, background.Guard(func() error { return a.refillQueues(ctx, key.domain) }))
	}
}

// readQueued reads a connection. It sets *read if the connection was read, and clears it otherwise.
func (a *Aggregation) readQueued(ctx context.Context, next queuedSync, read *bool) error {
	run, err := a.readOne(ctx, next.domain, next.connection, false)
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
func (a *Aggregation) endQueued(ctx context.Context, queued queuedSync, run *syncRun) error {
	user := queued.connection.User
	runs := queued.batch.endOne(user, run)
	if len(runs) < 2 {
		return nil
	}
	if err := a.emitUserSynced(ctx, queued.domain, user, runs); err != nil {
		return fmt.Errorf("emit USER_SYNCED of user %d: %w", user, err)
	}
	return nil
}

// addBusy adds the connectors of a domain that need no further connections now: connections wait in
// their queues, or their queues have maxReading readers.
func (q *syncQueues) addBusy(d passerelle.DomainID, to map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, one := range q.queues {
		if key.domain == d && (len(one.waiting) > 0 || one.readers == maxReading) {
			to[key.connector] = true
		}
	}
}

// add adds connections of a domain to the queues. It returns the queues for which the caller must
// start a reader, once for each reader.
func (q *syncQueues) add(d passerelle.Domain, due []bankstore.Connection) []queueKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, paused := q.paused[d.ID]; paused {
		q.paused[d.ID] = true
		return nil
	}
	b := newBatch()
	for _, c := range due {
		one := q.queue(queueKey{d.ID, c.Connector})
		if !one.known[c.ID] {
			one.known[c.ID] = true
			one.waiting = append(one.waiting, queuedSync{d, c, b})
			b.pending[c.User]++
		}
	}
	var start []queueKey
	for key, one := range q.queues {
		for wanted := len(one.waiting); key.domain == d.ID && wanted > 0 && q.addReader(one); wanted-- {
			start = append(start, key)
		}
	}
	return start
}

func (q *syncQueues) queue(key queueKey) *syncQueue {
	if q.queues == nil {
		q.queues = map[queueKey]*syncQueue{}
	}
	if q.queues[key] == nil {
		q.queues[key] = &syncQueue{known: map[passerelle.ConnectionID]bool{}}
	}
	return q.queues[key]
}

// addReader adds a reader to a queue and returns true. It returns false when a limit does not
// permit the reader.
func (q *syncQueues) addReader(one *syncQueue) bool {
	switch {
	case one.readers == maxReading, one.readers > 0 && q.further == maxFurther:
		return false
	case one.readers > 0:
		q.further++
	}
	one.readers++
	return true
}

// contains reports whether a connection waits in a queue or is being read.
func (q *syncQueues) contains(d passerelle.DomainID, c bankstore.Connection) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.queues[queueKey{d, c.Connector}]
	return one != nil && one.known[c.ID]
}

// next returns the next connection of a queue. done is the connection that the reader has read, or
// zero. Without a next connection, or when ctx has ended, next ends the reader and returns false.
func (q *syncQueues) next(ctx context.Context, key queueKey, done passerelle.ConnectionID) (queuedSync, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.queues[key]
	delete(one.known, done)
	if ctx.Err() != nil {
		one.waiting = nil
	}
	if len(one.waiting) > 0 {
		next := one.waiting[0]
		one.waiting = one.waiting[1:]
		return next, true
	}
	if one.readers--; one.readers > 0 {
		q.further--
		return queuedSync{}, false
	}
	delete(q.queues, key)
	if q.emptied != nil {
		close(q.emptied)
		q.emptied = nil
	}
	return queuedSync{}, false
}

// pause keeps the queues of a domain empty until the returned function is called. pause returns
// when all connections in these queues have been read. The function reports whether add was called
// in the meantime.
func (q *syncQueues) pause(ctx context.Context, d passerelle.DomainID) (func() bool, error) {
	q.mu.Lock()
	if q.paused == nil {
		q.paused = map[passerelle.DomainID]bool{}
	}
	q.paused[d] = false
	q.mu.Unlock()
	resume := func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		wanted := q.paused[d]
		delete(q.paused, d)
		return wanted
	}
	for {
		emptied := q.untilEmpty(d)
		if emptied == nil {
			return resume, nil
		}
		select {
		case <-emptied:
		case <-ctx.Done():
			return resume, ctx.Err()
		}
	}
}

// untilEmpty returns a channel that is closed when a queue becomes empty. It returns nil when all
// queues of the domain are empty.
func (q *syncQueues) untilEmpty(d passerelle.DomainID) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.queues {
		if key.domain != d {
			continue
		}
		if q.emptied == nil {
			q.emptied = make(chan struct{})
		}
		return q.emptied
	}
	return nil
}

// keepError keeps the error of a read for takeErrors. It drops errors after the end of ctx.
func (q *syncQueues) keepError(ctx context.Context, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && ctx.Err() == nil && len(q.errs) < maxReadErrors {
		q.errs = append(q.errs, err)
	}
}

func (q *syncQueues) takeErrors() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := errors.Join(q.errs...)
	q.errs = nil
	return err
}
