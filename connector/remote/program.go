package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"golang.org/x/time/rate"

	"passerelle"
	"passerelle/connector"
)

const (
	// callTime limits a call that is not a stream. dialTime limits opening a connection.
	callTime = 20 * time.Second
	dialTime = 5 * time.Second
	// A stream may take streamTime, plus one second for each 16 KiB. The time that its consumer
	// needs does not count. A slower stream would delay other calls.
	streamTime = 5 * time.Minute
	slowest    = 16 << 10
)

// silence is the longest pause in a stream. Only tests change it.
var silence = time.Minute

// Program is a program that speaks the protocol at an address.
type Program struct {
	address string
	secret  secret
	how     json.Options
	// kept reuses connections. single opens a new connection for each call in orderCalls, because
	// the program may have closed a reused one.
	kept, single *http.Client
	circuit      *connector.Circuit
	// streamLimiter limits the rate of all streams together.
	streamLimiter *rate.Limiter
	now           func() time.Time
}

// NewProgram prepares calls to a program. It fails with Invalid for an address that is not an http
// or https URL, or that has a user, a query or a fragment. It also fails with Invalid for a secret
// of a wrong length. An http URL may lead only to this machine or a private network. Each new
// connection checks this.
func NewProgram(address, shared string) (*Program, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, passerelle.InvalidField("address", "must be the https address of a program, or its http address on this machine or in a private network, without user, query and fragment")
	}
	if len(shared) < minSecret || len(shared) > maxSecret {
		return nil, passerelle.InvalidField("secret", "must have %d to %d characters", minSecret, maxSecret)
	}
	return &Program{
		address: strings.TrimRight(address, "/"), secret: secret(shared), how: lenient,
		kept: newClient(u.Scheme == "http", false), single: newClient(u.Scheme == "http", true), circuit: &connector.Circuit{},
		streamLimiter: rate.NewLimiter(streamRate, streamBurst), now: time.Now,
	}, nil
}

// Strict returns a Program that refuses responses with members that the protocol does not define.
func (p *Program) Strict() *Program {
	twin := *p
	twin.how = strict
	return &twin
}

// Continue takes over the recorded health of the argument `former`, an earlier Program for the same
// connector program.
func (p *Program) Continue(former *Program) { p.circuit = former.circuit }

// Health returns the health according to recent calls. For the zero Program, it returns a
// BankHealth without calls.
func (p *Program) Health() connector.BankHealth {
	if p.circuit == nil {
		return connector.BankHealth{}
	}
	return p.circuit.Health()
}

// Address returns the address of the program.
func (p *Program) Address() string { return p.address }

// Close closes idle connections.
func (p *Program) Close() { p.kept.CloseIdleConnections() }

func newClient(plain, single bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialTime}
	if plain {
		dialer.Control = refusePublic
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, DisableKeepAlives: single, DisableCompression: true,
			MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeaders,
		},
	}
}

var errPublic = errors.New("an address without https is only for this machine and private networks")

// refusePublic refuses public addresses, so that banking data is not sent unencrypted over networks
// that others can read.
func refusePublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := at.Addr().Unmap(); !ip.IsLoopback() && !ip.IsPrivate() {
		return errPublic
	}
	return nil
}

// Describe asks the program for its description. It fails when the response is not a coherent
// profile.
func (p *Program) Describe(ctx context.Context) (Profile, error) {
	var answered profileAnswer
	if err := p.call(ctx, callProfile, struct{ Deadline time.Time }{p.deadline(ctx)}, &answered); err != nil {
		return answered.Profile, err
	}
	described := answered.Profile
	if answered.Error != nil {
		return described, p.fault(callProfile, answered.Error.err(), fmt.Sprintf("it responded with an error of the kind %.40q instead of its profile", answered.Error.Kind))
	}
	if err := described.Check(); err != nil {
		return described, p.fault(callProfile, err, "its profile is wrong: "+passerelle.Excerpt(strings.ReplaceAll(err.Error(), "\n", "; "), maxQuoted))
	}
	return described, nil
}

// maxQuoted is the maximum number of characters that an error says about a program's profile. The
// longest list of allowed values, the account types, fits twice.
const maxQuoted = 800

// deadline returns the time at which a call that begins now must have its response, on the clock
// that the header with the timestamp shows.
func (p *Program) deadline(ctx context.Context) time.Time {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return p.streamDeadline(ctx)
}

// streamDeadline returns the deadline of a stream, which has no limit like callTime.
func (p *Program) streamDeadline(ctx context.Context) time.Time {
	left := streamTime
	if at, set := ctx.Deadline(); set {
		left = time.Until(at)
	}
	return p.now().Add(left)
}

