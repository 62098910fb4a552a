package servicetest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

const (
	deadEndpoints = 100
	// steadyRate is the number of events per second.
	steadyRate = 50
	// unmeasured is the number of first events that the test does not measure: the service learns
	// that an endpoint is unreachable only when the first request to this endpoint fails.
	unmeasured = 4 * steadyRate
	// In one run, the flusher stops sending to a webhook after failuresOfRun failures in a row, or
	// after timeoutsOfRun timeouts. Before the first run, at most inFlight requests to a webhook
	// are under way.
	failuresOfRun = 10
	timeoutsOfRun = 2
	inFlight      = 8
)

// TestDeadEndpointsCostNothing: one receiver is healthy, and a hundred receivers fail. The failing
// receivers must get no more requests than the rules of the flusher allow. The healthy receiver
// must get every event.
//
// With PASSERELLE_TEST_PAIRS=N, the test also measures delivery times in N pairs. A pair is one
// measurement with failing receivers and one without. In the median pair, failing receivers may
// increase the 99th percentile by a factor of at most 1.5.
func TestDeadEndpointsCostNothing(t *testing.T) {
	databases := map[string]func(testing.TB) string{"sqlite": func(testing.TB) string { return "" }, "postgres": storetest.Postgres}
	for kind, database := range databases {
		for name, addFailing := range map[string]func(*fixture){"same event": (*fixture).addDead, "own backlog": (*fixture).addBacklogged} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				if pairs() == 0 {
					t.Parallel() // this run measures nothing, so other tests may run at the same time
				}
				costNothing(&setting{t, database, addFailing})
			})
		}
	}
}

type setting struct {
	t          *testing.T
	database   func(testing.TB) string
	addFailing func(*fixture)
}

func pairs() int { return amount("PASSERELLE_TEST_PAIRS", 0) }

func costNothing(in *setting) {
	t := in.t
	asked(in)
	var ratios []float64
	for n := range pairs() {
		runs := map[bool]time.Duration{}
		for _, isDead := range []bool{n%2 == 0, n%2 != 0} { // the order alternates, so the effect of warming up cancels out
			runs[isDead] = measured(in, isDead)
		}
		ratios = append(ratios, float64(runs[true]+time.Millisecond)/float64(runs[false]+time.Millisecond))
		t.Logf("p99 beside the dead %v, alone %v", runs[true], runs[false])
	}
	slices.Sort(ratios)
	if len(ratios) > 0 && ratios[len(ratios)/2] > 1.5 {
		t.Errorf("the dead make the healthy one's p99 %.2f times as long, by the median of %.2f", ratios[len(ratios)/2], ratios)
	}
}

type fixture struct {
	t         *testing.T
	process   *servicetest.Process
	d         *driver
	receiver  *receiver
	healthy   *endpoint
	received  chan receipt
	delivered int
	webhooks  []int64
	// dead has the failing receivers that accept connections, by their behaviour.
	dead map[manner][]*endpoint
}

type receipt struct {
	change
	at time.Time
}

type change struct {
	payment int64
	state   payment.State
}

func newFixture(in *setting, interval string) *fixture {
	t := in.t
	s := &fixture{t: t, process: servicetest.StartProcess(t, in.database(t)), received: make(chan receipt, 100_000), dead: map[manner][]*endpoint{}}
	s.process.Configure("webhooks.timeout_seconds", "3")
	s.process.Configure("webhooks.flush_interval_seconds", interval)
	s.d = newDriver(t, s.process)
	s.receiver = newReceiver(t, rand.New(rand.NewPCG(0, 0)))
	s.healthy = s.receiver.endpoint("/healthy")
	s.healthy.seen = func(_ int64, body string) {
		var p seenPayment
		_ = json.Unmarshal([]byte(body), &p)
		s.received <- receipt{change{p.ID, p.State}, time.Now()}
	}
	return s
}

func (s *fixture) addDead() {
	for n := range deadEndpoints {
		switch n % 3 {
		case 0:
			s.webhooks = append(s.webhooks, s.d.subscribe(stateUpdated, &endpoint{url: "http://" + servicetest.FreeAddress(s.t)}))
		case 1:
			s.addAsked(hangs, n)
		case 2:
			s.addAsked(refuses, n)
		}
	}
}

