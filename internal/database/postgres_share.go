package database

import (
	"context"
	"errors"
	"sync"
	"time"
)

// sharing is the number of shared transactions that run at the same time. While one transaction
// waits for the disk, the next one collects its units.
const sharing = 2

// sharedLimit is the longest duration of a shared transaction up to COMMIT, and limitLocks limits
// its wait for a lock. Both are short, because no unit can leave or join a running transaction. A
// unit that needs more time gets its own transaction. There it may wait until the context of its
// caller ends.
const (
	sharedLimit = 5 * time.Second
	limitLocks  = `SET LOCAL lock_timeout = '1s'`
)

// sharedStatements limits the statements of a unit in a shared transaction, so that a group
// ends long before sharedLimit.
const sharedStatements = 64

// errApart tells a unit that the shared transaction failed and wrote nothing. The unit then needs
// its own transaction.
var errApart = errors.New("the shared transaction failed")

// sharers execute units that only add rows and change totals. Waiting units share a transaction.
// The transaction has a separate context, so that no caller can interrupt the units of other
// callers. This context ends soon, so that no unit waits much longer than its caller allows. The
// transaction has no savepoints. After a failure other than ErrUnknown, each unit runs in its own
// transaction and gets its own result.
type sharers struct {
	attempt func(ctx context.Context, statements []statement) error
	queue   chan *queued // unbuffered: a sent unit has already been taken
	stop    chan struct{}
	running sync.WaitGroup
	atLeast int // the smallest number of units in a group; only tests set it
}

func newSharers(attempt func(ctx context.Context, statements []statement) error, sharing int) *sharers {
	s := &sharers{attempt: attempt, queue: make(chan *queued), stop: make(chan struct{})}
	for range sharing {
		s.running.Go(s.run)
	}
	return s
}

// submit waits until a goroutine takes the unit, and fails if the context ends first. After a
// goroutine has taken the unit, submit waits for the outcome, even if the context ends. This second
// wait lasts at most sharedLimit and the time of a COMMIT.
func (s *sharers) submit(ctx context.Context, tx *Unit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &queued{unit: tx, done: make(chan error, 1)}
	select {
	case s.queue <- u:
		return <-u.done
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return ErrClosed
	}
}

func (s *sharers) run() {
	for {
		select {
		case first := <-s.queue:
			s.answer(gather(s.queue, first, s.atLeast, groupLimit))
		case <-s.stop:
			return
		}
	}
}

func (s *sharers) answer(group []*queued) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedLimit)
	defer cancel()
	statements := []statement{{sql: limitLocks}}
	units := make([]*Unit, len(group))
	required := map[string]bool{}
	for i, u := range group {
		units[i] = u.unit
		for _, s := range u.unit.statements {
			if s.requires {
				by := string(s.args[0].([]byte)) //nolint:errcheck // the argument of Require is always a []byte
				if required[by] {
					continue
				}
				required[by] = true
			}
			statements = append(statements, s)
		}
	}
	err := s.attempt(ctx, append(statements, tallies(units...)...))
	if err != nil && !errors.Is(err, ErrUnknown) {
		err = errApart
	}
	for _, u := range group {
		u.done <- err
	}
}

func (s *sharers) close() {
	close(s.stop)
	s.running.Wait()
}
