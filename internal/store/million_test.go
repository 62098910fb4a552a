package store_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// inALongRun is the number that a variable of the environment gives, in a run that is
// long and compares times as well; without it, the usual number.
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

// pageTimeout is far more than a page takes by an index that has it in order, and
// far less than one for which a million rows are read.
const pageTimeout = 25 * time.Millisecond

// measure is how long a page may take that is of a longer list than another, or further
// on in the same: so many times as long, and no longer than it has patience, as both
// might go through the same table.
type measure struct {
	most  float64
	limit time.Duration
}

// hold reads the two pages in turns, and has the pace kept in a long run.
func (p measure) hold(t *testing.T, long bool, first, second func()) {
	t.Helper()
	ratio, shortest := compare(first, second)
	for range 2 {
		if ratio > p.most { // or somebody else was busy
			ratio, shortest = compare(first, second)
		}
	}
	t.Logf("a page takes %v, the second %.2f times as long as the first", shortest, ratio)
	if long && (ratio > p.most || shortest > p.limit) {
		t.Errorf("a page takes %v, the second %.2f times as long as the first", shortest, ratio)
	}
}

// compare is the median of nine pairs, and the least that the slower page took.
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
