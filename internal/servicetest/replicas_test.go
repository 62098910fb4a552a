package servicetest_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

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
