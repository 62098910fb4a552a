//go:build torture

package servicetest_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestUpgradeUnderLoad upgrades a program that lacks the newest migration, and goes back to the old
// program, while clients pay, read accounts and receive events. PASSERELLE_TEST_PREVIOUS is the
// path of the old program, which scripts/previous-version builds.
func TestUpgradeUnderLoad(t *testing.T) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	previous := os.Getenv("PASSERELLE_TEST_PREVIOUS")
	if previous == "" {
		t.Fatal("PASSERELLE_TEST_PREVIOUS is not set: make torture sets it to what scripts/previous-version prints")
	}
	old := servicetest.StartBinary(t, previous, storetest.EmptyPostgres(t)) // the old program makes its own schema
	o := load{t: t, random: rand.New(rand.NewPCG(chosen, 1)), processes: []*servicetest.Process{old}}
	o.run(func(l *ledger) {
		l.d.until(30)
		for _, version := range []string{"", previous} {
			next := old.Other(version)
			l.d.use(old.BaseURL, next.BaseURL)
			l.d.until(len(l.d.paid()) + 30)
			if status := old.Terminate(); status != 0 {
				t.Errorf("the program that was replaced ended with status %d", status)
			}
			// If the address of the ended program stayed, each act of a last client could be sent to
			// it, and only the reads between the acts to the other program.
			l.d.use(next.BaseURL)
			*old = *next
			l.d.until(len(l.d.paid()) + 30)
		}
	})
}
