package delivery

import (
	"fmt"
	"io"
	"runtime/debug"
)

// guard turns a panic into an error. The error contains the stack, for the log. Callers must defer
// guard. Without guard, a panic in a goroutine would end the process.
func guard(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// guarded is a reader that turns panics into errors, for callers that read in other goroutines.
type guarded struct{ io.Reader }

func (g guarded) Read(into []byte) (n int, err error) {
	defer guard(&err)
	return g.Reader.Read(into)
}
