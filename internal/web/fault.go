package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"passerelle"
)

// FaultPage is a failure that a user sees on a separate page. Title and Text are the texts of the
// page, or the keys of these texts for pages in several languages.
type FaultPage struct {
	Status      int
	Title, Text string
	// Again is set when the page suggests trying again. The response then has a Retry-After header.
	Again bool
}

// Error returns a text with the title of the page.
func (f *FaultPage) Error() string { return "page answered with: " + f.Title }

// Faults shows the failures of one group of pages. Every field is required.
type Faults struct {
	Pages *Pages
	Log   *slog.Logger
	// Failure is the log message for an internal error.
	Failure string
	// NoPage is the page for unknown addresses. Busy is the page for failures that may end when the
	// user tries again. Method is the page for a method that the address does not accept. Bug is
	// the page for all other errors.
	NoPage, Busy, Bug, Method *FaultPage
}

// classify returns the page that a user sees for an error.
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

// Answer sends the page that the argument `describe` returns for a fault. For a status of 500 or
// more, it logs the details that the page does not show, with the request's id.
func (s Faults) Answer(ctx context.Context, w http.ResponseWriter, err error, request string, describe func(*FaultPage) Page) {
	f := s.classify(err)
	if f.Status >= http.StatusInternalServerError {
		s.Log.LogAttrs(ctx, slog.LevelError, s.Failure,
			slog.String("request_id", request), slog.Int("status", f.Status), slog.Any("error", err))
	}
	if f == s.Method {
		w.Header().Set("Allow", "GET, HEAD, POST")
	}
	if f.Again {
		w.Header().Set("Retry-After", "1")
	}
	page := describe(f)
	page.Name, page.Status = "fault", f.Status
	if err := s.Pages.Send(w, page); err != nil {
		s.Log.ErrorContext(ctx, "the page of a fault could not be rendered", "error", err)
		http.Error(w, page.Title, f.Status)
	}
}
