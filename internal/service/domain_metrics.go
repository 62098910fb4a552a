package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle"
	"passerelle/internal/background"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpd"
	"passerelle/internal/store"
	"passerelle/payment"
)

// maxMeasured is the largest number of domains with metrics. Only the oldest domains have metrics.
// Each of them costs several short queries per minute.
const maxMeasured = 100

// domainMetrics has the metrics of the domains. A loop reads them from the database, so scrapes
// need no database access.
type domainMetrics struct {
	mu      sync.Mutex
	figures []prometheus.Metric
}

// figure describes a metric. It adds the prefix passerelle_ to the name.
func figure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("passerelle_"+name, help, labels, nil)
}

var (
	measuredAt      = figure("measured_timestamp_seconds", "Time when the service read the figures of the domains from the database.")
	measuredDomains = figure("domains", "Number of domains. The figures of domains cover only the oldest 100.")
	paymentStates   = figure("payments_last_day", "Payments registered in the last 24 hours of the domain's time, by state, among the newest 10000.", "domain", "kind", "state")
	unknownOutcomes = figure("payments_with_unknown_outcome", "Payments for which the bank did not report the outcome of the last call. The count stops at 1000.", "domain", "kind")
	pendingWebhooks = figure("webhook_pending_deliveries", "Deliveries that receivers have not accepted yet. The count stops at 1000 for each webhook.", "domain")
	webhookRequests = figure("webhook_requests_last_day", "Requests to webhooks in the last 24 hours of the domain's time.", "domain")
	webhookSuccess  = figure("webhook_success_ratio", "Share of the requests to webhooks in the last 24 hours that receivers accepted.", "domain")
	troubles        = figure("connections_in_trouble", "Failing connections of users, by state. The count stops at 10000.", "domain", "state")
	lastBackup      = figure("last_backup_timestamp_seconds", "Time of the last recorded copy of the database, 0 without one. Only with a live domain.")
)

// maxPending limits the count of a webhook's pending deliveries, and the count of a domain's
// payments with an unknown outcome.
const maxPending = 1000

// Describe implements prometheus.Collector.
func (m *domainMetrics) Describe(into chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{measuredAt, measuredDomains, paymentStates, unknownOutcomes, pendingWebhooks, webhookRequests, webhookSuccess, troubles, lastBackup} {
		into <- one
	}
}

// Collect implements prometheus.Collector.
func (m *domainMetrics) Collect(into chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.figures {
		into <- one
	}
}

// measure reads the metrics again. When the values of a domain cannot be read, the domain has no
// values until the next successful read, and the values of the other domains are published. When
// this happens to all domains, the earlier values and their time stay.
func (s *Service) measure(ctx context.Context) error {
	all, err := s.DB.Domains(ctx)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	now := s.config.Now()
	read := reading{DB: s.DB, at: now}
	read.gauge(measuredDomains, float64(len(all)))
	if err := read.backup(ctx, all); err != nil {
		return err
	}
	all = all[:min(len(all), maxMeasured)]
	var failed []error
	for _, d := range all {
		begun := len(read.figures)
		if err := read.domain(ctx, d); err != nil {
			read.figures = read.figures[:begun]
			failed = append(failed, fmt.Errorf("measure domain %s: %w", d.Name, err))
		}
	}
	if len(failed) > 0 && len(failed) == len(all) {
		return errors.Join(failed...)
	}
	read.gauge(measuredAt, seconds(now))
	s.domainMetrics.mu.Lock()
	defer s.domainMetrics.mu.Unlock()
	s.domainMetrics.figures = read.figures
	return errors.Join(failed...)
}

// reading has the values that one call of measure reads.
type reading struct {
	*store.DB
	at      time.Time
	figures []prometheus.Metric
}

func (r *reading) gauge(of *prometheus.Desc, value float64, labels ...string) {
	r.figures = append(r.figures, prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...))
}

// backup reads the time of the last copy of the database. Sandboxes need no copies.
func (r *reading) backup(ctx context.Context, all []passerelle.Domain) error {
	if !slices.ContainsFunc(all, func(d passerelle.Domain) bool { return d.Kind == passerelle.Live }) {
		return nil
	}
	begun, err := r.LastBackup(ctx)
	if err != nil {
		return fmt.Errorf("read the time of the last copy: %w", err)
	}
	at := 0.0
	if begun != nil {
		at = seconds(*begun)
	}
	r.gauge(lastBackup, at)
	return nil
}

