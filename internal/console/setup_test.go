package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func TestConfiguration(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		o, _ := d.enter(operators.Developer)
		list, key := d.domainPath("/configuration"), d.domainPath("/configuration/key?name=api.timezone")
		d.shows(list, []string{"api.timezone", "IANA time zone of", "Keys without effect", "oauth2.enabled"})
		d.shows(list+"?search=TIMEZONE", []string{"api.timezone"}, "payment.max_amount", "oauth2.enabled")
		d.shows(list+"?search=nothing", []string{"No key matches."})
		d.shows(key, []string{"an IANA time zone such as Europe/Paris", "This key has never been changed."}, "Restore default")

		to, set := d.domainPath("/configuration/key"), []string{"name", "api.timezone", "act", "set", "value"}
		a := d.wants(key, to, 422, "api.timezone: must be an IANA time zone", append(set, "<Nowhere>")...)
		if !strings.Contains(a.body, `value="&lt;Nowhere&gt;"`) {
			t.Errorf("what was typed is lost: %s", a.body)
		}
		d.wants(key, to, 400, "", "name", "api.timezone", "act", "other", "value", "UTC")
		d.wantOnRecord()
		d.wants(key, to, 303, "", append(set, "Europe/Paris")...)
		by := fmt.Sprint("operator ", o.ID)
		d.shows(list, []string{"<strong>Europe/Paris</strong>", by})
		d.shows(key, []string{"Restore default", by, "<em>default</em>", "Europe/Paris"})
		d.shows(d.domainPath("/configuration/log"), []string{"Europe/Paris", by})
		var logs struct {
			Logs []struct {
				By string `json:"changed_by"`
			} `json:"configlogs"`
		}
		d.JSON(d.OK(d.Call("GET", "/config/logs?search=timezone", d.ConfigToken, nil)), &logs)
		if len(logs.Logs) != 1 || logs.Logs[0].By != by {
			t.Errorf("the interface says %+v", logs)
		}
		d.wants(key, to, 303, "", "name", "api.timezone", "act", "reset")
		values, err := settings.Load(t.Context(), &d.DB.Reader, d.Domain.ID)
		if must(t, err); values.Text(settings.Timezone) != "UTC" {
			t.Errorf("the zone is %s", values.Text(settings.Timezone))
		}
		d.wantOnRecord("change configuration  0", "change configuration  0")

		alias := d.domainPath("/configuration/key?name=biapi.manager.email")
		d.shows(alias, []string{"svc.manager.email", "Other names"})
		choice := d.domainPath("/configuration/key?name=" + settings.Compression)
		d.shows(choice, []string{`<option value="1">1: yes</option>`})
		d.wants(choice, to, 422, "must be &#34;0&#34; or &#34;1&#34;", "name", settings.Compression, "act", "set", "value", "yes")
		family := "cat.of_a.client"
		d.wants(choice, to, 303, "", "name", family, "act", "set", "value", hostile)
		for _, path := range []string{list, d.domainPath("/configuration/log"), d.domainPath("/configuration/key?name=" + family)} {
			d.shows(path, []string{"planted"}, `<b id="planted"`)
		}
	})
}

// disturbed is a bank with failed calls and a certificate that expires soon.
type disturbed struct{ bank }

func (d disturbed) Profile() connector.Profile {
	p := d.bank.Profile()
	p.Disturbed = true
	return p
}

func (d disturbed) Health() connector.BankHealth {
	return connector.BankHealth{
		LastFailure: time.Now(), Failures: 7, Open: true, Calls: []connector.CallHealth{{Call: "accounts", Calls: 12, Window: 12, Good: 3, P95: 1500 * time.Millisecond}},
		Certificates: []connector.Expiry{{Field: "signature.certificate", Until: time.Now().AddDate(1, 0, 0)}, {Field: "tls.certificate", Until: time.Now().AddDate(0, 0, 20)}},
	}
}

type refusing struct{ bank }

func (r refusing) Health() connector.BankHealth {
	return connector.BankHealth{LastFailure: time.Now(), Failures: 1, Refused: true}
}

func TestBankThatRefusesTheService(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
		registry, err := connector.NewRegistry(refusing{model.(bank)})
		must(t, err)
		d.Aggregation.Connectors, d.Initiation.Connectors = registry, registry
		d.shows(d.domainPath(""), []string{"Refused by the bank: " + model.Profile().Name})
		d.shows(d.domainPath("/connectors"), []string{">refused by the bank<"}, ">failing<")
		d.shows(d.domainPath(fmt.Sprint("/connectors/", model.Profile().ID)), []string{">refused by the bank<", "certificate, signature, role or clock"})
	})
}

type expired struct{ bank }

func (e expired) Health() connector.BankHealth {
	return connector.BankHealth{Certificates: []connector.Expiry{{Field: "tls.certificate", Until: time.Now().AddDate(0, 0, -2)}}}
}

