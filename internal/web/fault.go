package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"passerelle"
)

// FaultPage is a failure that a person reads about on a page of its own. Title and Text are
// words, or the keys of words where pages have several languages.
type FaultPage struct {
	Status      int
	Title, Text string
}

// Error names the fault.
func (f *FaultPage) Error() string { return "page answered with: " + f.Title }

// Faults answers the failures of one kind of pages. Every field is required.
type Faults struct {
	Pages *Pages
	Log   *slog.Logger
	// Failure is what the log says of an internal error.
	Failure string
	// NoPage answers where there is nothing, Busy where trying again helps, and Bug every
	// error that is no fault. Method answers a request of another method than the
	// address takes.
	NoPage, Busy, Bug, Method *FaultPage
}

// classify returns what a person may know of an error.
func (s Faults) classify(err error) *FaultPage {
	var known *FaultPage
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, passerelle.NotFound):
		return s.NoPage
	case errors.Is(err, passerelle.Unavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return s.Busy
	}
	return s.Bug
}

// Answer sends the page that describe makes of a fault, and logs what the page does not show,
// with the id of the request.
func (s Faults) Answer(ctx context.Context, w http.ResponseWriter, err error, request string, describe func(*FaultPage) Page) {
	f := s.classify(err)
	if f.Status >= http.StatusInternalServerError {
		s.Log.LogAttrs(ctx, slog.LevelError, s.Failure,
			slog.String("request_id", request), slog.Int("status", f.Status), slog.Any("error", err))
	}
	switch f {
	case s.Method:
		w.Header().Set("Allow", "GET, HEAD, POST")
	case s.Busy:
		w.Header().Set("Retry-After", "1")
	}
	page := describe(f)
	page.Name, page.Status = "fault", f.Status
	if err := s.Pages.Send(w, page); err != nil {
		s.Log.ErrorContext(ctx, "the page of a fault could not be rendered", "error", err)
		http.Error(w, page.Title, f.Status)
	}
}
