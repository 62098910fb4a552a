package webhook_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"passerelle/webhook"
)

const (
	secret  = "c2VjcmV0LWtleQ=="
	payload = `{"id_webhook_data":7}`
)

func signedHeader(aliases ...string) http.Header {
	header := http.Header{}
	webhook.Sign(secret, "/hook", signedAt, []byte(payload)).Set(header, aliases...)
	return header
}

func TestVerify(t *testing.T) {
	type request struct {
		verifier      webhook.Verifier
		header        http.Header
		path, payload string
		now           time.Time
	}
	for _, test := range []struct {
		name   string
		change func(*request)
		want   error
	}{
		{"as signed", func(*request) {}, nil},
		{"under an alias", func(r *request) { r.verifier.Prefix = "BI" }, nil},
		{"four minutes early", func(r *request) { r.now = signedAt.Add(-4 * time.Minute) }, nil},
		{"four minutes late", func(r *request) { r.now = signedAt.Add(4 * time.Minute) }, nil},
		{"six minutes early", func(r *request) { r.now = signedAt.Add(-6 * time.Minute) }, webhook.ErrDate},
		{"six minutes late", func(r *request) { r.now = signedAt.Add(6 * time.Minute) }, webhook.ErrDate},
		{"own tolerance", func(r *request) {
			r.verifier.Tolerance = time.Hour
			r.now = signedAt.Add(59 * time.Minute)
		}, nil},
		{"unreadable date", func(r *request) { r.header.Set("SVC-Signature-Date", "yesterday") }, webhook.ErrDate},
		{"date in another form", func(r *request) { r.header.Set("SVC-Signature-Date", "2026-11-20T09:15:04Z") }, webhook.ErrDate},
		{"date replaced", func(r *request) { r.header.Set("SVC-Signature-Date", "2026-11-20T09:15:05.123456Z") }, webhook.ErrSignature},
		{"no date", func(r *request) { r.header.Del("SVC-Signature-Date") }, webhook.ErrHeader},
		{"no signature", func(r *request) { r.header.Del("SVC-Signature") }, webhook.ErrHeader},
		{"no headers", func(r *request) { r.header = nil }, webhook.ErrHeader},
		{"two signatures", func(r *request) { r.header.Add("SVC-Signature", "x") }, webhook.ErrHeader},
		{"two dates", func(r *request) { r.header.Add("SVC-Signature-Date", "x") }, webhook.ErrHeader},
		{"unknown prefix", func(r *request) { r.verifier.Prefix = "XX" }, webhook.ErrHeader},
		{"another path", func(r *request) { r.path = "/hook/" }, webhook.ErrSignature},
		{"another payload", func(r *request) { r.payload += " " }, webhook.ErrSignature},
		{"another secret", func(r *request) { r.verifier.Secret = "secret-key" }, webhook.ErrSignature},
		{"empty signature", func(r *request) { r.header.Set("SVC-Signature", "") }, webhook.ErrSignature},
		{"by the next secret", func(r *request) {
			r.verifier.Secret = "next"
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header)
		}, nil},
		{"by the next secret under an alias", func(r *request) {
			r.verifier.Secret, r.verifier.Prefix = "next", "BI"
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header, "BI")
		}, nil},
		{"by the present secret beside a next one", func(r *request) {
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header)
		}, nil},
		{"by neither of two", func(r *request) {
			r.verifier.Secret = "third"
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header)
		}, webhook.ErrSignature},
		{"by the next secret over another payload", func(r *request) {
			r.verifier.Secret = "next"
			webhook.Sign("next", "/hook", signedAt, []byte(payload+" ")).SetNext(r.header)
		}, webhook.ErrSignature},
		{"by the next secret over another date", func(r *request) {
			r.verifier.Secret = "next"
			webhook.Sign("next", "/hook", signedAt.Add(time.Second), []byte(payload)).SetNext(r.header)
		}, webhook.ErrSignature},
		{"by the next secret alone", func(r *request) {
			r.verifier.Secret = "next"
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header)
			r.header.Del("SVC-Signature")
		}, webhook.ErrHeader},
		{"two next signatures", func(r *request) {
			webhook.Sign("next", "/hook", signedAt, []byte(payload)).SetNext(r.header)
			r.header.Add("SVC-Signature-Next", "x")
		}, webhook.ErrHeader},
		{"an empty next signature", func(r *request) {
			r.verifier.Secret = "next"
			r.header.Set("SVC-Signature-Next", "")
		}, webhook.ErrSignature},
		{"no secret on either side", func(r *request) {
			r.verifier.Secret = ""
			webhook.Sign("", "/hook", signedAt, []byte(payload)).Set(r.header)
		}, webhook.ErrSignature},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request{webhook.Verifier{Secret: secret}, signedHeader("BI"), "/hook", payload, signedAt}
			test.change(&r)
			err := r.verifier.Verify(r.header, r.path, []byte(r.payload), r.now)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func TestRead(t *testing.T) {
	squeezed := compressed(t, payload)
	for _, test := range []struct {
		name, target, encoding, body string
		limit                        int64
		want                         error
	}{
		{"plain", "/hook", "", payload, 0, nil},
		{"query is not signed", "/hook?a=b", "", payload, 0, nil},
		{"absolute target", "http://bank.example/hook", "", payload, 0, nil},
		{"compressed", "/hook", "gzip", squeezed, 0, nil},
		{"at the limit", "/hook", "", payload, int64(len(payload)), nil},
		{"below the highest limit", "/hook", "", payload, math.MaxInt64, nil},
		{"beyond the limit", "/hook", "", payload, int64(len(payload)) - 1, webhook.ErrTooLarge},
		{"grows beyond the limit", "/hook", "gzip", compressed(t, strings.Repeat(" ", 1<<20)), 1 << 10, webhook.ErrTooLarge},
		{"not signed for", "/other", "", payload, 0, webhook.ErrSignature},
		{"not compressed", "/hook", "gzip", payload, 0, gzip.ErrHeader},
		{"compressed and cut", "/hook", "gzip", squeezed[:len(squeezed)-4], 0, io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, test.target, strings.NewReader(test.body))
			request.Header = signedHeader()
			request.Header.Set("Content-Encoding", test.encoding)
			got, err := webhook.Verifier{Secret: secret, Limit: test.limit}.Read(request, signedAt)
			if !errors.Is(err, test.want) || (string(got) == payload) != (err == nil) {
				t.Errorf("got %q and %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestReadBehindARouterThatStripsAPrefix(t *testing.T) {
	var got []byte
	handler := http.StripPrefix("/ho", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var err error
		if got, err = (webhook.Verifier{Secret: secret}).Read(r, signedAt); err != nil {
			t.Error(err)
		}
	}))
	request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(payload))
	request.Header = signedHeader()
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if string(got) != payload {
		t.Errorf("read %q", got)
	}
}
