package service

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"passerelle/connector"
)

// Metrics returns the metrics of a service.
func Metrics(s *Service) prometheus.Collector { return s.metrics.Registry().(*prometheus.Registry) }

// Measure reads the metrics of the domains.
func Measure(ctx context.Context, s *Service) error { return s.measure(ctx) }

// NoteKeys runs one pass of the loop that checks the keys.
func NoteKeys(ctx context.Context, s *Service) error { return s.noteKeys(ctx) }

// FollowPayments runs one pass of the loop that follows payments.
func FollowPayments(ctx context.Context, s *Service) error { return s.followPayments(ctx) }

// FetchFromPrograms runs one pass of the loop that fetches the files of connector programs.
func FetchFromPrograms(ctx context.Context, s *Service) error { return s.fetchFromPrograms(ctx) }

// DeviceIn returns the device that the headers of an application's request describe.
func DeviceIn(r *http.Request) connector.Device { return headersOf(r, "PSU-") }

// LimitFollow sets the time limit of a pass that follows payments until the end of the test.
func LimitFollow(t testing.TB, limit time.Duration) {
	former := longestFollow
	longestFollow = limit
	t.Cleanup(func() { longestFollow = former })
}
