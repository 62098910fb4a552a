// Package oidc lets an OpenID Connect provider identify an operator who signs in.
//
// The package owns the redirects to the provider and back. It owns the data that the browser stores
// while it is at the provider, the exchange of the code for a token, and the claims that the token
// must contain. Package operators decides who may sign in. Callers own the cookie in the browser.
// The configured client decides which addresses the package may call.
//
// The package fails with ErrAway when the provider cannot be reached or has an unusable
// description. It fails with ErrNotVouched when data from the provider or the browser is invalid,
// such as the token. The error contains the reason, for the log. From the provider's responses,
// errors quote only values of a token, such as its issuer and audience.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"passerelle"
)

// These are the reasons why a provider does not identify a person.
var (
	ErrAway       = errors.New("the provider of identities cannot be asked")
	ErrNotVouched = errors.New("the provider of identities does not vouch for this person")
)

// known is the time for which a provider's description stays in the cache.
const known = time.Hour

// algorithms lists the accepted signature algorithms. With each of them, only the provider can
// sign.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// Config contains the operator's settings for the provider.
type Config struct {
	// Issuer is the provider's address, in the form that tokens contain.
	Issuer string
	// ClientID and ClientSecret identify the service at the provider. Some providers need no
	// secret.
	ClientID, ClientSecret string
	// NameClaim is the claim with the name of an operator. The service uses the claim at a first
	// sign-in. NameClaim is empty when no claim contains the name. The claim "email" counts only if
	// it is verified.
	NameClaim string
	// SecondFactor lists the values of the claims amr and acr that mean a second factor. When it is
	// empty, no sign-in counts as a sign-in with a second factor.
	SecondFactor []string
	// Loopback allows a provider on this machine and without TLS, for development.
	Loopback bool
	// Client calls the provider. It must have a Transport and must not follow redirects.
	Client *http.Client
	Now    func() time.Time
}

// Provider is a provider of identities. New makes it. It is safe for concurrent use.
type Provider struct {
	Config

	// asking contains a value while a caller fetches the description.
	asking chan struct{}
	mu     sync.Mutex
	cached *description
	since  time.Time
	// failed is the instant of the last failed fetch of the description.
	failed time.Time
}

// description is a provider's discovery document. This document has the address of the keys.
type description struct {
	*oidc.Provider
	keys *keys
}

// waiting is the time for which a caller waits for another caller's fetch. silence is the time
// without fetches after a failure. Strangers can therefore not keep the service busy while the
// provider does not respond.
const (
	waiting = time.Second
	silence = 5 * time.Second
)

// New checks the configuration of a provider. It does not call the provider. Errors name flags as
// their fields.
func New(c Config) (*Provider, error) {
	if !c.mayBe(c.Issuer) {
		return nil, passerelle.InvalidField("--oidc-issuer", "must be the https address of the provider, without a query")
	}
	if c.ClientID == "" {
		return nil, passerelle.InvalidField("--oidc-client-id", "must be the id of this service at the provider")
	}
	return &Provider{Config: c, asking: make(chan struct{}, 1)}, nil
}

// mayBe reports whether the provider may have this address.
func (c *Config) mayBe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return c.safe(u)
}

// safe reports whether TLS protects requests to a URL. It also accepts plain http if Loopback is
// set.
func (c *Config) safe(u *url.URL) bool {
	return u.Scheme == "https" || c.Loopback && u.Scheme == "http"
}

// Host returns the host name of the provider, or the whole issuer when it is not a URL.
func (p *Provider) Host() string {
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return p.Issuer
	}
	return u.Hostname()
}

// ask returns the discovery document, from the cache or from the provider.
func (p *Provider) ask(ctx context.Context) (*description, error) {
	if found, err := p.remembered(); found != nil || err != nil {
		return found, err
	}
	timeout := time.NewTimer(waiting)
	defer timeout.Stop()
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-timeout.C:
		return nil, fmt.Errorf("%w: it has not responded yet", ErrAway)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	if found, err := p.remembered(); found != nil || err != nil {
		return found, err
	}
	found, err := p.discover(ctx)
	if ctx.Err() == nil {
		p.remember(found, err)
	}
	return found, err
}

// remembered returns the cached description, or an error soon after a failure. Both are nil when
// the caller must fetch the description.
func (p *Provider) remembered() (*description, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := p.Now(); {
	case p.cached != nil && now.Sub(p.since) < known:
		return p.cached, nil
	case !p.failed.IsZero() && now.Sub(p.failed) < silence:
		return nil, fmt.Errorf("%w: it did not respond a moment ago", ErrAway)
	}
	return nil, nil
}

func (p *Provider) remember(found *description, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = p.Now()
		return
	}
	p.cached, p.since = found, p.Now()
}

func (p *Provider) discover(ctx context.Context) (*description, error) {
	client := onlyStatus200(p.Client)
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, undescribed(err))
	}
	var said struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&said); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, errUnreadable)
	}
	for name, address := range map[string]string{
		"authorization_endpoint": found.Endpoint().AuthURL, "token_endpoint": found.Endpoint().TokenURL, "jwks_uri": said.Keys,
	} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || !p.safe(u) {
			return nil, fmt.Errorf("%w: its %s is not an https address", ErrAway, name)
		}
	}
	return &description{found, newKeys(ctx, client, said.Keys, p.Now)}, nil
}

var (
	errUnreadable = errors.New("its description cannot be read")
	errMisnamed   = errors.New("its own address differs from --oidc-issuer")
)

