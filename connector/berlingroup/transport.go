package berlingroup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup/arrival"
	"passerelle/connector/berlingroup/handshake"
)

// These are the limits of one exchange with a bank.
const (
	callTime = 20 * time.Second
	dialTime = 10 * time.Second
	// smallAnswer limits all responses except lists, in bytes.
	smallAnswer = 1 << 20
	// largeAnswer limits a page of a list of accounts, in bytes. Package arrival limits lists of
	// transactions.
	largeAnswer = 16 << 20
	// maxHeaders limits the headers of a response, in bytes.
	maxHeaders = 64 << 10
)

// request is one request to a bank.
type request struct {
	// call is the name of the call in health figures, such as initiate, status or authorise.
	call, method string
	// path is relative to the address of the bank, and may contain a query.
	path   string
	header http.Header
	// body is sent as JSON unless it is nil. form is sent as a form, to the authorisation server.
	body any
	form url.Values
	// id is the X-Request-ID. An empty id stands for a new one.
	id string
	// address is a full address that replaces path: the target of a link, or an address of the
	// authorisation server.
	address string
	// accept contains the accepted media types of the response. Empty means JSON.
	accept string
	// most limits the response, in bytes. Zero means smallAnswer.
	most int64
	// take reads a successful response while it arrives. When take is nil, the call reads the
	// complete response first. An error of take becomes the error of the call. Such an error does
	// not count as a failure of the bank.
	take func(a answer, body *arrival.Body) error
	// order means that the request is an order. An order always gets a new connection. The bank may
	// have closed a reused connection, and the client would notice only after it has written the
	// order. The outcome would then be unknown although the bank received nothing.
	order bool
}

// answer is the bank's response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	// id is the X-Request-ID of the request.
	id string
	// taking is the time that the consumer of the response needed. This time does not count as the
	// bank's time.
	taking time.Duration
	// untried means that the call failed before it tried a connection.
	untried bool
	// ungranted means that the request had no token, or its grant has ended: a 401 is about the token.
	ungranted bool
}

// maxSkew is the smallest difference between our clock and the bank's that messages mention.
const maxSkew = time.Minute

// skew describes the difference between this machine's clock and the bank's, from the header Date
// of a response. It returns "" for a small or unknown difference.
func (b *Bank) skew(a answer) string {
	at, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return ""
	}
	ahead := b.now().Sub(at)
	apart, side := strings.TrimSuffix(ahead.Abs().Round(time.Minute).String(), "0s"), "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	if ahead.Abs() < maxSkew {
		return ""
	}
	return fmt.Sprintf("; this machine's clock is %s %s the bank's", apart, side)
}

// succeeded reports whether the bank executed the request. busy reports whether the bank may
// execute it later.
func (a answer) succeeded() bool { return a.status >= 200 && a.status < 300 }

func (a answer) busy() bool {
	return a.status >= http.StatusInternalServerError || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout
}

// client sends the requests to one bank.
type client struct {
	kept, single *http.Client
}

func newClient(m material) client {
	dialer := &handshake.Dialer{Own: m.pair, Program: m.program, Authorities: m.authorities, Limit: dialTime}
	kept := &http.Transport{DialTLSContext: dialer.Dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: 60 * time.Second, MaxResponseHeaderBytes: maxHeaders}
	single := &http.Transport{DialTLSContext: dialer.DialTaken, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaders}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client{kept: &http.Client{Transport: kept, CheckRedirect: stay}, single: &http.Client{Transport: single, CheckRedirect: stay}}
}

// Close closes idle connections. It does not interrupt running requests.
func (b *Bank) Close() { b.client.kept.CloseIdleConnections() }

// requestLog names the calls to a bank during one call of the connector, each with its
// X-Request-ID.
type requestLog []string

// mostLogged limits a log to the last requests.
const mostLogged = 8

type requestLogKey struct{}

// logging returns a context in which l records the calls.
func (l *requestLog) logging(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestLogKey{}, l)
}

// note adds a request to the log, if there is one. It omits requests for tokens, which have no
// X-Request-ID.
func note(ctx context.Context, r request) {
	if l, logged := ctx.Value(requestLogKey{}).(*requestLog); logged && r.form == nil {
		*l = append((*l)[max(0, len(*l)+1-mostLogged):], r.call+" "+r.id)
	}
}

// call makes one exchange. It fails with connector.ErrNotSent when the bank certainly did not read
// the request, and with a *connector.Fault when the operator can act.
func (b *Bank) call(ctx context.Context, r request) (answer, error) {
	begun := b.now()
	r.id = cmp.Or(r.id, newID())
	if err := ctx.Err(); err != nil {
		return answer{}, b.fault(r, fmt.Errorf("%w: %w", connector.ErrNotSent, err), handshake.Remedy(err))
	}
	if wrong := b.Invalid(begun); wrong != "" {
		b.health.Record(r.call, begun, begun, connector.Refused)
		return answer{}, b.fault(r, errors.Join(connector.ErrNotSent, errUnfit), wrong)
	}
	if !b.health.Enter(r.call, begun) {
		return answer{}, b.fault(r, connector.ErrNotSent, "it has failed several times in a row, so Passerelle pauses its calls for a moment")
	}
	note(ctx, r)
	a, err := b.exchange(ctx, r)
	if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) || a.untried {
		b.health.Leave(r.call) // the call says nothing about the bank
		return a, err
	}
	if own, is := errors.AsType[*takerError](err); is {
		b.health.Record(r.call, begun, b.now().Add(-a.taking), connector.Answered)
		return a, own.error
	}
	b.health.Record(r.call, begun, b.now().Add(-a.taking), b.result(r, a, err))
	return a, err
}

