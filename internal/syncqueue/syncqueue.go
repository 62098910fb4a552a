// Package syncqueue chooses the connection that a process reads next in the background.
//
// It owns a queue of due connections for each connector in each domain, and the limits of
// concurrent reads. A slow institution therefore delays only its own connections. It does not know
// which connections are due, and does not read them.
//
// Only Pause can fail: it returns the error of its context. The package keeps the errors of reads
// until the caller takes them.
package syncqueue

import (
	"context"
	"errors"
	"sync"

	"passerelle"
	"passerelle/internal/bankstore"
)

const (
	// mostOfQueue limits how many connections of one queue are read at the same time.
	mostOfQueue = 8
	// mostFurther limits the readers of all queues beyond the first reader of each queue. A slow
	// institution can use up these readers, but never the first reader of another queue.
	mostFurther = 64
	// mostErrors limits the errors that are kept until TakeErrors returns them.
	mostErrors = 100
)

// Queues contains the connections that are to be read in the background, and the connections that
// readers are reading. The type B describes a batch of connections. The zero value is ready to use.
// The methods are safe for concurrent use.
type Queues[B any] struct {
	mu     sync.Mutex
	queues map[QueueKey]*queue[B]
	// further counts the readers beyond the first reader of each queue.
	further int
	// paused contains the domains whose queues must stay empty. The value is true when Add was
	// called in the meantime.
	paused map[passerelle.DomainID]bool
	// emptied is closed when a queue has become empty and its last reader has ended.
	emptied chan struct{}
	errs    []error
	readers sync.WaitGroup
}

// QueueKey identifies the queue of a connector in a domain.
type QueueKey struct {
	Domain    passerelle.DomainID
	Connector string
}

type queue[B any] struct {
	waiting []Queued[B]
	// known contains the connections that wait and the connections that are being read.
	known   map[passerelle.ConnectionID]bool
	readers int
}

// Queued is a connection in a queue. Domain has the clock with which the connection was listed.
type Queued[B any] struct {
	Domain     passerelle.Domain
	Connection bankstore.Connection
	Batch      B
}

// Await returns when all readers have ended. Call it when nobody calls Add.
func (q *Queues[B]) Await() { q.readers.Wait() }

// Busy adds the connectors of a domain that need no further connections now: connections wait in
// their queues, or their queues have as many readers as possible.
func (q *Queues[B]) Busy(d passerelle.DomainID, to map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, one := range q.queues {
		if key.Domain == d && (len(one.waiting) > 0 || one.readers == mostOfQueue) {
			to[key.Connector] = true
		}
	}
}

// Add adds connections of a domain to the queues as a batch. It calls enqueued for each connection
// that no queue contains yet. It starts the missing readers of the domain's queues, which call read.
func (q *Queues[B]) Add(d passerelle.Domain, due []bankstore.Connection, b B, enqueued func(bankstore.Connection), read func(QueueKey)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, paused := q.paused[d.ID]; paused {
		q.paused[d.ID] = true
		return
	}
	for _, c := range due {
		one := q.queue(QueueKey{d.ID, c.Connector})
		if !one.known[c.ID] {
			one.known[c.ID] = true
			one.waiting = append(one.waiting, Queued[B]{d, c, b})
			enqueued(c)
		}
	}
	for key, one := range q.queues {
		for wanted := len(one.waiting); key.Domain == d.ID && wanted > 0 && q.addReader(one); wanted-- {
			q.readers.Go(func() { read(key) })
		}
	}
}

func (q *Queues[B]) queue(key QueueKey) *queue[B] {
	if q.queues == nil {
		q.queues = map[QueueKey]*queue[B]{}
	}
	if q.queues[key] == nil {
		q.queues[key] = &queue[B]{known: map[passerelle.ConnectionID]bool{}}
	}
	return q.queues[key]
}

// addReader adds a reader to a queue and returns true. It returns false when a limit does not
// permit the reader.
func (q *Queues[B]) addReader(one *queue[B]) bool {
	switch {
	case one.readers == mostOfQueue, one.readers > 0 && q.further == mostFurther:
		return false
	case one.readers > 0:
		q.further++
	}
	one.readers++
	return true
}

// Contains reports whether a connection waits in a queue or is being read.
func (q *Queues[B]) Contains(d passerelle.DomainID, c bankstore.Connection) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.queues[QueueKey{d, c.Connector}]
	return one != nil && one.known[c.ID]
}

// Next returns the next connection of a queue. done is the connection that the reader has read, or
// zero. Without a next connection, or when ctx has ended, Next ends the reader and returns false.
func (q *Queues[B]) Next(ctx context.Context, key QueueKey, done passerelle.ConnectionID) (Queued[B], bool) {
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
		return Queued[B]{}, false
	}
	delete(q.queues, key)
	if q.emptied != nil {
		close(q.emptied)
		q.emptied = nil
	}
	return Queued[B]{}, false
}

// Pause keeps the queues of a domain empty until the returned function is called. Pause returns
// when all connections in these queues have been read. The function reports whether Add was called
// in the meantime.
func (q *Queues[B]) Pause(ctx context.Context, d passerelle.DomainID) (func() bool, error) {
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
func (q *Queues[B]) untilEmpty(d passerelle.DomainID) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.queues {
		if key.Domain != d {
			continue
		}
		if q.emptied == nil {
			q.emptied = make(chan struct{})
		}
		return q.emptied
	}
	return nil
}

// KeepError keeps the error of a read for TakeErrors. It drops errors after the end of ctx.
func (q *Queues[B]) KeepError(ctx context.Context, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil && ctx.Err() == nil && len(q.errs) < mostErrors {
		q.errs = append(q.errs, err)
	}
}

// TakeErrors returns the errors since its last call.
func (q *Queues[B]) TakeErrors() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := errors.Join(q.errs...)
	q.errs = nil
	return err
}
