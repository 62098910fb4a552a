package delivery

import (
	"runtime"
	"sync"
)

// dbLimit returns the number of sessions of failing webhooks that may use the database at the same
// time. The limit leaves half of the processors free, if there are several. The database often runs
// on the same machine, and SQLite runs in this process.
func dbLimit() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// dbLimiter limits the database access of failing webhooks. A hundred runs of the flusher can
// become due at the same time. Without the limit, they would delay the deliveries of healthy
// webhooks. The channel `room` has dbLimit places. Each call of limitDB for a failing webhook takes
// one place. Requests in flight take no place.
type dbLimiter struct {
	once sync.Once
	room chan struct{}
}

// limitDB calls a function that uses the database. For a failing webhook, it first waits for a
// place.
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
