package connector

import "context"

type traceKey struct{}

// WithTrace returns a context with the trace in which a connector is called. The parent has the
// form of the header traceparent (W3C Trace Context), or is empty when there is no trace.
func WithTrace(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, parent)
}

// TraceOf returns the trace set by WithTrace, or "". A connector sends it to its institution in the
// header traceparent.
func TraceOf(ctx context.Context) string {
	parent, _ := ctx.Value(traceKey{}).(string)
	return parent
}
