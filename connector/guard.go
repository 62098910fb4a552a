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

// ErrPanicked is returned by Guard when the connector panics.
var ErrPanicked = errors.New("the connector panicked")

// Guard calls a connector. A panic becomes ErrPanicked. The text of the returned error contains the
// text of each Fault, each syscall.Errno and a few known errors, and the types of other errors,
// except types that say nothing. It omits all other text of the connector, because errors are
// logged and that text may contain personal data. errors.Is and errors.As see the original error.
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

// Fault describes a failure for the operator: the bank, the problem and the remedy. Its text is
// logged, so it must not contain personal data or secrets.
type Fault struct {
	Says string
	// Err is the kind of the failure. Callers match it with errors.Is.
	Err error
}

// Error returns Says.
func (f *Fault) Error() string { return f.Says }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// causeOf returns the part of a panic that may be logged. For a runtime error this is the text,
// which contains only types and numbers such as an index. For any other cause it is only the type.
func causeOf(cause any) string {
	if fault, ok := cause.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("a %T", cause)
}

// wordless wraps an error and omits its text.
type wordless struct{ error }

func (w wordless) Unwrap() error { return w.error }

func (w wordless) Error() string {
	if all := kindsOf(w.error); len(all) > 0 {
		return "an error of the connector: " + strings.Join(all, ", ")
	}
	return "an error of the connector"
}

// known lists errors whose text is always safe to log.
var known = []error{ErrNotSent, ErrUnknownOrder, context.Canceled, context.DeadlineExceeded}

// plain lists types whose names say nothing about an error.
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
