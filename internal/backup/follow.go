package backup

import (
	"os"
	"time"

	"passerelle/internal/progress"
)

// follow shows how much of a file has been copied, until the returned function is called.
func follow(of, copied string, meter *progress.Meter) func() {
	meter.Expect(size(of), progress.Bytes)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				meter.At(size(copied))
			}
		}
	}()
	return func() { close(over); <-ended }
}

// size returns the size of a file, or zero if os.Stat fails.
func size(file string) int64 {
	about, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return about.Size()
}
