package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
)

func TestSigningInAndOut(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		for _, path := range []string{"/console/account", d.domainPath(""), d.domainPath("/payments"), d.paymentPath(1), "/console/"} {
			if a := d.get(path); a.status != http.StatusSeeOther || a.location != "/console/sign-in" {
				t.Errorf("%s for a stranger: %d %s", path, a.status, a.location)
			}
		}
		_, password := d.enter(operators.Viewer)
		if a := d.get("/console/"); a.location != d.domainPath("") {
			t.Errorf("the only domain is at %s, %d", a.location, a.status)
		}
		d.submit("/console/account", "/console/sign-out")
		if a := d.get("/console/account"); a.location != "/console/sign-in" {
			t.Errorf("after signing out: %d %s", a.status, a.location)
		}
		for range 5 {
			a := d.submit("/console/sign-in", "/console/sign-in", "name", "some-viewer", "password", "wrong")
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "This is not correct. Check what you typed.") {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		a := d.submit("/console/sign-in", "/console/sign-in", "name", "some-viewer", "password", password)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Too many failed attempts") {
			t.Errorf("after five failures: %d %s", a.status, a.body)
		}
	})
}

func TestSecurityHeadersAndCookieAttributes(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		a := d.get("/console/sign-in")
		cookie := a.header.Get("Set-Cookie")
		for _, want := range []string{"Path=/console/", "HttpOnly", "SameSite=Strict"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("the cookie lacks %s: %s", want, cookie)
			}
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("the policy is %q", policy)
		}
	})
}

func TestForeignFormsChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		_, password := d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		token := d.token("/console/account")
		cancel := func(csrf string) url.Values { return url.Values{"csrf": {csrf}, "act": {"cancel payment"}} }
		for name, a := range map[string]answer{
			"another site":  d.post(d.paymentPath(id), "cross-site", cancel(token)),
			"no token":      d.post(d.paymentPath(id), "same-origin", cancel("")),
			"another token": d.post(d.paymentPath(id), "same-origin", cancel(strings.Repeat("0", 40))),
			"the sign-in":   d.post("/console/sign-in", "same-origin", url.Values{"name": {"some-operator"}, "password": {password}}),
			"a new password": d.post("/console/account/password", "same-origin",
				url.Values{"present": {password}, "next": {"a new password"}, "again": {"a new password"}}),
		} {
			if a.status != http.StatusForbidden {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		if got := d.state(id); got != "created" || d.acts() != nil {
			t.Errorf("the payment is %s, on record is %q", got, d.acts())
		}
		large := url.Values{"csrf": {token}, "act": {strings.Repeat("x", 100_000)}}
		if a := d.post(d.paymentPath(id), "same-origin", large); a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("a large form: %d", a.status)
		}
	})
}

func TestUnknownAndInvalidAddresses(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		for path, want := range map[string]int{
			"/console/nothing": 404, "/console/domains/0": 404, "/console/domains/999": 404, "/console/domains/01": 404,
			"/console/domains/x/payments": 404, d.paymentPath(999): 404, d.domainPath("/payments/99999999999999999999"): 404,
			"/console/sign-out": 405, d.domainPath("/payments?state=nothing"): 422, d.domainPath("/payments?id=x"): 422,
			d.domainPath("/payments?first=2026-02-30"): 422, d.domainPath("/payments?after=x&before=-"): 200, d.domainPath("/payments?id=99999"): 200,
			"/console/account/": 404, "/console//account": 404, "/console/%61ccount": 404, "/console/account": 200, "/console/": 303,
		} {
			if a := d.get(path); a.status != want {
				t.Errorf("%s: %d, want %d", path, a.status, want)
			}
		}
		if logs := d.Logs.String(); strings.Contains(logs, "could not be served") {
			t.Error(logs)
		}
	})
}

// Each role sees only the buttons that it may use.
func TestRoles(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		token := d.Token("payments:admin")
		for role, want := range map[operators.Role]struct {
			buttons []string
			cancel  int
			reveal  int
		}{
			operators.Viewer:        {nil, 403, 403},
			operators.Developer:     {[]string{"Simulate"}, 403, 403},
			operators.Acting:        {[]string{"Simulate", "Cancel payment", "Show personal data"}, 303, 200},
			operators.Administrator: {[]string{"Simulate", "Cancel payment", "Show personal data"}, 303, 200},
		} {
			fresh := newFixture(t, d.Instance)
			fresh.enter(role)
			id := d.Create(token, servicetest.Draft())
			body := fresh.get(d.paymentPath(id)).body
			for _, button := range []string{"Simulate", "Cancel payment", "Show personal data"} {
				shown := strings.Contains(body, button)
				if wanted := strings.Contains(strings.Join(want.buttons, "|"), button); shown != wanted {
					t.Errorf("%s sees %q: %t", role, button, shown)
				}
			}
			if a := fresh.submit("/console/account", d.paymentPath(id)+"/reveal"); a.status != want.reveal {
				t.Errorf("%s reveals: %d", role, a.status)
			}
			if a := fresh.submit("/console/account", d.paymentPath(id), "act", "cancel payment"); a.status != want.cancel {
				t.Errorf("%s cancels: %d %s", role, a.status, a.body)
			}
			if a := fresh.submit("/console/account", d.paymentPath(id), "act", "something"); a.status != 400 && a.status != 403 {
				t.Errorf("%s does something: %d", role, a.status)
			}
		}
	})
}

