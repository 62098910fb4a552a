package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"passerelle/connector/statements"
	"passerelle/internal/operators"
)

func TestTheUsersPageShowsFailingConnections(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.user()
		well, token := d.user()
		d.connect(token, "one")
		failing, token := d.user()
		d.connect(token, "one")
		d.connect(token, "down")
		d.connect(token, "otp")
		list := words(d.get(d.domainPath("/users")).body)
		for _, want := range []string{fmt.Sprint(failing, " 2 failing 1 working"), fmt.Sprint(well, " 1 working"), " none "} {
			if !strings.Contains(list, want) {
				t.Errorf("the list lacks %q: %s", want, list)
			}
		}
		d.shows(d.domainPath(fmt.Sprint("/users?id=", failing)), []string{"2 failing"})
	})
}

// TestAConnectionIsExplained checks that the page of a connection has one word for the bank and a
// clear label for each timestamp.
func TestAConnectionIsExplained(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		user, token := d.user()
		connection := func(login string) string {
			return d.userPath(user, fmt.Sprint("/connections/", d.connect(token, login)))
		}
		webview := "The webview is the hosted page on which users connect banks and providers."
		waits := connection("otp")
		body := d.shows(waits, []string{"The bank asks the user for more information.", webview, `href="/docs/guides/webviews#links"`, "A source is a way in which the service reads the bank.", "Last attempt", "login at the bank"}, "nstitution").body
		if strings.Contains(body, "Last sync") {
			t.Errorf("the page has a time without a clear name: %s", body)
		}
		if id := strings.TrimPrefix(waits, d.userPath(user, "/connections/")); !strings.Contains(body, "connection_id="+id) {
			t.Errorf("the page lacks the parameter of the link: %s", body)
		}
		if guide := d.get("/docs/guides/webviews"); !strings.Contains(guide.body, `id="links"`) {
			t.Error("the link to the guide leads nowhere")
		}
		var files struct{ ID json.Number }
		d.JSON(d.OK(d.Call("POST", "/users/me/connections", token, map[string]any{"connector_uuid": statements.UUID})), &files)
		d.shows(d.userPath(user, "/connections/"+files.ID.String()), []string{"Statement files", "This connection works."}, "Consent ends", ">2036-")
		d.shows(connection("one"), []string{"Consent ends", "Last successful sync", "This connection works."}, webview, "Last sync<", "nstitution")
	})
}
