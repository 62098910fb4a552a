package connector

import "context"

type traceKey struct{}

// WithTrace says in which trace a connector is called, as the header traceparent names it
// (W3C Trace Context); empty for none.
func WithTrace(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, parent)
}

// TraceOf is the trace of WithTrace; it is empty for none. A connector sends it to its
// institution in the header traceparent.
func TraceOf(ctx context.Context) string {
	parent, _ := ctx.Value(traceKey{}).(string)
	return parent
}
