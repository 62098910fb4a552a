package console_test

import (
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/operators"
)

// TestTheAccountPage checks the labels and errors about the password and the second factor.
func TestTheAccountPage(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		_, password := d.enter(operators.Viewer)
		const account = "/console/account"
		const wrong = "Your current password is not correct."
		d.shows(account, []string{
			">Current password, to change it</label>", ">Current password, to set up the second factor</label>", "passerelle operator totp-reset some-viewer", "Not set up.",
		})
		d.wants(account, account+"/second-factor", http.StatusUnprocessableEntity, wrong, "present", "wrong")
		d.wants(account, account+"/password", http.StatusUnprocessableEntity, wrong, "present", "wrong", "next", "a long new password", "again", "a long new password")
		d.submit(account, account+"/second-factor", "present", password)
		d.shows(account, []string{"The setup is not finished"}, "Not set up.")
		d.wants(account, account+"/second-factor/confirm", http.StatusUnprocessableEntity, "The six digits are not correct.", "code", "x")
	})
}

func TestPagesOutsideADomainKeepItsMenu(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		menu := `href="` + d.domainPath("/payments") + `"`
		d.shows("/console/account", []string{">Your account<"}, menu)
		d.get(d.domainPath("/users"))
		for _, page := range []string{"/console/account", "/console/programs", "/console/domains"} {
			d.shows(page, []string{menu, `action="` + d.domainPath("/search") + `"`}, "Sandbox: nothing here is real.")
		}
	})
}

func TestAnApplicationIsCalledByItsName(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		list := d.domainPath("/clients")
		page := d.submit(list, list, "name", "Corner shop").location
		body := d.shows(page, []string{"<h1>Corner shop <small>Application", "Passerelle itself reads only <code>webview.origins</code>", `href="/docs/guides/webviews#in-an-iframe"`, "No texts yet."}, "Nothing.").body
		if !strings.Contains(body, "<title>Corner shop, application ") {
			t.Errorf("the title lacks the name: %s", body)
		}
		if guide := d.get("/docs/guides/webviews"); !strings.Contains(guide.body, `id="in-an-iframe"`) {
			t.Error("the link to the guide leads nowhere")
		}
	})
}
