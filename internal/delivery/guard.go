package delivery

import (
	"fmt"
	"io"
	"runtime/debug"
)

// guard, deferred, turns a panic into an error that has the stack for the log. In a
// goroutine of our own a panic would end the process.
func guard(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}

// guarded is a reader whose panics are errors, for who reads in goroutines of its own.
type guarded struct{ io.Reader }

func (g guarded) Read(into []byte) (n int, err error) {
	defer guard(&err)
	return g.Reader.Read(into)
}
