package delivery

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"passerelle/internal/failpoint"
	"passerelle/internal/store"
	"passerelle/internal/tracing"
	"passerelle/webhook"
)

// mostHeaders is the largest number of headers that a request usually has.
const mostHeaders = 16

// Requests share these header values. No code may change them.
var (
	anything = []string{"*/*"}
	ofJSON   = []string{"application/json; charset=utf-8"}
)

// exchange sends a delivery. It sends the delivery again when the receiver refuses a credential
// that can be renewed. The times in the result are in the domain's time. The signature and the
// deadlines use real time.
func (s *leaseSession) exchange(ctx context.Context, to target, d store.Delivery) (a store.DeliveryAttempt) {
	if to.authority.asks(d.User) { // without this, the timeout of the only request is enough
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, to.exchangeTime())
		defer cancel()
	}
	var broken error
	defer func() { s.recordPanic(ctx, broken, d, &a) }()
	defer guard(&broken)
	defer func() { a.Detail = explained(a) }()
	began := s.d.Now()
	a = store.DeliveryAttempt{Delivery: d.ID, At: to.clock.Now(began)}
	shown, err := to.authority.credential(ctx, d.User)
	if err != nil {
		a.Duration = s.d.Now().Sub(began)
		withoutToken(&a, err)
		return a
	}
	s.post(ctx, to, d, shown, &a)
	if a.Status != http.StatusUnauthorized {
		return a
	}
	again, renewed, err := to.authority.renew(ctx, shown)
	if err != nil {
		withoutToken(&a, err)
	}
	if renewed {
		s.post(ctx, to, d, again, &a)
	}
	return a
}

// recordPanic records that a panic ended an exchange.
func (s *leaseSession) recordPanic(ctx context.Context, broken error, d store.Delivery, a *store.DeliveryAttempt) {
	if broken != nil {
		a.Delivery, a.Failure = d.ID, failure(0, broken)
		s.d.Log.ErrorContext(ctx, "a request for a delivery failed", "webhook", s.job.webhook, "delivery", d.ID, "error", broken)
	}
}

// withoutToken records that the service had no credential for a request.
func withoutToken(a *store.DeliveryAttempt, err error) {
	a.Failure = err.Error()
	if old, isOld := errors.AsType[earlierFault](err); isOld {
		a.Detail = old.detail()
	}
}

// post sends one request and records its result.
func (s *leaseSession) post(ctx context.Context, to target, d store.Delivery, shown credential, a *store.DeliveryAttempt) {
	ctx, cancel := context.WithTimeout(s.d.Tracer.Continue(ctx, d.Trace), to.timeout)
	defer cancel()
	ctx, span := tracing.Start(ctx, "webhook "+d.Event, tracing.Client)
	defer func() { endSpan(span, d, *a) }()
	sent := s.d.Now()
	a.At, a.Detail = to.clock.Now(sent), shown.detail
	var reached atomic.Bool // another goroutine sets it, even after the request has ended
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { reached.Store(true) }})
	request, signed, err := s.request(ctx, to, d, shown, sent)
	if err == nil {
		a.Signed = signed
		failpoint.Before("webhook")
		a.Status, a.Answer, err = send(to.client, request)
		failpoint.After("webhook")
	}
	a.Duration, a.Failure, a.Reached = s.d.Now().Sub(sent), failure(a.Status, err), reached.Load()
}

// endSpan adds the result of a request to its span, and ends the span.
func endSpan(span tracing.TraceSpan, d store.Delivery, a store.DeliveryAttempt) {
	span.Number("delivery_id", int64(d.ID))
	span.Number("delivery_attempt", d.Attempts+1)
	span.Number("http.response.status_code", int64(a.Status))
	if a.Failure != "" {
		span.End(tracing.ErrFailed)
		return
	}
	span.End(nil)
}

// request builds the request for a delivery. It also returns the record of its signature.
func (s *leaseSession) request(ctx context.Context, to target, d store.Delivery, shown credential, now time.Time) (*http.Request, store.Signed, error) {
	var signed store.Signed
	added, err := to.authority.additions(ctx, d.User)
	if err != nil {
		return nil, signed, err
	}
	b, err := s.body(ctx, d, added)
	if err != nil {
		return nil, signed, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.webhook.URL, http.NoBody)
	if err != nil {
		return nil, signed, err
	}
	r.Header = make(http.Header, mostHeaders)
	to.describe(r.Header, d)
	if parent := tracing.Parent(ctx); parent != "" {
		r.Header.Set(tracing.Header, parent)
	}
	if shown.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+shown.bearer)
	}
	if signed, err = to.sign(r, b, shown, now); err != nil {
		return nil, signed, err
	}
	r.ContentLength, r.GetBody = b.size, func() (io.ReadCloser, error) { return io.NopCloser(b.open()), nil }
	if to.compress {
		r.Header.Set("Content-Encoding", "gzip")
		r.ContentLength, r.GetBody = -1, func() (io.ReadCloser, error) { return compressed(b.open()), nil }
	}
	if r.ContentLength == 0 {
		r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil } // net/http would send any other empty body in chunks
	}
	r.Body, err = r.GetBody()
	return r, signed, err
}

// describe sets the headers that describe the content of a request. If the body has no place for
// the delivery's id, a header contains this id.
func (to target) describe(header http.Header, d store.Delivery) {
	header["Accept"], header["User-Agent"], header["Content-Type"] = anything, to.agent, ofJSON
	header[webhook.EventHeader] = []string{d.Event}
	header[webhook.IDHeader] = []string{strconv.FormatInt(int64(to.webhook.ID), 10)}
	header[webhook.AttemptHeader] = []string{strconv.FormatInt(d.Attempts+1, 10)}
	if d.MediaType != store.JSON {
		header["Content-Type"] = []string{d.MediaType}
		header[webhook.DeliveryHeader] = []string{strconv.FormatInt(int64(d.ID), 10)}
		header[webhook.OmittedHeader] = []string{strconv.Itoa(d.Omitted)}
		name(header, d)
	}
}

