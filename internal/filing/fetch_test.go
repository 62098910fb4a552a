package filing

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestPauses: a file that does not come is tried again after twice as long each
// time, and no more than so often; what cannot come is not.
func TestPauses(t *testing.T) {
	broken := errors.New("the line broke")
	for failures, want := range map[int64]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 10: 512 * time.Minute, 11: 1024 * time.Minute, 12: 0, 99: 0,
	} {
		if got := pauseAfter(failures, broken); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
	for _, err := range []error{errLarge, errWithheld, errGone} {
		if got := pauseAfter(1, fmt.Errorf("store file 1: %w", err)); got != 0 {
			t.Errorf("after %v: %s", err, got)
		}
	}
}
