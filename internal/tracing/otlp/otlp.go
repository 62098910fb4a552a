// Package otlp exports traces with OTLP over HTTP, the protocol of OpenTelemetry.
//
// It owns the flags, the library, and the decision which traces are recorded. It does not own
// the content of traces. When the receiver fails, spans that cannot be sent in time are dropped,
// and the failure is logged. Requests to the service never fail because of it.
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

// Config defines where traces are sent, and which part of them.
type Config struct {
	// Endpoint is the base URL of a receiver, such as http://127.0.0.1:4318. Empty means no
	// traces.
	Endpoint string
	// Headers are sent with each request to the receiver.
	Headers map[string]string
	// Ratio is the fraction of the traces that is recorded, from 0 to 1.
	Ratio float64
	// Version is the version of the program.
	Version string
	Log     *slog.Logger
}

// Exporter sends the spans that its tracer records. A nil Exporter has a nil tracer.
type Exporter struct{ provider *sdk.TracerProvider }

// New makes an exporter. It returns nil when the configuration has no endpoint.
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

// sampler decides by the id of a trace whether to record it. It ignores the flag of a trace that
// a client began, because clients could otherwise flood the receiver. A trace that this program
// began continues as it began.
func sampler(ratio float64) sdk.Sampler {
	own := sdk.TraceIDRatioBased(ratio)
	return sdk.ParentBased(own, sdk.WithRemoteParentSampled(own), sdk.WithRemoteParentNotSampled(own))
}

// Tracer returns the tracer whose spans are exported.
func (e *Exporter) Tracer() *tracing.Tracer {
	if e == nil {
		return nil
	}
	return tracing.Of(e.provider)
}

// Close exports the spans that are left, for as long as the context allows.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last traces: %w", err)
	}
	return nil
}

// failures logs errors that the library cannot return, at most once a minute.
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
