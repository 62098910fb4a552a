//go:build torture

package servicetest_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestNothingIsLostToKills kills the program, PostgreSQL or both at random moments while clients
// pay. Each change of each payment must reach every subscribed receiver, in order and with the same
// bytes each time. The bank must receive each order once.
//
// PASSERELLE_TEST_SEED repeats a run except for its timing.
func TestNothingIsLostToKills(t *testing.T) { killOnEach(t, surviveKills) }

// killOnEach starts the program on SQLite, on PostgreSQL, and on a PostgreSQL server that is killed
// too. It calls survive with the number of kills of the program and of the database.
func killOnEach(t *testing.T, survive func(t *testing.T, p *servicetest.Process, c *servicetest.Cluster, kills, databaseKills int)) {
	t.Parallel()
	kills := amount("PASSERELLE_TEST_KILLS", 5)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		survive(t, servicetest.StartProcess(t, ""), nil, kills, 0)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		survive(t, servicetest.StartProcess(t, storetest.Postgres(t)), nil, kills, 0)
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		databaseKills := amount("PASSERELLE_TEST_DATABASE_KILLS", 2)
		c := servicetest.StartCluster(t)
		survive(t, servicetest.StartProcess(t, c.URL()), c, databaseKills/4, databaseKills)
	})
}

func surviveKills(t *testing.T, p *servicetest.Process, c *servicetest.Cluster, kills, databaseKills int) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 1))
	p.Configure("webhooks.timeout_seconds", "1")
	p.Configure("webhooks.flush_interval_seconds", "1")
	d := newDriver(t, p)
	r := newReceiver(t, rand.New(rand.NewPCG(chosen, 2)))
	l := newLedger(t, d, r, tortureEndpoints)
	l.add(synced, r.endpoint("/connections/1"))
	l.add(synced, r.endpoint("/connections/2"))

	over := make(chan struct{})
	paying := make(chan struct{})
	go func() {
		defer close(paying)
		d.payAll(tortureClients, orders(math.MaxInt, over, coin(rand.New(rand.NewPCG(chosen, 3)))))
	}()
	syncing := make(chan map[int64]bool, 1)
	go func() { syncing <- d.sync(over) }()
	f := &crashPlan{process: p, cluster: c, ledger: l, random: random}
	started := time.Now()
	f.strike(kills, databaseKills)
	t.Logf("%d kills of the program and %d of the database in %v", kills, databaseKills, time.Since(started).Round(time.Second))
	close(over)
	l.behave(accepts)
	<-paying
	reported := <-syncing

	l.settle()
	l.check()
	l.checkDelivered(reported)
	p.Doctor()
	p.Kill()
	d.checkSubmissions()
}

type crashPlan struct {
	process *servicetest.Process
	cluster *servicetest.Cluster
	ledger  *ledger
	random  *rand.Rand
}

func (f *crashPlan) strike(kills, databaseKills int) {
	blows := append(slices.Repeat([]func(){f.killProgram}, kills), slices.Repeat([]func(){f.killDatabase}, databaseKills)...)
	f.random.Shuffle(len(blows), func(i, j int) { blows[i], blows[j] = blows[j], blows[i] })
	for _, blow := range blows {
		f.changeBehaviours()
		f.letLive()
		blow()
	}
}

// letLive waits until the receivers have got a random number of further requests, at most 100. It
// waits for at most a second, because the leases of killed processes may delay requests.
func (f *crashPlan) letLive() {
	enough := f.ledger.requests() + 1 + f.random.IntN(100)
	for deadline := time.Now().Add(time.Second); f.ledger.requests() < enough && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
}

func (f *crashPlan) killProgram() {
	f.ledger.d.disturb()
	f.process.Kill()
	f.process.Start()
}

func (f *crashPlan) killDatabase() {
	f.ledger.d.disturb()
	f.cluster.Kill()
	both := f.random.IntN(3) == 0
	if both {
		f.process.Kill()
	}
	<-time.After(time.Duration(f.random.IntN(200)) * time.Millisecond)
	f.cluster.Start()
	if both {
		f.process.Start()
	}
}

var behaviours = [][]manner{
	{accepts},
	{accepts, slowly},
	{forgets, accepts},
	{refuses},
	{refuses, accepts},
	{hangs},
	{hangs, accepts},
	{leaves},
	{leaves, slowly},
	{accepts, slowly, forgets, refuses, hangs, leaves},
}

func (f *crashPlan) changeBehaviours() {
	for _, e := range f.ledger.endpoints {
		e.behave(pick(f.random, behaviours)...)
	}
}

// TestKillsUnderMixedLoad does the same as TestNothingIsLostToKills, while users also connect and
// read their accounts.
func TestKillsUnderMixedLoad(t *testing.T) { killOnEach(t, surviveMixed) }

func surviveMixed(t *testing.T, p *servicetest.Process, c *servicetest.Cluster, kills, databaseKills int) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 1))
	load{t: t, random: random, processes: []*servicetest.Process{p}}.run(func(l *ledger) {
		f := &crashPlan{process: p, cluster: c, ledger: l, random: random}
		started := time.Now()
		f.strike(kills, databaseKills)
		t.Logf("%d kills of the program and %d of the database in %v", kills, databaseKills, time.Since(started).Round(time.Second))
	})
}

// TestReplicas kills and restarts processes on one database while clients pay, read accounts and
// receive events.
func TestReplicas(t *testing.T) {
	t.Parallel() // the test mostly waits for leases of killed processes
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 1))
	p := servicetest.StartProcess(t, storetest.Postgres(t))
	processes := []*servicetest.Process{p, p.Replica(), p.Replica()}
	kills, restarts := amount("PASSERELLE_TEST_REPLICA_KILLS", 2), amount("PASSERELLE_TEST_REPLICA_RESTARTS", 1)
	load{t: t, random: random, processes: processes}.run(func(l *ledger) {
		f := &crashPlan{ledger: l, random: random}
		for n := range kills + restarts {
			f.changeBehaviours()
			f.letLive()
			if n < kills {
				f.process = pick(random, processes)
				f.killProgram()
				continue
			}
			for _, p := range processes {
				if status := p.Terminate(); status != 0 {
					t.Errorf("a process that was to stop ended with status %d", status)
				}
				p.Start()
				<-time.After(100 * time.Millisecond)
			}
		}
		t.Logf("%d kills of one of three, %d rolling restarts", kills, restarts)
	})
}
