// Package tracing records the work that a request causes, in the terms of OpenTelemetry. Such work
// is a read or a write of the database, a call to a bank, or a request to a receiver of webhooks.
//
// The package owns the types of data that a span may contain. It also owns the text that names a
// trace in a header ("traceparent", W3C Trace Context) or in the database. Callers decide where
// spans begin and end. Package otlp decides where to send them. Spans contain no personal data:
// callers add only names from the program, ids and numbers.
//
// Nothing here fails. A nil Tracer records nothing. A context that belongs to no trace also records
// nothing.
package tracing

import (
	"context"
	"errors"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the header that names a trace.
const Header = "Traceparent"

// Kind is the role of a span.
type Kind = trace.SpanKind

// Callers of Start choose one of these kinds: work inside this program, or calls from this program
// to others.
const (
	Internal = trace.SpanKindInternal
	Client   = trace.SpanKindClient
)

// Tracer makes spans. It is safe for concurrent use.
type Tracer struct{ tracer trace.Tracer }

// Of returns a tracer that gets its spans from a provider.
func Of(provider trace.TracerProvider) *Tracer { return &Tracer{provider.Tracer("passerelle")} }

// tracerKey is the key of the tracer in a context.
type tracerKey struct{}

// TraceSpan is a piece of work whose time is measured. The zero TraceSpan records nothing.
type TraceSpan struct{ span trace.Span }

// Serve begins the span of a request. The span belongs to the trace that the headers name, or to a
// new trace.
func (t *Tracer) Serve(ctx context.Context, header http.Header) (context.Context, TraceSpan) {
	if t == nil {
		return ctx, TraceSpan{}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
	ctx, span := t.tracer.Start(context.WithValue(ctx, tracerKey{}, t), "request", trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return ctx, TraceSpan{}
	}
	return ctx, TraceSpan{span}
}

// Continue returns a context for work that continues a stored trace. The parent is the result of
// [Parent] for that trace. If ctx belongs to another trace, Continue links the span of ctx to the
// stored trace.
func (t *Tracer) Continue(ctx context.Context, parent string) context.Context {
	if t == nil || parent == "" {
		return ctx
	}
	named := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	own := trace.SpanContextFromContext(named).WithRemote(false)
	present := trace.SpanFromContext(ctx)
	if present.SpanContext().TraceID() == own.TraceID() {
		return ctx
	}
	present.AddLink(trace.Link{SpanContext: own})
	return context.WithValue(trace.ContextWithSpanContext(ctx, own), tracerKey{}, t)
}

// Within returns a context that ends when ctx ends. It belongs to the trace of the second argument,
// if there is one.
func Within(ctx, of context.Context) context.Context {
	return tracerOf(of).Continue(ctx, Parent(of))
}

func tracerOf(ctx context.Context) *Tracer {
	t, _ := ctx.Value(tracerKey{}).(*Tracer)
	return t
}

// Start begins a span in the trace of the context. It records the span only if the trace is
// recorded.
func Start(ctx context.Context, name string, kind Kind) (context.Context, TraceSpan) {
	t := tracerOf(ctx)
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, TraceSpan{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, TraceSpan{span}
}

// Parent returns the trace and the span of a context in the form of the header, which has 55
// characters. It returns an empty text when the context belongs to no trace.
func Parent(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if tracerOf(ctx) == nil || !at.IsValid() {
		return ""
	}
	return "00-" + at.TraceID().String() + "-" + at.SpanID().String() + "-" + at.TraceFlags().String()
}

// IDs returns the ids of the context's trace and span, for a log. Both are empty without a trace.
func IDs(ctx context.Context) (string, string) {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return "", ""
	}
	return at.TraceID().String(), at.SpanID().String()
}

// Recorded reports whether the span records the data that callers add.
func (s TraceSpan) Recorded() bool { return s.span != nil }

// Rename sets the name of the span when its subject becomes known.
func (s TraceSpan) Rename(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// Text adds a text to the span. The text must not be personal data.
func (s TraceSpan) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// Number adds a number or an id to the span.
func (s TraceSpan) Number(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// ErrFailed marks a span as failed when the caller of End has no error value.
var ErrFailed = errors.New("failed")

// End ends the span, and marks it as failed unless err is nil. It omits the text of the error,
// because the text may come from a bank.
func (s TraceSpan) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}