func TestBankWithAnExpiredCertificate(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
		registry, err := connector.NewRegistry(expired{model.(bank)})
		must(t, err)
		d.Aggregation.Connectors, d.Initiation.Connectors = registry, registry
		d.shows(d.domainPath(""), []string{"The certificate tls.certificate for " + model.Profile().Name + " has expired"})
		d.shows(d.domainPath("/connectors"), []string{"certificate expired <time"}, "certificate expires")
		d.shows(d.domainPath(fmt.Sprint("/connectors/", model.Profile().ID)), []string{" expired</dt>", "renew it"})
	})
}

func TestHealthOfABank(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
		registry, err := connector.NewRegistry(disturbed{model.(bank)})
		must(t, err)
		d.Aggregation.Connectors, d.Initiation.Connectors = registry, registry
		end := time.Now().UTC().AddDate(0, 0, 20).Format(time.DateOnly)
		d.shows(d.domainPath("/connectors"), []string{">failing<", "certificate expires <time", end + " "})
		a := d.shows(d.domainPath(fmt.Sprint("/connectors/", model.Profile().ID)), []string{">failing<", "Health", "accounts", "25 %", "1.5 s", "Failures in a row"})
		if remarks := regexp.MustCompile(`(\S+) [^<]*</small></time><br>renew it<`).FindAllStringSubmatch(a.body, -1); len(remarks) != 1 || !strings.HasSuffix(remarks[0][1], end) {
			t.Errorf("these certificates have a remark: %q", remarks)
		}
	})
}

func TestConnectors(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		o, _ := d.enter(operators.Developer)
		var shown struct {
			ID            int64
			Hidden        bool
			AuthMechanism string `json:"auth_mechanism"`
			Sources       []struct {
				ID       int64
				Name     string
				Disabled *string
			}
		}
		read := func() {
			t.Helper()
			d.JSON(d.OK(d.Call("GET", "/connectors/"+sandbox.TestConnector, "", nil)), &shown)
			d.JSON(d.OK(d.Call("GET", "/connectors/"+sandbox.TestConnector+"/sources?all", "", nil)), &shown)
		}
		read()
		page := d.domainPath(fmt.Sprint("/connectors/", shown.ID))
		d.shows(d.domainPath("/connectors"), []string{page + `"`, "bankwealth", "instant"})
		d.shows(d.domainPath("/connectors?search="+strings.ToUpper(sandbox.TestConnector)), []string{page + `"`})
		d.shows(page, []string{sandbox.TestConnector, "directaccess", "openapi", "Supported payments", "Maximum instructions", "webauth", "Account types"})
		keep := func(status int, text string, values ...string) {
			t.Helper()
			d.wants(page, page, status, text, values...)
		}
		keep(422, "Days between two synchronisations: must be", "hidden", "", "mechanism", "", "days", "x")
		keep(422, "Sign-in method: must be", "hidden", "", "mechanism", "smoke", "days", "")
		keep(400, "", "hidden", "maybe", "mechanism", "", "days", "")
		d.wantOnRecord()
		keep(303, "", "hidden", "1", "mechanism", "webauth", "days", "0.5")
		if read(); !shown.Hidden || shown.AuthMechanism != "webauth" {
			t.Errorf("the interface says %+v", shown)
		}
		d.shows(page, []string{`<option value="1" selected>hidden`, "<option selected>webauth", `value="0.5"`})
		source := shown.Sources[0]
		where := fmt.Sprint(page, "/sources/", source.ID)
		d.wants(page, where, 422, "Sign-in method: must be", "disabled", "0", "mechanism", "smoke")
		d.wants(page, page+"/sources/999999", 404, "", "disabled", "1")
		d.wants(page, where, 303, "", "disabled", "1")
		if read(); shown.Sources[0].Disabled == nil {
			t.Errorf("the source is in use: %+v", shown)
		}
		d.shows(d.domainPath("/connectors"), []string{`<td data-label="Here">hidden <small>disabled sources: 1</small>`})
		d.wants(page, where, 303, "", "disabled", "0")
		keep(303, "", "hidden", "", "mechanism", "", "days", "")
		if read(); shown.Hidden || shown.Sources[0].Disabled != nil {
			t.Errorf("the interface says %+v", shown)
		}
		act := fmt.Sprint("configure connector connector ", shown.ID)
		d.wantOnRecord(act, act, act, act)
		d.shows(d.domainPath("/configuration/log"), []string{fmt.Sprint("operator ", o.ID), settings.ConnectorHidden(sandbox.TestConnector)})
	})
}

var secretOnPage = regexp.MustCompile(`<p class="digits key" id="shown-key">([^<]+)</p>`)

