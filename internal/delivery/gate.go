package delivery

import (
	"runtime"
	"sync"
)

// atGate is how many at once may be at the database for webhooks in trouble: no
// more than keep half of the processors busy, since each has a counterpart in the
// database, on SQLite in this process and elsewhere often on this machine.
func atGate() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// gate keeps those who work for webhooks in trouble from crowding the database:
// runs of the flusher fall due together, and the news of the healthy would wait
// behind a hundred of them. Nobody holds it while a request is under way, nor
// passes it twice.
type gate struct {
	once sync.Once
	room chan struct{}
}

// calmly does some work at the database, after others when the webhook is in
// trouble.
func (t *turn) calmly(work func()) {
	if !t.troubled {
		work()
		return
	}
	t.gate.once.Do(func() { t.gate.room = make(chan struct{}, atGate()) })
	t.gate.room <- struct{}{}
	defer func() { <-t.gate.room }()
	work()
}
