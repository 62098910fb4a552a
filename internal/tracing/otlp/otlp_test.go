package otlp_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passerelle/internal/tracing"
	"passerelle/internal/tracing/otlp"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func newTracer(t *testing.T, ratio float64) *tracing.Tracer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	exporter, _ := newExporter(t, server.URL, ratio)
	return exporter.Tracer()
}

func newExporter(t *testing.T, endpoint string, ratio float64) (*otlp.Exporter, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	exporter, err := otlp.New(t.Context(), otlp.Config{Endpoint: endpoint, Headers: map[string]string{"Authorization": "Bearer 1"}, Ratio: ratio, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return exporter, &log
}

func header(parent string) http.Header { return http.Header{"Traceparent": {parent}} }

// TestParents checks that the tracer continues a trace that a client names. It must ignore the
// client's flag for recording.
func TestParents(t *testing.T) {
	all := newTracer(t, 1)
	none := newTracer(t, 0)
	for name, test := range map[string]struct {
		tracer   *tracing.Tracer
		header   string
		begins   string
		ends     string
		recorded bool
	}{
		"recorded":               {all, parent, parent[:36], "-01", true},
		"the client says no":     {all, parent[:53] + "00", parent[:36], "-01", true},
		"not recorded":           {none, parent, parent[:36], "-00", false},
		"no header":              {all, "", "00-", "-01", true},
		"a header of nonsense":   {all, "00-nonsense", "00-", "-01", true},
		"without a tracer":       {nil, parent, "", "", false},
		"a header of a megabyte": {all, strings.Repeat("0", 1<<20), "00-", "-01", true},
	} {
		ctx, span := test.tracer.Serve(t.Context(), header(test.header))
		inner, child := tracing.Start(ctx, "inner", tracing.Internal)
		got := tracing.Parent(inner)
		if !strings.HasPrefix(got, test.begins) || !strings.HasSuffix(got, test.ends) || span.Recorded() != test.recorded || child.Recorded() != test.recorded {
			t.Errorf("%s: %q, recorded %t and %t", name, got, span.Recorded(), child.Recorded())
		}
		if test.header == parent && strings.Contains(got, parent[36:52]) {
			t.Errorf("%s: the client's span is the service's own: %s", name, got)
		}
	}
}

// When a trace begins, the tracer decides whether to record the trace. TestContinue checks that a
// stored trace keeps this decision, even if the ratio has changed since.
func TestContinue(t *testing.T) {
	none := newTracer(t, 0)
	for _, stored := range []string{parent, parent[:53] + "00"} {
		ctx, span := tracing.Start(none.Continue(context.Background(), stored), "later", tracing.Client)
		if got := tracing.Parent(ctx); got[:36] != parent[:36] || got[53:] != stored[53:] || span.Recorded() != (stored == parent) {
			t.Errorf("%s goes on as %s", stored, got)
		}
	}
	var off *tracing.Tracer
	if off.Continue(t.Context(), parent) != t.Context() || none.Continue(t.Context(), "") != t.Context() {
		t.Error("what is not traced gets another context")
	}
}

func TestWithin(t *testing.T) {
	all := newTracer(t, 1)
	of, _ := all.Serve(t.Context(), header(parent))
	ended, cancel := context.WithCancel(of)
	cancel()
	ctx := tracing.Within(context.Background(), ended)
	if tracing.Parent(ctx) != tracing.Parent(of) || ctx.Err() != nil {
		t.Errorf("%s, %v", tracing.Parent(ctx), ctx.Err())
	}
}

func TestReceiverFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer 1" {
			t.Errorf("the headers are %v", r.Header)
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	exporter, log := newExporter(t, server.URL, 1)
	_, span := exporter.Tracer().Serve(t.Context(), header(parent))
	span.End(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := exporter.Close(ctx); err != nil {
		t.Logf("closing: %v", err)
	}
	if said := log.String(); !strings.Contains(said, "traces are not exported") || !strings.Contains(said, "403") {
		t.Errorf("the log is %s", said)
	}
}

func TestFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Authorization: Bearer 1\nX-Scope: a:b\n")
	c, err := otlp.ReceiverFlags{OTLPEndpoint: "https://collector.example/base", OTLPHeadersFile: file, TraceRatio: 0.1}.Config()
	if err != nil || len(c.Headers) != 2 || c.Headers["X-Scope"] != "a:b" || c.Ratio != 0.1 || c.Endpoint != "https://collector.example/base" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = (otlp.ReceiverFlags{TraceRatio: 1}).Config(); err != nil {
		t.Error(err)
	}
	if none, err := otlp.New(t.Context(), c); none.Tracer() != nil || err != nil || none.Close(t.Context()) != nil {
		t.Errorf("without an endpoint: %v, %v", none, err)
	}
	write("no header")
	for flag, wrong := range map[string]otlp.ReceiverFlags{
		"--trace-ratio":       {TraceRatio: 1.5},
		"--trace-ratio: must": {TraceRatio: math.NaN()},
		"--otlp-headers-file": {OTLPHeadersFile: file},
		"--otlp-endpoint":     {OTLPEndpoint: "collector:4318"},
	} {
		if _, err := wrong.Config(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if _, err := (otlp.ReceiverFlags{OTLPEndpoint: "https://user:password@collector.example"}).Config(); err == nil || strings.Contains(err.Error(), "user:") {
		t.Errorf("a password in the address: %v", err)
	}
}
