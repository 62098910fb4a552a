package webview

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"passerelle"
	"passerelle/internal/web"
)

// fault is a failure that a person is told about. Its texts are under keys that
// begin with its name.
type fault struct {
	status int
	name   string
}

// Error names the fault.
func (f *fault) Error() string { return "page answered with fault " + f.name }

// The faults a person can meet.
var (
	errLink     = &fault{http.StatusUnauthorized, "link"}
	errNoPage   = &fault{http.StatusNotFound, "page"}
	errUsed     = &fault{http.StatusUnauthorized, "used"}
	errSender   = &fault{http.StatusBadRequest, "sender"}
	errMethod   = &fault{http.StatusMethodNotAllowed, "method"}
	errForeign  = &fault{http.StatusForbidden, "foreign"}
	errTooLong  = &fault{http.StatusBadRequest, "long"}
	errForm     = &fault{http.StatusBadRequest, "form"}
	errTooLarge = &fault{http.StatusRequestEntityTooLarge, "form"}
	errBusy     = &fault{http.StatusServiceUnavailable, "busy"}
	errBug      = &fault{http.StatusInternalServerError, "bug"}

	// Those that a person meets on the way to a connection.
	errWrong     = &fault{http.StatusBadRequest, "wrong"}
	errElsewhere = &fault{http.StatusForbidden, "elsewhere"}
	errOver      = &fault{http.StatusUnauthorized, "over"}
	errEnded     = &fault{http.StatusUnauthorized, "ended"}
	errStrange   = &fault{http.StatusForbidden, "strange"}
	errUnread    = &fault{http.StatusBadRequest, "unread"}
	errCrammed   = &fault{http.StatusBadRequest, "crammed"}
)

// explained is a fault with what exactly is wrong, in the words of the interface:
// for those who made the link.
type explained struct {
	fault  *fault
	detail string
}

// Error names the fault with its detail.
func (e *explained) Error() string { return e.fault.Error() + ": " + e.detail }

// Unwrap is the fault.
func (e *explained) Unwrap() error { return e.fault }

// wrongLink is what is wrong with a link, nil for nothing. Errors of our own stay
// what they are.
func wrongLink(err error) error {
	if errors.Is(err, passerelle.Invalid) {
		return &explained{errWrong, messageOf(err)}
	}
	return err
}

// messageOf is the text of an error for the client.
func messageOf(err error) string {
	var reported *passerelle.Error
	if errors.As(err, &reported) {
		return reported.Message
	}
	return ""
}

// faultBody is what the page of a fault shows.
type faultBody struct {
	frame
	Title, Text string
	// Detail is what exactly is wrong, for those who made the link.
	Detail string
	// Request is what support needs to find out what happened.
	Request string
}

// classify finds what a person may know of an error.
func classify(err error) *fault {
	var known *fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, passerelle.NotFound):
		return errNoPage
	case errors.Is(err, passerelle.Unavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errBusy
	}
	return errBug
}

// fail answers with the page of a fault, and logs what the page does not say.
func (w *Webview) fail(pc *pageContext, err error) {
	f, ctx := classify(err), pc.context()
	if f.status >= http.StatusInternalServerError {
		w.Log.LogAttrs(ctx, slog.LevelError, "a payment page could not be served",
			slog.String("request_id", w.RequestID(ctx)), slog.Int("status", f.status), slog.Any("error", err))
	}
	switch f {
	case errMethod:
		pc.writer.Header().Set("Allow", "GET, HEAD, POST")
	case errBusy:
		pc.writer.Header().Set("Retry-After", "1")
	}
	title := pc.words.Say("fault." + f.name + ".title")
	body := faultBody{Title: title, Text: pc.words.Say("fault." + f.name + ".text"), Request: w.RequestID(ctx)}
	var e *explained
	if errors.As(err, &e) {
		body.Detail = e.detail
	}
	sending := pages.Send(pc.writer, web.Page{Name: "fault", Status: f.status, Words: pc.words, Title: title, Simulated: pc.simulated(), Body: body})
	if sending != nil {
		w.Log.ErrorContext(ctx, "the page of a fault could not be rendered", "error", sending)
		http.Error(pc.writer, title, f.status)
	}
}
