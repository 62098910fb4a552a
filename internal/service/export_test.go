package service

import "github.com/prometheus/client_golang/prometheus"

// Metrics returns the metrics of a service.
func Metrics(s *Service) prometheus.Collector { return s.metrics.Registry().(*prometheus.Registry) }
