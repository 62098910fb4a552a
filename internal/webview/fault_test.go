package webview_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"passerelle/internal/store/storetest"
)

// TestFailedFormsMayHaveWorked makes the database fail. After a form about a connection, the page must
// not promise that repeating the form is safe.
func TestFailedFormsMayHaveWorked(t *testing.T) {
	const unknown, safe = "We do not know whether this worked", "Nothing will be done twice"
	database := storetest.SQLite(t)
	s := start(t, database, several(2))
	s.offer(t, newInstitutionConnector(1, "Banque du Lac", "FR"), newInstitutionConnector(2, "Island Bank", "GB"))
	connect := "/webview/en/connect?session=" + regexpOne(t, `session=([^&"]*)`, s.openFlow(t).body)
	pay := s.open(t, s.create(t, nil).ID, nil)
	s.get(t, pay)
	storetest.Break(t, database, `ALTER TABLE client RENAME TO hidden`)
	for name, page := range map[string]struct {
		got  answer
		want string
	}{
		"connection, form": {s.post(t, connect, "same-origin", url.Values{"step": {"begin"}}), unknown},
		"connection":       {s.get(t, connect), safe},
		"payment, form":    {s.post(t, pay, "same-origin", url.Values{"step": {"order"}}), safe},
		"payment":          {s.get(t, pay), safe},
	} {
		if got := page.got; got.status != http.StatusInternalServerError || !strings.Contains(got.body, page.want) || strings.Contains(got.body, unknown) && strings.Contains(got.body, safe) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
