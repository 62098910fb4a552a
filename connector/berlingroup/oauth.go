package berlingroup

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup/codes"
)

// grant is a customer's authorisation at the authorisation server. It uses the authorisation code
// flow (RFC 6749) with PKCE (RFC 7636).
type grant struct {
	Verifier string `json:"verifier"`
	// Back is the redirect address, which the token request must repeat.
	Back string `json:"back,omitempty"`
	// Code is the code with which the customer returned, until the exchange for Token.
	Code  string `json:"code,omitempty"`
	Token string `json:"token,omitempty"`
	// Refresh is the refresh token, if the bank issued one.
	Refresh string `json:"refresh,omitempty"`
	// Ends is the end of Token, if the server reported it.
	Ends time.Time `json:"ends,omitzero"`
}

// verifierSize is the size that RFC 7636, section 4.1, recommends, in bytes before encoding.
const verifierSize = 32

func newGrant() *grant {
	raw := make([]byte, verifierSize)
	_, _ = rand.Read(raw) // never returns an error
	return &grant{Verifier: base64.RawURLEncoding.EncodeToString(raw)}
}

// bear adds the token to the headers of a request.
func (g *grant) bear(h http.Header) {
	if g.Token != "" {
		h.Set("Authorization", "Bearer "+g.Token)
	}
}

// openServer finds the page of the authorisation server that the bank file names. It ignores
// authorisation servers in links. The state parameter is that of the return address.
func (b *Bank) openServer(ctx context.Context, a *authorisation, p person) error {
	if b.file.OAuth == nil {
		return b.fault(request{call: "authorise"}, errNoMetadata, "it requires OAuth, but the bank file has no table oauth")
	}
	m, err := b.metadata(ctx)
	if err != nil {
		return err
	}
	page, err := url.Parse(m.Authorization)
	back, wrong := url.Parse(p.back)
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(a.OAuth.Verifier))
	query := page.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": b.file.OAuth.ClientID, "redirect_uri": p.back, "scope": p.scope, "state": back.Query().Get("state"),
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		query.Set(name, value)
	}
	page.RawQuery = query.Encode()
	a.Page, a.OAuth.Back = page.String(), p.back
	return nil
}

// tokens is the response of a token endpoint.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Lasts   number `json:"expires_in"` // in seconds
}

// exchangeCode exchanges the code for a token. It drops a code that the server calls invalid.
func (b *Bank) exchangeCode(ctx context.Context, a *authorisation, p person) error {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {a.OAuth.Code}, "redirect_uri": {cmp.Or(a.OAuth.Back, p.back)}, "code_verifier": {a.OAuth.Verifier}}
	_, err := b.askTokens(ctx, a.OAuth, form, p.save)
	return err
}

// refresh gets a new token. If the server calls the refresh token invalid, it drops both tokens.
func (b *Bank) refresh(ctx context.Context, g *grant, save func(context.Context)) error {
	supplied, err := b.askTokens(ctx, g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}}, save)
	if err == nil && !supplied {
		g.Token, g.Refresh = "", ""
	}
	return err
}

// callGranted makes a request with the token of a grant, if there is one. With a refresh token, it
// replaces a refused token once and repeats the request, which the bank has not executed. It
// repeats a request with a body only if the bank's error code is about the token, because a wrong
// password must not be sent twice. If the grant has ended, it returns the refusal.
func (b *Bank) callGranted(ctx context.Context, g *grant, r request, save func(context.Context)) (answer, error) {
	if g == nil {
		return b.call(ctx, r)
	}
	g.bear(r.header)
	a, err := b.call(ctx, r)
	a.ungranted = g.Refresh == "" && !g.Ends.IsZero() && b.now().After(g.Ends)
	if err != nil || a.status != http.StatusUnauthorized || g.Refresh == "" || r.body != nil && !b.refusesToken(r, a) {
		return a, err
	}
	err = b.refresh(ctx, g, save)
	if a.ungranted = err == nil && g.Token == ""; err != nil || a.ungranted {
		return a, err
	}
	g.bear(r.header)
	return b.call(ctx, r)
}

// callAnyhow makes a request that ends an order or a consent, or asks for a status. Such requests
// must work even after the customer's grant has ended. If the bank refuses the token, callAnyhow
// repeats the request without a token, because some banks require no token for these requests.
func (b *Bank) callAnyhow(ctx context.Context, g *grant, r request, save func(context.Context)) (answer, error) {
	a, err := b.callGranted(ctx, g, r, save)
	if r.header.Get("Authorization") == "" || !b.refusesToken(r, a) {
		return a, err
	}
	r.header.Del("Authorization")
	bare, failed := b.call(ctx, r)
	bare.ungranted = true
	if err != nil && (errors.Is(failed, connector.ErrNotSent) || bare.status == http.StatusUnauthorized || bare.status == http.StatusForbidden) {
		return a, err // the bank has not executed the request, and a later call may get a token
	}
	return bare, failed
}

// refusesToken reports whether the bank refuses the token of a request.
func (b *Bank) refusesToken(r request, a answer) bool {
	return strings.HasPrefix(codes.Known(b.messages(r, a)), "TOKEN_")
}

// askTokens requests tokens from the authorisation server. It saves them immediately, because the
// server accepts the code or the refresh token only once. When the server says that the code or the
// refresh token is invalid, askTokens removes the code from the grant and returns false. After
// every other refusal, the server can still accept the code, so askTokens keeps the code and fails.
func (b *Bank) askTokens(ctx context.Context, g *grant, form url.Values, save func(context.Context)) (bool, error) {
	m, err := b.metadata(ctx)
	if err != nil {
		return false, err
	}
	form.Set("client_id", b.file.OAuth.ClientID)
	r := request{call: "token", method: http.MethodPost, address: m.Token, form: form}
	got, err := b.call(ctx, r)
	if err != nil {
		return false, err
	}
	why, remedy := codes.TokenError(got.body)
	switch {
	case got.busy():
		return false, &denied{r, got}
	case !got.succeeded() && why == codes.InvalidGrant:
		g.Code = ""
		return false, nil
	case !got.succeeded():
		return false, b.fault(r, errRefused, strings.TrimSpace(fmt.Sprintf("it returns status %d %s", got.status, why))+": "+remedy+b.skew(got))
	}
	var supplied tokens
	if err := b.decode(r, got, &supplied); err != nil {
		return false, err
	}
	if supplied.Access == "" {
		return false, b.fault(r, errMalformed, "its response has no access_token")
	}
	g.Code, g.Token, g.Refresh, g.Ends = "", supplied.Access, cmp.Or(supplied.Refresh, g.Refresh), time.Time{}
	if supplied.Lasts > 0 {
		g.Ends = b.now().Add(time.Duration(min(supplied.Lasts, 1<<30)) * time.Second)
	}
	save(ctx)
	return true, nil
}