// undescribed returns the reason why a provider's description is unusable. The reason does not
// quote the description.
func undescribed(err error) error {
	var (
		unanswered *url.Error
		misnamed   *oidc.IssuerMismatchError
	)
	switch {
	case errors.As(err, &unanswered):
		return unanswered.Err
	case errors.As(err, &misnamed):
		return errMisnamed
	}
	return errUnreadable
}

// context returns a context in which calls to the provider use the configured client.
func (p *Provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.Client)
}

func (p *Provider) config(found *description, back string) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID}
	switch p.NameClaim {
	case "":
	case "email":
		scopes = append(scopes, "email")
	default:
		scopes = append(scopes, "profile")
	}
	endpoint := found.Endpoint()
	endpoint.AuthStyle = p.style(found)
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: endpoint, RedirectURL: back, Scopes: scopes}
}

// style returns how the service authenticates at the provider. The usual method is the
// Authorization header. style chooses parameters in the body when the provider lists methods
// without the header, and when the service has no secret. style makes no test call, because a
// failed call would use up the code.
func (p *Provider) style(found *description) oauth2.AuthStyle {
	var said struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if p.ClientSecret == "" || found.Claims(&said) == nil && len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// Departure is the data that a browser stores while it is at the provider. The caller must seal it.
type Departure struct {
	State, Nonce, Verifier string
}

// Leave returns the provider's address for the browser, and the data that the browser stores until
// its return. The argument `back` is the address of the service to which the provider redirects the
// browser.
func (p *Provider) Leave(ctx context.Context, back string) (string, Departure, error) {
	var d Departure
	found, err := p.ask(ctx)
	if err != nil {
		return "", d, err
	}
	d = Departure{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.config(found, back).AuthCodeURL(d.State, oidc.Nonce(d.Nonce), oauth2.S256ChallengeOption(d.Verifier)), d, nil
}

// Person is a person that the provider identifies.
type Person struct {
	// Issuer and Subject identify the person permanently.
	Issuer, Subject string
	// Name is the name of an operator. It is empty when the provider sends no name.
	Name string
	// Twice is set when the provider reports a second factor that SecondFactor accepts.
	Twice bool
}

// Arrive returns the person that the provider identifies. The argument query is the query of the
// address with which the browser returns. The argument back must be the same as in the call of
// Leave.
func (p *Provider) Arrive(ctx context.Context, back string, d Departure, query url.Values) (Person, error) {
	if err := p.check(d, query); err != nil {
		return Person{}, err
	}
	found, err := p.ask(ctx)
	if err != nil {
		return Person{}, err
	}
	got, err := p.config(found, back).Exchange(p.context(ctx), query.Get("code"), oauth2.VerifierOption(d.Verifier))
	if err != nil {
		return Person{}, exchangeFailure(err)
	}
	raw, _ := got.Extra("id_token").(string)
	signed := &signature{keys: found.keys}
	token, err := oidc.NewVerifier(p.Issuer, signed, &oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: algorithms, Now: p.Now}).Verify(ctx, raw)
	if signed.err != nil {
		return Person{}, signed.err
	}
	if err != nil {
		return Person{}, fmt.Errorf("%w: its token: %w", ErrNotVouched, err)
	}
	return p.read(token, d.Nonce)
}

// check compares the query with the data that the browser stored.
func (p *Provider) check(d Departure, query url.Values) error {
	switch {
	case d.State == "" || !same(query.Get("state"), d.State):
		return notVouched("the browser did not leave from here with this state")
	case query.Has("iss") && query.Get("iss") != p.Issuer:
		return notVouched("the response comes from another issuer")
	case query.Has("error"):
		return notVouched("it said no")
	case query.Get("code") == "":
		return notVouched("there is no code")
	}
	return nil
}

// read reads the person from a signed token.
func (p *Provider) read(token *oidc.IDToken, nonce string) (Person, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return Person{}, notVouched("the claims of its token cannot be read")
	}
	authorised, named := claims["azp"]
	switch {
	case !same(token.Nonce, nonce):
		return Person{}, notVouched("the token was made for another sign-in")
	case named && authorised != p.ClientID, !named && len(token.Audience) > 1:
		return Person{}, notVouched("the token was made for another client")
	case token.Subject == "":
		return Person{}, notVouched("the token has no subject")
	}
	return Person{Issuer: token.Issuer, Subject: token.Subject, Name: p.name(claims), Twice: p.twice(claims)}, nil
}

// name returns the configured claim, if it is a text. It returns an empty text for an email that
// the provider has not verified.
func (p *Provider) name(claims map[string]any) string {
	if p.NameClaim == "" || p.NameClaim == "email" && claims["email_verified"] != true {
		return ""
	}
	name, _ := claims[p.NameClaim].(string)
	return name
}

// twice reports whether the claims name a second factor that SecondFactor accepts.
func (p *Provider) twice(claims map[string]any) bool {
	said, several := claims["amr"].([]any)
	if !several {
		said = []any{claims["amr"]}
	}
	return slices.ContainsFunc(append(said, claims["acr"]), func(value any) bool {
		text, _ := value.(string)
		return text != "" && slices.Contains(p.SecondFactor, text)
	})
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func notVouched(why string) error { return fmt.Errorf("%w: %s", ErrNotVouched, why) }

// exchangeFailure distinguishes a provider that refused a code from a provider that cannot be
// reached. It omits the response, because the response could contain any text.
func exchangeFailure(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("%w: the code was not exchanged", ErrAway)
	}
	status := refused.Response.StatusCode
	if status >= http.StatusInternalServerError || status < http.StatusBadRequest {
		return fmt.Errorf("%w: it answered with %d", ErrAway, status)
	}
	return notVouched(fmt.Sprintf("it refused the code with %d", status))
}
