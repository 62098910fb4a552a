package console_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/programs"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

const listOfPrograms = "/console/programs"

// TestConnectorPrograms adds, checks and removes a program. The program is a connector of the
// domain until its removal.
func TestConnectorPrograms(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		folder := t.TempDir()
		must(t, os.WriteFile(filepath.Join(folder, "current.csv"), []byte("2026-01-02,-12.50,Bread\n"), 0o600))
		address := servicetest.StartProgram(t, "source.py", folder)
		o, _ := d.enter(operators.Administrator)
		d.shows(listOfPrograms, []string{"No programs yet."})
		add := func(status int, text, address, secret string) {
			t.Helper()
			d.wants(listOfPrograms, listOfPrograms, status, text, "address", address, "secret", secret)
		}
		add(422, "Address: must be the https address", "ftp://x", servicetest.ConnectorSecret)
		add(422, "Secret: must have 32 to 256", address, "short")
		add(422, "the signature is missing or wrong", address, "another secret of thirty-two characters")
		add(422, "it cannot be reached", "http://127.0.0.1:1", servicetest.ConnectorSecret)
		d.wantProgramActs(o.ID)
		add(303, "", address, servicetest.ConnectorSecret)
		add(422, "already exists", address, servicetest.ConnectorSecret)
		d.shows(listOfPrograms, []string{"Folder", address, "bank"}, servicetest.ConnectorSecret)
		all, err := programs.List(t.Context(), &d.DB.Reader)
		if must(t, err); len(all) != 1 {
			t.Fatalf("there are %d programs", len(all))
		}
		number := all[0].Number()
		d.ReloadBanks(t.Context())
		d.shows(d.domainPath(fmt.Sprint("/connectors/", number)), []string{"Folder"})

		at := fmt.Sprint(listOfPrograms, "/", number)
		d.wants(listOfPrograms, at+"/check", 303, "")
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE connector_program SET uuid = 'another'`)
			return nil
		}))
		if a := d.wants(listOfPrograms, at+"/check", 422, "UUID: the program at"); strings.Contains(a.body, "aria-invalid") {
			t.Errorf("a message about a program marks a field of the form for another: %s", a.body)
		}
		d.wants(listOfPrograms, listOfPrograms+"/7/check", 404, "")
		d.wants(listOfPrograms, at+"/remove", 422, "Number: must be", "number", "1")
		d.wants(listOfPrograms, at+"/remove", 303, "", "number", fmt.Sprint(number))
		d.shows(listOfPrograms, []string{"No programs yet."})
		d.wantProgramActs(o.ID, "remove connector", "check connector", "add connector")
		d.ReloadBanks(t.Context())
		if a := d.get(d.domainPath(fmt.Sprint("/connectors/", number))); a.status != 404 {
			t.Errorf("the connector is still there: %d", a.status)
		}
	})
}

// wantProgramActs checks the acts of an operator on programs, newest first.
func (d *fixture) wantProgramActs(operator store.OperatorID, want ...string) {
	d.t.Helper()
	all, err := operatorstore.From(d.DB).Audits(d.t.Context(), operatorstore.AuditFilter{Operator: operator}, store.Window{Limit: 20})
	must(d.t, err)
	var acts []string
	for _, a := range all {
		if a.Subject == "connector" && a.Domain == 0 && a.SubjectID > 1_000_000 {
			acts = append(acts, a.Act)
		}
	}
	if strings.Join(acts, ", ") != strings.Join(want, ", ") {
		d.t.Errorf("on record are %q, want %q", acts, want)
	}
}

// TestWhoChangesPrograms checks that only administrators may change programs. When a domain is
// live, they need a second factor.
func TestWhoChangesPrograms(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		wants := func(f *fixture, status int) {
			t.Helper()
			token := f.token("/console/account")
			for _, path := range []string{"", "/1000001/check", "/1000001/remove"} {
				want := status
				if status != 403 && path != "" {
					want = 404
				}
				if a := f.post(listOfPrograms+path, "same-origin", url.Values{"csrf": {token}}); a.status != want {
					t.Errorf("%s%s: %d, want %d", listOfPrograms, path, a.status, want)
				}
			}
		}
		for role, status := range map[operators.Role]int{operators.Viewer: 403, operators.Developer: 403, operators.Acting: 403, operators.Administrator: 422} {
			f := newFixture(t, d.Instance)
			_, password := f.enter(role)
			f.shows(listOfPrograms, []string{"No programs yet."})
			if wants(f, status); role == operators.Administrator {
				f.live()
				f.shows(listOfPrograms, nil, `name="secret"`)
				wants(f, 403)
				f.twice(password)
				wants(f, 422)
			}
		}
	})
}
