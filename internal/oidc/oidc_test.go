package oidc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/oidc"
	"passerelle/internal/oidc/oidctest"
)

const back = "https://bank.example/console/provider/back"

type signIn struct {
	t        *testing.T
	server   *oidctest.Provider
	provider *oidc.Provider
	now      time.Time
}

func newSignIn(t *testing.T) *signIn {
	t.Helper()
	v := &signIn{t: t, server: oidctest.Start(t, true), now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	v.server.Now = func() time.Time { return v.now }
	v.configure(func(*oidc.Config) {})
	return v
}

func (v *signIn) configure(change func(*oidc.Config)) {
	v.t.Helper()
	c := oidc.Config{Issuer: v.server.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret, Client: v.server.Client, Now: func() time.Time { return v.now }}
	change(&c)
	var err error
	if v.provider, err = oidc.New(c); err != nil {
		v.t.Fatal(err)
	}
}

// leave sends the browser to the provider. It returns the data that the browser stores, and the
// query with which the browser returns.
func (v *signIn) leave() (oidc.Departure, url.Values) {
	v.t.Helper()
	address, d, err := v.provider.Leave(v.t.Context(), back)
	if err != nil {
		v.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	answer, err := v.server.Client.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil || !strings.HasPrefix(to.String(), back+"?") {
		v.t.Fatalf("%d, back to %v: %v", answer.StatusCode, to, err)
	}
	return d, to.Query()
}

func (v *signIn) whole() (oidc.Person, error) {
	v.t.Helper()
	d, query := v.leave()
	return v.provider.Arrive(v.t.Context(), back, d, query)
}

func TestAProviderVouches(t *testing.T) {
	v := newSignIn(t)
	got, err := v.whole()
	if diff := cmp.Diff(oidc.Person{Issuer: v.server.URL, Subject: "person 1"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	v.server.Rotate()
	if _, err := v.whole(); err != nil {
		t.Errorf("after the keys were changed: %v", err)
	}
}

// unsigned returns a token that claims to need no signature.
func unsigned(claims []byte) string {
	text := base64.RawURLEncoding.EncodeToString
	return text([]byte(`{"alg":"none"}`)) + "." + text(claims) + "."
}

func TestWhatAProviderDoesNotVouchFor(t *testing.T) {
	for name, spoil := range map[string]func(v *signIn){
		"another nonce":             func(v *signIn) { v.server.Claims["nonce"] = "other" },
		"no nonce":                  func(v *signIn) { v.server.Claims["nonce"] = nil },
		"another issuer":            func(v *signIn) { v.server.Claims["iss"] = "https://other.example" },
		"another audience":          func(v *signIn) { v.server.Claims["aud"] = "other" },
		"several audiences":         func(v *signIn) { v.server.Claims["aud"] = []string{oidctest.ClientID, "other"} },
		"another authorised client": func(v *signIn) { v.server.Claims["azp"] = "other" },
		"expired":                   func(v *signIn) { v.server.Claims["exp"] = v.now.Add(-time.Second).Unix() },
		"no end":                    func(v *signIn) { v.server.Claims["exp"] = nil },
		"not valid yet":             func(v *signIn) { v.server.Claims["nbf"] = v.now.Add(time.Hour).Unix() },
		"no subject":                func(v *signIn) { v.server.Claims["sub"] = "" },
		"no signature":              func(v *signIn) { v.server.Token = unsigned },
		"no token":                  func(v *signIn) { v.server.Token = func([]byte) string { return "" } },
		"nonsense":                  func(v *signIn) { v.server.Token = func([]byte) string { return "a.b.c" } },
		"a signature cut off":       func(v *signIn) { v.server.Token = func(c []byte) string { return cut(v.server.Sign(c)) } },
		"signed with the secret": func(v *signIn) {
			v.server.Token = v.with(jose.HS256, []byte(oidctest.Secret+oidctest.Secret+oidctest.Secret))
		},
		"signed with somebody's key":    func(v *signIn) { v.server.Token = v.with(jose.ES256, anyKey(v.t)) },
		"an error":                      func(v *signIn) { v.server.Answer = url.Values{"error": {"access_denied"}} },
		"no code":                       func(v *signIn) { v.server.Answer = url.Values{"code": {""}} },
		"a code of somebody":            func(v *signIn) { v.server.Answer = url.Values{"code": {"guessed"}} },
		"another state":                 func(v *signIn) { v.server.Answer = url.Values{"state": {"other"}} },
		"an answer of another provider": func(v *signIn) { v.server.Answer = url.Values{"iss": {"https://other.example"}} },
		"a secret that is not ours":     func(v *signIn) { v.configure(func(c *oidc.Config) { c.ClientSecret = "other" }) },
	} {
		t.Run(name, func(t *testing.T) {
			v := newSignIn(t)
			spoil(v)
			if got, err := v.whole(); !errors.Is(err, oidc.ErrNotVouched) || got != (oidc.Person{}) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func cut(token string) string { return token[:len(token)-4] }

func (v *signIn) with(algorithm jose.SignatureAlgorithm, key any) func([]byte) string {
	return func(claims []byte) string {
		return v.server.SignWith(jose.SigningKey{Algorithm: algorithm, Key: key}, claims)
	}
}

func anyKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestASignInBelongsToOneBrowser checks that the parameters of one browser are not valid in
// another.
func TestASignInBelongsToOneBrowser(t *testing.T) {
	v := newSignIn(t)
	mine, query := v.leave()
	other, _ := v.leave()
	for name, d := range map[string]oidc.Departure{
		"another visit": other, "none": {}, "another verifier": {State: mine.State, Nonce: mine.Nonce, Verifier: other.Verifier},
	} {
		if _, err := v.provider.Arrive(t.Context(), back, d, query); !errors.Is(err, oidc.ErrNotVouched) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mine, query = v.leave()
	if _, err := v.provider.Arrive(t.Context(), back, mine, query); err != nil {
		t.Fatal(err)
	}
	if _, err := v.provider.Arrive(t.Context(), back, mine, query); !errors.Is(err, oidc.ErrNotVouched) {
		t.Errorf("the same again: %v", err)
	}
	if _, err := v.provider.Arrive(t.Context(), back, oidc.Departure{}, url.Values{}); !errors.Is(err, oidc.ErrNotVouched) {
		t.Errorf("nothing: %v", err)
	}
}

func TestNamesAndSecondFactorsAreBelievedAsConfigured(t *testing.T) {
	for _, c := range []struct {
		claims map[string]any
		name   string
		second []string
		want   oidc.Person
	}{
		{map[string]any{"email": "zoe@shop.example", "email_verified": true}, "email", nil, oidc.Person{Name: "zoe@shop.example"}},
		{map[string]any{"email": "zoe@shop.example", "email_verified": false}, "email", nil, oidc.Person{}},
		{map[string]any{"email": "zoe@shop.example", "email_verified": "true"}, "email", nil, oidc.Person{}},
		{map[string]any{"email": "zoe@shop.example"}, "email", nil, oidc.Person{}},
		{map[string]any{"email": "zoe@shop.example", "email_verified": true}, "", nil, oidc.Person{}},
		{map[string]any{"preferred_username": "zoe"}, "preferred_username", nil, oidc.Person{Name: "zoe"}},
		{map[string]any{"preferred_username": 7}, "preferred_username", nil, oidc.Person{}},
		{map[string]any{"amr": []string{"pwd", "otp"}}, "", []string{"mfa", "otp"}, oidc.Person{Twice: true}},
		{map[string]any{"amr": "otp"}, "", []string{"otp"}, oidc.Person{Twice: true}},
		{map[string]any{"amr": []string{"pwd", "otp"}}, "", nil, oidc.Person{}},
		{map[string]any{"amr": []string{"pwd"}, "acr": "gold"}, "", []string{"gold"}, oidc.Person{Twice: true}},
		{map[string]any{"amr": 1, "acr": ""}, "", []string{""}, oidc.Person{}},
	} {
		v := newSignIn(t)
		v.server.Claims = c.claims
		v.configure(func(config *oidc.Config) { config.NameClaim, config.SecondFactor = c.name, c.second })
		c.want.Issuer, c.want.Subject = v.server.URL, "person 1"
		got, err := v.whole()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v %s", c.claims, err, diff)
		}
	}
}

func TestUnreachableProvider(t *testing.T) {
	v := newSignIn(t)
	d, query := v.leave()
	v.server.Exchange = http.StatusBadGateway
	if _, err := v.provider.Arrive(t.Context(), back, d, query); !errors.Is(err, oidc.ErrAway) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := v.provider.Leave(ended, back); err != nil {
		t.Errorf("what it said of itself is not remembered: %v", err)
	}
	v.now = v.now.Add(2 * time.Hour)
	if _, _, err := v.provider.Leave(ended, back); !errors.Is(err, oidc.ErrAway) {
		t.Errorf("%v", err)
	}
	elsewhere := httptest.NewTLSServer(http.RedirectHandler(v.server.URL+"/.well-known/openid-configuration", http.StatusFound))
	defer elsewhere.Close()
	client := elsewhere.Client()
	client.CheckRedirect = v.server.Client.CheckRedirect
	v.configure(func(c *oidc.Config) { c.Issuer, c.Client = elsewhere.URL, client })
	if _, _, err := v.provider.Leave(t.Context(), back); !errors.Is(err, oidc.ErrAway) {
		t.Errorf("sent elsewhere: %v", err)
	}
}

func TestInvalidProviderConfigurations(t *testing.T) {
	for field, c := range map[string][]oidc.Config{
		"--oidc-issuer": {
			{ClientID: "x"},
			{Issuer: "http://id.example", ClientID: "x"},
			{Issuer: "id.example", ClientID: "x"},
			{Issuer: "https://u:p@id.example", ClientID: "x"},
			{Issuer: "https://id.example?x=1", ClientID: "x"},
		},
		"--oidc-client-id": {{Issuer: "https://id.example"}},
	} {
		for _, one := range c {
			var wrong *passerelle.Error
			if _, err := oidc.New(one); !errors.As(err, &wrong) || wrong.Field != field {
				t.Errorf("%+v: %v", one, err)
			}
		}
	}
}

// TestASilentProvider checks that callers wait only briefly for another caller's fetch. After a
// failure, no fetch may take place for a moment.
func TestASilentProvider(t *testing.T) {
	v := newSignIn(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	silent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer silent.Close()
	v.configure(func(c *oidc.Config) { c.Issuer, c.Client = silent.URL, silent.Client() })
	away := func() {
		t.Helper()
		if _, _, err := v.provider.Leave(t.Context(), back); !errors.Is(err, oidc.ErrAway) {
			t.Errorf("%v", err)
		}
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		away()
	}()
	<-asked
	away() // the first call still waits, so this call makes no request
	answer <- struct{}{}
	<-first
	away() // this call makes no request either
	v.now = v.now.Add(6 * time.Second)
	go func() {
		<-asked
		answer <- struct{}{}
	}()
	away()
}

// TestKeysAreRemembered signs in several times. The package must fetch the keys once, again for a
// new key, and again after an hour.
func TestKeysAreRemembered(t *testing.T) {
	v := newSignIn(t)
	vouched := func(asked int) {
		t.Helper()
		for range 3 {
			if _, err := v.whole(); err != nil {
				t.Fatal(err)
			}
		}
		if n := v.server.Calls("/keys"); n != asked {
			t.Errorf("the keys were asked for %d times, want %d", n, asked)
		}
	}
	vouched(1)
	v.server.Rotate()
	vouched(2)
	v.now = v.now.Add(59 * time.Minute)
	vouched(2)
	v.now = v.now.Add(time.Minute)
	vouched(3)
}

// TestForeignKeys signs in with tokens that the provider has not signed. These tokens may cause
// only one fetch of the provider's keys within several seconds.
func TestForeignKeys(t *testing.T) {
	v := newSignIn(t)
	if _, err := v.whole(); err != nil {
		t.Fatal(err)
	}
	v.server.Token = v.with(jose.ES256, jose.JSONWebKey{Key: anyKey(t), KeyID: "foreign"})
	for _, want := range []int{2, 3} {
		for range 3 {
			if _, err := v.whole(); !errors.Is(err, oidc.ErrNotVouched) {
				t.Errorf("%v", err)
			}
		}
		if n := v.server.Calls("/keys"); n != want {
			t.Errorf("the keys were asked for %d times, want %d", n, want)
		}
		v.now = v.now.Add(6 * time.Second)
	}
	v.server.Token = nil
	if _, err := v.whole(); err != nil {
		t.Errorf("with a key that is known: %v", err)
	}
}

// TestAProviderIsCalledSafely checks that the package refuses descriptions with addresses that are
// not https URLs. With Loopback, it must accept http URLs.
func TestAProviderIsCalledSafely(t *testing.T) {
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri"} {
		for _, address := range []string{"", "/here", "http://id.example/x", "ftp://id.example/x", "https:///x"} {
			v := newSignIn(t)
			v.server.Description = map[string]any{name: address}
			if _, _, err := v.provider.Leave(t.Context(), back); !errors.Is(err, oidc.ErrAway) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %q: %v", name, address, err)
			}
		}
	}
	v := newSignIn(t)
	v.server = oidctest.Start(t, false)
	v.server.Now = func() time.Time { return v.now }
	v.configure(func(c *oidc.Config) { c.Loopback = true })
	if _, err := v.whole(); err != nil {
		t.Errorf("in development: %v", err)
	}
}

// TestWhatAProviderAnswersIsInNoError checks that errors do not quote the provider's response,
// because it could contain any text.
func TestWhatAProviderAnswersIsInNoError(t *testing.T) {
	const secret = "what nobody may read"
	describe := "/.well-known/openid-configuration"
	for name, spoil := range map[string]func(v *signIn){
		"no description":        func(v *signIn) { v.server.Faults[describe] = secret },
		"another description":   func(v *signIn) { v.server.Description = map[string]any{"token_endpoint": []string{secret}} },
		"another name":          func(v *signIn) { v.server.Description = map[string]any{"issuer": secret} },
		"another place":         func(v *signIn) { v.server.Description = map[string]any{"jwks_uri": "http://" + secret} },
		"no keys":               func(v *signIn) { v.server.Faults["/keys"] = secret },
		"keys that are no keys": func(v *signIn) { v.server.Description = map[string]any{"jwks_uri": v.server.URL + "/nonsense"} },
		"no token":              func(v *signIn) { v.server.Faults["/token"] = secret },
	} {
		t.Run(name, func(t *testing.T) {
			v := newSignIn(t)
			v.server.Nonsense = secret
			spoil(v)
			_, _, err := v.provider.Leave(t.Context(), back)
			if err == nil {
				d, query := v.leave()
				_, err = v.provider.Arrive(t.Context(), back, d, query)
			}
			if !errors.Is(err, oidc.ErrAway) && name != "keys that are no keys" || err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%v", err)
			}
		})
	}
}
