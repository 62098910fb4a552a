package service

// ballast is memory that nobody writes to, and which therefore exists in the account
// of the garbage collector alone. What the service holds is a few MiB, and it makes as
// much anew every few milliseconds: collecting whenever that has doubled took a sixth
// of the processor. GOGC would do as well, but grows what is held by as many times
// when that is much.
var ballast []byte

// Ballast has this process collect garbage once there are 32 MiB of it, at the
// earliest. It takes no memory itself; what waits to be collected does. Once is
// enough, before anything is served.
func Ballast() {
	if ballast == nil {
		ballast = make([]byte, 32<<20)
	}
}
