package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// fault is a failure that a person is told about.
type fault struct {
	status      int
	title, text string
}

// Error names the fault.
func (f *fault) Error() string { return "page answered with: " + f.title }

// The faults an operator can meet.
var (
	errNoPage    = &fault{http.StatusNotFound, "There is nothing here", "The address is wrong, or what was here is gone."}
	errMethod    = &fault{http.StatusMethodNotAllowed, "That cannot be done here", "The address does not take requests of this kind."}
	errForeign   = &fault{http.StatusForbidden, "This form is not ours", "It was made by another site, or for a session that is over. Nothing was changed. Go back, load the page anew and try again."}
	errForm      = &fault{http.StatusBadRequest, "The form cannot be read", "It is too large or broken. Nothing was changed."}
	errForbidden = &fault{http.StatusForbidden, "Your role does not do that", "Ask somebody with another role. Nothing was changed."}
	errBusy      = &fault{http.StatusServiceUnavailable, "Not right now", "The service is busy or its database cannot be reached. Try again in a moment."}
	errBug       = &fault{http.StatusInternalServerError, "Something went wrong", "It is not your fault. The log of the service says more, under the number below."}
)

// classify finds what a person may know of an error.
func classify(err error) *fault {
	var known *fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, passerelle.NotFound), errors.Is(err, store.ErrNotFound):
		return errNoPage
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
func (c *Console) fail(v *visit, err error) {
	if errors.Is(err, admission.ErrNoSession) {
		web.Redirect(v.writer, Root+"sign-in")
		return
	}
	f := classify(err)
	if f.status >= http.StatusInternalServerError {
		c.Log.LogAttrs(v, slog.LevelError, "a page of the console could not be served",
			slog.String("request_id", c.RequestID(v)), slog.Int("status", f.status), slog.Any("error", err))
	}
	if f == errMethod {
		v.writer.Header().Set("Allow", "GET, HEAD, POST")
	}
	sending := pages.Send(v.writer, web.Page{
		Name: "fault", Status: f.status, Words: web.Words{Lang: "en"}, Title: f.title + " · Passerelle", Sheet: "console.css",
		Body: frame{Data: faultData{f.title, f.text, c.RequestID(v)}},
	})
	if sending != nil {
		c.Log.ErrorContext(v, "the page of a fault could not be rendered", "error", sending)
		http.Error(v.writer, f.title, f.status)
	}
}

// told is what an error says to people, if it says anything to them.
func told(err error) (string, bool) {
	var wrong *passerelle.Error
	switch {
	case errors.Is(err, admission.ErrLocked):
		return "Too many attempts have failed. Wait a quarter of an hour, or ask whoever runs the service.", true
	case errors.Is(err, admission.ErrRefused):
		return "That is not right.", true
	case errors.As(err, &wrong) && (errors.Is(err, passerelle.Invalid) || errors.Is(err, passerelle.Conflict)):
		return wrong.Message, true
	}
	return "", false
}
