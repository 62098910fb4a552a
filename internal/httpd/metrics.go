package httpd

import (
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics holds the metrics that the process exports to Prometheus. These are metrics about
// requests and the Go runtime, and the metrics that other packages register. A nil Metrics counts
// nothing.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "passerelle_http_requests_total",
			Help: "Responses, by method, matched route and status; status 0 is a connection that was cut before any response.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "passerelle_http_request_duration_seconds",
			Help:    "Time from the header of a request to the end of its response, by method, matched route and status.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "passerelle_http_requests_in_flight",
			Help: "Requests that are being handled.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registry returns the registry in which other packages register their metrics.
func (m *Metrics) Registry() prometheus.Registerer { return m.registry }

func (m *Metrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

func (m *Metrics) end(method, route string, status int, took time.Duration) {
	if m == nil {
		return
	}
	code := strconv.Itoa(status)
	m.inFlight.Dec()
	m.requests.WithLabelValues(method, route, code).Inc()
	m.duration.WithLabelValues(method, route, code).Observe(took.Seconds())
}

// Ops returns the handler of the operators' listener. It serves /metrics, /healthz and /readyz.
// With profiles, it also serves /debug/pprof/. The handler has no authentication, so its listener
// belongs on the loopback interface or in a private network. It does not show the command line,
// which may contain the password of a database.
func Ops(m *Metrics, profiles bool, health, ready http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", health)
	mux.Handle("GET /readyz", ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	if !profiles {
		return mux
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	return mux
}
