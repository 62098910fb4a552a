package servicetest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"passerelle/internal/servicetest"
)

// TestFullDisk fills the disk of the database while clients pay, read accounts and receive events.
// It also makes PostgreSQL refuse writes like a standby. Writes get a 503, and reads work.
func TestFullDisk(t *testing.T) {
	t.Parallel() // the test mostly waits for leases that a program could not release
	t.Run("sqlite", func(t *testing.T) {
		disk := servicetest.SmallDisk(t, "96m")
		fillUp(t, servicetest.StartProcessIn(t, disk.Folder), disk.Fill, disk.Free)
	})
	t.Run("postgres", func(t *testing.T) {
		disk := servicetest.SmallDisk(t, "160m")
		c := servicetest.StartClusterOn(t, disk.Folder)
		fillUp(t, servicetest.StartProcess(t, c.URL()), disk.Fill, disk.Free)
	})
	t.Run("postgres that only reads", func(t *testing.T) {
		t.Parallel()
		c := servicetest.StartCluster(t)
		fillUp(t, servicetest.StartProcess(t, c.URL()),
			func() { c.Set("default_transaction_read_only", "on") }, func() { c.Set("default_transaction_read_only", "off") })
	})
}

func fillUp(t *testing.T, p *servicetest.Process, fill, free func()) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	load{t: t, random: rand.New(rand.NewPCG(chosen, 1)), processes: []*servicetest.Process{p}}.run(func(l *ledger) {
		for range amount("PASSERELLE_TEST_FILLS", 1) {
			l.d.until(len(l.d.paid()) + 20)
			fill()
			refused := l.d.untilRefused()
			l.d.reads()
			free()
			freed := time.Now()
			l.d.until(len(l.d.paid()) + 2*tortureClients)
			took := time.Since(freed)
			if took > recoverIn {
				t.Errorf("clients paid again %v after there was room", took)
			}
			t.Logf("refused after %v, paid again %v after there was room", refused.Round(time.Millisecond), took.Round(time.Millisecond))
		}
	})
}

func (d *driver) untilRefused() time.Duration {
	begun := time.Now()
	for time.Since(begun) < waitLimit {
		if status, _ := d.send("POST", "/payments", d.token, "", servicetest.Draft()); status == http.StatusServiceUnavailable {
			return time.Since(begun)
		}
	}
	d.t.Errorf("a write was never refused")
	return waitLimit
}

func (d *driver) reads() {
	for id := range d.paid() {
		if status, answer := d.send("GET", fmt.Sprint("/payments/", id), d.token, "", nil); status != http.StatusOK {
			d.t.Errorf("payment %d cannot be read: %d %s", id, status, answer)
		}
	}
	if status, _ := d.do(must(http.NewRequest("GET", "http://"+servicetest.HostOf(d.t, d.bases[0])+"/healthz", http.NoBody))); status != http.StatusOK {
		d.t.Errorf("the program does not say that it lives: %d", status)
	}
}
