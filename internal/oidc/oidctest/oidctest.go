// Package oidctest provides an identity provider for tests: a server that serves its description,
// redirects browsers back immediately, and signs tokens.
//
// The package owns one person, identified without a password, and the faults that tests set. It
// checks the client and some parameters of the redirect. It also checks that the code, the verifier
// and the redirect URI belong to the sign-in. It checks nothing else, because tests do not need
// more.
//
// The package fails the test when it cannot make a key or a token.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID and Secret identify the only client.
const (
	ClientID = "passerelle"
	Secret   = "only for tests"
)

// Provider is the running server. Tests may change its fields before a sign-in.
type Provider struct {
	// URL is the issuer. Client trusts the server's certificate and follows no redirects.
	URL    string
	Client *http.Client
	// Claims are additional claims of tokens. They replace claims of the same name. A nil value
	// removes the claim.
	Claims map[string]any
	// Description contains additional members of the discovery document. They replace members of
	// the same name.
	Description map[string]any
	// Nonsense is the content of /nonsense, with status 200.
	Nonsense string
	// Faults maps paths, such as "/keys", to the bodies of their responses. These responses have
	// the status 500.
	Faults map[string]string
	// Token makes a token from its claims. If it is nil, the current key signs the claims.
	Token func(claims []byte) string
	// Answer contains additional query parameters for the redirect back to the service.
	Answer url.Values
	// Exchange is the status of the token endpoint's responses to valid requests. Zero means 200.
	Exchange int
	// Now returns the time at which tokens are made.
	Now func() time.Time

	t        testing.TB
	mu       sync.Mutex
	key      jose.JSONWebKey
	requests map[string]url.Values
	calls    map[string]int
}

// Start runs a provider until the test ends. If secure is true, the provider uses TLS.
func Start(t testing.TB, secure bool) *Provider {
	t.Helper()
	p := &Provider{t: t, requests: map[string]url.Values{}, calls: map[string]int{}, Claims: map[string]any{}, Faults: map[string]string{}, Answer: url.Values{}, Now: time.Now}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /nonsense", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.Nonsense) })
	server := httptest.NewUnstartedServer(p.counted(mux))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	p.URL, p.Client = server.URL, server.Client()
	p.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p
}

// counted returns a handler that counts calls. The handler itself responds to calls for the paths
// in Faults.
func (p *Provider) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.calls[r.URL.Path]++
		body, fails := p.Faults[r.URL.Path]
		p.mu.Unlock()
		if fails {
			http.Error(w, body, http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Calls returns the number of requests for a path.
func (p *Provider) Calls(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

// Rotate replaces the signing key.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

// Sign signs claims with the current key.
func (p *Provider) Sign(claims []byte) string {
	p.mu.Lock()
	key := p.key
	p.mu.Unlock()
	return p.SignWith(jose.SigningKey{Algorithm: jose.ES256, Key: key}, claims)
}

// SignWith signs claims with any key.
func (p *Provider) SignWith(key jose.SigningKey, claims []byte) string {
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // the test notices a missing response
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	said := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
	}
	maps.Copy(said, p.Description)
	answer(w, said)
}

// authorize identifies the person immediately, as if the person were signed in at the provider.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || asked.Get("client_id") != ClientID || asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" {
		http.Error(w, "not like that", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.requests[code] = asked
	p.mu.Unlock()
	query := url.Values{"code": {code}, "state": {asked.Get("state")}}
	maps.Copy(query, p.Answer)
	back.RawQuery = query.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token returns a token for a code. It accepts each code once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("code")
	p.mu.Lock()
	asked, known := p.requests[code]
	delete(p.requests, code)
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	right := known && base64.RawURLEncoding.EncodeToString(sum[:]) == asked.Get("code_challenge") && asked.Get("redirect_uri") == r.PostFormValue("redirect_uri")
	if id, secret, _ := r.BasicAuth(); !right || id != ClientID || secret != url.QueryEscape(Secret) {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": "invalid_grant"})
		return
	}
	if p.Exchange != 0 {
		w.WriteHeader(p.Exchange)
		return
	}
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "id_token": p.made(asked.Get("nonce"))})
}

func (p *Provider) made(nonce string) string {
	now := p.Now()
	claims := map[string]any{"iss": p.URL, "sub": "person 1", "aud": ClientID, "nonce": nonce, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	for name, value := range p.Claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.Token != nil {
		return p.Token(text)
	}
	return p.Sign(text)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.key.Public()}})
}
