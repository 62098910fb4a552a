package servicetest_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func eventCount(usual int) int { return amount("PASSERELLE_TEST_EVENTS", usual) }

const (
	changesOfPayment = 3
	replicaClients   = 8
)

// TestNoDuplicateWithoutFaults: without failures, no receiver gets a request twice, even from three
// processes.
func TestNoDuplicateWithoutFaults(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		noDuplicates(t, servicetest.StartProcess(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		p := servicetest.StartProcess(t, storetest.Postgres(t))
		noDuplicates(t, p, p.Replica(), p.Replica())
	})
}

func noDuplicates(t *testing.T, processes ...*servicetest.Process) {
	d := newDriver(t, processes...)
	l := newLedger(t, d, newReceiver(t, rand.New(rand.NewPCG(0, 0))), 20)
	started := time.Now()
	d.payAll(replicaClients, orders(eventCount(90)/changesOfPayment, nil, always))
	l.settle()
	t.Logf("%v for everything", time.Since(started).Round(time.Millisecond))
	for _, p := range processes {
		if status := p.Terminate(); status != 0 {
			t.Errorf("a process ended with status %d", status)
		}
	}
	l.check()
	l.checkOnce()
}

func (l *ledger) checkOnce() {
	l.t.Helper()
	for webhook, e := range l.endpoints {
		if a := e.account(); a.again > 0 || a.requests != len(a.accepted) {
			l.t.Errorf("webhook %d: %d requests for %d deliveries, %d accepted again", webhook, a.requests, len(a.accepted), a.again)
		}
	}
}

// TestRollingRestartLosesNothing restarts three processes, one after the other, while clients pay.
// Every event arrives once, because a stopping process finishes its requests.
func TestRollingRestartLosesNothing(t *testing.T) {
	p := servicetest.StartProcess(t, storetest.Postgres(t))
	processes := []*servicetest.Process{p, p.Replica(), p.Replica()}
	d := newDriver(t, processes...)
	l := newLedger(t, d, newReceiver(t, rand.New(rand.NewPCG(0, 0))), tortureEndpoints)
	l.behave(accepts, slowly)
	over, paying := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(paying)
		d.payAll(replicaClients, orders(math.MaxInt, over, always))
	}()
	for range amount("PASSERELLE_TEST_RESTARTS", 1) {
		for _, p := range processes {
			<-time.After(300 * time.Millisecond)
			if status := p.Terminate(); status != 0 {
				t.Errorf("a process ended with status %d", status)
			}
			p.Start()
		}
	}
	close(over)
	<-paying
	l.settle()
	l.check()
	l.checkOnce()
}

// leaseLeft selects the number of seconds until the last lease expires.
const leaseLeft = `SELECT max(lease_until) / 1000000 - extract(epoch FROM clock_timestamp())::bigint FROM webhook`

// TestAnotherReplicaTakesOver kills a process while it waits for receivers, so its leases remain.
// After these leases expire, the other process sends all deliveries.
func TestAnotherReplicaTakesOver(t *testing.T) {
	t.Parallel() // the test mostly waits
	p := servicetest.StartProcess(t, storetest.Postgres(t))
	p.Configure("webhooks.timeout_seconds", "5")
	p.Configure("webhooks.flush_interval_seconds", "1")
	other := p.Replica()
	d := newDriver(t, p)
	l := newLedger(t, d, newReceiver(t, rand.New(rand.NewPCG(0, 0))), tortureEndpoints)
	l.behave(hangs)
	d.payAll(1, orders(1, nil, always))
	l.awaitRequests()
	p.Kill()
	l.behave(accepts)

	l.stored = storetest.Inspect(t, p.Database())
	killed, held := time.Now(), l.stored.Count(leaseLeft)
	if held <= 0 {
		t.Fatal("the dead process held no lease")
	}
	d.use(other.BaseURL)
	d.payAll(replicaClients, orders(eventCount(60)/changesOfPayment, nil, always))
	// The test waits at most one and a half times the remaining time of the lease, because the
	// machine may be slow.
	l.awaitDelivery(killed.Add(time.Duration(held) * time.Second * 3 / 2))
	t.Logf("a lease of %d s was left behind; everything was delivered after %v", held, time.Since(killed).Round(time.Millisecond))
	l.check()
}

func (l *ledger) awaitRequests() {
	for _, e := range l.endpoints {
		for e.count() == 0 {
			<-time.After(time.Millisecond)
		}
	}
}

func (l *ledger) awaitDelivery(deadline time.Time) {
	for l.stored.Count(undelivered) > 0 && time.Now().Before(deadline) {
		<-time.After(50 * time.Millisecond)
	}
}
