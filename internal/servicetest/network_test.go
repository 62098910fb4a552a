package servicetest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

var manners = []struct {
	name string
	servicetest.Manner
}{
	{"refuses", servicetest.Manner{Refuse: true}},
	{"passes on nothing", servicetest.Manner{Silent: true}},
	{"passes on no answers", servicetest.Manner{HoldsAnswers: true}},
	{"delays by 50 ms", servicetest.Manner{Delay: 50 * time.Millisecond}},
	{"delays by 2 s", servicetest.Manner{Delay: 2 * time.Second}},
	{"passes on a byte a second", servicetest.Manner{Trickle: true}},
	{"resets when the answer begins", servicetest.Manner{Reset: true}},
	{"ends after a byte of the answer", servicetest.Manner{Truncate: 1}},
	{"ends after 100 bytes of an answer", servicetest.Manner{Truncate: 100}},
	{"refuses, and delays who is in", servicetest.Manner{Refuse: true, Delay: 200 * time.Millisecond}},
}

var links = []string{"service and database", "service and receivers", "clients and service"}

// TestNetwork plays random scenarios while clients pay, read accounts and receive events. In each
// scenario, the network fails in one way on one link.
func TestNetwork(t *testing.T) {
	t.Parallel() // the test mostly waits
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 1))
	database := storetest.Postgres(t)
	r := newReceiver(t, rand.New(rand.NewPCG(chosen, 2)))
	before := map[string]*servicetest.Network{
		links[0]: servicetest.StartNetwork(t, servicetest.HostOf(t, database)),
		links[1]: servicetest.StartNetwork(t, servicetest.HostOf(t, r.origin)),
	}
	p := servicetest.StartProcessWith(t, before[links[0]].Through(database), "PASSERELLE_DATABASE_TIMEOUT="+databaseTimeout.String())
	before[links[2]] = servicetest.StartNetwork(t, servicetest.HostOf(t, p.BaseURL))
	r.origin = before[links[1]].Through(r.origin)
	w := &networkFaults{t: t, process: p, networks: before}
	load{t: t, random: random, processes: []*servicetest.Process{p}, receiver: r, bases: []string{before[links[2]].Through(p.BaseURL)}}.run(func(l *ledger) {
		w.ledger = l
		all := random.Perm(len(links) * len(manners))
		for _, n := range all[:min(amount("PASSERELLE_TEST_NETWORKS", 3), len(all))] {
			w.play(links[n%len(links)], n/len(links))
		}
	})
}

const (
	// clientTimeout is longer than databaseTimeout. A call makes several queries, and the service
	// may have to ask PostgreSQL for the outcome of a COMMIT.
	databaseTimeout = 5 * time.Second
	clientTimeout   = 40 * time.Second
	recoverIn       = 30 * time.Second
)

type networkFaults struct {
	t        *testing.T
	process  *servicetest.Process
	networks map[string]*servicetest.Network
	ledger   *ledger
}

func (w *networkFaults) play(link string, n int) {
	w.t.Helper()
	d, name := w.ledger.d, fmt.Sprintf("the network between %s %s", link, manners[n].name)
	d.mu.Lock()
	d.longest = 0
	d.mu.Unlock()
	w.networks[link].Behave(manners[n].Manner)
	for over := time.Now().Add(amountOf("PASSERELLE_TEST_NETWORK_TIME", time.Second)); time.Now().Before(over); {
		w.lives(name)
	}
	w.networks[link].Behave(servicetest.Manner{})
	healed := time.Now()
	paid := len(d.paid())
	for len(d.paid()) < paid+tortureClients && time.Since(healed) < waitLimit {
		<-time.After(5 * time.Millisecond)
	}
	took := time.Since(healed)
	if took > recoverIn {
		w.t.Errorf("%s: clients paid again %v after it was well", name, took)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.longest > clientTimeout {
		w.t.Errorf("%s: somebody waited for %v", name, d.longest)
	}
	w.t.Logf("%s: the longest wait was %v, clients paid again %v after it was well", name, d.longest.Round(time.Millisecond), took.Round(time.Millisecond))
}

// lives sends a health check directly to the program.
func (w *networkFaults) lives(name string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + servicetest.HostOf(w.t, w.process.BaseURL) + "/healthz")
	if err != nil {
		w.t.Errorf("%s: the program does not answer: %v", name, err)
		return
	}
	_ = answer.Body.Close()
	<-time.After(50 * time.Millisecond)
}
