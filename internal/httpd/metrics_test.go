package httpd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/httpd"
)

func TestMetricsCountByMethodRouteAndStatus(t *testing.T) {
	metrics := httpd.NewMetrics()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /payments/{id}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })
	s := start(t, mux, httpd.Options{Metrics: metrics})
	for _, path := range []string{"/payments/1", "/payments/2", "/else", "/other"} {
		s.get(t, path)
	}
	invented, err := http.NewRequestWithContext(t.Context(), "INVENTED", "http://"+s.Addr()+"/else", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(invented)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	s.stop(t)
	metrics.Registry().MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ours"}, func() float64 { return 42 }))

	ops := start(t, httpd.Ops(metrics, false, httpd.Health("p"), httpd.Ready()), httpd.Options{})
	_, page := ops.get(t, "/metrics")
	for _, want := range []string{
		`passerelle_http_requests_total{method="GET",route="GET /payments/{id}",status="200"} 2`,
		`passerelle_http_requests_total{method="GET",route="unmatched",status="404"} 2`,
		`passerelle_http_requests_total{method="_OTHER",route="unmatched",status="404"} 1`,
		`passerelle_http_request_duration_seconds_count{method="GET",route="GET /payments/{id}",status="200"} 2`,
		"passerelle_http_requests_in_flight 0",
		"ours 42",
		"go_goroutines ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestOpsListenerIsOnLoopbackWithProfilesButNoCommandLine(t *testing.T) {
	ops := start(t, httpd.Ops(httpd.NewMetrics(), true, httpd.Health("p"), httpd.Ready()), httpd.Options{})
	if !strings.HasPrefix(ops.Addr(), "127.0.0.1:") {
		t.Errorf("listens on %s by default", ops.Addr())
	}
	for path, want := range map[string]int{
		"/healthz":                       200,
		"/readyz":                        200,
		"/debug/pprof/":                  200,
		"/debug/pprof/goroutine?debug=1": 200,
		"/debug/pprof/symbol":            200,
		"/debug/pprof/cmdline":           404,
		"/":                              404,
	} {
		if answer, _ := ops.get(t, path); answer.StatusCode != want {
			t.Errorf("%s answered %d, want %d", path, answer.StatusCode, want)
		}
	}
}

func TestProfilesAreAskedFor(t *testing.T) {
	ops := start(t, httpd.Ops(httpd.NewMetrics(), false, httpd.Health("p"), httpd.Ready()), httpd.Options{})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile", "/debug/pprof/trace", "/debug/pprof/symbol"} {
		if answer, _ := ops.get(t, path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s answered %d", path, answer.StatusCode)
		}
	}
	if answer, _ := ops.get(t, "/metrics"); answer.StatusCode != http.StatusOK {
		t.Errorf("/metrics answered %d", answer.StatusCode)
	}
}
