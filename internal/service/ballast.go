package service

// ballast is memory that nothing writes to, so that only the garbage collector counts it. The
// service holds a few MiB and allocates as much every few milliseconds. Collecting after each
// doubling took a sixth of the processor. A higher GOGC would multiply the heap when the
// service holds much.
var ballast []byte

// Ballast has this process collect garbage once there are 32 MiB of it, at the earliest. It
// takes no memory itself, only the uncollected garbage does. Once is enough, before anything is
// served.
func Ballast() {
	if ballast == nil {
		ballast = make([]byte, 32<<20)
	}
}
