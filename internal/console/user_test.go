package console_test

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/domains"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

func (d *fixture) user() (id int64, token string) {
	d.t.Helper()
	var made struct {
		Token string `json:"auth_token"`
		ID    int64  `json:"id_user"`
	}
	d.JSON(d.OK(d.Call("POST", "/auth/init", "", map[string]any{"client_id": d.ClientID, "client_secret": d.Secret})), &made)
	return made.ID, made.Token
}

// connect connects a user to the test bank. The login selects the bank's behaviour.
func (d *fixture) connect(token, login string) int64 {
	d.t.Helper()
	var made struct{ ID int64 }
	d.JSON(d.OK(d.Call("POST", "/users/me/connections", token, map[string]any{
		"connector_uuid": sandbox.TestConnector, "login": login, "password": customers.Password,
	})), &made)
	return made.ID
}

func (d *fixture) userPath(id int64, more string) string {
	return d.domainPath(fmt.Sprintf("/users/%d%s", id, more))
}

func rows(a answer) int { return strings.Count(a.body, `<tr><th scope="row"`) }

func (d *fixture) wantOnRecord(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.acts()); diff != "" {
		d.t.Errorf("on record (-want +got): %s", diff)
	}
}

func (d *fixture) wants(page, to string, status int, text string, values ...string) answer {
	d.t.Helper()
	a := d.submit(page, to, values...)
	if a.status != status || !strings.Contains(a.body, text) {
		d.t.Errorf("%q to %s: %d %s, want %d with %q", values, to, a.status, a.body, status, text)
	}
	return a
}

func (d *fixture) shows(path string, texts []string, hidden ...string) answer {
	d.t.Helper()
	a := d.get(path)
	if a.status != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			d.t.Errorf("%s does not say %q: %s", path, text, a.body)
		}
	}
	for _, text := range hidden {
		if strings.Contains(a.body, text) {
			d.t.Errorf("%s says %q", path, text)
		}
	}
	return a
}

func TestUsersAreListedAndFound(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.shows(d.domainPath("/users"), []string{"No users yet."})
		var ids []passerelle.UserID
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
			for range 51 {
				now := time.Now()
				u := passerelle.User{Domain: d.Domain.ID, Platform: passerelle.SharedAccess, Created: now, Permanent: &now, Version: 1}
				if err := tx.CreateUser(&u); err != nil {
					return err
				}
				ids = append(ids, u.ID)
			}
			return nil
		}))
		oldest, newest := fmt.Sprint(d.domainPath("/users/"), ids[0], `"`), fmt.Sprint(d.domainPath("/users/"), ids[50], `"`)
		first := d.shows(d.domainPath("/users"), []string{newest}, oldest)
		second := d.shows(d.domainPath("/users")+link(t, first, "next"), []string{oldest}, newest)
		if rows(first) != 50 || rows(second) != 1 || strings.Contains(second.body, `rel="next"`) || strings.Contains(first.body, `rel="prev"`) {
			t.Errorf("%d and %d rows", rows(first), rows(second))
		}
		if again := d.get(d.domainPath("/users") + link(t, second, "prev")); rows(again) != 50 {
			t.Errorf("%d rows on the way back", rows(again))
		}
		d.shows(fmt.Sprint(d.domainPath("/users?id="), ids[0]), []string{oldest}, newest)
		d.shows(d.domainPath("/users?id=999999"), []string{"No user has this number."})
		for query, want := range map[string]int{"?id=x": 422, "?id=-1": 422, "?after=x": 200, "?after=1-2": 200, "?before=9223372036854775808": 200} {
			if a := d.get(d.domainPath("/users") + query); a.status != want {
				t.Errorf("%s: %d", query, a.status)
			}
		}
	})
}

