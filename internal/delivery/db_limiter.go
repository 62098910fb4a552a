package delivery

import (
	"runtime"
	"sync"
)

// dbLimit is how many sessions of failing webhooks may use the database at once: as
// many as keep half of the processors busy. The database often runs on this machine,
// and SQLite in this process.
func dbLimit() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// dbLimiter limits the database access of failing webhooks. A hundred runs of the
// flusher can fall due together, and the deliveries of healthy webhooks would wait
// behind them. No session holds a place while a request is in flight, or takes two.
type dbLimiter struct {
	once sync.Once
	room chan struct{}
}

// limitDB does work at the database. Work for a failing webhook waits for a place.
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
