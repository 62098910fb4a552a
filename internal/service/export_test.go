package service

import "github.com/prometheus/client_golang/prometheus"

// Metrics is what a service measures.
func Metrics(s *Service) prometheus.Collector { return s.metrics.Registry().(*prometheus.Registry) }
