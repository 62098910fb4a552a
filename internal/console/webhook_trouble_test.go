package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
)

// TestAWebhookThatSendsOnlyRetries checks that the home page and the webhook's page name the state
// and the remedy.
func TestAWebhookThatSendsOnlyRetries(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		to := newReceiver(t, 500, "no")
		id := d.register("PAYMENT_STATE_UPDATED", to.URL, nil)
		for range 10 {
			d.pay()
		}
		d.shows(d.domainPath(""), []string{
			fmt.Sprintf("Webhook %d (PAYMENT_STATE_UPDATED) sends only retries after 10 failures in a row", id), "10 events wait.", "New events wait too.", "It sends all when the endpoint accepts one.",
		}, "stopped")
		page := d.shows(d.webhookPath(id), []string{">only retries<", "The last 10 requests failed. The last failure: status 500.", "New events wait too.", "The next attempt is", "<button class=\"small\">Send waiting events now</button>"}, "stopped").body
		to.turn(http.StatusOK)
		since := page[strings.Index(page, `name="since" value="`)+len(`name="since" value="`):]
		since = since[:strings.Index(since, `"`)]
		d.submit(d.webhookPath(id), d.webhookPath(id), "act", "recover webhook", "since", since)
		d.OK(d.Call("POST", "/sandbox/run", d.ConfigToken, nil))
		d.shows(d.webhookPath(id), []string{">enabled<"}, "Send waiting events now", "The last failure", "Next attempt")
		d.shows(d.domainPath(""), []string{"Nothing needs attention."})
	})
}

// TestAFailedTestLeavesNothingWaiting checks that the home page promises no retry when only a test
// failed.
func TestAFailedTestLeavesNothingWaiting(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		id := d.register("PAYMENT_STATE_UPDATED", newReceiver(t, 500, "no").URL, nil)
		try := func() {
			page := d.webhookPath(id) + "/test"
			if a := d.submit(page, page, "data", "{}"); a.status != http.StatusSeeOther {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		try()
		d.shows(d.domainPath(""), []string{": the last request failed", "No event waits."}, "retries each one", "events wait")
		d.pay()
		d.shows(d.domainPath(""), []string{"1 event waits. The service retries each one."}, "No event waits")
	})
}

func TestTheRemedyOfAWebhookIsVisible(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		id := d.register("PAYMENT_STATE_UPDATED", newReceiver(t, 500, "no").URL, nil)
		d.pay()
		page := d.webhookPath(id)
		viewer := newFixture(t, d.Instance)
		viewer.enter(operators.Viewer)
		for _, step := range []struct{ act, what, button string }{
			{"disable webhook", "This webhook is disabled.", "Enable"}, {"delete webhook", "This webhook is deleted.", "Restore"},
		} {
			d.submit(page, page, "act", step.act)
			button := `<button class="small">` + step.button + "</button>"
			d.shows(page, []string{step.what, button}, "Next attempt", "The last request failed")
			viewer.shows(page, []string{step.what}, button)
			d.submit(page, page, "act", map[string]string{"Enable": "enable webhook", "Restore": "restore webhook"}[step.button])
			d.shows(page, nil, step.what, button)
		}
	})
}

// TestACardOfActionsIsNotEmpty checks that the page shows the card of actions only to operators who
// may do an act on it.
func TestACardOfActionsIsNotEmpty(t *testing.T) {
	now := newClock()
	servicetest.Each(t, servicetest.Options{Now: now.now}, func(t *testing.T, s *servicetest.Instance) {
		hook, _ := plantLive(t, newFixture(t, s).inLive())
		acting, administrator := newFixture(t, s), newFixture(t, s)
		acting.enterTwice(operators.Acting, now)
		administrator.enterTwice(operators.Administrator, now)
		page := acting.inLive().webhookPath(int64(hook.ID))
		acting.shows(page, []string{"<h2>Actions</h2>", "Disable</button>"})
		administrator.submit(page, page, "act", "disable webhook")
		acting.shows(page, []string{"This webhook is disabled.", "Enable</button>"}, "<h2>Actions</h2>")
		administrator.shows(page, []string{"This webhook is disabled.", "<h2>Actions</h2>", "Delete webhook"})
	})
}

// TestTheOutcomeOfARequest checks that the message after a test or a repetition says whether the
// endpoint accepted the request.
func TestTheOutcomeOfARequest(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		to := newReceiver(t, 500, "no")
		id := d.register("PAYMENT_STATE_UPDATED", to.URL, nil)
		d.pay()
		delivery := d.dataPath(id, number(t, d.deliveries(id)[0]["id"]))
		d.submit(delivery, delivery+"/resend")
		d.shows(delivery, []string{"The payload was sent again, but the endpoint did not accept it: status 500."}, "accepted it.")
		test := d.webhookPath(id) + "/test"
		d.shows(d.submit(test, test, "data", "{}").location, []string{"The test was sent, but the endpoint did not accept it: status 500."}, "accepted it.")
		to.turn(http.StatusOK)
		d.shows(d.submit(test, test, "data", "{}").location, []string{"The test was sent, and the endpoint accepted it."}, "did not accept")
		to.turn(500)
		d.submit(delivery, delivery+"/resend")
		d.shows(d.webhookPath(id), []string{"The last request failed: status 500.", "Send waiting events now"})
		to.turn(http.StatusOK)
		d.submit(d.webhookPath(id), d.webhookPath(id), "act", "recover webhook", "since", "2020-01-01")
		d.shows(d.webhookPath(id), []string{"1 waiting event is being sent now."}, "The last request failed")
		d.OK(d.Call("POST", "/sandbox/run", d.ConfigToken, nil))
		d.submit(d.webhookPath(id), d.webhookPath(id), "act", "recover webhook", "since", "2020-01-01")
		d.shows(d.webhookPath(id), []string{"Nothing to send: no event since then waits."}, "The last request failed")
	})
}
