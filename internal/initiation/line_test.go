package initiation_test

import (
	"context"
	"io"
	"runtime"
	"sync"
	"syscall"

	"passerelle/connector"
	"passerelle/payment"
)

// line is the connector to the simulated bank, with failures that a test sets.
type line struct {
	connector.Initiator
	mu               sync.Mutex
	profile          connector.Profile
	initiate, status fault
	answer, cancel   fault
	// answers and cancels count the requests that arrived at the bank.
	answers, cancels int
	calls            int
}

type exchange func(context.Context, connector.Order) (payment.Report, error)

// fault replaces or changes an exchange.
type fault func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error)

func (l *line) Profile() connector.Profile {
	l.mu.Lock()
	defer l.mu.Unlock()
	profile := l.profile
	profile.Data = nil // the connector then offers only payments
	return profile
}

func (l *line) tune(change func(*connector.Profile)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	settings := *l.profile.Payments
	l.profile.Payments = &settings
	change(&l.profile)
}

// replace makes all later calls go to another bank, under the same UUID and id.
func (l *line) replace(able connector.Initiator) {
	l.mu.Lock()
	defer l.mu.Unlock()
	uuid, id := l.profile.UUID, l.profile.ID
	l.Initiator, l.profile = able, able.Profile()
	l.profile.UUID, l.profile.ID = uuid, id
}

// breaks sets the failures of orders and of status requests from now on. Nil means no failure.
func (l *line) breaks(initiate, status fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.initiate, l.status = initiate, status
}

// used returns the number of calls to the bank, and sets it to zero.
func (l *line) used() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = 0
	return calls
}

func (l *line) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	return l.through(ctx, o, func() fault { return l.initiate }, l.Initiator.Initiate)
}

func (l *line) Status(ctx context.Context, o connector.Order) (payment.Report, error) {
	return l.through(ctx, o, func() fault { return l.status }, l.Initiator.Status)
}

func (l *line) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	return l.through(ctx, o, func() fault { return l.answer }, func(ctx context.Context, o connector.Order) (payment.Report, error) {
		l.count(&l.answers)
		return l.Initiator.(connector.Responder).Answer(ctx, o, a)
	})
}

func (l *line) Cancel(ctx context.Context, o connector.Order) (payment.Report, error) {
	return l.through(ctx, o, func() fault { return l.cancel }, func(ctx context.Context, o connector.Order) (payment.Report, error) {
		l.count(&l.cancels)
		return l.Initiator.(connector.Canceller).Cancel(ctx, o)
	})
}

func (l *line) count(what *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*what++
}

func (l *line) counts() (answers, cancels int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answers, l.cancels
}

// interrupts sets the failures of answers and of cancellations from now on.
func (l *line) interrupts(answer, cancel fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer, l.cancel = answer, cancel
}

func (l *line) through(ctx context.Context, o connector.Order, chosen func() fault, next exchange) (payment.Report, error) {
	l.mu.Lock()
	l.calls++
	broken := chosen()
	l.mu.Unlock()
	if broken == nil {
		return next(ctx, o)
	}
	return broken(ctx, o, next)
}

var errCut error = syscall.ECONNRESET

// before returns a fault that runs a function instead of the exchange.
func before(do func(context.Context) error) fault {
	return func(ctx context.Context, _ connector.Order, _ exchange) (payment.Report, error) {
		return payment.Report{}, do(ctx)
	}
}

// after returns a fault that runs a function after the exchange. The bank's response is lost.
func after(do func(context.Context) error) fault {
	return func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
		if report, err := next(ctx, o); err != nil {
			return report, err
		}
		return payment.Report{}, do(ctx)
	}
}

// meanwhile returns a fault that runs a function between the bank's response and its arrival.
func meanwhile(do func()) fault {
	return func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
		report, err := next(ctx, o)
		do()
		return report, err
	}
}

func answers(report payment.Report) fault {
	return func(context.Context, connector.Order, exchange) (payment.Report, error) { return report, nil }
}

func fails(err error) func(context.Context) error { return func(context.Context) error { return err } }

func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func panics(context.Context) error { panic("the connector is broken") }

// dies ends the goroutine, like a crash of the process.
func dies(context.Context) error { runtime.Goexit(); return nil }

// survives runs a function that may call dies. It reports whether the function returned.
func survives(do func()) (survived bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		do()
		survived = true
	}()
	<-ended
	return survived
}

type deadly struct{}

func (deadly) Read([]byte) (int, error) { runtime.Goexit(); return 0, io.EOF }
