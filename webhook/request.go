package webhook

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// Verify is the only function that a receiver must call. It reads the body of a request, at most
// DefaultLimit bytes after decompression, and checks date and signature. It then puts the
// decompressed payload back as the body, so that the handler can read it as usual. tolerance is how
// far the signature date may be from the clock of the machine, in both directions. Zero means
// DefaultTolerance. On an error, the body may be consumed. Receivers should then respond with 413
// for ErrTooLarge, and with 401 for any other error. Verify returns the errors of [Verifier.Read].
func Verify(r *http.Request, secret string, tolerance time.Duration) error {
	return Verifier{Secret: secret, Tolerance: tolerance}.Accept(r, time.Now())
}

// Accept works like [Verify], at an instant that the caller chooses. It returns the errors of
// [Verifier.Read]. On an error, the body may be consumed.
func (v Verifier) Accept(r *http.Request, now time.Time) error {
	payload, err := v.Read(r, now)
	if err != nil {
		return err
	}
	r.Header.Del("Content-Encoding")
	r.ContentLength = int64(len(payload))
	r.Body = io.NopCloser(bytes.NewReader(payload))
	return nil
}