// exchange sends the request and reads the response.
func (b *Bank) exchange(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := time.AfterFunc(b.limit, func() { cancel(context.DeadlineExceeded) })
	defer timeout.Stop()
	out, err := b.prepare(ctx, r)
	if err != nil {
		return answer{untried: true}, b.fault(r, errors.Join(connector.ErrNotSent, err), err.Error())
	}
	var tried, connected atomic.Bool
	out = out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { tried.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	way := b.client.kept
	if r.order {
		way = b.client.single
	}
	response, err := way.Do(out)
	if err != nil { // the handshake of a new connection may have failed
		return answer{untried: !tried.Load()}, b.broken(ctx, r, err, !connected.Load() || r.order && handshake.RefusesCertificate(err))
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header, id: out.Header.Get("X-Request-ID")}
	if r.take != nil && a.succeeded() {
		return b.pass(ctx, r, a, arrival.New(response.Body, timeout, b.limit, b.now))
	}
	if a.body, err = arrival.All(response.Body, cmp.Or(r.most, smallAnswer)); err != nil {
		return a, b.broken(ctx, r, err, false)
	}
	if a.status >= 300 && a.status < 400 {
		return a, b.fault(r, errElsewhere, errElsewhere.Error())
	}
	return a, nil
}

// takerError wraps an error of the consumer, to distinguish it from errors in reading the response.
type takerError struct{ error }

// pass calls the consumer of a request while the response arrives.
func (b *Bank) pass(ctx context.Context, r request, a answer, body *arrival.Body) (answer, error) {
	begun := b.now()
	err := r.take(a, body)
	a.taking = b.now().Sub(begun) - body.Waited()
	switch {
	case err == nil:
		return a, nil
	case body.Failed() != nil:
		return a, b.broken(ctx, r, body.Failed(), false)
	}
	return a, &takerError{err}
}

// broken returns the fault for an exchange that broke off.
func (b *Bank) broken(ctx context.Context, r request, err error, unsent bool) error {
	if why := context.Cause(ctx); why != nil {
		err = why
	}
	says := handshake.Remedy(err)
	if handshake.RefusesCertificate(err) {
		err = errors.Join(errUnfit, err)
	}
	if unsent {
		err = errors.Join(connector.ErrNotSent, err)
	}
	return b.fault(r, err, says)
}

// errUnfit means that our certificate is not valid, or that the bank refused it in the handshake.
// Only the operator can act.
var errUnfit = errors.New("our certificate is of no use at the bank")

// errElsewhere means that the bank redirects a request, which would disclose secrets elsewhere.
var errElsewhere = errors.New("it redirects to another address, which Passerelle does not follow: correct address.api")

// prepare makes the request, and signs it if the bank requires signatures.
func (b *Bank) prepare(ctx context.Context, r request) (*http.Request, error) {
	body, kind, err := r.content()
	if err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(ctx, r.method, cmp.Or(r.address, b.base+r.path), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	if r.header != nil {
		out.Header = r.header.Clone()
	}
	out.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	if parent := connector.TraceOf(ctx); parent != "" {
		out.Header.Set("Traceparent", parent)
	}
	if r.form != nil {
		out.Header.Set("Content-Type", kind)
		return out, nil
	}
	if r.order || r.path == consentsPath {
		b.addAddress(ctx, out.Header)
	}
	out.Header.Set("X-Request-ID", r.id)
	out.Header.Set("Date", b.now().UTC().Format(http.TimeFormat))
	if kind != "" {
		out.Header.Set("Content-Type", kind)
	}
	if b.signer == nil {
		return out, nil
	}
	return out, b.signer.Add(ctx, out, body)
}

// addAddress sets our own address when the customer's address is unknown. The standard requires an
// address in orders and consents. Other requests contain the customer's address or no address.
func (b *Bank) addAddress(ctx context.Context, h http.Header) {
	if h.Get(addressHeader) != "" {
		return
	}
	if own, err := b.route.Own(ctx); err == nil { // when Own fails, the call itself fails as well
		h.Set(addressHeader, own.String())
	}
}

// content returns the body of a request and its media type.
func (r request) content() ([]byte, string, error) {
	switch {
	case r.form != nil:
		return []byte(r.form.Encode()), "application/x-www-form-urlencoded", nil
	case r.body == nil:
		return nil, "", nil
	}
	body, err := json.Marshal(r.body)
	return body, "application/json", err
}

// newID returns a new UUID.
func newID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never returns an error
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	return uuidOf(raw)
}

func uuidOf(raw [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}

// decode decodes a JSON response. It fails when the JSON is invalid or nested too deeply.
func (b *Bank) decode(r request, a answer, into any) error {
	r.id = a.id
	if arrival.TooDeep(a.body) || json.Unmarshal(a.body, into) != nil {
		return b.fault(r, errMalformed, errMalformed.Error())
	}
	return nil
}

// errMalformed means that a response does not follow the standard. Its text contains no data from
// the response.
var errMalformed = errors.New("its response is not valid JSON of the standard")

// fault describes a failed call for the operator. The text names the bank, the call and the
// X-Request-ID, if the request carries one. It contains no personal data.
func (b *Bank) fault(r request, err error, says string) error {
	if r.id != "" && r.form == nil {
		says += "; X-Request-ID " + r.id
	}
	if r.toAuthorisationServer() {
		says = strings.ReplaceAll(says, "address.api", "oauth.metadata")
	}
	return &connector.Fault{Says: fmt.Sprintf("%s (%s): %s", b.profile.Name, r.call, says), Err: err}
}

// toAuthorisationServer reports whether the request goes to an address of the authorisation server.
// A request that follows a link goes to the bank's API.
func (r request) toAuthorisationServer() bool { return r.form != nil || r.call == metadataCall }
