package store_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// inALongRun returns the number in an environment variable, or the usual number. A long run sets
// the variable, and also compares times.
func inALongRun(t *testing.T, variable string, usual int) (number int, long bool) {
	t.Helper()
	text, long := os.LookupEnv(variable)
	if !long {
		return usual, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is %q, not a number", variable, text)
	}
	return n, true
}

// pageTimeout is far longer than reading a page through an index. It is far shorter than reading a
// million rows.
const pageTimeout = 25 * time.Millisecond

// measure limits the time for a page of a long list, or for a late page. The time may be at most a
// multiple of the time for a page of a short list, or for an early page. It must also not exceed a
// fixed time, because both pages might read the whole table.
type measure struct {
	most  float64
	limit time.Duration
}

func (p measure) hold(t *testing.T, long bool, first, second func()) {
	t.Helper()
	ratio, shortest := compare(first, second)
	for range 2 {
		if ratio > p.most { // measure again, because another process may have used the processor
			ratio, shortest = compare(first, second)
		}
	}
	t.Logf("a page takes %v, the second %.2f times as long as the first", shortest, ratio)
	if long && (ratio > p.most || shortest > p.limit) {
		t.Errorf("a page takes %v, the second %.2f times as long as the first", shortest, ratio)
	}
}

// compare returns the median ratio of nine pairs of times, and the shortest time of the slower
// page.
func compare(first, second func()) (ratio float64, shortest time.Duration) {
	var ratios []float64
	a, b := time.Hour, time.Hour
	for range 9 {
		one, other := timed(first), timed(second)
		ratios, a, b = append(ratios, float64(other)/float64(one)), min(a, one), min(b, other)
	}
	slices.Sort(ratios)
	return ratios[4], max(a, b)
}

func timed(page func()) time.Duration {
	start := time.Now()
	page()
	return time.Since(start)
}
