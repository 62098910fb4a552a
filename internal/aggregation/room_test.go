package aggregation_test

import (
	"context"
	"slices"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
)

// TestBackgroundReadsNameTheirConnector checks that reads in the background count for their
// connector. The reads of a slow institution therefore leave room for those of others.
func TestBackgroundReadsNameTheirConnector(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		var of []string
		h.Background = func(connector string, work func(context.Context)) bool {
			of = append(of, connector)
			return h.later(connector, work)
		}
		_, err := h.Connect(t.Context(), h.domain, h.user.ID, aggregation.Request{
			Connector: sandbox.TestConnector, Source: "directaccess", Values: map[string]string{"login": "anna", "password": "1234"}, Background: true,
		})
		must(t, err)
		c, err := h.connect("anna", "1234")
		must(t, err)
		_, err = h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Background: true})
		must(t, err)
		if want := []string{sandbox.TestConnector, sandbox.TestConnector}; !slices.Equal(of, want) {
			t.Errorf("reads of the connectors %q begin, want %q", of, want)
		}
		for _, work := range h.waiting {
			work(t.Context())
		}
	})
}