// Even operators who may reveal personal data must ask for the complete numbers of accounts and
// contracts. The audit log records each such view.
func TestOneUser(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id, token := d.user()
		connection := d.connect(token, "anna")
		var list struct {
			Accounts []struct {
				ID           int64
				IBAN, Number string
			}
		}
		d.JSON(d.OK(d.Call("GET", "/users/me/accounts?all", token, nil)), &list)
		shared := list.Accounts[0]
		d.OK(d.Call("PUT", fmt.Sprintf("/users/me/accounts/%d?all", shared.ID), token, map[string]any{"disabled": false, "name": hostile}))

		d.shows(d.userPath(id, ""), []string{fmt.Sprint("/connections/", connection, `"`), "working", "until deleted"}, fmt.Sprint("of user ", id))
		masked := shared.IBAN[:4] + " **** " + shared.IBAN[len(shared.IBAN)-4:]
		page := d.userPath(id, "/accounts")
		d.shows(page, []string{masked, "Show personal data", "planted"}, shared.IBAN, shared.Number, hostile, `id="planted"`)
		a := d.wants(page, page, 200, shared.IBAN)
		if !strings.Contains(a.body, "The audit log has a record of this.") || !strings.Contains(a.body, shared.Number) || strings.Contains(a.body, `id="planted"`) {
			t.Errorf("the accounts are not shown: %s", a.body)
		}
		page = d.userPath(id, "/subscriptions")
		d.shows(page, []string{"Électricité"}, "M-0601020304")
		d.wants(page, page, 200, "M-0601020304")
		d.shows(d.userPath(id, "/consents"), []string{fmt.Sprint("account ", shared.ID), "version " + aggregation.ConsentVersion, "api"})
		seen := fmt.Sprint("look at personal data user ", id)
		d.wantOnRecord(seen, seen)

		onlooker := newFixture(t, d.Instance)
		onlooker.enter(operators.Viewer)
		onlooker.shows(d.userPath(id, "/accounts"), []string{masked}, "Show personal data")
		onlooker.wants("/console/account", d.userPath(id, "/accounts"), 403, "")
		onlooker.shows(d.userPath(id, ""), nil, "Export all", "Delete user")
		for _, path := range []string{"/accounts", "/subscriptions", "/consents", "/connections/1", "/connections/999999"} {
			if a := d.get(d.userPath(999999, path)); a.status != 404 {
				t.Errorf("%s of nobody: %d", path, a.status)
			}
		}
		if strings.Contains(d.Logs.String(), shared.IBAN) {
			t.Error("the log has the account")
		}
	})
}

func (d *fixture) connections(token string) []int64 {
	d.t.Helper()
	var list struct{ Connections []struct{ ID int64 } }
	d.JSON(d.OK(d.Call("GET", "/users/me/connections", token, nil)), &list)
	ids := []int64{}
	for _, one := range list.Connections {
		ids = append(ids, one.ID)
	}
	slices.Sort(ids)
	return ids
}

func unpacked(t *testing.T, content string) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(content), int64(len(content)))
	must(t, err)
	files := map[string]string{}
	for _, file := range archive.File {
		from, err := file.Open()
		must(t, err)
		text, err := io.ReadAll(from)
		must(t, err)
		files[file.Name] = string(text)
	}
	return files
}

