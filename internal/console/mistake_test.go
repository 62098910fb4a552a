package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"passerelle/internal/operators"
	"passerelle/internal/store"
)

var openSection = regexp.MustCompile(`<details open><summary>([^<]+)`)

// TestTheFieldWithAMistake checks that after a mistake, only the field with the mistake refers to
// the message, and that only its section is open.
func TestTheFieldWithAMistake(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		_, password := d.enter(operators.Administrator)
		user, token := d.user()
		connection := d.userPath(user, fmt.Sprint("/connections/", d.connect(token, "one")))
		d.Subscribe("PAYMENT_STATE_UPDATED", "first")
		hooks, err := d.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: d.Domain.ID}, store.Window{Limit: 1})
		must(t, err)
		hook, provider := d.webhookPath(int64(hooks[0].ID)), d.providersPath(fmt.Sprint("/", hooks[0].Auth))
		client, clients, key := d.domainPath("/clients/"+d.ClientID), d.domainPath("/clients"), d.domainPath("/configuration/key")
		for _, c := range []struct {
			page, to, field, section string
			values                   []string
		}{
			{connection, connection + "/delete", "number", "Delete connection…", []string{"number", "1x"}},
			{d.userPath(user, ""), d.userPath(user, "/delete"), "number", "Delete user…", []string{"number", ""}},
			{client, client + "/delete", "number", "Delete application…", []string{"number", "0"}},
			{client, client, "primary_color", "", []string{"name", "Shop", "primary_color", "red"}},
			{client, client + "/config", "value", "", []string{"act", "set", "key", "webview.origins", "value", "shop"}},
			{clients, clients, "redirect_uris", "", []string{"name", "Shop", "redirect_uris", "shop"}},
			{key + "?name=api.timezone", key, "value", "", []string{"name", "api.timezone", "act", "set", "value", "Nowhere"}},
			{d.webhooksPath("/new"), d.webhooksPath("/new"), "url", "", []string{"event", "USER_CREATED", "url", "x"}},
			{d.webhooksPath("/auth/new?type=oauth"), d.webhooksPath("/auth/new"), "public_cert", "Client certificate, for endpoints that require one", []string{
				"type", "oauth", "name", "bank", "url", d.Origin, "client_id", "a", "client_secret", "b", "public_cert", "x", "private_cert", "y",
			}},
			{hook, hook, "since", "Send waiting events since…", []string{"act", "recover webhook", "since", "yesterday"}},
			{provider, provider + "/rotate", "overlap", "Create new secret…", []string{"overlap", "soon"}},
			{provider, provider + "/delete", "number", "Delete…", []string{"number", "1x"}},
			{d.domainPath("/simulation"), d.domainPath("/simulation/clock"), "advance", "", []string{"advance", "long"}},
			{"/console/account", "/console/account/password", "present", "", []string{"present", "wrong", "next", password + "x", "again", password + "x"}},
			{"/console/account", "/console/account/password", "again", "", []string{"present", password, "next", password + "x", "again", password}},
			{"/console/account", "/console/account/second-factor", "present", "", []string{"present", "wrong"}},
		} {
			body := d.wants(c.page, c.to, http.StatusUnprocessableEntity, `role="alert" id="problem"`, c.values...).body
			if strings.Count(body, `aria-invalid="true" aria-describedby="problem"`) != 1 || !regexp.MustCompile(` name="`+c.field+`"[^>]* aria-invalid=`).MatchString(body) {
				t.Errorf("%s: after %q, the field %s is not the marked one: %s", c.to, c.values, c.field, body)
			}
			var open []string
			for _, found := range openSection.FindAllStringSubmatch(body, -1) {
				open = append(open, found[1])
			}
			if got := strings.Join(open, ", "); got != c.section {
				t.Errorf("%s: after %q, these sections are open: %q", c.to, c.values, got)
			}
		}
	})
}

// TestTheFilterWithAMistake checks that the field of a wrong filter refers to the message.
func TestTheFilterWithAMistake(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		for _, c := range []struct{ list, field string }{
			{"/payments?id=odd", "id"},
			{"/payments?first=odd", "first"},
			{"/payments?least=0", "least"},
			{"/payments?state=odd", "state"},
			{"/audit?since=odd", "since"},
			{"/audit?id=odd", "id"},
			{"/tokens?id=odd", "id"},
			{"/users?id=odd", "id"},
		} {
			body := d.get(d.domainPath(c.list)).body
			if strings.Count(body, `aria-invalid="true" aria-describedby="problem"`) != 1 || !regexp.MustCompile(` name="`+c.field+`"[^>]* aria-invalid=`).MatchString(body) {
				t.Errorf("%s does not mark %s: %s", c.list, c.field, body)
			}
		}
	})
}