func TestActsAreThoseOfTheUseCasesAndOnRecord(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		d.Subscribe("PAYMENT_STATE_UPDATED", "console")
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		page := d.paymentPath(id)
		if a := d.submit(page, page, "act", "confirm payment"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("confirming what waits for nothing: %d", a.status)
		}
		if a := d.submit(page, page, "act", "simulate payment", "state", "validating"); a.status != http.StatusSeeOther {
			t.Errorf("simulating: %d %s", a.status, a.body)
		}
		if a := d.submit(page, page, "act", "simulate payment", "state", "done"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("an edge that is not: %d", a.status)
		}
		other := d.Create(d.Token("payments:admin"), servicetest.Draft())
		if a := d.submit(d.paymentPath(other), d.paymentPath(other), "act", "cancel payment"); a.status != http.StatusSeeOther {
			t.Errorf("cancelling: %d %s", a.status, a.body)
		}
		if got := d.state(id) + " " + d.state(other); got != "validating rejected" {
			t.Errorf("the payments are %s", got)
		}
		want := []string{fmt.Sprint("simulate payment payment ", id), fmt.Sprint("cancel payment payment ", other)}
		if diff := cmp.Diff(want, d.acts()); diff != "" {
			t.Errorf("on record: %s", diff)
		}
		var states []string
		for _, r := range d.Received("console") {
			var reported struct {
				ID    int64
				State string
			}
			d.JSON(servicetest.Answer{Body: []byte(r.Body)}, &reported)
			states = append(states, strconv.FormatInt(reported.ID, 10)+" "+reported.State)
		}
		for _, once := range []string{fmt.Sprint(id, " validating"), fmt.Sprint(other, " rejected")} {
			if n := strings.Count(strings.Join(states, "|"), once); n != 1 {
				t.Errorf("%q was told %d times in %q", once, n, states)
			}
		}
	})
}

// An operator's act can be a call to a bank. The audit log must also contain such an act.
func TestABankIsAskedOnRecord(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		_, err := d.Initiation.Validate(t.Context(), d.Domain, passerelle.PaymentID(id), initiation.Choice{
			Connector: sandbox.TestConnector, Fields: map[string]string{"use_case_pay": "decoupled"}, Validated: true, WebviewURL: d.Origin + "/before",
		})
		must(t, err)
		if a := d.submit(d.paymentPath(id), d.paymentPath(id), "act", "resume payment"); a.status != http.StatusSeeOther {
			t.Errorf("asking the bank: %d %s", a.status, a.body)
		}
		if got := d.state(id); got != "done" {
			t.Errorf("the payment is %s", got)
		}
		if diff := cmp.Diff([]string{fmt.Sprint("resume payment payment ", id)}, d.acts()); diff != "" {
			t.Errorf("on record: %s", diff)
		}
	})
}

func TestPersonalDataIsShownOnlyOnRecord(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		draft := servicetest.Draft()
		draft["payer_identity"] = map[string]any{"kind": "individual", "first_name": "Erika", "last_name": "Mustermann"}
		draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Erika M."}
		id := d.Create(d.Token("payments:admin"), draft)
		hidden := []string{"Mustermann", "FR7630006000011234567890189"}
		body := d.get(d.paymentPath(id)).body
		for _, text := range hidden {
			if strings.Contains(body, text) {
				t.Errorf("%s is shown unasked", text)
			}
		}
		body = d.submit(d.paymentPath(id), d.paymentPath(id)+"/reveal").body
		for _, text := range hidden {
			if !strings.Contains(body, text) {
				t.Errorf("%s is not shown", text)
			}
		}
		if diff := cmp.Diff([]string{fmt.Sprint("look at personal data payment ", id)}, d.acts()); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(d.Logs.String(), "Mustermann") {
			t.Error("the log has the name")
		}
	})
}

func TestListTurnsPages(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		token := d.Token("payments:admin")
		for range 51 {
			d.Create(token, servicetest.Draft())
		}
		rows := func(a answer) int { return strings.Count(a.body, "<tr><th scope=\"row\"") }
		first := d.get(d.domainPath("/payments"))
		older := link(t, first, "next")
		second := d.get(d.domainPath("/payments") + older)
		newer := link(t, second, "prev")
		if rows(first) != 50 || rows(second) != 1 || strings.Contains(second.body, `rel="next"`) || strings.Contains(first.body, `rel="prev"`) {
			t.Errorf("%d and %d rows", rows(first), rows(second))
		}
		if again := d.get(d.domainPath("/payments") + newer); rows(again) != 50 {
			t.Errorf("%d rows on the way back", rows(again))
		}
		if none := d.get(d.domainPath("/payments?state=done")); rows(none) != 0 || !strings.Contains(none.body, "No payments match") {
			t.Errorf("%d payments are done", rows(none))
		}
	})
}