// The service deletes nothing unless the operator types the object's number.
func TestActsOnUsers(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		d.Subscribe("CONNECTION_DELETED", "users")
		d.Subscribe("USER_DELETED", "deleted")
		id, token := d.user()
		first, second := d.connect(token, "one"), d.connect(token, "down")
		page := d.userPath(id, fmt.Sprint("/connections/", second))
		d.shows(page, []string{`title="websiteUnavailable">bank not reachable<`, "The service retries automatically.", "directaccess", ">present<"}, "not present")
		a := d.submit(page, page+"/sync")
		if a.status != http.StatusSeeOther || a.location != page {
			t.Errorf("reading now: %d %s", a.status, a.body)
		}
		d.OK(d.Call("PUT", fmt.Sprint("/users/me/connections/", second), token, nil)) // this waits until the running read has ended
		d.shows(page, []string{"not present"}, "Synchronisation in progress.")

		d.wants(page, page+"/delete", 422, "Number: must be", "number", fmt.Sprint(first))
		if diff := cmp.Diff([]int64{first, second}, d.connections(token)); diff != "" {
			t.Errorf("connections before the deletion: %s", diff)
		}
		d.wants(page, page+"/delete", 303, "", "number", fmt.Sprint(" ", second, " "))
		if diff := cmp.Diff([]int64{first}, d.connections(token)); diff != "" {
			t.Errorf("connections after the deletion: %s", diff)
		}
		if a := d.get(page); a.status != 404 {
			t.Errorf("the connection is there: %d", a.status)
		}
		export := d.wants(d.userPath(id, ""), d.userPath(id, "/export"), 200, "")
		if got := export.header.Get("Content-Disposition"); got != fmt.Sprintf(`attachment; filename="user-%d.zip"`, id) || export.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the export comes as %s", got)
		}
		files := unpacked(t, export.body)
		if diff := cmp.Diff(unpacked(t, string(d.OK(d.Call("GET", "/users/me/export", token, nil)).Body)), files); diff != "" || len(files) < 5 {
			t.Errorf("the archive has %d files, and differs from the API's archive: %s", len(files), diff)
		}
		page = d.userPath(id, "")
		d.wants(page, page+"/delete", 422, "Number: must be", "number", "")
		d.wants(page, page+"/delete", 303, "", "number", fmt.Sprint(id))
		if a := d.Call("GET", "/users/me", token, nil); a.Status != 401 {
			t.Errorf("the user is there: %d", a.Status)
		}
		d.wants("/console/account", page+"/delete", 404, "", "number", fmt.Sprint(id))
		d.wants("/console/account", page+"/export", 404, "")
		d.wantOnRecord(fmt.Sprint("synchronise connection connection ", second), fmt.Sprint("delete connection connection ", second),
			fmt.Sprint("export user user ", id), fmt.Sprint("delete user user ", id))
		if n, m := len(d.Received("users")), len(d.Received("deleted")); n != 1 || m != 1 {
			t.Errorf("%d and %d events", n, m)
		}
	})
}

// While the user is absent, the console reads a connection only as often as the institution allows,
// and never during another read.
func TestReadingNowKeepsToTheBound(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id, token := d.user()
		connection := d.connect(token, "one")
		page := d.userPath(id, fmt.Sprint("/connections/", connection))
		for range 4 {
			d.wants(page, page+"/sync", 303, "")
			d.OK(d.Call("PUT", fmt.Sprint("/users/me/connections/", connection), token, nil))
		}
		d.wants(page, page+"/sync", 422, "Not synchronised")
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(d.Domain.ID, passerelle.ConnectionID(connection), "somebody", time.Minute)
			return nil
		}))
		d.wants(page, page+"/sync", 422, "is being synchronised")
	})
}

func TestConnectionsThatCannotBeRead(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		user, token := d.user()
		read := bankstore.Connection{Domain: d.Domain.ID, User: passerelle.UserID(user), Connector: sandbox.TestConnector, Created: time.Now(), Active: true, State: passerelle.Validating}
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
			return bankstore.In(tx).CreateConnection(&read, map[string]string{}, "somebody", time.Hour)
		}))
		d.shows(d.domainPath("/connections"), []string{"No connection fails."}, "Every connection works")
		well, down, waits := d.connect(token, "one"), d.connect(token, "down"), d.connect(token, "otp")
		at := func(connection int64) string { return fmt.Sprint("/connections/", connection, `"`) }
		overview := d.shows(d.domainPath(""), []string{d.domainPath("/connections?state=retry")})
		if !strings.Contains(overview.body, d.domainPath("/connections?state=user")) {
			t.Error("home does not lead to those that wait")
		}
		list := d.domainPath("/connections")
		d.shows(list, []string{at(down), at(waits)}, at(well), at(int64(read.ID)))
		d.shows(list+"?state=validating", []string{at(int64(read.ID))}, at(down))
		d.shows(list+"?state=websiteUnavailable", []string{at(down)}, at(waits))
		d.shows(list+"?state=retry", []string{at(down), `value="retry" selected`}, at(waits))
		d.shows(list+"?state=user", []string{at(waits), `value="user" selected`}, at(down))
		d.shows(list+"?connector="+sandbox.TestConnector, []string{at(down), at(waits)})
		d.shows(list+"?connector="+customers.ProviderConnector, []string{"No connections match."}, at(down))
		d.shows(list+"?state=bug&connector="+sandbox.TestConnector, []string{"No connections match."})
		for query, want := range map[string]string{"?state=broken": ">State: must be", "?connector=x": ">Connector: must be"} {
			if a := d.get(list + query); a.status != 422 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
		}
	})
}