// wantsOnce sends a form. The response must redirect to a page with a secret and a text. A second
// view of this page must show no secret.
func (d *fixture) wantsOnce(page, to, text string, values ...string) answer {
	d.t.Helper()
	shown := d.wants(page, to, http.StatusSeeOther, "", values...).location
	a := d.shows(shown, []string{"shown only once", text})
	d.shows(shown, nil, "shown only once")
	return a
}

func once(t *testing.T, a answer) string {
	t.Helper()
	found := secretOnPage.FindStringSubmatch(a.body)
	if found == nil || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("no secret in %s", a.body)
	}
	return found[1]
}

func TestClients(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		list := d.domainPath("/clients")
		d.shows(list, []string{"test application", d.ClientID})
		a := d.wants(list, list, 422, "Redirect URIs, number 2: ", "name", hostile, "redirect_uris", "https://shop.example/back\r\nhttps://shop.example/back?query")
		if !strings.Contains(a.body, "https://shop.example/back?query</textarea>") || strings.Contains(a.body, `<b id="planted"`) {
			t.Errorf("what was typed is lost, or not escaped: %s", a.body)
		}
		d.wants(list, list, 422, "Name: ", "name", "  ")
		d.wantOnRecord()

		a = d.wantsOnce(list, list, "shown only once", "name", hostile, "redirect_uris", "https://shop.example/back\r\n\r\nhttps://shop.example/other")
		secret := once(t, a)
		id := regexp.MustCompile(`/clients/(\d+)/secret`).FindStringSubmatch(a.body)[1]
		page := d.domainPath("/clients/" + id)
		token := func(secret string) int {
			return d.Call("POST", "/auth/token", "", map[string]any{"grant_type": "client_credentials", "client_id": id, "client_secret": secret, "scope": "payments:admin"}).Status
		}
		if got := token(secret); got != 200 {
			t.Errorf("with the secret: %d", got)
		}
		must(t, d.Access.KeepUses(t.Context()))
		d.shows(page, []string{`Secret last used</dt><dd class="digits"><time`, "https://shop.example/back\nhttps://shop.example/other", "planted"}, secret, `<b id="planted"`)
		d.shows(list, []string{"planted"}, `<b id="planted"`)

		d.wants(page, page, 422, "Primary colour: must be", "name", "Shop", "primary_color", "red")
		d.wants(page, page, 303, "", "name", "Shop", "redirect_uris", "https://shop.example/third", "primary_color", "#155e63", "description", "About us", "pro", "1")
		var client struct {
			Name         string
			RedirectURIs []string `json:"redirect_uris"`
			PrimaryColor string   `json:"primary_color"`
			Description  string
			Pro          bool
		}
		d.JSON(d.OK(d.Call("GET", "/clients/"+id, d.ConfigToken, nil)), &client)
		if client.Name != "Shop" || len(client.RedirectURIs) != 1 || client.PrimaryColor != "#155e63" || client.Description != "About us" || !client.Pro {
			t.Errorf("the interface says %+v", client)
		}
		fresh := once(t, d.wantsOnce(page, page+"/secret", "shown only once"))
		if old, new := token(secret), token(fresh); old != 401 || new != 200 {
			t.Errorf("the old secret: %d, the new one: %d", old, new)
		}
		d.wants(page, page+"/delete", 422, "Number: must be", "number", "1")
		d.wants(page, page+"/delete", 303, "", "number", id)
		if got := token(fresh); got != 401 {
			t.Errorf("after the deletion: %d", got)
		}
		for _, gone := range []string{"", "/secret", "/delete"} {
			d.wants(list, page+gone, 404, "", "name", "x", "number", id)
		}
		d.wantOnRecord("create client client "+id, "change client client "+id, "reset client secret client "+id, "delete client client "+id)
		if logs := d.Logs.String(); strings.Contains(logs, secret) || strings.Contains(logs, fresh) {
			t.Error("the log has a secret")
		}
	})
}

func TestTokens(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		_, user := d.user()
		list := d.domainPath("/tokens")
		d.shows(list, []string{`data-label="Kind">config</td>`, `data-label="Kind">users</td>`}, `data-label="Kind">user <`, d.ConfigToken)
		d.shows(list+"?all=1", []string{`data-label="Kind">user <small>`}, user)
		d.wants(list, list, 422, "Kind: must be", "kind", "service")
		a := d.wantsOnce(list, list, "shown only once", "kind", "config")
		text := once(t, a)
		id := regexp.MustCompile(`Revoke token (\d+)`).FindStringSubmatch(a.body)[1]
		d.shows(list+"?id="+id, []string{`data-label="Kind">config</td>`, ">never<"}, text)
		d.OK(d.Call("GET", "/config", text, nil))
		must(t, d.Access.KeepUses(t.Context()))
		d.shows(list+"?id="+id, []string{`data-label="Kind">config</td>`}, ">never<")
		d.shows(list+"?id=999999", []string{"No tokens match."})
		d.wants(list, list+"/"+id+"/revoke", 303, "")
		if a := d.Call("GET", "/config", text, nil); a.Status != 401 {
			t.Errorf("after the end: %d", a.Status)
		}
		d.shows(list+"?id="+id, []string{"revoked <time"}, "Revoke token")
		d.wants(list, list+"/"+id+"/revoke", 404, "")
		d.wantOnRecord("create token token "+id, "revoke token token "+id)
		if strings.Contains(d.Logs.String(), text) {
			t.Error("the log has the token")
		}
	})
}

