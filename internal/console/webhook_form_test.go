package console_test

import (
	"fmt"
	"strings"
	"testing"

	"passerelle/internal/operators"
	"passerelle/webhook"
)

// TestTheFormOfAWebhook checks that the forms do not name API fields such as id_service, and that
// the form of a webhook warns of requests without authentication.
func TestTheFormOfAWebhook(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		for _, path := range []string{"/new", "/verify", "/auth/new?type=oauth"} {
			text := words(d.get(d.webhooksPath(path)).body)
			for _, name := range []string{"id_service", "id_auth", "id_user", "config."} {
				if strings.Contains(text, name) {
					t.Errorf("%s has the name of an API field, %s", path, name)
				}
			}
		}
		form := d.shows(d.webhooksPath("/new"), []string{
			"Without a provider, requests about payments are not authenticated", "Create a provider first", "<option selected>PAYMENT_STATE_UPDATED</option>", "Sent after the state of a payment changes.",
		}).body
		if n := strings.Count(form, "<dd>Sent "); n != len(webhook.Events()) {
			t.Errorf("the form explains %d of %d events", n, len(webhook.Events()))
		}
		d.Subscribe("USER_CREATED", "signer")
		d.shows(d.webhooksPath("/new"), []string{"See the providers"}, "Create a provider first")
	})
}

// TestEveryEventIsExplained checks that each event has a page with its meaning and a sample.
func TestEveryEventIsExplained(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		for _, event := range webhook.Events() {
			page := d.webhooksPath(fmt.Sprint("/events/", event.Number))
			d.shows(d.domainPath("/search?q="+strings.ToLower(string(event.Event))), []string{fmt.Sprintf(`href="%s"`, page)})
			d.shows(page, []string{"<h1>" + string(event.Event) + "</h1>", "The service sends this event " + event.Description, `class="json"`, "/new?event=" + string(event.Event)})
			d.shows(d.webhooksPath("/new?event="+string(event.Event)), []string{"<option selected>" + string(event.Event) + "</option>"})
		}
		id := d.register("USER_SYNCED", "https://shop.example/", nil)
		d.shows(d.webhookPath(id), []string{`href="` + d.webhooksPath("/events/14") + `"`})
		if a := d.get(d.webhooksPath("/events/13")); a.status != 404 {
			t.Errorf("an event that is not: %d", a.status)
		}
	})
}