func (d *fixture) live() (passerelle.Domain, passerelle.UserID, passerelle.ConnectionID) {
	d.t.Helper()
	now := time.Now().Truncate(time.Microsecond)
	live := passerelle.Domain{Name: "live", Kind: passerelle.Live, BaseURL: "https://live.example/2.0", Created: now}
	must(d.t, domains.Create(d.t.Context(), d.DB, &live))
	u := passerelle.User{Domain: live.ID, Platform: passerelle.SharedAccess, Created: now, Permanent: &now, Version: 1}
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error { return tx.CreateUser(&u) }))
	c := bankstore.Connection{Domain: live.ID, User: u.ID, Connector: "gone", Created: now, Active: true}
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error { return bankstore.In(tx).CreateConnection(&c, nil, "", 0) }))
	account, err := bankstore.NewAccountID(d.t.Context(), d.DB)
	must(d.t, err)
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error {
		return bankstore.In(tx).CreateAccount(live.ID, &bankstore.StoredAccount{BankAccount: passerelle.BankAccount{
			ID: account, Connection: c.ID, User: u.ID, AccountDetails: passerelle.AccountDetails{Key: "k", Name: "Erika Mustermann", IBAN: "DE93999999990000000001"},
		}})
	}))
	return live, u.ID, c.ID
}

// twice adds a second factor to the signed-in operator.
func (d *fixture) twice(password string) {
	d.t.Helper()
	d.wants("/console/account", "/console/account/second-factor", 303, "", "present", password)
	key := keyOnPage.FindStringSubmatch(d.get("/console/account").body)[1]
	d.wants("/console/account", "/console/account/second-factor/confirm", 303, "", "code", phoneCode(d.t, key, time.Now()))
}

func TestLiveDomainsWantASecondFactor(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		_, password := d.enter(operators.Administrator)
		live, user, connection := d.live()
		at := func(format string, args ...any) string {
			return fmt.Sprintf("/console/domains/%d", live.ID) + fmt.Sprintf(format, args...)
		}
		const name, number = "Erika Mustermann", "DE93999999990000000001"
		acts := map[string][]string{
			at("/users/%d/accounts", user): nil, at("/users/%d/export", user): nil, at("/users/%d/delete", user): {"number", fmt.Sprint(user)},
			at("/users/%d/connections/%d/sync", user, connection): nil, at("/users/%d/connections/%d/delete", user, connection): {"number", fmt.Sprint(connection)},
			at("/configuration/key"): {"name", "api.timezone", "act", "set", "value", "UTC"}, at("/clients"): {"name", "x"}, at("/tokens"): {"kind", "config"},
			at("/domain"): {"base_url", "https://moved.example/2.0"}, at("/domain/sign-key"): nil,
		}
		for path, values := range acts {
			d.wants("/console/account", path, 403, "", values...)
		}
		d.shows(at("/users/%d/accounts", user), []string{"E…", "DE93 **** 0001"}, name, number, "Show personal data")
		for path, button := range map[string]string{
			at("/users/%d", user): "Delete user", at("/users/%d/connections/%d", user, connection): "Synchronise now", at("/clients"): "Create application",
			at("/tokens"): "Create token", at("/configuration/key?name=api.timezone"): ">Save<", at("/domain"): "Move domain",
		} {
			d.shows(path, nil, button)
		}
		d.twice(password)
		d.wants(at("/users/%d/accounts", user), at("/users/%d/accounts", user), 200, number)
		d.wants("/console/account", at("/configuration/key"), 303, "", acts[at("/configuration/key")]...)
		record, err := operatorstore.From(d.DB).Audits(t.Context(), operatorstore.AuditFilter{Domain: live.ID}, store.Window{Limit: 10})
		if err != nil || len(record) != 2 || record[1].Act != "look at personal data" || record[0].Act != "change configuration" {
			t.Errorf("on record: %+v, %v", record, err)
		}
	})
}

