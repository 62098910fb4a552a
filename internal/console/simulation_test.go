package console_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

func TestClockOfASandbox(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		simulated, clock := d.domainPath("/simulation"), d.domainPath("/simulation/clock")
		d.Subscribe("PAYMENT_STATE_UPDATED", "told")
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		if a := d.submit(simulated, clock, "freeze", "yes"); a.status != http.StatusSeeOther || !strings.Contains(d.get(simulated).body, "Stopped.") {
			t.Errorf("stopping: %d %s", a.status, a.body)
		}
		a := d.submit(simulated, clock, "advance", "40d")
		// The service does some of the work in the background, so the amount of work for this
		// request varies.
		if text := words(d.get(a.location).body); !strings.Contains(text, "Result Payments checked or expired") || !strings.Contains(text, "Webhook requests sent") || d.state(id) != "expired" {
			t.Errorf("40 days later: %d %s, %s", a.status, text, d.state(id))
		}
		for _, wrong := range [][]string{{"advance", "-1h"}, {"advance", "x"}, {"advance", "401d"}, {"set", "2000-01-01 00:00:00"}, {"set", "tomorrow"}, {}, {"advance", "1h", "set", "2100-01-01 00:00:00"}} {
			if a := d.submit(simulated, clock, wrong...); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%v: %d", wrong, a.status)
			}
		}
		if a := d.submit(simulated, clock, "freeze", "no"); a.status != http.StatusSeeOther {
			t.Errorf("letting it run: %d", a.status)
		}
		if a := d.submit(simulated, d.domainPath("/simulation/run")); a.status != http.StatusSeeOther || !strings.Contains(a.location, "payments=") {
			t.Errorf("doing what is due: %d %s", a.status, a.location)
		}
		if diff := cmp.Diff([]string{"move clock  0", "move clock  0", "move clock  0", "run sandbox  0"}, d.acts()); diff != "" {
			t.Error(diff)
		}
		if got := len(d.Received("told")); got != 1 {
			t.Errorf("%d events were told", got)
		}
	})
}

func TestPlayingScenarios(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		page := d.domainPath("/simulation/scenarios")
		d.Subscribe("PAYMENT_STATE_UPDATED", "told")
		a := d.submit(page, page, "scenario", "label-rejected")
		text := words(d.get(a.location).body)
		if !strings.Contains(text, "ended as rejected (noSpecifiedReason) , as expected.") {
			t.Errorf("%d %s", a.status, text[:min(len(text), 500)])
		}
		if got := len(d.Received("told")); got != 2 {
			t.Errorf("%d events, want validating and rejected", got)
		}
		b := d.submit(page, d.domainPath("/simulation/logins"), "login", "otp")
		if text := words(d.get(b.location).body); !strings.Contains(text, "bank asks the user") {
			t.Errorf("%d %s", b.status, text[:min(len(text), 500)])
		}
		for to, wrong := range map[string][]string{page: {"scenario", "nothing"}, d.domainPath("/simulation/logins"): {"login", "nothing"}} {
			if a := d.submit(page, to, wrong...); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%v: %d", wrong, a.status)
			}
		}
		if a := d.submit(page, page, "scenario", "periodic-endless"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "payment.periodic.enabled") {
			t.Errorf("what needs another configuration: %d", a.status)
		}
		for _, query := range []string{"?payment=999", "?payment=x", "?user=1&connection=x", "?user=9&connection=9"} {
			if a := d.get(page + query); a.status != http.StatusOK || strings.Contains(a.body, "as expected") {
				t.Errorf("%s: %d", query, a.status)
			}
		}
		acts := d.acts()
		if len(acts) != 2 || !strings.HasPrefix(acts[0], "play scenario payment ") || !strings.HasPrefix(acts[1], "play scenario user ") {
			t.Errorf("on record: %q", acts)
		}
	})
}

// TestACancelledSeries checks the text about a cancelled periodic payment.
func TestACancelledSeries(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		d.OK(d.Call("POST", "/config", d.ConfigToken, map[string]any{"payment.periodic.enabled": "1"}))
		page := d.domainPath("/simulation/scenarios")
		d.shows(d.submit(page, page, "scenario", "cancel-series").location, []string{"as expected"})
		d.shows(d.paymentPath(1), []string{"The bank executed the order once.", "The bank executed the order on the days in the timeline"}, "No money moved")
	})
}

func TestReceiverOfASandbox(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		page := d.domainPath("/simulation/receiver")
		if !strings.Contains(d.get(page).body, "No requests yet.") {
			t.Error("it is not empty")
		}
		for n := range 11 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Origin+"/sandbox/receiver/shop-"+strconv.Itoa(n), strings.NewReader(hostile+strings.Repeat("x", 5000)))
			must(t, err)
			request.Header.Set("X-Odd", hostile)
			d.do(request)
		}
		first := d.get(page)
		text := words(first.body)
		if strings.Contains(first.body, "<script>") || strings.Count(text, "no signature") != 10 || !strings.Contains(text, "shop-10") || !strings.Contains(text, "more bytes") || len(first.body) > 80_000 {
			t.Errorf("%d bytes: %s", len(first.body), text[:500])
		}
		older := d.get(page + link(t, first, "next"))
		if text := words(older.body); !strings.Contains(text, "shop-0 ") || strings.Contains(text, "shop-1 ") {
			t.Errorf("the older ones: %s", text[:500])
		}
		if a := d.submit(page, page+"/empty"); a.status != http.StatusSeeOther || !strings.Contains(d.get(page).body, "No requests yet.") {
			t.Errorf("emptying: %d", a.status)
		}
		if diff := cmp.Diff([]string{"empty receiver  0"}, d.acts()); diff != "" {
			t.Error(diff)
		}
	})
}

// A live domain has no simulation.
func TestWhoMayUseTheSimulation(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		live, err := service.EnsureDomain(t.Context(), d.DB, passerelle.Domain{Name: "live", Kind: passerelle.Live, BaseURL: "https://live.example/2.0", Created: d.Domain.Created})
		must(t, err)
		d.enter(operators.Viewer)
		posts := map[string][]string{"/clock": {"advance", "1h"}, "/run": nil, "/scenarios": {"scenario", "plain"}, "/logins": {"login", "one"}, "/receiver/empty": nil}
		for path, form := range posts {
			if a := d.submit("/console/account", d.domainPath("/simulation"+path), form...); a.status != http.StatusForbidden {
				t.Errorf("%s for a viewer: %d", path, a.status)
			}
			if a := d.submit("/console/account", fmt.Sprintf("/console/domains/%d/simulation%s", live.ID, path), form...); a.status != http.StatusNotFound {
				t.Errorf("%s of a live domain: %d", path, a.status)
			}
		}
		for _, path := range []string{"", "/scenarios", "/receiver"} {
			body := d.get(d.domainPath("/simulation" + path)).body
			if n := strings.Count(body, `method="post"`) - strings.Count(body, "sign-out"); n > 0 && !strings.Contains(path, "scenarios") || strings.Contains(body, ">Run</button>") {
				t.Errorf("a viewer sees buttons in %q", path)
			}
			if a := d.get(fmt.Sprintf("/console/domains/%d/simulation%s", live.ID, path)); a.status != http.StatusNotFound {
				t.Errorf("%q of a live domain: %d", path, a.status)
			}
		}
		if d.acts() != nil {
			t.Errorf("on record: %v", d.acts())
		}
	})
}
