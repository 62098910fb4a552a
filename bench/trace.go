package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"passerelle/internal/delivery"
	"passerelle/internal/service"
	"passerelle/internal/tracing/otlp"
)

// traceRatio is the fraction of the traces that are recorded.
const traceRatio = 0.1

// traced returns the rows about the cost of traces.
func traced() []row {
	const limit, goal = "itself, without traces", 0.9
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: fmt.Sprintf("create payment with a tenth of the traces, %d clients, %s", manyClients, kind), goal: goal, limit: limit,
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.both(func(measured bool) (side, error) { return p.creatingTraced(ctx, kind, measured) })
			},
		}, row{
			name: fmt.Sprintf("deliver a backlog of %d with a tenth of the traces, %s", backlogOf, kind), goal: goal, limit: limit,
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.both(func(measured bool) (side, error) { return p.postingTraced(ctx, kind, measured) })
			},
		})
	}
	return all
}

// traces returns the configuration for a receiver that drops all traces. If the argument
// `on` is false, the configuration has no receiver.
func (p *place) traces(ctx context.Context, on bool) (otlp.Config, error) {
	if !on {
		return otlp.Config{}, nil
	}
	origin, err := p.serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	return otlp.Config{Endpoint: origin, Ratio: traceRatio, Log: slog.New(slog.DiscardHandler)}, err
}

func (p *place) creatingTraced(ctx context.Context, kind string, on bool) (side, error) {
	traces, err := p.traces(ctx, on)
	if err != nil {
		return nil, err
	}
	w, err := p.freshService(ctx, kind, func(c *service.Config) { c.Traces = traces })
	if err != nil {
		return nil, err
	}
	return p.creating(w.base, w.token, manyClients), nil
}

func (p *place) postingTraced(ctx context.Context, kind string, on bool) (side, error) {
	traces, err := p.traces(ctx, on)
	if err != nil {
		return nil, err
	}
	exporter, err := otlp.New(ctx, traces)
	if err != nil {
		return nil, err
	}
	p.later(func() error { return exporter.Close(context.WithoutCancel(ctx)) })
	o, err := p.sendingService(ctx, kind, 1, func(c *delivery.Config) { c.Tracer = exporter.Tracer() })
	if err != nil {
		return nil, err
	}
	return o.posting(max(1, p.amount(backlogOf))), nil
}
