package database

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"passerelle/internal/store/storetest"
)

// BenchmarkWrite measures calls of Write that insert three rows each. A single caller waits for a
// separate fsync each time. Many callers share one fsync.
func BenchmarkWrite(b *testing.B) {
	for name, address := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		for _, callers := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				benchmarkWrite(b, open(b, address(b)), callers)
			})
		}
	}
}

func benchmarkWrite(b *testing.B, db *Handle, callers int) {
	var units atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for n := units.Add(1); n <= int64(b.N); n = units.Add(1) {
				if err := db.Write(b.Context(), threeRows(3*n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "units/s")
}

func threeRows(first int64) func(*Unit) error {
	return func(tx *Unit) error {
		for id := first; id < first+3; id++ {
			tx.ExecOne(ErrConflict, `INSERT INTO probe (id, amount, flag, data) VALUES ($1, $2, $3, $4)`, id, 1000, true, []byte("a body of some length"))
		}
		return nil
	}
}