func (s *fixture) addAsked(how manner, n int) {
	e := s.receiver.endpoint(fmt.Sprint("/dead/", n))
	e.behave(how)
	s.dead[how] = append(s.dead[how], e)
	s.webhooks = append(s.webhooks, s.d.subscribe(stateUpdated, e))
}

// addBacklogged gives the failing endpoints a long backlog, and then subscribes them to an event
// that does not occur.
func (s *fixture) addBacklogged() {
	s.addDead()
	s.d.payAll(replicaClients, orders(eventCount(60)/changesOfPayment, nil, always))
	for _, webhook := range s.webhooks {
		s.d.call("PUT", fmt.Sprint("/webhooks/", webhook), s.d.config, map[string]any{"event": "USER_DELETED"})
	}
}

func asked(in *setting) {
	t, s := in.t, newFixture(in, "3600")
	in.addFailing(s)
	s.d.subscribe(stateUpdated, s.healthy)
	s.drive(amountOfChanges())
	const runs = 2
	for range runs {
		s.d.call("POST", "/sandbox/clock", s.d.config, map[string]any{"advance": "1h1m"})
	}
	for how, most := range map[manner]int{refuses: failuresOfRun * (1 + runs), hangs: inFlight + timeoutsOfRun*runs} {
		var counts []int
		for _, e := range s.dead[how] {
			counts = append(counts, e.count())
		}
		if slices.Min(counts) < 1+runs || slices.Max(counts) > most {
			t.Errorf("the dead of manner %d got %v requests each in %d runs, want %d to %d", how, counts, runs, 1+runs, most)
		}
	}
}

func amountOfChanges() int { return eventCount(60) / changesOfPayment * changesOfPayment }

// measured returns the 99th percentile of the delivery times to the healthy endpoint.
func measured(in *setting, isDead bool) time.Duration {
	s := newFixture(in, "60")
	defer s.process.Kill()
	if isDead {
		in.addFailing(s)
	} else {
		s.d.payAll(replicaClients, orders(eventCount(60)/changesOfPayment, nil, always)) // this makes as many events as addBacklogged
	}
	s.d.subscribe(stateUpdated, s.healthy)
	s.drive(unmeasured / changesOfPayment * changesOfPayment)
	took := s.drive(amountOfChanges())
	slices.Sort(took)
	return took[len(took)*99/100]
}

// drive changes payments at a steady rate. For each change, it returns the time between the
// response and the arrival of the event at the healthy endpoint.
func (s *fixture) drive(changes int) (took []time.Duration) {
	s.t.Helper()
	all := make([]*mover, changes/changesOfPayment)
	for n := range all {
		o := &order{}
		if _, seen := s.d.inspect(o); !seen {
			s.t.Fatal("a payment could not be created")
		}
		all[n] = &mover{id: o.id, state: payment.Created}
	}
	var (
		mu       sync.Mutex
		answered = map[change]time.Time{}
		moving   sync.WaitGroup
	)
	tick := time.NewTicker(time.Second / steadyRate)
	defer tick.Stop()
	for n := range changes {
		<-tick.C
		moving.Go(func() {
			c := all[n%len(all)].move(s.d)
			mu.Lock()
			defer mu.Unlock()
			answered[c] = time.Now()
		})
	}
	moving.Wait()
	return s.compare(answered)
}

type mover struct {
	mu    sync.Mutex
	id    int64
	state payment.State
}

func (s *mover) move(d *driver) change {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = ahead[s.state]
	d.call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", s.id), d.config, map[string]any{"state": s.state})
	return change{s.id, s.state}
}

func (s *fixture) compare(answered map[change]time.Time) (took []time.Duration) {
	s.t.Helper()
	last := map[int64]payment.State{}
	timeout := time.After(waitLimit)
	for range answered {
		select {
		case r := <-s.received:
			if ahead[cmp.Or(last[r.payment], payment.Created)] != r.state {
				s.t.Errorf("payment %d: the healthy endpoint got %s after %q", r.payment, r.state, last[r.payment])
			}
			last[r.payment] = r.state
			took = append(took, max(0, r.at.Sub(answered[r.change])))
		case <-timeout:
			s.t.Fatalf("the healthy endpoint got %d of %d", len(took), len(answered))
		}
	}
	s.delivered += len(answered)
	if a := s.healthy.account(); a.again > 0 || a.requests != s.delivered {
		s.t.Errorf("the healthy endpoint got %d requests for %d changes", a.requests, s.delivered)
	}
	return took
}
