package webhook

import (
	"compress/gzip"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// These are the errors of a verification. Receivers should respond to each of them with 401.
var (
	// ErrHeader means that the date or the signature is missing, or that a signature header occurs
	// more than once.
	ErrHeader = errors.New("webhook: the signature headers must come exactly once, the one of the next secret at most once")
	// ErrDate means that the date is unreadable or too far from the present.
	ErrDate = errors.New("webhook: the signature date is malformed or outside the tolerance")
	// ErrSignature means that the signature does not match the request and the secret.
	ErrSignature = errors.New("webhook: the signature does not match")
)

// ErrTooLarge means that the body exceeds the receiver's limit.
var ErrTooLarge = errors.New("webhook: the payload is too large")

// These are the default limits of a Verifier.
const (
	DefaultTolerance = 5 * time.Minute
	DefaultLimit     = 64 << 20
)

// Verifier checks the signatures of webhook requests on the receiving side. Only the secret is
// required. While the secret of a provider is being replaced, requests carry a signature with the
// old and one with the new secret. A Verifier with either secret accepts them, so a receiver can
// change its secret at any time during the replacement.
type Verifier struct {
	// Secret is the secret_key of the provider, as it was shown. A Verifier without a secret
	// refuses every request.
	Secret string
	// Prefix is the prefix of the headers to check. Empty means "SVC".
	Prefix string
	// Tolerance is how far the signature date may be from the receiver's clock, in both directions.
	// Zero means DefaultTolerance.
	Tolerance time.Duration
	// Limit is the maximum size, in bytes, of a decompressed payload that Read accepts. Zero means
	// DefaultLimit.
	Limit int64
}

// Verify checks a request by its headers, the path on its request line (escaped,
// without query) and its decompressed body. It compares in constant time. It fails with ErrHeader,
// ErrDate or ErrSignature.
func (v Verifier) Verify(header http.Header, path string, payload []byte, now time.Time) error {
	date, dateErr := once(header, dateHeader(v.prefix()))
	got, valueErr := once(header, signatureHeader(v.prefix()))
	next, nextErr := atMostOnce(header, nextHeader(v.prefix()))
	if err := errors.Join(dateErr, valueErr, nextErr); err != nil {
		return err
	}
	if err := v.checkDate(date, now); err != nil {
		return err
	}
	signer := newSigner(v.Secret, path, date)
	signer.mac.Write(payload)
	want := []byte(signer.Signature().Value)
	fits := hmac.Equal(want, []byte(got)) || hmac.Equal(want, []byte(next))
	if v.Secret == "" || !fits {
		return ErrSignature
	}
	return nil
}

// Read reads and decompresses the body of a request that a server received, verifies it, and
// returns the payload. Behind a proxy that changes the path, use [Verifier.Verify] with the path of
// the registered URL. Read fails with ErrTooLarge for a payload beyond the limit, and with the
// errors of [Verifier.Verify]. For a body that cannot be read or decompressed, Read returns a
// different error.
func (v Verifier) Read(r *http.Request, now time.Time) ([]byte, error) {
	body, err := decompressed(r)
	if err != nil {
		return nil, err
	}
	limit := v.limit()
	payload, err := io.ReadAll(io.LimitReader(body, max(limit, limit+1))) // one byte more, unless the sum overflows
	if err != nil {
		return nil, fmt.Errorf("read webhook body: %w", err)
	}
	if int64(len(payload)) > limit {
		return nil, ErrTooLarge
	}
	if err := v.Verify(r.Header, requestPath(r), payload, now); err != nil {
		return nil, err
	}
	return payload, nil
}

func (v Verifier) prefix() string {
	if v.Prefix == "" {
		return Prefix
	}
	return v.Prefix
}

func (v Verifier) limit() int64 {
	if v.Limit == 0 {
		return DefaultLimit
	}
	return v.Limit
}

func (v Verifier) checkDate(text string, now time.Time) error {
	date, err := time.Parse(DateFormat, text)
	if err != nil {
		return ErrDate
	}
	tolerance := v.Tolerance
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	if now.Sub(date).Abs() > tolerance {
		return ErrDate
	}
	return nil
}

func once(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", fmt.Errorf("%w: %s came %d times", ErrHeader, name, len(values))
	}
	return values[0], nil
}

func atMostOnce(header http.Header, name string) (string, error) {
	if len(header.Values(name)) == 0 {
		return "", nil
	}
	return once(header, name)
}

func decompressed(r *http.Request) (io.Reader, error) {
	if !strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		return r.Body, nil
	}
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, fmt.Errorf("decompress webhook body: %w", err)
	}
	return body, nil
}

// requestPath prefers the path on the request line, because routers that strip a prefix change the
// URL but not the request line.
func requestPath(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		return path
	}
	return r.URL.EscapedPath()
}
