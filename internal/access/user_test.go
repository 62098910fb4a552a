package access_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// user makes a user with a token. The token of a permanent user belongs to the fixture's
// application.
func (d *fixture) user(permanent bool) (passerelle.User, access.Grant) {
	d.t.Helper()
	u := passerelle.User{Domain: d.domain, Platform: passerelle.SharedAccess, Created: d.now, Version: 1}
	var owner passerelle.ClientID
	if permanent {
		u.Permanent, owner = new(d.now), d.client.ID
	} else {
		u.Expires = new(d.now.Add(30 * time.Minute))
	}
	var grant access.Grant
	d.write(func(tx *store.Tx) error {
		err := tx.CreateUser(&u)
		if err == nil {
			grant, err = d.GrantUser(tx, owner, u)
		}
		return err
	})
	return u, grant
}

func (d *fixture) code(grant access.Grant, single bool) access.Grant {
	d.t.Helper()
	maker, err := d.Authenticate(d.t.Context(), d.domain, grant.Text)
	if err != nil {
		d.t.Fatal(err)
	}
	code, err := d.IssueCode(d.t.Context(), maker, single)
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

func TestRedeem(t *testing.T) {
	d := open(t)
	other, _, err := d.Register(t.Context(), d.domain, "other", nil)
	if err != nil {
		t.Fatal(err)
	}
	guest, pass := d.user(false)
	_, lasting := d.user(true)
	for name, test := range map[string]struct {
		client store.Client
		code   string
		good   bool
	}{
		"a guest's token":              {d.client, pass.Text, true},
		"a guest's code":               {other, d.code(pass, true).Text, true},
		"a permanent user's code":      {d.client, d.code(lasting, false).Text, true},
		"a code of another client":     {other, d.code(lasting, false).Text, false},
		"a permanent token":            {d.client, lasting.Text, true},
		"another's permanent token":    {other, lasting.Text, false},
		"a service token":              {d.client, d.service(passerelle.ScopePaymentsAdmin).Text, false},
		"a code of no form":            {d.client, "psl_cod_1", false},
		"nothing":                      {d.client, "", false},
		"a client of another domain's": {store.Client{ID: d.client.ID, Domain: d.other}, pass.Text, false},
	} {
		token, err := d.Redeem(t.Context(), test.client, test.code)
		if (err == nil) != test.good || test.good && token.User == 0 {
			t.Errorf("%s: %+v, %v", name, token, err)
		}
		if !test.good {
			wantError(t, err, passerelle.Unauthenticated, "invalidToken")
		}
	}
	late := d.code(pass, false)
	if !late.Expires.Equal(*guest.Expires) {
		t.Errorf("the code of a guest outlives it: %v, %v", late.Expires, guest.Expires)
	}
	d.now = *guest.Expires
	_, err = d.Redeem(t.Context(), d.client, late.Text)
	wantError(t, err, passerelle.Unauthenticated, "invalidToken")
}

// TestCodesEndWithTheTokensOfTheirUser revokes user tokens. The codes that the application has for
// the user must end too, but not the codes of other users and applications.
func TestCodesEndWithTheTokensOfTheirUser(t *testing.T) {
	onEach(t, func(t *testing.T, d *fixture) {
		for name, revoke := range map[string]func(u passerelle.User, g access.Grant) error{
			"one token": func(_ passerelle.User, g access.Grant) error {
				_, err := d.Revoke(t.Context(), d.domain, g.Token.ID)
				return err
			},
			"all tokens": func(u passerelle.User, _ access.Grant) error {
				return d.DB.Write(t.Context(), func(tx *store.Tx) error { d.RevokeUser(tx, d.client.ID, u); return nil })
			},
		} {
			u, grant := d.user(true)
			_, others := d.user(true)
			open, single, kept := d.code(grant, false), d.code(grant, true), d.code(others, false)
			other, _, err := d.Register(t.Context(), d.domain, "other", nil)
			if err != nil {
				t.Fatal(err)
			}
			foreign, err := d.IssueCode(t.Context(), access.Principal{Domain: d.domain, Client: other.ID, User: u.ID}, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := revoke(u, grant); err != nil {
				t.Fatal(name, err)
			}
			for _, code := range []access.Grant{open, single} {
				_, err := d.Redeem(t.Context(), d.client, code.Text)
				wantError(t, err, passerelle.Unauthenticated, "invalidToken")
			}
			_, mine := d.Redeem(t.Context(), d.client, kept.Text)
			_, theirs := d.Redeem(t.Context(), other, foreign.Text)
			if mine != nil || theirs != nil {
				t.Errorf("%s: the codes of others: %v, %v", name, mine, theirs)
			}
		}
	})
}

func TestACodeForOneUseIsSpentOnce(t *testing.T) {
	d := open(t)
	_, lasting := d.user(true)
	for _, single := range []bool{true, false} {
		code, err := d.Redeem(t.Context(), d.client, d.code(lasting, single).Text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			err := access.Spent(d.DB.Write(t.Context(), func(tx *store.Tx) error { d.Spend(tx, code); return nil }))
			if wantsFailure := single && i > 0; (err != nil) != wantsFailure {
				t.Errorf("single %v, exchange %d: %v", single, i, err)
			}
			if err != nil {
				wantError(t, err, passerelle.Unauthenticated, "invalidToken")
			}
		}
	}
}

func TestTokensEndWithTheirUser(t *testing.T) {
	d := open(t)
	u, grant := d.user(true)
	if p, err := d.Authenticate(t.Context(), d.domain, grant.Text); err != nil || p.User != u.ID || p.Client != d.client.ID || p.Expires != nil {
		t.Errorf("%+v, %v", p, err)
	}
	d.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, d.now, d.now); return nil })
	d.wantRefused(d.domain, grant.Text)
}

