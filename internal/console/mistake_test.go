package console_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/internal/operators"
	"passerelle/internal/store"
)

var (
	controlTag = regexp.MustCompile(`<(?:input|select|textarea)\b(?:\{\{.*?\}\}|[^>{])*>`)
	fieldName  = regexp.MustCompile(`\sname="([^"]+)"`)
)

// neverWrong lists the fields of each page that no message is about. Most of these are searches, and
// choices that have a meaning for each value.
var neverWrong = map[string]string{
	"audit": "of act subject refused", "client": "pro key", "configuration": "search", "connector": "hidden disabled", "connectors": "search",
	"payments": "column", "receiver": "signature", "scenarios": "search end", "tokens": "all",
}

// TestEveryFieldCanBeMarked checks that the pages can mark each field of their forms as wrong, apart
// from the fields in neverWrong.
func TestEveryFieldCanBeMarked(t *testing.T) {
	files, err := filepath.Glob("pages/*.html")
	must(t, err)
	below, err := filepath.Glob("*/pages/*.html")
	must(t, err)
	fields := 0
	for _, file := range slices.Concat(files, below) {
		text, err := os.ReadFile(file)
		must(t, err)
		page := strings.TrimSuffix(filepath.Base(file), ".html")
		for _, field := range controlTag.FindAllString(string(text), -1) {
			name := fieldName.FindStringSubmatch(field)
			if name == nil || strings.Contains(field, `type="hidden"`) || strings.Contains(field, ".Invalid ") || strings.Contains(field, ".Wrong}}") {
				fields++
				continue
			}
			if !slices.Contains(strings.Fields(neverWrong[page]), name[1]) {
				t.Errorf("%s cannot mark the field %s: %s", file, name[1], field)
			}
		}
	}
	if fields < 100 {
		t.Errorf("only %d fields were found", fields)
	}
}

var labelledProblem = regexp.MustCompile(`id="problem"><strong>[^<]*</strong><p>([^:<]*?)(?:, number \d+)?: `)

// checkMarked fails the test for a page with a message about a labelled field that is not marked.
func checkMarked(t *testing.T, path, body string) {
	t.Helper()
	found := labelledProblem.FindStringSubmatch(body)
	if found == nil {
		return
	}
	labels := regexp.MustCompile(`<label (?:class="unseen" )?for="([^"]+)">`+regexp.QuoteMeta(found[1])+`\s*<`).FindAllStringSubmatch(body, -1)
	marked := func(label []string) bool {
		return regexp.MustCompile(` id="` + label[1] + `"[^>]* aria-invalid="true" aria-describedby="problem"`).MatchString(body)
	}
	if len(labels) > 0 && !slices.ContainsFunc(labels, marked) {
		t.Errorf("%s: the message is about the field %q, which is not marked: %s", path, found[1], body)
	}
}

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
		refund := d.paymentPath(d.paid()) + "/refund"
		d.OK(d.Call("POST", "/config", d.ConfigToken, map[string]any{"payment.max_amount": "5"}))
		hook, provider := d.webhookPath(int64(hooks[0].ID)), d.providersPath(fmt.Sprint("/", hooks[0].Auth))
		model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
		bank := d.domainPath(fmt.Sprint("/connectors/", model.Profile().ID))
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
			{client, client + "/config", "value", "", []string{"act", "set", "key", " webview.origins ", "value", "shop"}},
			{client, client + "/config", "key", "", []string{"act", "set", "key", strings.Repeat("k", 300), "value", "shop"}},
			{refund, refund, "amount", "", []string{"amount", "x", "label", "Sorry"}},
			{refund, refund, "amount", "", []string{"amount", "999.00", "label", "Sorry"}},
			{refund, refund, "amount", "", []string{"amount", "10.00", "label", "Sorry"}},
			{refund, refund, "label", "", []string{"amount", "1.00", "label", ""}},
			{bank, bank, "mechanism", "", []string{"mechanism", "odd"}},
			{d.domainPath("/tokens"), d.domainPath("/tokens"), "kind", "", []string{"kind", "odd"}},
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
		hook := d.register("USER_CREATED", d.Origin, nil)
		for _, c := range []struct{ list, field string }{
			{"/payments?id=odd", "id"},
			{"/payments?first=odd", "first"},
			{"/payments?least=0", "least"},
			{"/payments?state=odd", "state"},
			{"/audit?since=odd", "since"},
			{"/audit?id=odd", "id"},
			{"/tokens?id=odd", "id"},
			{"/users?id=odd", "id"},
			{"/audit?operator=odd", "operator"},
			{"/connections?state=odd", "state"},
			{"/search?q=" + strings.Repeat("x", 201), "q"},
			{"/connections?connector=odd", "connector"},
			{fmt.Sprintf("/webhooks/%d?state=odd", hook), "state"},
		} {
			body := d.get(d.domainPath(c.list)).body
			if strings.Count(body, `aria-invalid="true" aria-describedby="problem"`) != 1 || !regexp.MustCompile(` name="`+c.field+`"[^>]* aria-invalid=`).MatchString(body) {
				t.Errorf("%s does not mark %s: %s", c.list, c.field, body)
			}
		}
	})
}

// TestTheFieldsOfTheSignIn checks that a wrong name and a wrong password mark both fields, so that
// the page does not say which of the two is wrong.
func TestTheFieldsOfTheSignIn(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		fresh := newFixture(t, d.Instance)
		for _, name := range []string{"some-viewer", "nobody"} {
			body := fresh.wants("/console/sign-in", "/console/sign-in", http.StatusUnprocessableEntity, "This is not correct.", "name", name, "password", "wrong").body
			for _, field := range []string{"name", "password"} {
				if !regexp.MustCompile(` name="` + field + `" aria-invalid="true" aria-describedby="problem"`).MatchString(body) {
					t.Errorf("%s is not marked for the name %s: %s", field, name, body)
				}
			}
		}
	})
}