func (r *reading) domain(ctx context.Context, d passerelle.Domain) error {
	now := d.Clock.Now(r.at)
	if err := r.payments(ctx, d, now); err != nil {
		return err
	}
	trouble, err := bankstore.From(r.DB).Troubles(ctx, d.ID)
	if err != nil {
		return err
	}
	for _, one := range trouble {
		r.gauge(troubles, float64(one.Count), d.Name, one.State)
	}
	health, err := r.DomainHealth(ctx, d.ID, now)
	if err != nil {
		return err
	}
	r.gauge(webhookRequests, float64(health.Requests), d.Name)
	if health.Requests > 0 {
		r.gauge(webhookSuccess, float64(health.Successes)/float64(health.Requests), d.Name)
	}
	return r.pending(ctx, d)
}

func (r *reading) payments(ctx context.Context, d passerelle.Domain, now time.Time) error {
	volumes, err := r.Volumes(ctx, d.ID, 24*time.Hour, now.Add(-24*time.Hour))
	if err != nil {
		return err
	}
	counts := map[payment.State]int64{}
	for _, one := range volumes {
		counts[one.State] += one.Count
	}
	for state, n := range counts {
		r.gauge(paymentStates, float64(n), d.Name, string(d.Kind), string(state))
	}
	unknown, err := r.UnknownOutcomes(ctx, d.ID, maxPending)
	if err != nil {
		return err
	}
	r.gauge(unknownOutcomes, float64(len(unknown)), d.Name, string(d.Kind))
	return nil
}

func (r *reading) pending(ctx context.Context, d passerelle.Domain) error {
	webhooks, err := r.Webhooks(ctx, store.WebhookFilter{Domain: d.ID}, store.Window{Limit: store.MaxWebhooks})
	if err != nil {
		return err
	}
	ids := make([]passerelle.WebhookID, len(webhooks))
	for i, w := range webhooks {
		ids[i] = w.ID
	}
	pending, err := r.Pending(ctx, d.ID, maxPending, ids...)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, n := range pending {
		total += n
	}
	r.gauge(pendingWebhooks, float64(total), d.Name)
	return nil
}

// loopMetrics counts the passes of background loops, and has the beginning of each running pass.
type loopMetrics struct{ loops func() background.Group }

var (
	loopPasses   = figure("background_passes_total", "Passes of a background loop that ended.", "loop")
	loopFailures = figure("background_failures_total", "Passes of a background loop that failed.", "loop")
	loopBegun    = figure("background_pass_begun_timestamp_seconds", "Time when the running pass of a background loop began, 0 between passes.", "loop")
)

// Describe implements prometheus.Collector.
func (m loopMetrics) Describe(into chan<- *prometheus.Desc) {
	into <- loopPasses
	into <- loopFailures
	into <- loopBegun
}

// Collect implements prometheus.Collector.
func (m loopMetrics) Collect(into chan<- prometheus.Metric) {
	for _, loop := range m.loops() {
		passes, failures := loop.Counts()
		into <- prometheus.MustNewConstMetric(loopPasses, prometheus.CounterValue, float64(passes), loop.Name)
		into <- prometheus.MustNewConstMetric(loopFailures, prometheus.CounterValue, float64(failures), loop.Name)
		begun := 0.0
		if at, running := loop.Begun(); running {
			begun = seconds(at)
		}
		into <- prometheus.MustNewConstMetric(loopBegun, prometheus.GaugeValue, begun, loop.Name)
	}
}

// certificateMetrics has the expiry time of the certificate of the service, if it has one.
type certificateMetrics struct{ own *httpd.ServerCertificate }

var ownExpiration = figure("certificate_expiry_timestamp_seconds", "Expiry time of the service's own certificate (--tls-cert).")

// Describe implements prometheus.Collector.
func (certificateMetrics) Describe(into chan<- *prometheus.Desc) { into <- ownExpiration }

// Collect implements prometheus.Collector.
func (m certificateMetrics) Collect(into chan<- prometheus.Metric) {
	if m.own != nil {
		into <- prometheus.MustNewConstMetric(ownExpiration, prometheus.GaugeValue, seconds(m.own.Expires()))
	}
}

// limitMetrics returns the metric with the limit of concurrent requests.
func limitMetrics(limit int64) prometheus.Collector {
	most := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "passerelle_http_requests_limit", Help: "Limit of concurrent requests (--max-requests).",
	})
	most.Set(float64(limit))
	return most
}

// buildMetrics returns the metric that identifies the running program.
func buildMetrics(version string) prometheus.Collector {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "passerelle_build_info", Help: "Always 1, with the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	return build
}
