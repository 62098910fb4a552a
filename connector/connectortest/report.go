package connectortest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// ruleTime is the time that a connector may need for one rule of a Report.
const ruleTime = 2 * time.Minute

// Report collects the results of all rules, for display.
type Report struct {
	Results []Result
	ctx     context.Context
}

// Result is the result of one rule. If Faults is empty, the connector keeps the rule, or Note says
// why the rule does not apply.
type Result struct {
	Rule string
	// Faults say how the connector breaks the rule. Right describes the correct behaviour.
	Faults []string
	Right  string
	// Note says why the rule does not apply.
	Note string
}

// NewReport returns an empty report.
func NewReport(ctx context.Context) *Report { return &Report{ctx: ctx} }

// Context returns a context that ends when the time for the rule is over.
func (r *Report) Context() context.Context { return r.ctx }

// Run adds the result of a rule.
func (r *Report) Run(name string, rule func(*Report)) bool {
	ctx, cancel := context.WithTimeout(r.ctx, ruleTime)
	defer cancel()
	own := &Report{ctx: ctx, Results: []Result{{Rule: name}}}
	ended := make(chan struct{})
	go func() { // Fatal ends only this goroutine
		defer close(ended)
		rule(own)
	}()
	<-ended
	r.Results = append(r.Results, own.Results...)
	return len(own.Results[0].Faults) == 0
}

// Error adds faults to the rule.
func (r *Report) Error(args ...any) {
	one := &r.Results[0]
	for _, arg := range args {
		err, _ := arg.(error)
		if breach := (Breach{}); errors.As(err, &breach) {
			one.Right, arg = breach.Right, breach.Err
		}
		one.Faults = append(one.Faults, fmt.Sprint(arg))
	}
}

// Fatal adds a fault to the rule and ends the rule.
func (r *Report) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

// Log notes why the rule does not apply.
func (r *Report) Log(args ...any) { r.Results[0].Note = fmt.Sprint(args...) }
