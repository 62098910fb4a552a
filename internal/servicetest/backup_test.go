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

// TestCopiesUnderLoad copies a database while clients pay, and restores the copy. The copy must
// contain all payments that were acknowledged before the copy.
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
	d.rests = usualRest()
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

// TestCopyOfWhatOnlyReads copies the database of a server that accepts no writes, like a standby.
// The copy must succeed, although the command cannot note it in the database.
func TestCopyOfWhatOnlyReads(t *testing.T) {
	c := servicetest.StartCluster(t)
	p := servicetest.StartProcess(t, c.URL())
	stored := func() int64 { return storetest.Inspect(t, c.URL()).Count("SELECT count(*) FROM last_backup") }
	folder := t.TempDir()
	c.Set("default_transaction_read_only", "on")
	p.Backup(filepath.Join(folder, "first"))
	if stored() != 0 {
		t.Error("a server that only reads has a note")
	}
	c.Set("default_transaction_read_only", "off")
	p.Restore(filepath.Join(folder, "first"), c.Empty("restored"))
	p.Backup(filepath.Join(folder, "second"))
	if stored() != 1 {
		t.Error("a copy is not noted")
	}
}