// fault describes a failure for the operator.
func (p *Program) fault(call string, err error, says string) error {
	return &connector.Fault{Says: fmt.Sprintf("the connector at %s (%s): %s", p.address, call, says), Err: err}
}

// errNotAnswer means that a response has a status other than 200.
var errNotAnswer = errors.New("it did not respond with the status 200")

// errAbsent means that a response has the status 404.
var errAbsent = errors.New("it has no such call (404)")

// errRefusedRequest means that a response has the status 401.
var errRefusedRequest = errors.New("the signature is missing or wrong, or the clocks differ: both sides need the same secret, and clocks that differ by less than five minutes")

// errLarge means that a response or a line exceeds its limit.
var errLarge = errors.New("its response is larger than the protocol allows")

// errSlow means that a stream takes longer than its size allows.
var errSlow = errors.New("it responds too slowly")

// errCut means that a stream ends before its last line.
var errCut = errors.New("its response is incomplete")

// call makes one call whose response is a single body.
func (p *Program) call(ctx context.Context, name string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return p.measured(ctx, name, func() error {
		response, nonce, err := p.send(ctx, name, body)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		if err != nil {
			return err
		}
		if len(raw) > maxAnswer {
			return errLarge
		}
		if response.StatusCode != http.StatusOK {
			return statusError(response)
		}
		sum := p.secret.answerMAC(response.StatusCode, nonce)
		sum.Write(raw)
		if !equal(sum, response.Header.Get(headerSignature)) {
			return errUnsigned
		}
		return decode(raw, into, p.how)
	})
}

// statusError returns an error when the status of a response is not 200.
func statusError(r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	switch r.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", errNotAnswer, errAbsent)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w but with 401: %w", errNotAnswer, errRefusedRequest)
	}
	return fmt.Errorf("%w but with %d", errNotAnswer, r.StatusCode)
}

// measured makes a call and records its result. It makes no call that the circuit refuses.
func (p *Program) measured(ctx context.Context, name string, call func() error) error {
	begun := p.now()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	if !p.circuit.Enter(name, begun) {
		return p.fault(name, connector.ErrNotSent, "it has failed several times in a row, so Passerelle pauses its calls for a moment")
	}
	err := call()
	silent := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	left := !silent && (errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled))
	if left || errors.As(err, new(*sinkError)) {
		p.circuit.Leave(name) // the result says nothing about the program
		return err
	}
	if err != nil {
		p.circuit.Record(name, begun, p.now(), connector.Failed)
		return p.fault(name, err, remedy(err))
	}
	p.circuit.Record(name, begun, p.now(), connector.Answered)
	return nil
}

// orderCalls lists the calls that may change an order at the bank. If one of these calls fails, it
// is not repeated on another connection.
var orderCalls = map[string]bool{callInitiate: true, callAnswer: true, callCancel: true}

// send sends a signed request. Its error is connector.ErrNotSent when there was no connection to
// the program.
func (p *Program) send(ctx context.Context, name string, body any) (*http.Response, string, error) {
	r, nonce, err := p.request(ctx, name, body)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	var connected atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}))
	client := p.kept
	if orderCalls[name] {
		client = p.single
	}
	response, err := client.Do(r)
	if err != nil && !connected.Load() {
		return nil, "", fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	return response, nonce, err
}

func (p *Program) request(ctx context.Context, name string, body any) (*http.Request, string, error) {
	raw, err := encode(body)
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address+"/"+version+"/"+name, bytes.NewReader(raw))
	if err != nil {
		return nil, "", err
	}
	timestamp, nonce := strconv.FormatInt(p.now().Unix(), 10), rand.Text()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(headerTimestamp, timestamp)
	r.Header.Set(headerNonce, nonce)
	if parent := connector.TraceOf(ctx); parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	p.secret.sign(r, raw)
	return r, nonce, nil
}

// remedy explains a failure to the operator. The text contains no values from bodies.
func remedy(err error) string {
	var network net.Error
	for _, own := range []error{errUnsigned, errNotAnswer, errLarge, errSlow, errCut} {
		if errors.Is(err, own) {
			return strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
	switch {
	case errors.Is(err, errPublic):
		return errPublic.Error()
	case errors.Is(err, errMalformed):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "it did not respond in time"
	case errors.Is(err, connector.ErrNotSent):
		return "it cannot be reached: check that it runs and that the address is right"
	}
	return "the connection was lost"
}
