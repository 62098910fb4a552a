package servicetest_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"passerelle/internal/servicetest"
)

const tortureReaders = 2

// load has clients that pay, users who read their accounts, and receivers of events.
type load struct {
	t         *testing.T
	random    *rand.Rand
	processes []*servicetest.Process
	// If receiver is nil, run starts one. If bases is nil, clients use the addresses of the
	// processes.
	receiver *receiver
	bases    []string
	// timeout limits webhook requests, in seconds. The default is 1.
	timeout string
}

func (o load) run(do func(*ledger)) {
	o.t.Helper()
	p := o.processes[0]
	p.Configure("webhooks.timeout_seconds", cmp.Or(o.timeout, "1"))
	p.Configure("webhooks.flush_interval_seconds", "1")
	p.Configure("auth.user_token_expire", "1440")
	d, r := newDriver(o.t, o.processes...), o.receiver
	d.rests = usualRest()
	if o.bases != nil {
		d.bases = o.bases
	}
	if r == nil {
		r = newReceiver(o.t, rand.New(rand.NewPCG(o.random.Uint64(), 2)))
	}
	l := newLedger(o.t, d, r, tortureEndpoints)
	l.add(synced, r.endpoint("/connections/1"))
	l.add(synced, r.endpoint("/connections/2"))

	over, paying, simulated := make(chan struct{}), make(chan struct{}), coin(rand.New(rand.NewPCG(o.random.Uint64(), 3)))
	go func() {
		defer close(paying)
		d.payAll(tortureClients, orders(math.MaxInt, over, simulated))
	}()
	syncing := make(chan map[int64]bool, 1)
	go func() { syncing <- d.sync(over) }()
	l.people.connectAndRead(tortureReaders, over)
	do(l)
	close(over)
	l.behave(accepts)
	<-paying
	reported, readers := <-syncing, l.people.gone()

	l.settle()
	l.check()
	l.checkDelivered(reported)
	d.checkReaders(readers)
	d.checkSubmissions()
	d.checkAnswers()
	p.Doctor()
	for _, p := range o.processes {
		p.Kill()
	}
}
