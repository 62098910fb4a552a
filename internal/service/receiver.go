package service

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpd"
)

// receiverPath is where the built-in receiver is; the rest of an address is the
// name under which a request is kept.
const receiverPath = "/sandbox/receiver/"

// receive is the built-in receiver of a sandbox domain: it keeps what arrives
// and accepts it.
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

// received is the body of a request that the receiver takes.
func received(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, &passerelle.Error{Kind: passerelle.Invalid, Code: "methodNotAllowed", Message: "Methods of this path: POST."}
	}
	sent := httpd.Bounded(w, r.Body, delivery.MaxReceivedBody)
	whole, err := plain(r.Header.Get("Content-Encoding"), sent)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(whole, delivery.MaxReceivedBody+1))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long), len(body) > delivery.MaxReceivedBody:
		return nil, &passerelle.Error{
			Kind: passerelle.TooLarge, Code: "payloadTooLarge",
			Message: fmt.Sprintf("The receiver takes bodies of at most %d bytes.", delivery.MaxReceivedBody),
		}
	case err != nil:
		return nil, badBody("The body ended before it was complete.")
	}
	return body, nil
}

// plain is a body as it was before it was encoded, which is what signatures are of.
func plain(encoding string, sent io.Reader) (io.Reader, error) {
	switch encoding {
	case "":
		return sent, nil
	case "gzip":
		whole, err := gzip.NewReader(sent)
		if err != nil {
			return nil, badBody("The body is not what its Content-Encoding, gzip, says.")
		}
		return whole, nil
	}
	return nil, badBody("The receiver takes bodies as they are and those with the Content-Encoding gzip.")
}

func badBody(message string) error {
	return &passerelle.Error{Kind: passerelle.Invalid, Code: "badRequest", Message: message}
}
