package background

import "sync"

// Group is a list of loops that start and stop together.
type Group []*Loop

// Start starts every loop.
func (g Group) Start() {
	for _, loop := range g {
		loop.Start()
	}
}

// Stop stops all loops at the same time, and returns when all of them have ended. It takes as long
// as the slowest loop.
func (g Group) Stop() {
	var ended sync.WaitGroup
	for _, loop := range g {
		ended.Go(loop.Stop)
	}
	ended.Wait()
}
