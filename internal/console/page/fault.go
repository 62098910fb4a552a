package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// FaultPage is a failure that a person is told about.
type FaultPage struct {
	Status      int
	Title, Text string
}

// Error names the fault.
func (f *FaultPage) Error() string { return "page answered with: " + f.Title }

// The faults an operator can meet.
var (
	ErrNoPage    = &FaultPage{http.StatusNotFound, "There is nothing here", "The address is wrong, or what was here is gone."}
	errMethod    = &FaultPage{http.StatusMethodNotAllowed, "That cannot be done here", "The address does not take requests of this kind."}
	ErrForeign   = &FaultPage{http.StatusForbidden, "This form is not ours", "It was made by another site, or for a session that is over. Nothing was changed. Go back, load the page anew and try again."}
	ErrForm      = &FaultPage{http.StatusBadRequest, "The form cannot be read", "It is broken. Nothing was changed."}
	errTooLarge  = &FaultPage{http.StatusRequestEntityTooLarge, "The form is too large", "It holds more than this page takes. Nothing was changed."}
	ErrForbidden = &FaultPage{http.StatusForbidden, "Your role does not do that", "Ask somebody with another role. Nothing was changed."}
	errBusy      = &FaultPage{http.StatusServiceUnavailable, "Not right now", "The service is busy or its database cannot be reached. Try again in a moment."}
	errBug       = &FaultPage{http.StatusInternalServerError, "Something went wrong", "It is not your fault. The log of the service says more, under the number below."}
)

// classify finds what a person may know of an error.
func classify(err error) *FaultPage {
	var known *FaultPage
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, passerelle.NotFound), errors.Is(err, store.ErrNotFound):
		return ErrNoPage
	case errors.Is(err, passerelle.Unavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errBusy
	}
	return errBug
}

// faultData is what the page of a fault shows.
type faultData struct {
	Title, Text, Request string
}

// fail answers with the page of a fault, and logs what the page does not say. Who
// is not signed in is sent to do so.
func (h *Handler) fail(pc *Context, err error) {
	if errors.Is(err, operators.ErrNoSession) {
		web.Redirect(pc.Writer, Root+"sign-in")
		return
	}
	f := classify(err)
	if f.Status >= http.StatusInternalServerError {
		h.Log.LogAttrs(pc, slog.LevelError, "a page of the console could not be served",
			slog.String("request_id", h.RequestID(pc)), slog.Int("status", f.Status), slog.Any("error", err))
	}
	switch f {
	case errMethod:
		pc.Writer.Header().Set("Allow", "GET, HEAD, POST")
	case errBusy:
		pc.Writer.Header().Set("Retry-After", "1")
	}
	sending := own.Send(pc.Writer, web.Page{
		Name: "fault", Status: f.Status, Words: web.Words{Lang: "en"}, Title: f.Title + " · Passerelle", Sheets: sheets,
		Body: frame{Data: faultData{f.Title, f.Text, h.RequestID(pc)}},
	})
	if sending != nil {
		h.Log.ErrorContext(pc, "the page of a fault could not be rendered", "error", sending)
		http.Error(pc.Writer, f.Title, f.Status)
	}
}

// UserMessage is what an error says to people, if it says anything to them.
func UserMessage(err error) (string, bool) {
	var wrong *passerelle.Error
	switch {
	case errors.Is(err, operators.ErrLocked):
		return "Too many attempts have failed. Wait a quarter of an hour, or ask whoever runs the service.", true
	case errors.Is(err, operators.ErrRefused):
		return "That is not right.", true
	case errors.As(err, &wrong) && (errors.Is(err, passerelle.Invalid) || errors.Is(err, passerelle.Conflict) || errors.Is(err, passerelle.Unavailable)):
		return wrong.Message, true
	}
	return "", false
}
