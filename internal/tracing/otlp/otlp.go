// Package otlp exports traces with OTLP over HTTP, the protocol of OpenTelemetry.
//
// It owns the flags, the library, and the decision which traces are recorded. It does not own
// the content of traces. A receiver that fails costs the spans and a line in the log, never a
// request: what is not sent in time is dropped.
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

// Config says where traces are sent, and which part of them.
type Config struct {
	// Endpoint is the base URL of a receiver, such as http://127.0.0.1:4318; empty means no
	// traces.
	Endpoint string
	// Headers go with each request to the receiver.
	Headers map[string]string
	// Ratio is the part of the traces that is recorded, from 0 to 1.
	Ratio float64
	// Version is the version of the program.
	Version string
	Log     *slog.Logger
}

// Exporter sends the spans that its tracer records. A nil Exporter has a nil tracer.
type Exporter struct{ provider *sdk.TracerProvider }

// New makes an exporter, which is nil without an endpoint.
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

// sampler decides by the id of a trace, also for a trace that a client began: what it says
// about recording could fill the receiver. What this program began goes on as it began.
func sampler(ratio float64) sdk.Sampler {
	own := sdk.TraceIDRatioBased(ratio)
	return sdk.ParentBased(own, sdk.WithRemoteParentSampled(own), sdk.WithRemoteParentNotSampled(own))
}

// Tracer makes the spans that are exported.
func (e *Exporter) Tracer() *tracing.Tracer {
	if e == nil {
		return nil
	}
	return tracing.Of(e.provider)
}

// Close exports the recorded spans, until the context ends.
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
