//go:build torture

package servicetest_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestUpgradeUnderLoad has a program from before the newest migration serve, starts
// the present one beside it on the same PostgreSQL, which migrates it, and then ends
// the old one, all while clients pay, read accounts and hear of it. The path of the
// old program is in PASSERELLE_TEST_PREVIOUS; scripts/previous-version builds it.
func TestUpgradeUnderLoad(t *testing.T) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	old := servicetest.StartBinary(t, os.Getenv("PASSERELLE_TEST_PREVIOUS"), storetest.Postgres(t))
	o := load{t: t, random: rand.New(rand.NewPCG(chosen, 1)), processes: []*servicetest.Process{old}}
	o.run(func(l *ledger) {
		l.d.until(30)
		next := old.Successor()
		l.d.bases = []string{old.BaseURL, next.BaseURL}
		l.d.until(len(l.d.paid()) + 30)
		if status := old.Terminate(); status != 0 {
			t.Errorf("the old program ended with status %d", status)
		}
		*old = *next
		l.d.until(len(l.d.paid()) + 30)
	})
}
