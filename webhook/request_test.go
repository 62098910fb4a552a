package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"passerelle/webhook"
)

func accept(r *http.Request, tolerance time.Duration, now time.Time) error {
	return webhook.Verifier{Secret: secret, Tolerance: tolerance}.Accept(r, now)
}

func TestVerifyHasTheClockOfTheMachine(t *testing.T) {
	for _, test := range []struct {
		name      string
		signed    time.Duration // relative to now
		tolerance time.Duration
		want      error
	}{
		{"now", 0, 0, nil},
		{"before the usual tolerance", -6 * time.Minute, 0, webhook.ErrDate},
		{"after it", 6 * time.Minute, 0, webhook.ErrDate},
		{"within its own tolerance", -6 * time.Minute, time.Hour, nil},
		{"before its own tolerance", -2 * time.Hour, time.Hour, webhook.ErrDate},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(payload))
			webhook.Sign(secret, "/hook", time.Now().Add(test.signed), []byte(payload)).Set(request.Header)
			if err := webhook.Verify(request, secret, test.tolerance); !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			got, err := io.ReadAll(request.Body)
			if test.want == nil && (err != nil || string(got) != payload) {
				t.Errorf("left %q, %v", got, err)
			}
		})
	}
}

func TestVerifyPutsThePayloadBack(t *testing.T) {
	for _, test := range []struct{ name, encoding, body string }{
		{"plain", "", payload}, {"compressed", "gzip", compressed(t, payload)},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, "/hook?a=b", strings.NewReader(test.body))
			request.Header = signedHeader()
			request.Header.Set("Content-Encoding", test.encoding)
			if err := accept(request, time.Minute, signedAt.Add(59*time.Second)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(request.Body)
			if err != nil || string(got) != payload || request.ContentLength != int64(len(payload)) || request.Header.Get("Content-Encoding") != "" {
				t.Errorf("left %q of %d bytes, encoded %q, %v", got, request.ContentLength, request.Header.Get("Content-Encoding"), err)
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	for _, test := range []struct {
		name      string
		change    func(*http.Request)
		tolerance time.Duration
		now       time.Time
		want      error
	}{
		{"another secret", func(r *http.Request) { webhook.Sign("x", "/hook", signedAt, []byte(payload)).Set(r.Header) }, 0, signedAt, webhook.ErrSignature},
		{"no header", func(r *http.Request) { r.Header.Del("SVC-Signature") }, 0, signedAt, webhook.ErrHeader},
		{"beyond the usual tolerance", func(*http.Request) {}, 0, signedAt.Add(6 * time.Minute), webhook.ErrDate},
		{"beyond its own tolerance", func(*http.Request) {}, time.Second, signedAt.Add(2 * time.Second), webhook.ErrDate},
		{"body beyond the limit", func(r *http.Request) {
			r.Body = io.NopCloser(io.LimitReader(endless{}, webhook.DefaultLimit+1))
		}, 0, signedAt, webhook.ErrTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(payload))
			request.Header = signedHeader()
			test.change(request)
			if err := accept(request, test.tolerance, test.now); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
