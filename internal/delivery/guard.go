package delivery

import (
	"fmt"
	"io"
	"runtime/debug"
)

// guard must be deferred. It turns a panic into an error that contains the stack for the log.
// Without it, a panic in a goroutine would end the process.
func guard(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// guarded is a reader that turns panics into errors, for callers that read in goroutines of
// their own.
type guarded struct{ io.Reader }

func (g guarded) Read(into []byte) (n int, err error) {
	defer guard(&err)
	return g.Reader.Read(into)
}
