package delivery

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// These are the limits of requests for access tokens.
const (
	// maxTokenTime is the longest time for a request to a token endpoint. If half of the domain's
	// settings.DeliveryTimeout is shorter, this half is the limit.
	maxTokenTime = 5 * time.Second
	// tokenPause is the time without requests to a token endpoint after the endpoint has failed. It
	// is also the pause after a refused token was replaced.
	tokenPause = 5 * time.Second
	// maxGrants limits the providers whose access tokens a process stores.
	maxGrants = 1000
	// maxAccessToken is the largest size of a token, in bytes.
	maxAccessToken = 16 << 10
	// earlier is the longest time between the renewal of a token and its expiry.
	earlier = 30 * time.Second
	// forever is the longest lifetime of a token. It is also the lifetime when the endpoint reports
	// no lifetime.
	forever = 100 * 365 * 24 * time.Hour
)

// endpoint is a token endpoint, with the client for requests to it.
type endpoint struct {
	store.AuthProvider
	// client trusts the certificate authorities of the system and the PEM certificates in
	// authorities.
	client      *http.Client
	authorities string

	now func() time.Time
	// limit is the longest time that a request may take.
	limit time.Duration
	log   *slog.Logger
	// agent is the User-Agent of requests.
	agent []string
}

// tokens contains the access tokens that this process has received for oauth providers. The tokens
// exist only in memory. The zero value is empty and ready to use. All callers that wait for a token
// share one request to the token endpoint.
type tokens struct {
	mu     sync.Mutex
	grants map[int64]*grant
}

// grant is the last response of a token endpoint.
type grant struct {
	of endpoint
	// client is the client for requests to the endpoint, or nil before the first request. It is
	// atomic, because a request may set it while a change of the provider replaces the grant.
	client atomic.Pointer[http.Client]
	token  string
	// renew is the time from which a new token is requested. end is the time at which the present
	// token expires.
	renew, end time.Time
	// replaced is the time at which a receiver last refused a token.
	replaced time.Time
	// failure is the reason for a missing token. failed is the time of the failed request for a
	// token. retry is the earliest time of the next request.
	failure       error
	failed, retry time.Time
	// asking is the request in flight, or nil.
	asking *asking
}

// asking is one request to a token endpoint. All callers that wait for a token share this request.
type asking struct {
	done  chan struct{}
	token string
	err   error
}

// get returns the access token of a provider. Its error says why the provider has no token.
func (t *tokens) get(ctx context.Context, e endpoint) (string, error) {
	return t.await(ctx, e, "")
}

// replace returns a new access token after a receiver has refused a token. It returns the refused
// token again when this token is itself a replacement, made less than tokenPause ago.
func (t *tokens) replace(ctx context.Context, e endpoint, refused string) (string, error) {
	return t.await(ctx, e, refused)
}

func (t *tokens) await(ctx context.Context, e endpoint, refused string) (string, error) {
	token, asking, err := t.lookup(ctx, e, refused)
	if asking == nil {
		return token, err
	}
	select {
	case <-asking.done:
		return asking.token, asking.err
	case <-ctx.Done():
		return "", tokenFault("timeout")
	}
}

// lookup returns a token, the reason for a missing token, or a request in flight. It starts this
// request if necessary.
func (t *tokens) lookup(ctx context.Context, e endpoint, refused string) (string, *asking, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, now := t.grant(e), e.now()
	switch {
	case g.asking != nil:
		return "", g.asking, nil
	case g.token != refused && now.Before(g.renew):
		return g.token, nil, nil
	case now.Before(g.retry):
		token, err := g.last(now)
		if err != nil {
			err = earlierFault{err, now.Sub(g.failed), g.retry.Sub(now)}
		}
		return token, nil, err
	case refused != "" && g.token == refused && now.Before(g.replaced.Add(tokenPause)):
		return refused, nil, nil
	}
	if refused != "" && g.token == refused {
		g.token, g.replaced = "", now
	}
	g.asking = &asking{done: make(chan struct{})}
	go t.ask(context.WithoutCancel(ctx), g, e.limit)
	return "", g.asking, nil
}

// grant returns a provider's grant. It drops a grant that belongs to another configuration or to
// other authorities.
func (t *tokens) grant(e endpoint) *grant {
	if g := t.grants[e.ID]; g != nil && g.of.authorities == e.authorities && g.of.Secret == e.Secret && *g.of.Endpoint == *e.Endpoint {
		return g
	}
	t.forget(e.ID)
	for id, g := range t.grants {
		if len(t.grants) < maxGrants {
			break
		}
		if g.asking == nil {
			t.forget(id)
		}
	}
	if t.grants == nil {
		t.grants = map[int64]*grant{}
	}
	g := &grant{of: e}
	t.grants[e.ID] = g
	return g
}

func (t *tokens) forget(id int64) {
	if g := t.grants[id]; g != nil {
		g.closeIdle()
	}
	delete(t.grants, id)
}

// closeIdle closes the idle connections of a client that only this grant uses.
func (g *grant) closeIdle() {
	if client := g.client.Load(); client != nil && client != g.of.client {
		client.CloseIdleConnections()
	}
}

// last returns the result after a failed request: the present token if it is still valid, or the
// failure.
func (g *grant) last(now time.Time) (string, error) {
	if g.token != "" && now.Before(g.end) {
		return g.token, nil
	}
	return "", g.failure
}