// TestThrottle checks that wrong secrets are counted for each pair of application and network.
func TestThrottle(t *testing.T) {
	d := open(t)
	id := strconv.FormatInt(int64(d.client.ID), 10)
	ask := func(client, secret, address string) error {
		_, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: client, Secret: secret, Address: address})
		return err
	}
	fail := func(times int, client, address string) {
		t.Helper()
		for range times {
			wantError(t, ask(client, "guess", address), passerelle.Unauthenticated, "invalidToken")
		}
	}
	limited := func(err error, seconds int) {
		t.Helper()
		var reported *passerelle.Error
		if !errors.As(err, &reported) || reported.Code != "rateLimited" || reported.RetryAfter != seconds {
			t.Errorf("error %v, want rateLimited for %d seconds", err, seconds)
		}
	}
	fail(5, id, "192.0.2.1")
	limited(ask(id, d.secret, "192.0.2.1"), 60)
	limited(ask(id, d.secret, "::ffff:192.0.2.1"), 60)
	for _, elsewhere := range []string{"192.0.2.2", "2001:db8::1", ""} {
		if err := ask(id, d.secret, elsewhere); err != nil {
			t.Errorf("from %q: %v", elsewhere, err)
		}
	}
	fail(5, id, "2001:db8:0:1::1")
	limited(ask(id, d.secret, "2001:db8:0:1:ffff::2"), 60)
	fail(5, "no number", "192.0.2.9")
	limited(ask("nor this", d.secret, "192.0.2.9"), 60)
	d.now = d.now.Add(59*time.Second + time.Millisecond)
	limited(ask(id, d.secret, "192.0.2.1"), 1)
	d.now = d.now.Add(time.Second)
	fail(4, id, "192.0.2.1")
	if err := ask(id, d.secret, "192.0.2.1"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	if err := settings.Set(t.Context(), d.DB, d.domain, map[string]string{settings.BlockCount: "0"}, d.now); err != nil {
		t.Fatal(err)
	}
	fail(20, id, "192.0.2.1")
}

// TestManyGuessers makes more callers fail than the throttle keeps. Recent failures must still
// count.
func TestManyGuessers(t *testing.T) {
	d := open(t)
	for i := range 10_100 {
		_, _ = d.Application(t.Context(), d.domain, access.Credentials{ClientID: "1", Secret: "x", Address: fmt.Sprintf("10.0.%d.%d", i/256, i%256)})
	}
	for range 5 {
		_, _ = d.Application(t.Context(), d.domain, access.Credentials{ClientID: "2", Secret: "x", Address: "192.0.2.1"})
	}
	_, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: "2", Secret: "x", Address: "192.0.2.1"})
	wantError(t, err, passerelle.Invalid, "rateLimited")
}

func TestLogos(t *testing.T) {
	d := open(t)
	for name, content := range map[string]string{
		"nothing": "", "an SVG": `<svg xmlns="http://www.w3.org/2000/svg"/>`, "a GIF": "GIF89a\x01\x00\x01\x00\x00\x00\x00;",
		"a PNG's beginning": "\x89PNG\r\n\x1a\n", "too many bytes": strings.Repeat("x", access.MaxLogo+1),
		"too many pixels": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xff\xff\x00\x00\x00\x01\x08\x00\x00\x00\x00",
	} {
		_, err := d.SetLogo(t.Context(), d.domain, d.client.ID, []byte(content))
		if !errors.Is(err, passerelle.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := d.DB.Logo(t.Context(), d.domain, d.client.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%+v, %v", n, err)
	}
}
