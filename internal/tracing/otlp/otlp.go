// Package otlp exports traces with OTLP over HTTP, the protocol of OpenTelemetry.
//
// The package owns the flags and the library, and decides which traces to record. It does not own
// the content of traces. When the receiver fails, the package drops the spans that it cannot send
// in time, and logs the failure. A failure never makes a request to the service fail.
package otlp

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"passerelle/internal/tracing"
)

// Config defines where to send traces, and which part of them.
type Config struct {
	// Endpoint is the base URL of a receiver, such as http://127.0.0.1:4318. Without an endpoint,
	// the exporter sends no traces.
	Endpoint string
	// Headers are in each request to the receiver.
	Headers map[string]string
	// Ratio is the fraction of the traces to record, from 0 to 1.
	Ratio float64
	// Version is the version of the program.
	Version string
	Log     *slog.Logger
}

// Exporter sends the spans that its tracer records. The tracer of a nil Exporter is nil.
type Exporter struct{ provider *sdk.TracerProvider }

// New makes an exporter. It returns nil for a configuration without an endpoint.
func New(ctx context.Context, c Config) (*Exporter, error) {
	if c.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil Exporter records nothing
	}
	target, err := url.JoinPath(c.Endpoint, "v1", "traces")
	if err != nil {
		return nil, fmt.Errorf("read the address for traces: %w", err)
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target), otlptracehttp.WithHeaders(c.Headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("prepare the export of traces: %w", err)
	}
	otel.SetErrorHandler(&failures{log: c.Log})
	return &Exporter{sdk.NewTracerProvider(sdk.WithBatcher(client), sdk.WithSampler(sampler(c.Ratio)), sdk.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "passerelle"), attribute.String("service.version", c.Version), attribute.String("service.instance.id", rand.Text()),
	)))}, nil
}

// sampler uses the id of a trace to decide whether to record the trace. If a client began the
// trace, sampler ignores the client's flag for recording, because clients could otherwise flood the
// receiver. A span whose parent comes from this program follows the decision for its parent.
func sampler(ratio float64) sdk.Sampler {
	own := sdk.TraceIDRatioBased(ratio)
	return sdk.ParentBased(own, sdk.WithRemoteParentSampled(own), sdk.WithRemoteParentNotSampled(own))
}

// Tracer returns the tracer whose spans the exporter sends.
func (e *Exporter) Tracer() *tracing.Tracer {
	if e == nil {
		return nil
	}
	return tracing.Of(e.provider)
}

// Close exports the remaining spans. The context limits the time.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last traces: %w", err)
	}
	return nil
}

// failures logs errors that the library cannot return. It logs at most once a minute.
type failures struct {
	log  *slog.Logger
	last atomic.Int64
}

// Handle logs a failure.
func (f *failures) Handle(err error) {
	now, last := time.Now().Unix(), f.last.Load()
	if now-last >= 60 && f.last.CompareAndSwap(last, now) {
		f.log.Warn("traces are not exported", "error", err)
	}
}