// Pages with data need a session, and forms need a role that may do the act.
func TestLinksToDataAndSettings(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		id, token := d.user()
		connection := d.connect(token, "one")
		client := d.domainPath("/clients/" + d.ClientID)
		pages := []string{
			"/console/domains", listOfPrograms, d.domainPath("/users"), d.userPath(id, ""), d.userPath(id, "/accounts"), d.userPath(id, "/subscriptions"), d.userPath(id, "/consents"),
			d.userPath(id, fmt.Sprint("/connections/", connection)), d.domainPath("/connections"), d.domainPath("/connectors"), d.domainPath("/connectors/40"),
			d.domainPath("/configuration"), d.domainPath("/configuration/key?name=api.timezone"), d.domainPath("/configuration/log"), d.domainPath("/clients"), client,
			d.domainPath("/tokens"), d.domainPath("/domain"),
		}
		for _, path := range append(slices.Clone(pages), "/console/") { // the sign-in leads to the page that was requested last
			if a := d.get(path); a.status != http.StatusSeeOther || a.location != "/console/sign-in" {
				t.Errorf("%s for a stranger: %d %s", path, a.status, a.location)
			}
		}
		d.enter(operators.Viewer)
		for _, path := range pages {
			d.shows(path, nil, `class="grave`, "<textarea")
		}
		form := d.token("/console/account")
		for _, path := range []string{
			"/console/domains", listOfPrograms, d.userPath(id, "/export"), d.userPath(id, "/delete"), d.userPath(id, "/accounts"), d.userPath(id, "/subscriptions"),
			d.userPath(id, fmt.Sprint("/connections/", connection, "/sync")), d.userPath(id, fmt.Sprint("/connections/", connection, "/delete")),
			d.domainPath("/connectors/40"), d.domainPath("/connectors/40/sources/401"), d.domainPath("/configuration/key?name=api.timezone"), d.domainPath("/clients"), client,
			client + "/secret", client + "/delete", d.domainPath("/tokens"), d.domainPath("/tokens/1/revoke"), d.domainPath("/domain"), d.domainPath("/domain/sign-key"),
		} {
			if a := d.post(path, "same-origin", map[string][]string{"csrf": {form}, "name": {"api.timezone"}}); a.status != 403 {
				t.Errorf("%s for a viewer: %d %s", path, a.status, a.body)
			}
			if a := d.post(path, "same-origin", map[string][]string{"csrf": {"forged"}}); a.status != 403 {
				t.Errorf("%s forged: %d", path, a.status)
			}
		}
		d.wantOnRecord()
		for path, want := range map[string]int{
			d.domainPath("/connectors/999999"): 404, d.domainPath("/configuration/key"): 404, d.domainPath("/configuration/key?name=no.such"): 404,
			d.domainPath("/clients/999999"): 404, d.domainPath("/tokens?id=x"): 422, d.userPath(id, "/connections/999999"): 404, d.userPath(id, "/export"): 303,
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
