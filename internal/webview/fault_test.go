package webview_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// A broken link shows advice. The page also has a link back to the application, if the application
// may use the redirect_uri in the broken link.
func TestBrokenLinksLeadBack(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		client := number(passerelle.PaymentID(s.client.ID))
		for _, c := range []struct {
			name, path string
			query      url.Values
			back       string
		}{
			{"used code", "/webview/en/connect", url.Values{"client_id": {client}, "redirect_uri": {"https://shop.example/sorry"}, "code": {"x"}, "state": {"a&b"}}, "https://shop.example/sorry?state=a%26b"},
			{"wrong payment code", "/webview/en/payment", url.Values{"client_id": {client}, "redirect_uri": {"https://shop.example/sorry"}, "code": {"x"}}, "https://shop.example/sorry"},
			{"not registered", "/webview/en/connect", url.Values{"client_id": {client}, "redirect_uri": {"https://evil.example/"}, "code": {"x"}}, ""},
			{"unknown application", "/webview/en/connect", url.Values{"client_id": {"999"}, "redirect_uri": {"https://shop.example/sorry"}}, ""},
			{"no payment of this browser", "/webview/en/payment", url.Values{"payment_id": {"1"}}, ""},
		} {
			got := s.get(t, c.path+"?"+c.query.Encode())
			if got.status < 400 || !strings.Contains(got.body, "Go back") && !strings.Contains(got.body, "Please tell the site") {
				t.Errorf("%s: %d does not say what to do: %s", c.name, got.status, got.body)
			}
			if c.back == "" && strings.Contains(got.body, `class="button"`) {
				t.Errorf("%s: leads somewhere: %s", c.name, got.body)
			}
			if button := `<a class="button" target="_top" href="` + html.EscapeString(c.back) + `">Go back to Maison Dupont</a>`; c.back != "" && !strings.Contains(got.body, button) {
				t.Errorf("%s: lacks %s: %s", c.name, button, got.body)
			}
		}
	})
}

// When a person opens a payment's page after their access has ended, the response is an error page
// with a link back to the application.
func TestPageLinksBackAfterAccessEnded(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, nil)
		page := s.open(t, p.ID, sorry)
		s.revokeAll(t)
		got := s.get(t, page)
		want := html.EscapeString("https://shop.example/sorry?id_payment=" + number(p.ID) + "&state=a%26b%3D%C3%BC")
		if got.status != http.StatusUnauthorized || !strings.Contains(got.body, `href="`+want+`"`) || strings.Contains(got.body, "Order 1234") {
			t.Errorf("%d does not lead to %s, or shows the payment: %s", got.status, want, got.body)
		}
	})
}

// TestFailedFormsMayHaveWorked makes the database fail. After a form about a connection, the page
// must not promise that repeating the form is safe.
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

// An error page of a flow loads the client at most once. After a failure of the service, it does not
// load the client again, because the database may be what failed.
func TestErrorPagesLoadTheClientOnce(t *testing.T) {
	each(t, several(2), func(t *testing.T, s *stack) {
		flow := "/webview/en/connect?session=" + regexpOne(t, `session=([^&"]*)`, s.openFlow(t).body)
		link := "/webview/en/connect?" + url.Values{
			"client_id": {number(passerelle.PaymentID(s.client.ID))}, "redirect_uri": {"https://shop.example/sorry"}, "max_connections": {"none"},
		}.Encode()
		busy, broken := fmt.Errorf("count a request: %w", passerelle.Unavailable), errors.New("the database is broken")
		var reads int
		var broke error
		s.DB.Database.Observe(func(_ context.Context, statements []database.Statement) error {
			if !strings.Contains(statements[0].SQL, "FROM client WHERE") || strings.Contains(statements[0].SQL, "SELECT redirect_uris FROM") {
				return nil
			}
			reads++
			return broke
		})
		for _, c := range []struct {
			name, path    string
			busy, broke   error
			status, reads int
		}{
			{"wrong link", link, nil, nil, http.StatusBadRequest, 1},
			{"busy, link", link, busy, nil, http.StatusServiceUnavailable, 0},
			{"busy, flow", flow, busy, nil, http.StatusServiceUnavailable, 0},
			{"broken, link", link, nil, broken, http.StatusInternalServerError, 1},
			{"broken, flow", flow, nil, broken, http.StatusInternalServerError, 1},
		} {
			reads, s.failure, broke = 0, c.busy, c.broke
			if got := s.get(t, c.path); got.status != c.status || reads != c.reads {
				t.Errorf("%s: answered %d after %d reads of the client, want %d after %d", c.name, got.status, reads, c.status, c.reads)
			}
		}
	})
}

// After a lost response to COMMIT, the page suggests trying again only if repeating the request is
// safe.
func TestUnknownOutcomesOfForms(t *testing.T) {
	const unknown, safe = "We do not know whether this worked", "Nothing will be done twice"
	s := start(t, storetest.SQLite(t), several(2))
	s.offer(t, newInstitutionConnector(1, "Banque du Lac", "FR"), newInstitutionConnector(2, "Island Bank", "GB"))
	connect := "/webview/en/connect?session=" + regexpOne(t, `session=([^&"]*)`, s.openFlow(t).body)
	pay := s.open(t, s.create(t, nil).ID, nil)
	s.get(t, pay)
	s.failure = fmt.Errorf("store a connection: %w", store.ErrUnknown)
	for name, page := range map[string]struct {
		got          answer
		shows, lacks string
		again        bool
	}{
		"connection, form": {got: s.post(t, connect, "same-origin", url.Values{"step": {"begin"}}), shows: unknown, lacks: safe},
		"connection":       {got: s.get(t, connect), shows: safe, lacks: unknown, again: true},
		"payment, form":    {got: s.post(t, pay, "same-origin", url.Values{"step": {"order"}}), shows: safe, lacks: unknown, again: true},
		"payment":          {got: s.get(t, pay), shows: safe, lacks: unknown, again: true},
	} {
		got := page.got
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, page.shows) || strings.Contains(got.body, page.lacks) || (got.header.Get("Retry-After") != "") != page.again {
			t.Errorf("%s: %d %v %s", name, got.status, got.header, got.body)
		}
	}
}

// A user is deleted after a request has loaded this user, and before the request creates a
// connection. The flow ends like any flow of a deleted user.
func TestUserDeletedDuringAForm(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		s.offer(t, newInstitutionConnector(1, "Banque du Lac", "FR"))
		page := s.openFlow(t)
		user, err := database.One(t.Context(), s.DB.Rows(), database.ScanInt, `SELECT max(id) FROM end_user`)
		must(t, err)
		s.data.Now = func() time.Time { // the request asks for the time after it has loaded the user
			s.data.Now = time.Now
			if err := s.data.DeleteUser(context.Background(), s.domain, passerelle.UserID(user)); err != nil {
				t.Error(err)
			}
			return time.Now()
		}
		form := url.Values{"step": {"begin"}, "csrf": {regexpOne(t, `name="csrf" value="([^"]*)"`, page.body)}}
		got := s.post(t, regexpOne(t, `method="post" action="([^"]*)"`, page.body), "same-origin", form)
		if !strings.HasPrefix(got.location, "https://shop.example/back?error=session_expired") || !strings.Contains(got.location, "no+longer+exists") {
			t.Errorf("%d to %q: %s", got.status, got.location, got.body)
		}
	})
}