// ask requests a token on behalf of all callers that wait for it.
func (t *tokens) ask(ctx context.Context, g *grant, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked := g.of.now()
	token, life, err := g.survive(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	now, done := g.of.now(), g.asking
	g.asking, g.failure = nil, err
	if err != nil {
		g.failed, g.retry = now, now.Add(tokenPause)
		done.token, done.err = g.last(now)
	} else {
		g.token, g.end, g.retry = token, asked.Add(life), time.Time{}
		g.renew = g.end.Add(-min(life/5, earlier))
		done.token = token
	}
	if t.grants[g.of.ID] != g { // forgotten during the request
		g.closeIdle()
	}
	close(done.done)
}

// survive calls fetch and turns a panic into an error, so that all waiting callers get a result.
func (g *grant) survive(ctx context.Context) (token string, life time.Duration, err error) {
	var broken error
	defer func() {
		if broken != nil {
			err = tokenFault(failure(0, broken))
			g.of.log.ErrorContext(ctx, "a token endpoint was not asked", "provider", g.of.ID, "error", broken)
		}
	}()
	defer guard(&broken)
	return g.fetch(ctx)
}

// fetch requests a token from a token endpoint. The client's credentials are in the body (RFC
// 6749, sections 2.3.1 and 4.4).
func (g *grant) fetch(ctx context.Context) (string, time.Duration, error) {
	client := g.client.Load()
	if client == nil {
		var err error
		if client, err = g.of.certified(); err != nil {
			return "", 0, err
		}
		g.client.Store(client)
	}
	e := g.of.Endpoint
	form := url.Values{"grant_type": {e.GrantType}, "client_id": {e.ClientID}, "client_secret": {g.of.Secret}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, tokenFault(failure(0, err))
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header["User-Agent"] = g.of.agent
	response, err := client.Do(r)
	if err != nil {
		return "", 0, tokenFault(unreached(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0, tokenFault(unreached(err))
	}
	return readToken(response.StatusCode, body)
}

// certified returns a client that presents the certificate of the provider and shares no
// connections with other clients. Without a certificate, it returns the client of the domain.
func (e endpoint) certified() (*http.Client, error) {
	pair, err := clientCertificate(*e.Endpoint, e.now())
	var unfit *passerelle.Error
	if errors.As(err, &unfit) {
		return nil, tokenFault(unfit.Message)
	}
	if pair == nil || err != nil {
		return e.client, err
	}
	guarded, ok := e.client.Transport.(bounded)
	if !ok {
		return nil, errors.New("delivery: the client was not made by NewClient")
	}
	transport := guarded.Clone()
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.TLSClientConfig.Certificates = []tls.Certificate{*pair}
	client := *e.client
	client.Transport = bounded{transport, guarded.most}
	return &client, nil
}

// unreached says why a token endpoint did not respond. A TLS alert from the endpoint usually means
// that the endpoint requires a certificate, or a different certificate.
func unreached(err error) string {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "remote error" {
		return "it refused the TLS handshake"
	}
	return failure(0, err)
}

// tokenFault returns the failure of a webhook request for which the service has no access token.
func tokenFault(why string) error { return errors.New(tokenEndpoint + why) }

// earlierFault is the failure of requests in the pause after a token endpoint has failed. It
// repeats the failure of the token endpoint.
type earlierFault struct {
	error
	ago, again time.Duration
}

// detail says when the endpoint failed, and when the service calls it again.
func (f earlierFault) detail() string {
	return fmt.Sprintf("The service did not call the token endpoint for this request. The endpoint failed in this way %s ago, and is called again in %s.", seconds(f.ago), seconds(f.again+time.Second-1))
}

// seconds returns a duration in words, in whole seconds.
func seconds(d time.Duration) string {
	if d/time.Second == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}

// tokenEndpoint is the prefix of failures of the token endpoint. Failures of the receiver have no
// prefix.
const tokenEndpoint = "token endpoint: "

// tokenRefusals contains the error codes of RFC 6749, section 5.2. Failures do not repeat other
// codes, because they may contain anything.
var tokenRefusals = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true,
	"unauthorized_client": true, "unsupported_grant_type": true, "invalid_scope": true,
}

// readToken reads the response of a token endpoint (RFC 6749, section 5.1).
func readToken(status int, body []byte) (string, time.Duration, error) {
	var response struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   any    `json:"expires_in"`
		Error       any    `json:"error"`
	}
	unread := json.Unmarshal(body, &response)
	why := ""
	switch word, _ := response.Error.(string); {
	case status/100 != 2 && tokenRefusals[word]:
		why = fmt.Sprintf("status %d, %s", status, word)
	case status/100 != 2:
		why = fmt.Sprintf("status %d", status)
	case len(body) >= MaxAnswer:
		why = fmt.Sprintf("the response has %d bytes or more", MaxAnswer)
	case unread != nil:
		why = "the response is not the JSON of an access token"
	case response.AccessToken == "":
		why = "the response has no access_token"
	case !strings.EqualFold(response.TokenType, "Bearer"):
		why = "the token_type of the response is not Bearer"
	case len(response.AccessToken) > maxAccessToken || strings.ContainsFunc(response.AccessToken, outsideHeader):
		why = "the access_token in the response is not valid in a header"
	default:
		return response.AccessToken, lifetime(response.ExpiresIn), nil
	}
	return "", 0, tokenFault(why)
}

func outsideHeader(r rune) bool { return r <= ' ' || r >= 0x7f }

// lifetime returns the time for which a token is valid. Some servers write the number of seconds as
// text. Any value other than a positive number counts as missing.
func lifetime(expiresIn any) time.Duration {
	seconds, _ := expiresIn.(float64)
	if text, isText := expiresIn.(string); isText {
		seconds, _ = strconv.ParseFloat(text, 64)
	}
	if !(seconds > 0 && seconds < forever.Seconds()) {
		return forever
	}
	return time.Duration(seconds * float64(time.Second))
}
