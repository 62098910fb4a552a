package page_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
)

// TestFailuresAreExplained checks the page of each failure of the service. An operator must not
// repeat an act whose outcome is unknown before they know that it was not done.
func TestFailuresAreExplained(t *testing.T) {
	const unknown, busy = "It is unknown whether this was done", "Not available right now"
	for name, test := range map[string]struct {
		method       string
		err          error
		status       int
		title, again string
	}{
		"unknown outcome":           {"POST", fmt.Errorf("write: %w", store.ErrUnknown), 503, unknown, ""},
		"unknown outcome, too late": {"POST", errors.Join(store.ErrUnknown, context.DeadlineExceeded), 503, unknown, ""},
		"lost result":               {"POST", fmt.Errorf("%w: %w", passerelle.Unavailable, store.ErrUnread), 503, unknown, ""},
		"unknown record of a read":  {"GET", store.ErrUnknown, 503, busy, "1"},
		"too late":                  {"POST", context.DeadlineExceeded, 503, busy, "1"},
		"unavailable":               {"GET", &passerelle.Error{Kind: passerelle.Unavailable}, 503, busy, "1"},
		"defect":                    {"POST", errors.New("secret detail"), 500, "Something went wrong", ""},
		"nothing there":             {"GET", store.ErrNotFound, 404, "Page not found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			failing(test.method, test.err).ServeHTTP(answer, httptest.NewRequest(test.method, page.Root+"fails", http.NoBody))
			body := answer.Body.String()
			if again := answer.Header().Get("Retry-After"); answer.Code != test.status || again != test.again || !strings.Contains(body, "<h1>"+test.title+"</h1>") {
				t.Errorf("status %d, Retry-After %q: %s", answer.Code, again, body)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("the page shows the details: %s", body)
			}
		})
	}
}

// failing returns a console whose only page fails.
func failing(method string, err error) *page.Handler {
	return page.New(page.Config{
		Domain:    func(context.Context, string) (passerelle.Domain, error) { return passerelle.Domain{}, nil },
		RequestID: func(context.Context) string { return "1" },
		MAC:       func(string, []byte) []byte { return make([]byte, 32) },
		Log:       slog.New(slog.DiscardHandler),
	}, []page.Route{{Method: method, Pattern: "fails", Open: true, Serve: func(*page.Context) error { return err }}})
}