// name sets the headers with the ids of the user, the account and the connection. Only a JSON body
// contains these ids.
func name(header http.Header, d store.Delivery) {
	ids := map[string]int64{webhook.UserHeader: int64(d.User), webhook.AccountHeader: int64(d.Account)}
	if d.Subject == string(webhook.SubjectConnection) {
		ids[webhook.ConnectionHeader] = d.SubjectID
	}
	for key, id := range ids {
		if id != 0 {
			header[key] = []string{strconv.FormatInt(id, 10)}
		}
	}
}

// sign signs the uncompressed body with one or two secrets. It reads the body only once.
func (to target) sign(r *http.Request, b body, shown credential, now time.Time) (store.Signed, error) {
	var (
		signed store.Signed
		err    error
	)
	if shown.secret == "" {
		return signed, nil
	}
	path := r.URL.EscapedPath()
	present := webhook.NewSigner(shown.secret, path, now)
	if shown.next == "" {
		_, err = io.Copy(present, b.open())
	} else {
		next := webhook.NewSigner(shown.next, path, now)
		_, err = io.Copy(io.MultiWriter(present, next), b.open())
		signed.Next = next.Signature().Value
	}
	by := present.Signature()
	to.names.set(r.Header, by, signed.Next)
	signed.Opening, signed.Signature = webhook.Opening(path, by.Date), by.Value
	return signed, err
}

// spelling contains the names of the signature headers. Each prefix has one name of each kind.
type spelling struct{ dates, values, nexts []string }

// spell returns header names exactly as their prefixes are configured. The form that net/http gives
// to names would not suit receivers that compare names case-sensitively. A prefix that differs from
// an earlier one only in case adds no header.
func spell(aliases []string) spelling {
	var names spelling
	known := map[string]bool{}
	for _, prefix := range append([]string{webhook.Prefix}, aliases...) {
		if known[strings.ToLower(prefix)] {
			continue
		}
		known[strings.ToLower(prefix)] = true
		names.dates = append(names.dates, prefix+"-Signature-Date")
		names.values = append(names.values, prefix+"-Signature")
		names.nexts = append(names.nexts, prefix+"-Signature-Next")
	}
	return names
}

// set sets the headers of a signature. If there is also a signature with the next secret, set adds
// its header.
func (s spelling) set(header http.Header, by webhook.Signature, next string) {
	put(header, s.dates, by.Date)
	put(header, s.values, by.Value)
	if next != "" {
		put(header, s.nexts, next)
	}
}

func put(header http.Header, names []string, value string) {
	values := []string{value}
	for _, name := range names {
		header[name] = values
	}
}

// maxKept limits the stored response to a failed request, in bytes.
const maxKept = 2 << 10

// send sends a request. It returns the status and, for a failure, the beginning of the response. It
// reads the rest of the response, so that the connection can be used again. If a receiver does not
// finish its response in time, the request has timed out. After the status has arrived, send
// ignores all other errors.
func send(client *http.Client, r *http.Request) (int, string, error) {
	var kept string
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	if response.ContentLength == 0 {
		return response.StatusCode, "", nil
	}
	begins, err := io.ReadAll(io.LimitReader(response.Body, maxKept))
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	if !isTimeout(err) {
		err = nil
	}
	if response.StatusCode/100 != 2 || err != nil {
		kept = readable(begins)
	}
	return response.StatusCode, kept, err
}

// readable converts bytes to a text that can be stored and shown.
func readable(raw []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(raw), ""))
}

// failure returns, in a few words, the reason why a request was not accepted. It returns an empty
// text when the request was accepted. It does not repeat network errors, because they contain
// addresses.
func failure(status int, err error) string {
	if err == nil && status/100 == 2 {
		return ""
	}
	if err == nil {
		return "status " + strconv.Itoa(status)
	}
	for _, reason := range reasons {
		if reason.is(err) {
			return reason.text
		}
	}
	return "request failed"
}

// reasons lists the reasons for failures. The first reason that applies is used. For example, a
// name that is not resolved in time counts as a timeout.
var reasons = []struct {
	text string
	is   func(error) bool
}{
	{AddressRefused, is(ErrAddress)},
	{store.TimedOut, isTimeout},
	{"the body was erased", is(store.ErrErased)},
	{"the body is empty", is(errEmpty)},
	{nameNotFound, as[*net.DNSError]},
	{"certificate refused", as[*tls.CertificateVerificationError]},
	{"no TLS", is(http.ErrSchemeMismatch)},
	{"connection refused", is(syscall.ECONNREFUSED)},
	{"connection lost", is(syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF)},
}

// AddressRefused is the failure of a request that fails with ErrAddress.
const AddressRefused = "address refused"

const nameNotFound = "name not found"

// advice contains sentences about failures that the receiver seldom causes. The sentences contain
// no addresses, because the addresses in the operator's network are private.
var advice = map[string]string{
	AddressRefused: "The name or address leads to a private or reserved network, or to a port that is not allowed. The operator of the service allows private networks with --allow-networks and ports with --allow-ports.",
	nameNotFound:   "The service's name server has no address for this name. Check the spelling, and that the name exists there.",
}

// explained returns the detail of a request, followed by the advice for its failure, if any.
func explained(a store.DeliveryAttempt) string {
	return strings.TrimSpace(a.Detail + " " + advice[strings.TrimPrefix(a.Failure, tokenEndpoint)])
}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
}

func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
