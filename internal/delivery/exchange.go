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

	"passerelle/internal/death"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	contentType = "application/json; charset=utf-8"
	userAgent   = "Passerelle/1"
)

// exchange sends a delivery once, and once more when its receiver refuses a
// credential that can be renewed. Its account is in the domain's time, the
// signature and the deadlines are in real time.
func (t *turn) exchange(ctx context.Context, to target, d store.Delivery) (a store.DeliveryAttempt) {
	ctx, cancel := context.WithTimeout(ctx, to.exchangeTime())
	defer cancel()
	defer func() { a.Detail = explained(a) }()
	began := t.Now()
	a = store.DeliveryAttempt{Delivery: d.ID, At: to.clock.Now(began)}
	shown, err := to.authority.credential(ctx, d.User)
	if err != nil {
		a.Duration = t.Now().Sub(began)
		withoutToken(&a, err)
		return a
	}
	t.post(ctx, to, d, shown, &a)
	if a.Status != http.StatusUnauthorized {
		return a
	}
	again, renewed, err := to.authority.renew(ctx, shown)
	if err != nil {
		withoutToken(&a, err)
	}
	if renewed {
		t.post(ctx, to, d, again, &a)
	}
	return a
}

// withoutToken accounts for a credential that there is not.
func withoutToken(a *store.DeliveryAttempt, err error) {
	a.Failure = err.Error()
	if old, isOld := errors.AsType[earlierFault](err); isOld {
		a.Detail = old.detail()
	}
}

// post makes one request and accounts for it.
func (t *turn) post(ctx context.Context, to target, d store.Delivery, shown credential, a *store.DeliveryAttempt) {
	ctx, cancel := context.WithTimeout(ctx, to.timeout)
	defer cancel()
	sent := t.Now()
	a.At, a.Detail = to.clock.Now(sent), shown.detail
	var reached atomic.Bool // told of from another goroutine, even after the end
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { reached.Store(true) }})
	request, signed, err := t.request(ctx, to, d, shown, sent)
	if err == nil {
		a.Signed = signed
		death.Before("webhook")
		a.Status, a.Answer, err = send(to.client, request)
		death.After("webhook")
	}
	a.Duration, a.Failure, a.Reached = t.Now().Sub(sent), failure(a.Status, err), reached.Load()
}

// request is the one form in which events go out, with what of it was signed.
func (t *turn) request(ctx context.Context, to target, d store.Delivery, shown credential, now time.Time) (*http.Request, store.Signed, error) {
	var signed store.Signed
	b, err := t.body(ctx, d)
	if err != nil {
		return nil, signed, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.webhook.URL, http.NoBody)
	if err != nil {
		return nil, signed, err
	}
	to.describe(r.Header, d)
	if shown.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+shown.bearer)
	}
	if signed, err = sign(r, b, shown, to.aliases, now); err != nil {
		return nil, signed, err
	}
	r.ContentLength, r.GetBody = b.size, func() (io.ReadCloser, error) { return io.NopCloser(b.open()), nil }
	spell(r.Header, append([]string{webhook.Prefix}, to.aliases...))
	if to.compress {
		r.Header.Set("Content-Encoding", "gzip")
		r.ContentLength, r.GetBody = -1, func() (io.ReadCloser, error) { return compressed(b.open()), nil }
	}
	r.Body, err = r.GetBody()
	return r, signed, err
}

// describe says what a request is and what it is about. A body without a place
// for the id of the delivery has it in a header.
func (to target) describe(header http.Header, d store.Delivery) {
	described := map[string]string{
		"Accept":              "*/*",
		"Content-Type":        contentType,
		"User-Agent":          userAgent,
		webhook.EventHeader:   d.Event,
		webhook.IDHeader:      strconv.FormatInt(int64(to.webhook.ID), 10),
		webhook.AttemptHeader: strconv.FormatInt(d.Attempts+1, 10),
	}
	if d.MediaType != store.JSON {
		described["Content-Type"] = d.MediaType
		described[webhook.DeliveryHeader] = strconv.FormatInt(int64(d.ID), 10)
		described[webhook.OmittedHeader] = strconv.Itoa(d.Omitted)
	}
	for name, value := range described {
		header.Set(name, value)
	}
}

// sign signs the body before compression with the secrets that there are, in one
// pass for both.
func sign(r *http.Request, b body, shown credential, aliases []string, now time.Time) (signed store.Signed, _ error) {
	if shown.secret == "" {
		return signed, nil
	}
	path := r.URL.EscapedPath()
	present, next := webhook.NewSigner(shown.secret, path, now), webhook.NewSigner(shown.next, path, now)
	if _, err := io.Copy(io.MultiWriter(present, next), b.open()); err != nil {
		return signed, err
	}
	by := present.Signature()
	by.Set(r.Header, aliases...)
	signed.Opening, signed.Signature = webhook.Opening(path, by.Date), by.Value
	if shown.next != "" {
		following := next.Signature()
		following.SetNext(r.Header, aliases...)
		signed.Next = following.Value
	}
	return signed, nil
}

// spell writes the names of headers that begin with a prefix as the prefix is
// written, and not as net/http writes names: there are receivers that take a name
// for another when its case differs.
func spell(header http.Header, prefixes []string) {
	for _, prefix := range prefixes {
		for name, values := range header {
			rest, ours := strings.CutPrefix(name, http.CanonicalHeaderKey(prefix)+"-")
			if spelt := prefix + "-" + rest; ours && spelt != name {
				delete(header, name)
				header[spelt] = values
			}
		}
	}
}

// maxKept is how many bytes of the answer to a request that failed are kept.
const maxKept = 2 << 10

// send sends a request and keeps the beginning of an answer other than success.
// The rest is read all the same: the connection can be used again, and a
// receiver that does not come to an end has not answered in time. Once there is
// a status, nothing else counts.
func send(client *http.Client, r *http.Request) (status int, kept string, _ error) {
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	begins, err := io.ReadAll(io.LimitReader(answer.Body, maxKept))
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	if !isTimeout(err) {
		err = nil
	}
	if answer.StatusCode/100 != 2 || err != nil {
		kept = readable(begins)
	}
	return answer.StatusCode, kept, err
}

// readable is text as it can be stored and shown.
func readable(raw []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(raw), ""))
}

// failure says in a few words why a request was not accepted, and nothing when
// it was. Errors of the network hold addresses and are not repeated.
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

// reasons are asked in this order: a name that is not resolved in time is a
// timeout.
var reasons = []struct {
	text string
	is   func(error) bool
}{
	{AddressRefused, is(ErrAddress)},
	{store.TimedOut, isTimeout},
	{"the body was erased", is(store.ErrErased)},
	{nameNotFound, as[*net.DNSError]},
	{"certificate refused", as[*tls.CertificateVerificationError]},
	{"no TLS", is(http.ErrSchemeMismatch)},
	{"connection refused", is(syscall.ECONNREFUSED)},
	{"connection lost", is(syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF)},
}

// AddressRefused is the failure of a request to an address that is ErrAddress.
const AddressRefused = "address refused"

const nameNotFound = "name not found"

// advice is for failures that are seldom the receiver's. It has no address: what
// a name stands for inside of the operator's network is nobody else's business.
var advice = map[string]string{
	AddressRefused: "The name or address leads into a private or reserved network, or to a port that is not open; who operates the service opens private networks with --allow-networks and ports with --allow-ports.",
	nameNotFound:   "The name has no address where the service asks for it; check its spelling, and that it is known there.",
}

// explained is what there is to say about a request besides its failure.
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
