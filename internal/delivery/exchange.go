package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	contentType = "application/json; charset=utf-8"
	userAgent   = "Passerelle/1"
)

// exchange is a delivery and what came of sending it.
type exchange struct {
	delivery store.Delivery
	attempt  store.DeliveryAttempt
}

// exchange sends a delivery once. Its account is in the domain's time, the
// signature and the deadline are in real time.
func (t *turn) exchange(ctx context.Context, to target, d store.Delivery) store.DeliveryAttempt {
	ctx, cancel := context.WithTimeout(ctx, to.timeout)
	defer cancel()
	sent := t.Now()
	a := store.DeliveryAttempt{Delivery: d.ID, At: t.domain.Clock.Now(sent)}
	shown, err := to.authority.credential(ctx, d.User)
	if err != nil {
		a.Failure = err.Error()
		return a
	}
	request, err := to.request(ctx, d, shown, sent)
	status, err := post(t.Client, request, err)
	a.Status, a.Duration, a.Failure = status, t.Now().Sub(sent), failure(status, err)
	return a
}

// request is the one form in which events go out.
func (to target) request(ctx context.Context, d store.Delivery, shown credential, now time.Time) (*http.Request, error) {
	body := withID(d.Body, d.ID)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.webhook.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Accept":              "*/*",
		"Content-Type":        contentType,
		"User-Agent":          userAgent,
		webhook.EventHeader:   d.Event,
		webhook.IDHeader:      strconv.FormatInt(int64(to.webhook.ID), 10),
		webhook.AttemptHeader: strconv.FormatInt(d.Attempts+1, 10),
	} {
		r.Header.Set(name, value)
	}
	if shown.secret != "" {
		webhook.Sign(shown.secret, r.URL.EscapedPath(), now, body).Set(r.Header, to.aliases...)
	}
	return r, nil
}

// withID is an event's body, a JSON object, with the delivery's id as its
// first member.
func withID(body []byte, id passerelle.DeliveryID) []byte {
	rest := bytes.TrimLeft(body[1:], " \t\r\n")
	out := strconv.AppendInt([]byte(`{"id_webhook_data":`), int64(id), 10)
	if !bytes.HasPrefix(rest, []byte("}")) {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// post sends a request and drops the body of the answer. It is read all the
// same: the connection can be used again, and a receiver that does not come to
// an end has not answered in time. Once there is a status, nothing else counts.
func post(client *http.Client, r *http.Request, err error) (status int, _ error) {
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); isTimeout(err) {
		return answer.StatusCode, err
	}
	return answer.StatusCode, nil
}

const timedOut = "timeout"

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
	{"address refused", is(ErrAddress)},
	{timedOut, isTimeout},
	{"name not found", as[*net.DNSError]},
	{"certificate refused", as[*tls.CertificateVerificationError]},
	{"no TLS", is(http.ErrSchemeMismatch)},
	{"connection refused", is(syscall.ECONNREFUSED)},
	{"connection lost", is(syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF)},
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
