package servicetest_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

const (
	// overloadRequests is the limit of concurrent requests.
	overloadRequests = 16
	overloadClients  = 5 * overloadRequests
	// overloadMemory is the most by which the memory of the process may grow, in bytes.
	overloadMemory = 256 << 20
	recoversIn     = 10 * time.Second
)

// TestOverload sends five times as many concurrent requests as a process accepts. Requests beyond
// the limit must get a 503 with Retry-After.
func TestOverload(t *testing.T) {
	for kind, database := range map[string]string{"sqlite": "", "postgres": storetest.Postgres(t)} {
		t.Run(kind, func(t *testing.T) {
			p := servicetest.StartProcessWith(t, database, fmt.Sprint("PASSERELLE_MAX_REQUESTS=", overloadRequests), "GOGC=100") // overloadMemory holds for this setting
			d := newDriver(t, p)
			recovered := d.measureClients(2, 300*time.Millisecond)
			before := p.Memory()
			much := d.measureClients(overloadClients, amountOf("PASSERELLE_TEST_OVERLOAD", time.Second))
			grown := p.Memory() - before
			ended := time.Now()
			after := d.measureClients(2, 300*time.Millisecond)
			for after.refused > 0 || after.slowest(99) > max(time.Second, 3*recovered.slowest(99)) {
				if after = d.measureClients(2, 300*time.Millisecond); time.Since(ended) > recoversIn {
					t.Errorf("%v after the crowd: %v, before it: %v", time.Since(ended), after, recovered)
					break
				}
			}
			t.Logf("before: %v; the crowd: %v, %d MiB more; as before %v later: %v", recovered, much, grown>>20, time.Since(ended).Round(time.Millisecond), after)
			if much.refused == 0 || len(much.taken) == 0 || much.failed > 0 {
				t.Errorf("of a crowd some are taken in and some refused: %v", much)
			}
			if n := d.withoutRetry.Load(); n > 0 {
				t.Errorf("%d refusals have no Retry-After", n)
			}
			if grown > overloadMemory || much.slowest(99) > recoversIn {
				t.Errorf("the crowd took %d MiB, and the slowest %v", grown>>20, much.slowest(99))
			}
			p.Doctor()
		})
	}
}

type clientResults struct {
	taken           []time.Duration
	refused, failed int
	// refusal is the longest time until a refusal.
	refusal time.Duration
}

func (c clientResults) slowest(percent int) time.Duration {
	if len(c.taken) == 0 {
		return 0
	}
	return c.taken[(len(c.taken)-1)*percent/100]
}

func (c clientResults) String() string {
	return fmt.Sprintf("%d taken in (half in %v, 99 of 100 in %v), %d refused (in at most %v), %d failed",
		len(c.taken), c.slowest(50).Round(time.Millisecond), c.slowest(99).Round(time.Millisecond), c.refused, c.refusal.Round(time.Millisecond), c.failed)
}

func (d *driver) measureClients(clients int, length time.Duration) (met clientResults) {
	var (
		mu      sync.Mutex
		working sync.WaitGroup
	)
	over := time.Now().Add(length)
	for n := range clients {
		working.Go(func() {
			for turn := n; time.Now().Before(over); turn++ {
				begun := time.Now()
				status := d.ask(turn%2 == 0)
				took := time.Since(begun)
				mu.Lock()
				switch status {
				case http.StatusOK:
					met.taken = append(met.taken, took)
				case http.StatusServiceUnavailable:
					met.refused++
					met.refusal = max(met.refusal, took)
				default:
					met.failed++
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	slices.Sort(met.taken)
	return met
}

func (d *driver) ask(writes bool) (status int) {
	if writes {
		status, _ = d.send("POST", "/payments", d.token, "", servicetest.Draft())
	} else {
		status, _ = d.send("GET", "/payments?limit=20", d.token, "", nil)
	}
	return status
}
