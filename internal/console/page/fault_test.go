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
	for name, test := range map[string]struct {
		err          error
		status       int
		title, again string
	}{
		"unknown outcome":           {fmt.Errorf("write: %w", store.ErrUnknown), 503, "It is unknown whether this was done", ""},
		"unknown outcome, too late": {errors.Join(store.ErrUnknown, context.DeadlineExceeded), 503, "It is unknown whether this was done", ""},
		"too late":                  {context.DeadlineExceeded, 503, "Not available right now", "1"},
		"unavailable":               {&passerelle.Error{Kind: passerelle.Unavailable}, 503, "Not available right now", "1"},
		"defect":                    {errors.New("secret detail"), 500, "Something went wrong", ""},
		"nothing there":             {store.ErrNotFound, 404, "Page not found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			failing(test.err).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, page.Root+"fails", http.NoBody))
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
func failing(err error) *page.Handler {
	return page.New(page.Config{
		Domain:    func(context.Context, string) (passerelle.Domain, error) { return passerelle.Domain{}, nil },
		RequestID: func(context.Context) string { return "1" },
		MAC:       func(string, []byte) []byte { return make([]byte, 32) },
		Log:       slog.New(slog.DiscardHandler),
	}, []page.Route{{Method: http.MethodGet, Pattern: "fails", Open: true, Serve: func(*page.Context) error { return err }}})
}