func link(t *testing.T, a answer, rel string) string {
	t.Helper()
	before, _, found := strings.Cut(a.body, `" rel="`+rel+`"`)
	if !found {
		t.Fatalf("no link %s: %s", rel, a.body)
	}
	return html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):])
}

// fromElsewhere opens an address as a link on another site does. Browsers then send no cookie with
// the attribute SameSite=Strict.
func (d *fixture) fromElsewhere(path string) answer {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.Origin+path, nil)
	must(d.t, err)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	jar := d.browser.Jar
	d.browser.Jar = nil
	defer func() { d.browser.Jar = jar }()
	return d.do(request)
}

// The response to a link on another site is a page of the console, which makes the browser request
// the address again.
func TestLinksFromOtherSites(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		path := d.domainPath("/payments?state=done&first=2026-01-01")
		a := d.fromElsewhere(path)
		if a.status != http.StatusOK || a.header.Get("Refresh") != "0; url="+path || len(a.header.Values("Set-Cookie")) > 0 {
			t.Errorf("the link is answered with %d %v", a.status, a.header)
		}
		d.shows(path, []string{"Payments"})
		for _, wrong := range []string{"/console//evil.example/", `/console/\evil.example`, "/console/https://evil.example", "/console/domains/1/../../../evil"} {
			if a := d.fromElsewhere(wrong); a.status == http.StatusOK || strings.Contains(a.header.Get("Refresh")+a.location, "//evil") {
				t.Errorf("%s is answered with %d %v", wrong, a.status, a.header)
			}
		}
	})
}

func TestSigningInLeadsToTheRequestedPage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		o, password, err := d.Operators.Create(t.Context(), "zoe", operators.Viewer)
		must(t, err)
		path := d.domainPath("/payments?state=done")
		if a := d.get(path); a.location != "/console/sign-in" {
			t.Fatalf("without a session: %d to %q", a.status, a.location)
		}
		if a := d.submit("/console/sign-in", "/console/sign-in", "name", o.Name, "password", password); a.location != path {
			t.Errorf("the sign-in leads to %q, want %q", a.location, path)
		}
		for _, elsewhere := range []string{
			"/console/sign-in?next=https://evil.example/", "/console/sign-in?next=//evil.example", "/console//evil.example/", `/console/\evil.example`, "/console/sign-out",
			"//evil.example/console/", "/console/nothing",
		} {
			fresh := newFixture(t, d.Instance)
			fresh.get(elsewhere)
			root, _ := url.Parse(d.Origin + "/console/")
			fresh.browser.Jar.SetCookies(root, append(fresh.browser.Jar.Cookies(root), &http.Cookie{Name: "console_next", Value: "https://evil.example/"}))
			if a := fresh.submit("/console/sign-in", "/console/sign-in", "name", o.Name, "password", password); a.location != "/console/" {
				t.Errorf("after %s, the sign-in leads to %q", elsewhere, a.location)
			}
		}
		fresh := newFixture(t, d.Instance)
		fresh.post(d.domainPath("/clients/1/secret"), "same-origin", url.Values{})
		if a := fresh.submit("/console/sign-in", "/console/sign-in", "name", o.Name, "password", password); a.location != "/console/" {
			t.Errorf("after a form, the sign-in leads to %q", a.location)
		}
	})
}

func TestTheAddressOfAFormLeadsToItsPage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		for form, page := range map[string]string{
			d.paymentPath(7) + "/reveal": d.paymentPath(7), d.domainPath("/clients/3/secret"): d.domainPath("/clients/3"),
			d.domainPath("/webhooks/auth/4/rotate"): d.domainPath("/webhooks/auth/4"), d.domainPath("/clients/3/logo/delete"): d.domainPath("/clients/3"),
			d.domainPath("/webhooks/2/data/9/reveal"): d.domainPath("/webhooks/2/data/9"), "/console/account/password": "/console/account",
		} {
			if a := d.get(form); a.status != http.StatusSeeOther || a.location != page {
				t.Errorf("%s: %d to %q, want %q", form, a.status, a.location, page)
			}
		}
	})
}

// The link that passes the proposed second factor to an app begins with otpauth. The template must
// not replace this scheme.
func TestSettingUpASecondFactor(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		_, password := d.enter(operators.Viewer)
		const account = "/console/account"
		d.submit(account, account+"/second-factor", "present", password)
		d.shows(account, []string{`href="otpauth://totp/Passerelle:some-viewer?`, "within 10 minutes"}, "ZgotmplZ")
		if a := d.submit(account, account+"/second-factor/cancel"); a.location != account {
			t.Errorf("cancelling: %d %s", a.status, a.body)
		}
		d.shows(account, []string{"The setup of the second factor was cancelled.", "Set up second factor"}, "otpauth:")
	})
}
