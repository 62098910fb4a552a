package access_test

import (
	"strconv"
	"testing"
	"time"

	"passerelle/internal/access"
	"passerelle/internal/store"
)

// TestUsesAreKept checks the last use of a credential that does not expire. The service must store
// a last use at most once an hour. It must not record failed uses, or uses of tokens that expire.
func TestUsesAreKept(t *testing.T) {
	d := open(t)
	grant, err := d.IssueOperator(t.Context(), d.domain, access.ConfigToken)
	if err != nil {
		t.Fatal(err)
	}
	service := d.service("payments:admin")
	start := d.now
	present := func(secret string) error {
		_, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: strconv.FormatInt(int64(d.client.ID), 10), Secret: secret})
		return err
	}
	use := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if _, err := d.Authenticate(t.Context(), d.domain, text); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Authenticate(t.Context(), d.other, grant.Text); err == nil {
			t.Fatal("the token is good elsewhere")
		}
	}
	want := func(token, secret *time.Time) {
		t.Helper()
		if err := d.KeepUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := map[int64]*time.Time{}
		tokens, err := d.DB.Tokens(t.Context(), store.TokenFilter{Domain: d.domain, All: true}, store.Window{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tokens {
			got[one.ID] = one.Used
		}
		client, err := d.DB.Client(t.Context(), d.domain, d.client.ID)
		if err != nil {
			t.Fatal(err)
		}
		for name, pair := range map[string][2]*time.Time{
			"the token": {token, got[grant.Token.ID]}, "the service token": {nil, got[service.Token.ID]}, "the secret": {secret, client.Used},
		} {
			if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && !pair[0].Equal(*pair[1]) {
				t.Errorf("%s was last used %v, want %v", name, pair[1], pair[0])
			}
		}
	}
	want(nil, nil)
	use(grant.Text, grant.Text, service.Text)
	want(&start, nil)
	if err := present(d.secret); err != nil {
		t.Fatal(err)
	}
	want(&start, &start)
	d.now = start.Add(59 * time.Minute)
	use(grant.Text)
	want(&start, &start)
	d.now = start.Add(time.Hour)
	next := d.now
	use(grant.Text)
	want(&next, &start)
	if err := present("wrong"); err == nil {
		t.Fatal("the secret is good")
	}
	want(&next, &start)
}
