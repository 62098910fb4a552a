package service

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpd"
)

// receiverPath is the path of the built-in receiver. The rest of a request's path is the name under
// which the receiver stores the request.
const receiverPath = "/sandbox/receiver/"

// receive handles the requests to the built-in receiver of a sandbox domain. It stores each request
// that it accepts.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) {
	if err := s.keep(w, r); err != nil {
		s.api.Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Service) keep(w http.ResponseWriter, r *http.Request) error {
	d, err := s.domain(r.Context(), r.Host)
	if err != nil {
		return err
	}
	body, err := received(w, r)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(r.URL.Path, receiverPath)
	if _, err := s.Delivery.Receive(r.Context(), d, name, r.Header, r.URL.EscapedPath(), body); err != nil {
		return fmt.Errorf("keep a request for the built-in receiver: %w", err)
	}
	return nil
}

// received returns the body of a request, or an error if the receiver does not accept the
// request.
func received(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, &passerelle.Error{Kind: passerelle.Invalid, Code: "methodNotAllowed", Message: "Methods of this path: POST."}
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding != "" && encoding != "gzip" {
		return nil, badBody("The receiver takes bodies as they are and those with the Content-Encoding gzip.")
	}
	body, err := io.ReadAll(httpd.Bounded(w, r.Body, delivery.MaxReceivedBody))
	if err == nil && encoding == "gzip" {
		body, err = inflate(r.Context(), body)
	}
	return body, receivingError(err)
}

// inflate returns the decompressed body. Signatures cover this form of the body. The argument sent
// must be the complete compressed body, because inflate must not read from the connection. A call
// that waits for bytes that may never arrive could use a thousand times the memory of the
// compressed body.
func inflate(ctx context.Context, sent []byte) ([]byte, error) {
	whole, err := gzip.NewReader(bytes.NewReader(sent))
	if err != nil {
		return nil, badBody("The body is not what its Content-Encoding, gzip, says.")
	}
	body, err := io.ReadAll(io.LimitReader(httpd.Counted(ctx, whole), delivery.MaxReceivedBody+1))
	if len(body) > delivery.MaxReceivedBody {
		return nil, &http.MaxBytesError{Limit: delivery.MaxReceivedBody}
	}
	return body, err
}

func receivingError(err error) error {
	var (
		long     *http.MaxBytesError
		reported *passerelle.Error
	)
	switch {
	case err == nil, errors.As(err, &reported):
		return err
	case errors.As(err, &long):
		return &passerelle.Error{
			Kind: passerelle.TooLarge, Code: "payloadTooLarge",
			Message: fmt.Sprintf("The receiver takes bodies of at most %d bytes.", delivery.MaxReceivedBody),
		}
	}
	return badBody("The body ended before it was complete.")
}

func badBody(message string) error {
	return &passerelle.Error{Kind: passerelle.Invalid, Code: "badRequest", Message: message}
}
