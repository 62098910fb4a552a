package delivery

import (
	"runtime"
	"sync"
)

// dbLimit is how many at once may be at the database for webhooks in trouble: no
// more than keep half of the processors busy, since each has a counterpart in the
// database, on SQLite in this process and elsewhere often on this machine.
func dbLimit() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// dbLimiter keeps those who work for webhooks in trouble from crowding the database:
// runs of the flusher fall due together, and the news of the healthy would wait
// behind a hundred of them. Nobody holds it while a request is under way, nor
// passes it twice.
type dbLimiter struct {
	once sync.Once
	room chan struct{}
}

// limitDB does some work at the database, after others when the webhook is in
// trouble.
func (s *leaseSession) limitDB(work func()) {
	if !s.job.troubled {
		work()
		return
	}
	s.d.process.dbLimiter.once.Do(func() { s.d.process.dbLimiter.room = make(chan struct{}, dbLimit()) })
	s.d.process.dbLimiter.room <- struct{}{}
	defer func() { <-s.d.process.dbLimiter.room }()
	work()
}
