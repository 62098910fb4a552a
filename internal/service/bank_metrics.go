package service

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/connector"
)

// bankMetrics has metrics about the results of calls to banks. It reads the results at each scrape.
type bankMetrics struct{ connectors *connector.Registry }

// measure describes a metric about banks. The connector is the first label, and labels lists the
// other labels.
func measure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("passerelle_bank_"+name, help, append([]string{"connector"}, labels...), nil)
}

var (
	bankCalls      = measure("calls_total", "Calls to the bank, by kind.", "call")
	bankGood       = measure("call_success_ratio", "Share of the last 256 calls to which the bank responded.", "call")
	bankP95        = measure("call_duration_p95_seconds", "95th percentile of the duration of the last 256 calls.", "call")
	bankOpen       = measure("circuit_open", "1 while the service does not call the bank, because calls failed in a row.")
	bankRefuses    = measure("refuses_service", "1 while the bank refuses the certificate, signature, role or clock of the service.")
	bankFailures   = measure("failures_in_a_row", "Failed calls since the last successful call.")
	bankSuccess    = measure("last_success_timestamp_seconds", "Time of the bank's last response.")
	bankExpiration = measure("certificate_expiry_timestamp_seconds", "Expiry time of a certificate of the bank file.", "certificate")
)

// Describe implements prometheus.Collector.
func (m bankMetrics) Describe(into chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{bankCalls, bankGood, bankP95, bankOpen, bankRefuses, bankFailures, bankSuccess, bankExpiration} {
		into <- one
	}
}

// Collect implements prometheus.Collector.
func (m bankMetrics) Collect(into chan<- prometheus.Metric) {
	for _, c := range m.connectors.All() {
		if monitored, able := c.(connector.Monitored); able {
			collectBank(into, c.Profile().UUID, monitored.Health())
		}
	}
}

func collectBank(into chan<- prometheus.Metric, uuid string, h connector.BankHealth) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, append([]string{uuid}, labels...)...)
	}
	for of, holds := range map[*prometheus.Desc]bool{bankOpen: h.Open, bankRefuses: h.Refused} {
		value := 0.0
		if holds {
			value = 1
		}
		gauge(of, value)
	}
	gauge(bankFailures, float64(h.Failures))
	if !h.LastSuccess.IsZero() {
		gauge(bankSuccess, seconds(h.LastSuccess))
	}
	for _, one := range h.Certificates {
		gauge(bankExpiration, seconds(one.Until), one.Field)
	}
	for _, call := range h.Calls {
		into <- prometheus.MustNewConstMetric(bankCalls, prometheus.CounterValue, float64(call.Calls), uuid, call.Call)
		gauge(bankGood, float64(call.Good)/float64(call.Window), call.Call)
		gauge(bankP95, call.P95.Seconds(), call.Call)
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// countMetric returns a metric with a number that the service counts.
func countMetric(name, help string, count *atomic.Int64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "passerelle_" + name, Help: help}, func() float64 { return float64(count.Load()) })
}
