package servicetest_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestCopiesUnderLoad copies a database while clients pay, and restores the copy: it is
// consistent, and contains all data that was acknowledged before.
func TestCopiesUnderLoad(t *testing.T) {
	times := amount("PASSERELLE_TEST_COPIES", 1)
	t.Run("sqlite", func(t *testing.T) {
		p := servicetest.StartProcess(t, "")
		copies(t, p, times, func(n int) string { return "sqlite:" + filepath.Join(t.TempDir(), fmt.Sprint("restored-", n)) })
	})
	t.Run("postgres", func(t *testing.T) {
		c := servicetest.StartCluster(t)
		p := servicetest.StartProcess(t, c.URL())
		copies(t, p, times, func(n int) string { return c.Empty(fmt.Sprint("restored_", n)) })
	})
}

func copies(t *testing.T, p *servicetest.Process, times int, empty func(n int) string) {
	d := newDriver(t, p)
	over, paying := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(paying)
		d.payAll(tortureClients, orders(math.MaxInt, over, always))
	}()
	for n := range times {
		d.until(20 * (n + 1))
		acknowledged := slices.Collect(maps.Keys(d.paid()))
		file, restored := filepath.Join(t.TempDir(), fmt.Sprint("copy-", n)), empty(n)
		p.Backup(file)
		p.Restore(file, restored)
		p.DoctorOf(restored)
		stored := storetest.Inspect(t, restored)
		for _, id := range acknowledged {
			if stored.Count(fmt.Sprint("SELECT count(*) FROM payment WHERE id = ", id)) != 1 {
				t.Errorf("copy %d: payment %d is not in it", n, id)
			}
		}
		t.Logf("copy %d: %d payments of %d acknowledged before", n, stored.Count("SELECT count(*) FROM payment"), len(acknowledged))
	}
	close(over)
	<-paying
}
