package api_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
)

// In a domain that offers certificates, a user gets the certificate of a connection with a shared
// payment account. The call writes nothing.
func TestCertificatesOfOwnership(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		c, _ := s.discovered(t, "", "anna")
		path := fmt.Sprintf("/connections/%d/account_ownership_certificate", c.ID)
		get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
		s.do(t, get(path)).says(t, 409, "noAccount", "No payment account of this connection is enabled")

		who := s.domainOf("")
		accounts, err := bankstore.From(s.DB).AccountsOf(t.Context(), c.Domain, c.ID)
		must(t, err)
		share := func(kind passerelle.AccountType) {
			i := slices.IndexFunc(accounts, func(a bankstore.StoredAccount) bool { return a.Type == kind })
			_, err := s.Aggregation.ChangeAccounts(t.Context(), who.domain, who.user, []passerelle.AccountID{accounts[i].ID}, aggregation.AccountChange{Disabled: new(false), Origin: "api"})
			must(t, err)
			s.runDue(t) // no read may be running when the user shares the next account
		}
		share("livret_a") // a savings account allows no payment
		s.do(t, get(path)).says(t, 409, "noAccount", "No payment account of this connection is enabled")
		share("checking")

		before := s.record()
		page := s.do(t, get("/users/me"+path))
		if page.status != 200 || !bytes.HasPrefix(page.body, []byte("%PDF-")) || len(page.body) < 5000 {
			t.Fatalf("%d with %d bytes", page.status, len(page.body))
		}
		for name, want := range map[string]string{
			"Content-Type": "application/pdf", "Content-Disposition": fmt.Sprintf("inline; filename=account-ownership-certificate-%d.pdf", c.ID), "Content-Length": fmt.Sprint(len(page.body)),
		} {
			if got := page.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if rows, events := before.since(s.record()); len(rows)+len(events) > 0 {
			t.Errorf("it left %v %v", rows, events)
		}

		for _, path := range []string{"/connections/" + noID + "/account_ownership_certificate", "/users/" + noID + path} {
			s.do(t, get(path)).says(t, 404, "notFound", "")
		}
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"account_ownership_certificate.enabled":"0"}`}).says(t, 200, "", "")
		s.do(t, get(path)).says(t, 409, "conflict", "account_ownership_certificate.enabled")
	})
}

// A domain announces certificates only when it offers them, and only for connections with a payment
// account.
func TestCertificatesAreAnnouncedWhereThereAreAny(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, test := range []struct {
			enabled, login string
			want           []string
		}{
			{"1", "one", []string{"CONNECTION_SYNCED", "CONNECTION_CERTIFICATE_AVAILABLE"}},
			{"1", "none", []string{"CONNECTION_SYNCED"}},
			{"0", "one", []string{"CONNECTION_SYNCED"}},
		} {
			s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"account_ownership_certificate.enabled":"` + test.enabled + `"}`}).says(t, 200, "", "")
			c := s.connected(t, "", test.login)
			var got []string
			for _, e := range s.eyes.EventsOf("connection", int64(c.ID)) {
				if !slices.Contains([]string{"ACCOUNT_FOUND", "SUBSCRIPTION_FOUND", "ACCOUNTS_FETCHED"}, e.Name) {
					got = append(got, e.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", test, diff)
			}
		}
	})
}
