package delivery

import (
	"runtime"
	"sync"
)

// dbLimit returns how many sessions of failing webhooks may use the database at the same time.
// It leaves half of the processors free, because the database often runs on the same machine,
// and SQLite in the same process.
func dbLimit() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// dbLimiter limits the database access of failing webhooks. A hundred runs of the flusher can
// become due at the same time, and would otherwise delay the deliveries of healthy webhooks. A
// session takes one place at a time, and holds none while a request is in flight.
type dbLimiter struct {
	once sync.Once
	room chan struct{}
}

// limitDB calls work, which uses the database. For a failing webhook it waits for a place first.
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
