package httpd

import (
	"io"
	"net/http"
)

// Bounded is the body of a request up to so many bytes: reading on is an
// *http.MaxBytesError, after which the server reads nothing more from the client,
// answers without waiting for the rest, and closes the connection in a way that
// lets the client read the answer. Only the innermost writer knows that server, so
// it is looked for below those around it.
func Bounded(w http.ResponseWriter, body io.ReadCloser, most int64) io.ReadCloser {
	for {
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return http.MaxBytesReader(w, body, most)
		}
		w = outer.Unwrap()
	}
}