func TestDomains(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		o, password := d.enter(operators.Administrator)
		list := "/console/domains"
		d.shows(list, []string{d.Domain.Name, d.Domain.BaseURL, "sandbox"})
		make := func(status int, text string, values ...string) {
			t.Helper()
			d.wants(list, list, status, text, values...)
		}
		make(422, "Name: must not be empty", "name", " ", "kind", "sandbox", "base_url", "https://second.example/2.0")
		make(422, "Base URL: must be an address such as", "name", "second", "kind", "sandbox", "base_url", "second.example")
		make(422, "Name: another domain", "name", d.Domain.Name, "kind", "sandbox", "base_url", "https://second.example/2.0")
		make(422, "Kind: must be", "name", "second", "kind", "other", "base_url", "https://second.example/2.0")
		make(422, "second factor", "name", "second", "kind", "live", "base_url", "https://second.example/2.0")
		make(303, "", "name", hostile, "kind", "sandbox", "base_url", "https://second.example/2.0")
		d.shows(list, []string{"planted", "https://second.example/2.0"}, `<b id="planted"`)
		second, err := d.DB.ServedDomainByHost(t.Context(), "second.example")
		must(t, err)
		page := fmt.Sprintf("%s/%d/domain", list, second.ID)
		d.shows(page, []string{"planted", "The first key is created when it is needed."}, `<b id="planted"`)
		d.wants(page, page, 422, "Base URL: another domain", "base_url", d.Domain.BaseURL)
		d.wants(page, page, 422, "Base URL: must be an address such as", "base_url", "x")
		d.wants(page, page, 200, "The domain has moved to", "base_url", "https://third.example/2.0")
		d.wants(page, page+"/sign-key", 303, "")
		d.shows(page, []string{"https://third.example/2.0"}, "The first key is created")
		d.twice(password)
		make(303, "", "name", "real", "kind", "live", "base_url", "https://real.example/2.0")
		real, err := d.DB.ServedDomainByHost(t.Context(), "real.example")
		if must(t, err); real.Kind != passerelle.Live {
			t.Errorf("it is %+v", real)
		}
		var acts []string
		all, err := operatorstore.From(d.DB).Audits(t.Context(), operatorstore.AuditFilter{Operator: o.ID}, store.Window{Limit: 20})
		must(t, err)
		for _, a := range all {
			if a.Subject == "domain" {
				acts = append(acts, fmt.Sprint(a.Act, " ", a.Domain, " ", a.SubjectID))
			}
		}
		want := []string{
			fmt.Sprint("create domain 0 ", real.ID), fmt.Sprint("rotate sign key ", second.ID, " ", second.ID),
			fmt.Sprint("move domain ", second.ID, " ", second.ID), fmt.Sprint("create domain 0 ", second.ID),
		}
		if strings.Join(acts, ", ") != strings.Join(want, ", ") {
			t.Errorf("on record are %q, want %q", acts, want)
		}
	})
}

// Developers may change the configuration of a sandbox, and viewers may not. Only administrators
// may change domains.
func TestRolesThatChangeTheConfiguration(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for role, may := range map[operators.Role]struct{ sandbox, domains int }{
			operators.Viewer: {403, 403}, operators.Developer: {303, 403}, operators.Acting: {303, 403}, operators.Administrator: {303, 422},
		} {
			f := newFixture(t, d.Instance)
			f.enter(role)
			form := func(path string, values url.Values) int {
				values.Set("csrf", f.token("/console/account"))
				return f.post(path, "same-origin", values).status
			}
			if got := form(d.domainPath("/configuration/key"), url.Values{"name": {settings.Timezone}, "act": {"set"}, "value": {"UTC"}}); got != may.sandbox {
				t.Errorf("%s sets a key: %d", role, got)
			}
			if got := form("/console/domains", url.Values{"name": {""}}); got != may.domains {
				t.Errorf("%s makes a domain: %d", role, got)
			}
			if got := form(d.domainPath("/domain"), url.Values{"base_url": {"x"}}); got != may.domains {
				t.Errorf("%s moves a domain: %d", role, got)
			}
		}
	})
}
