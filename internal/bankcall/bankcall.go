// Package bankcall calls connectors for payments, banking data and files. It does not trust a
// connector: a connector may hang, panic, end its goroutine, or ignore its deadline.
//
// It owns the deadline of a call, the result of a call whose connector does not return, and the
// limits of callers that wait for one bank. It does not own the requests to connectors, or the
// meaning and the size of their results.
//
// A call fails with the error of the connector, with connector.ErrPanicked, with ErrExited or with
// ErrAbandoned. [connector.Guard] limits the text of a connector's error.
package bankcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle/connector"
	"passerelle/internal/tracing"
)

var (
	// ErrAbandoned reports a connector that did not return after its context had ended. This
	// connector may still be running. Do drops its late result.
	ErrAbandoned = errors.New("the connector does not heed its deadline")
	// ErrExited reports a connector that ended its goroutine. It is also an ErrPanicked.
	ErrExited = fmt.Errorf("%w: it ended its goroutine", connector.ErrPanicked)
)

// Limits contains the limits of a call.
type Limits struct {
	// Connector is the name of the connector, for traces.
	Connector string
	// Deadline is the time after which the connector's context ends.
	Deadline time.Duration
	// Grace is the time for which the call waits for the connector after the connector's context
	// has ended.
	Grace time.Duration
	// Meanwhile is nil, or a function that Do calls after each Interval during the call. The function
	// can end the call by cancelling the context that Do received.
	Meanwhile func()
	Interval  time.Duration
}

// answer is the result of a connector.
type answer[T any] struct {
	value T
	err   error
}

// Do executes a call in another goroutine and waits for the response. With an error, it also
// returns the connector's result, unless the connector was abandoned.
func Do[T any](ctx context.Context, limits Limits, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.Deadline)
	defer cancel()
	ctx, span := tracing.Start(ctx, "bank call", tracing.Client)
	span.Text("connector", limits.Connector)
	ctx = connector.WithTrace(ctx, tracing.Parent(ctx))
	answers := make(chan answer[T], 1)
	go func() {
		a := answer[T]{err: ErrExited}
		defer func() { answers <- a }()
		a.err = connector.Guard(func() error {
			var err error
			a.value, err = call(ctx)
			return err
		})
	}()
	a := await(ctx, limits, answers)
	span.End(a.err)
	return a.value, a.err
}

// await waits for a response until the context ends, and calls Meanwhile after each Interval.
func await[T any](ctx context.Context, limits Limits, answers <-chan answer[T]) answer[T] {
	var pulse <-chan time.Time
	if limits.Meanwhile != nil {
		ticker := time.NewTicker(limits.Interval)
		defer ticker.Stop()
		pulse = ticker.C
	}
	for {
		select {
		case a := <-answers:
			return a
		case <-pulse:
			limits.Meanwhile()
		case <-ctx.Done():
			return awaitLate(ctx, limits.Grace, answers)
		}
	}
}

// awaitLate waits for the response of a connector whose time has ended, but at most for the
// duration `grace`.
func awaitLate[T any](ctx context.Context, grace time.Duration, answers <-chan answer[T]) answer[T] {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a
	case <-timer.C:
		return answer[T]{err: fmt.Errorf("%w: %w", ErrAbandoned, context.Cause(ctx))}
	}
}
