package service

// ballast is memory that is never written, so it only raises the size at which the garbage
// collector runs. The service uses a few MiB and allocates as much every few milliseconds.
// Collecting garbage after each doubling of the heap took a sixth of the processor. A higher
// GOGC would multiply the heap when the service uses much memory.
var ballast []byte

// Ballast makes this process collect garbage only when at least 32 MiB of it exist. The ballast
// itself takes no memory, only the uncollected garbage does. It must be called once, before
// requests are served.
func Ballast() {
	if ballast == nil {
		ballast = make([]byte, 32<<20)
	}
}
