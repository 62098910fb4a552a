package store

import (
	"os"
	"strconv"
	"testing"
)

// inALongRun is the number that a variable of the environment gives, in a run that is
// long and compares times as well; without it, the usual number.
func inALongRun(t *testing.T, variable string, usual int) (number int, timed bool) {
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
