package access_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

type fixture struct {
	*access.Access
	t             *testing.T
	now           time.Time
	domain, other passerelle.DomainID
	client        store.Client
	secret        string
}

func open(t *testing.T) *fixture {
	t.Helper()
	return openAt(t, storetest.SQLite(t))
}

func onEach(t *testing.T, run func(t *testing.T, d *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, openAt(t, url)) })
}

func openAt(t *testing.T, url string) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := &fixture{t: t, now: time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)}
	d.Access = &access.Access{DB: db, Now: func() time.Time { return d.now }}
	d.domain, d.other = d.newDomain("bank"), d.newDomain("other")
	if d.client, d.secret, err = d.Register(t.Context(), d.domain, "shop", nil); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *fixture) newDomain(name string) passerelle.DomainID {
	d.t.Helper()
	domain := passerelle.Domain{Name: name, Kind: passerelle.Sandbox, BaseURL: "http://" + name + "/2.0", Created: d.now}
	d.write(func(tx *store.Tx) error { return tx.CreateDomain(&domain, name) })
	return domain.ID
}

func (d *fixture) write(fn func(*store.Tx) error) {
	d.t.Helper()
	if err := d.DB.Write(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) service(scopes ...passerelle.Scope) access.Grant {
	d.t.Helper()
	grant, err := d.IssueService(d.t.Context(), d.client, scopes)
	if err != nil {
		d.t.Fatal(err)
	}
	return grant
}

func (d *fixture) wantRefused(domain passerelle.DomainID, bearer string) {
	d.t.Helper()
	p, err := d.Authenticate(d.t.Context(), domain, bearer)
	wantError(d.t, err, passerelle.Unauthenticated, "invalidToken")
	if diff := cmp.Diff(access.Principal{}, p); diff != "" {
		d.t.Errorf("a refused token stands for somebody: %s", diff)
	}
}

func wantError(t *testing.T, err error, kind passerelle.Kind, code string) {
	t.Helper()
	var refusal *passerelle.Error
	if !errors.As(err, &refusal) || refusal.Kind != kind || refusal.Code != code {
		t.Errorf("error %v, want %s %s", err, kind, code)
	}
}

func TestServiceToken(t *testing.T) {
	d := open(t)
	grant := d.service(passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsCancel)
	if !grant.Expires.Equal(d.now.Add(30 * time.Minute)) {
		t.Errorf("expires %v", grant.Expires)
	}
	p, err := d.Authenticate(t.Context(), d.domain, grant.Text)
	if err != nil {
		t.Fatal(err)
	}
	want := access.Principal{
		Token: grant.Token.ID, Kind: access.ServiceToken, Domain: d.domain, Client: d.client.ID,
		Scopes:  passerelle.Scopes{passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsCancel},
		Expires: p.Expires, RedirectURIs: []string{},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestLifeOfServiceTokensIsASetting(t *testing.T) {
	d := open(t)
	if err := settings.Set(t.Context(), d.DB, d.domain, map[string]string{settings.ServiceTokenLife: "5"}, d.now); err != nil {
		t.Fatal(err)
	}
	if grant := d.service(passerelle.ScopePaymentsAdmin); !grant.Expires.Equal(d.now.Add(5 * time.Minute)) {
		t.Errorf("expires %v", grant.Expires)
	}
}

func TestFormOfTokens(t *testing.T) {
	d := open(t)
	service := d.service(passerelle.ScopePaymentsAdmin)
	maker, err := d.Authenticate(t.Context(), d.domain, service.Text)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := d.IssuePayment(t.Context(), maker, 7, passerelle.Scopes{passerelle.ScopePaymentsValidate})
	if err != nil {
		t.Fatal(err)
	}
	config, err := d.IssueOperator(t.Context(), d.domain, access.ConfigToken)
	if err != nil {
		t.Fatal(err)
	}
	users, err := d.IssueOperator(t.Context(), d.domain, access.UsersToken)
	if err != nil {
		t.Fatal(err)
	}
	for kind, grant := range map[string]access.Grant{"svc": service, "pay": bound, "cfg": config, "uss": users} {
		if !regexp.MustCompile(`^psl_` + kind + `_[0-9a-f]{56}$`).MatchString(grant.Text) {
			t.Errorf("a token of kind %s has another form, and %d characters", kind, len(grant.Text))
		}
		if strings.Contains(string(grant.Token.Hash), grant.Text) || len(grant.Token.Hash) != 32 {
			t.Error("the stored form is not a hash")
		}
	}
}

func TestTamperedTokens(t *testing.T) {
	d := open(t)
	text := d.service(passerelle.ScopePaymentsAdmin).Text
	for i := range len(text) {
		other := byte('0')
		if text[i] == other {
			other = '1'
		}
		d.wantRefused(d.domain, text[:i]+string(other)+text[i+1:])
	}
	for _, bearer := range []string{"", " ", "psl_svc_", text[:len(text)-1], text + "0", " " + text, text + "\n", strings.ToUpper(text), "Bearer " + text, strings.Repeat("psl_svc_", 100_000)} {
		d.wantRefused(d.domain, bearer)
	}
}

func TestTokensThatAreNoLongerGood(t *testing.T) {
	d := open(t)
	lasting, revoked := d.service(passerelle.ScopePaymentsAdmin), d.service(passerelle.ScopePaymentsAdmin)
	d.write(func(tx *store.Tx) error { tx.RevokeToken(d.domain, revoked.Token.ID, d.now); return nil })
	d.wantRefused(d.domain, revoked.Text)
	d.wantRefused(d.other, lasting.Text)
	d.wantRefused(0, lasting.Text)

	d.now = d.now.Add(30*time.Minute - time.Microsecond)
	if _, err := d.Authenticate(t.Context(), d.domain, lasting.Text); err != nil {
		t.Errorf("just before its end: %v", err)
	}
	d.now = d.now.Add(time.Microsecond)
	d.wantRefused(d.domain, lasting.Text)

	d.now = d.now.Add(-time.Hour)
	d.write(func(tx *store.Tx) error { tx.DeleteClient(d.domain, d.client.ID, d.now); return nil })
	d.wantRefused(d.domain, lasting.Text)
}

// TestUnreachableStoreIsNotABadToken: when the store is unreachable, the response must not make a
// client discard its token.
func TestUnreachableStoreIsNotABadToken(t *testing.T) {
	d := open(t)
	text := d.service(passerelle.ScopePaymentsAdmin).Text
	d.DB.Close()
	if _, err := d.Authenticate(t.Context(), d.domain, text); err == nil || errors.Is(err, passerelle.Unauthenticated) {
		t.Errorf("error %v", err)
	}
	credentials := access.Credentials{ClientID: strconv.FormatInt(int64(d.client.ID), 10), Secret: d.secret}
	if _, err := d.Application(t.Context(), d.domain, credentials); err == nil || errors.Is(err, passerelle.Unauthenticated) {
		t.Errorf("error %v", err)
	}
}

func TestNarrowing(t *testing.T) {
	const (
		admin, readOnly, sensitive = passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsReadOnly, passerelle.ScopePaymentsSensitive
		validate, cancel           = passerelle.ScopePaymentsValidate, passerelle.ScopePaymentsCancel
	)
	tests := map[string]struct {
		has   passerelle.Scopes
		bound passerelle.PaymentID
		wants passerelle.Scopes
		kind  passerelle.Kind
		code  string
	}{
		"admin grants all others":          {has: passerelle.Scopes{admin}, wants: passerelle.Scopes{readOnly, sensitive, validate, cancel}},
		"admin cannot be granted":          {has: passerelle.Scopes{admin}, wants: passerelle.Scopes{admin}, kind: passerelle.Invalid, code: "invalidValue"},
		"admin among others":               {has: passerelle.Scopes{admin}, wants: passerelle.Scopes{validate, admin}, kind: passerelle.Invalid, code: "invalidValue"},
		"one's own":                        {has: passerelle.Scopes{validate, cancel}, wants: passerelle.Scopes{cancel}},
		"more than one's own":              {has: passerelle.Scopes{validate}, wants: passerelle.Scopes{validate, sensitive}, kind: passerelle.Forbidden, code: "forbidden"},
		"nothing granted by nobody":        {wants: passerelle.Scopes{validate}, kind: passerelle.Forbidden, code: "forbidden"},
		"no scope at all":                  {has: passerelle.Scopes{admin}, kind: passerelle.Invalid, code: "missingParameter"},
		"the operator's scopes":            {has: passerelle.Scopes{admin}, wants: passerelle.Scopes{passerelle.ScopeConfig}, kind: passerelle.Invalid, code: "invalidValue"},
		"one's own payment":                {has: passerelle.Scopes{validate}, bound: 7, wants: passerelle.Scopes{validate}},
		"another payment than one's own":   {has: passerelle.Scopes{validate}, bound: 8, wants: passerelle.Scopes{validate}, kind: passerelle.NotFound, code: "notFound"},
		"the same scope twice counts once": {has: passerelle.Scopes{admin}, wants: passerelle.Scopes{validate, validate}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			maker := access.Principal{Domain: d.domain, Client: d.client.ID, Scopes: test.has, Payment: test.bound}
			grant, err := d.IssuePayment(t.Context(), maker, 7, test.wants)
			if test.kind != "" {
				wantError(t, err, test.kind, test.code)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.Authenticate(t.Context(), d.domain, grant.Text)
			want := access.Principal{Token: grant.Token.ID, Kind: access.PaymentToken, Domain: d.domain, Client: d.client.ID, Payment: 7, Scopes: slices.Compact(test.wants), Expires: p.Expires}
			if diff := cmp.Diff(want, p); err != nil || diff != "" {
				t.Error(err, diff)
			}
			d.now = d.now.Add(access.PaymentTokenLife)
			d.wantRefused(d.domain, grant.Text)
		})
	}
}

func TestOperatorTokensArePermanent(t *testing.T) {
	d := open(t)
	for kind, scope := range map[access.TokenKind]passerelle.Scope{access.ConfigToken: passerelle.ScopeConfig, access.UsersToken: passerelle.ScopeUsers} {
		grant, err := d.IssueOperator(t.Context(), d.domain, kind)
		if err != nil {
			t.Fatal(err)
		}
		d.now = d.now.AddDate(10, 0, 0)
		p, err := d.Authenticate(t.Context(), d.domain, grant.Text)
		if err != nil || p.Kind != kind || !slices.Equal(p.Scopes, passerelle.Scopes{scope}) || p.Client != 0 {
			t.Errorf("%+v, %v", p, err)
		}
		d.wantRefused(d.other, grant.Text)
	}
	_, err := d.IssueOperator(t.Context(), d.domain, access.ServiceToken)
	wantError(t, err, passerelle.Invalid, "invalidValue")
}

func TestApplication(t *testing.T) {
	d := open(t)
	id := strconv.FormatInt(int64(d.client.ID), 10)
	got, err := d.Application(t.Context(), d.domain, access.Credentials{ClientID: id, Secret: d.secret})
	if err != nil || got.ID != d.client.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(d.secret) != 64 || strings.Contains(string(got.SecretHash), d.secret) {
		t.Error("the secret is short, or stored")
	}
	for name, c := range map[string]access.Credentials{
		"nothing":           {},
		"no secret":         {ClientID: id},
		"wrong secret":      {ClientID: id, Secret: strings.Repeat("0", 64)},
		"part of it":        {ClientID: id, Secret: d.secret[:63]},
		"unknown":           {ClientID: "1", Secret: d.secret},
		"unknown, no proof": {ClientID: "1"},
		"not a number":      {ClientID: "shop", Secret: d.secret},
		"too large":         {ClientID: "99999999999999999999", Secret: d.secret},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.Application(t.Context(), d.domain, c)
			wantError(t, err, passerelle.Unauthenticated, "invalidToken")
		})
	}
	right := access.Credentials{ClientID: id, Secret: d.secret}
	_, err = d.Application(t.Context(), d.other, right)
	wantError(t, err, passerelle.Unauthenticated, "invalidToken")
	d.write(func(tx *store.Tx) error { tx.DeleteClient(d.domain, d.client.ID, d.now); return nil })
	_, err = d.Application(t.Context(), d.domain, right)
	wantError(t, err, passerelle.Unauthenticated, "invalidToken")
}

func TestRegisterRefuses(t *testing.T) {
	d := open(t)
	for name, test := range map[string]struct {
		name  string
		uris  []string
		field string
	}{
		"a relative URI":     {"shop", []string{"https://a.example", "/back"}, "redirect_uris[1]"},
		"a URI with a query": {"shop", []string{"https://a.example?x"}, "redirect_uris[0]"},
		"a long name":        {strings.Repeat("x", 256), nil, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, secret, err := d.Register(t.Context(), d.domain, test.name, test.uris)
			var refusal *passerelle.Error
			if !errors.As(err, &refusal) || refusal.Field != test.field || secret != "" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPaymentTokenDoesNotOutliveItsMaker makes a payment token with another payment token. The new
// token must expire no later than the first one. Otherwise, clients could renew tokens forever.
func TestPaymentTokenDoesNotOutliveItsMaker(t *testing.T) {
	d := open(t)
	maker := access.Principal{Kind: access.ServiceToken, Domain: d.domain, Client: d.client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	wants := passerelle.Scopes{passerelle.ScopePaymentsValidate}
	first, err := d.IssuePayment(t.Context(), maker, 7, wants)
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(6 * 24 * time.Hour)
	bound, err := d.Authenticate(t.Context(), d.domain, first.Text)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.IssuePayment(t.Context(), bound, 7, wants)
	if err != nil || second.Expires.After(*bound.Expires) {
		t.Errorf("the second token expires at %v, the first at %v (%v)", second.Expires, bound.Expires, err)
	}
}

// TestPaymentTokenIsValidForSevenDays issues a token while the clock advances. The difference
// between creation and expiry is in the response, so it must be exact.
func TestPaymentTokenIsValidForSevenDays(t *testing.T) {
	d := open(t)
	d.Now = func() time.Time { d.now = d.now.Add(time.Millisecond); return d.now }
	maker := access.Principal{Kind: access.ServiceToken, Domain: d.domain, Client: d.client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	grant, err := d.IssuePayment(t.Context(), maker, 7, passerelle.Scopes{passerelle.ScopePaymentsValidate})
	if err != nil {
		t.Fatal(err)
	}
	if life := grant.Expires.Sub(grant.Token.Created); life != 7*24*time.Hour {
		t.Errorf("the token is valid for %v", life)
	}
}
