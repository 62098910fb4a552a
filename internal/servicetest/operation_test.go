package servicetest_test

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

var operations = map[string]func(*ledger){
	"new keys, and the old ones retired": func(l *ledger) {
		p, file := l.d.process, filepath.Join(l.d.process.DataFolder(), "keys")
		p.Terminate()
		p.Command("keys", "rotate", "--key-file", file)
		p.Start()
		l.d.until(len(l.d.paid()) + 10)
		p.Command("keys", "rewrap", "--retire", "--key-file", file, "--database", p.Database())
		l.d.until(len(l.d.paid()) + 10)
		p.Terminate()
		p.Start()
	},
	"account numbers sealed": func(l *ledger) {
		p := l.d.process
		p.Terminate()
		p.Command("keys", "seal", "--key-file", filepath.Join(p.DataFolder(), "keys"), "--database", p.Database())
		p.Start()
		l.d.until(len(l.d.paid()) + 10)
	},
	"maintenance": func(l *ledger) {
		p := l.d.process
		p.Command("maintenance", "on", "--database", p.Database())
		l.d.untilRefused()
		p.Command("maintenance", "off", "--database", p.Database())
	},
}

// TestOperations lets an operator do each of the operations, in a random order, while clients use
// the service.
func TestOperations(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, database string) {
		if database[:len("sqlite")] == "sqlite" {
			database = "" // the database is in the data folder
		}
		chosen := seed()
		t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
		random, names := rand.New(rand.NewPCG(chosen, 1)), slices.Sorted(maps.Keys(operations))
		o := load{t: t, random: random, processes: []*servicetest.Process{servicetest.StartProcess(t, database)}}
		o.run(func(l *ledger) {
			for n := range amount("PASSERELLE_TEST_OPERATIONS", 1) * len(names) {
				if n%len(names) == 0 {
					random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				}
				t.Logf("operation: %s", names[n%len(names)])
				l.d.until(len(l.d.paid()) + 10)
				operations[names[n%len(names)]](l)
				l.d.until(len(l.d.paid()) + 10)
			}
		})
	})
}
