package connector

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// ErrPanicked is the error of a connector that panicked.
var ErrPanicked = errors.New("the connector panicked")

// Guard calls a connector. A panic becomes ErrPanicked. The text of the returned error names the
// kinds of errors instead of the connector's text: that text may be personal, and errors are
// logged. errors.Is and errors.As see the original error.
func Guard(ask func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %s\n%s", ErrPanicked, causeOf(cause), debug.Stack())
		}
	}()
	if err := ask(); err != nil {
		return wordless{err}
	}
	return nil
}

// Fault is a failure described for the operator: the bank, the problem, and the remedy. Its text
// is logged, and contains no personal data and no secret.
type Fault struct {
	Says string
	// Err is the kind of the failure, which callers match with errors.Is.
	Err error
}

// Error returns what is wrong.
func (f *Fault) Error() string { return f.Says }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// causeOf returns the part of a panic that may be logged: the text of a runtime error, which
// contains no values, or only the type of another cause.
func causeOf(cause any) string {
	if fault, ok := cause.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("a %T", cause)
}

// wordless is an error whose own text is left out.
type wordless struct{ error }

func (w wordless) Unwrap() error { return w.error }

func (w wordless) Error() string {
	if all := kindsOf(w.error); len(all) > 0 {
		return "an error of the connector: " + strings.Join(all, ", ")
	}
	return "an error of the connector"
}

// known are errors whose text is always safe, for example the errors of the operating system.
var known = []error{ErrNotSent, ErrUnknownOrder, context.Canceled, context.DeadlineExceeded}

// plain are types whose names say nothing about an error.
var plain = []string{"*errors.errorString", "*errors.joinError", "*fmt.wrapError", "*fmt.wrapErrors"}

// kindsOf returns the kinds of an error and of the errors that it wraps, outermost first.
func kindsOf(err error) []string {
	var all []string
	if err == nil {
		return nil
	}
	if fault, notice := err.(*Fault); notice { //nolint:errorlint // each error of the chain is examined on its own
		return []string{fault.Says}
	}
	_, fixed := err.(syscall.Errno) //nolint:errorlint // each error of the chain is examined on its own
	if kind := fmt.Sprintf("%T", err); fixed || slices.Contains(known, err) {
		all = append(all, err.Error())
	} else if !slices.Contains(plain, kind) {
		all = append(all, kind)
	}
	switch wraps := err.(type) { //nolint:errorlint // each error of the chain is examined on its own
	case interface{ Unwrap() error }:
		all = append(all, kindsOf(wraps.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, one := range wraps.Unwrap() {
			all = append(all, kindsOf(one)...)
		}
	}
	return all
}
