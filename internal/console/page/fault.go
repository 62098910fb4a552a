package page

import (
	"errors"
	"net/http"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func fault(status int, title, text string) *web.FaultPage {
	return &web.FaultPage{Status: status, Title: title, Text: text}
}

// The errors that a page can show to an operator.
var (
	ErrNoPage    = fault(http.StatusNotFound, "There is nothing here", "The address is wrong, or what was here is gone.")
	errMethod    = fault(http.StatusMethodNotAllowed, "That cannot be done here", "The address does not take requests of this kind.")
	ErrForeign   = fault(http.StatusForbidden, "This form is not ours", "It was made by another site, or for a session that is over. Nothing was changed. Go back, load the page anew and try again.")
	ErrForm      = fault(http.StatusBadRequest, "The form cannot be read", "It is broken. Nothing was changed.")
	errTooLarge  = fault(http.StatusRequestEntityTooLarge, "The form is too large", "It holds more than this page takes. Nothing was changed.")
	ErrForbidden = fault(http.StatusForbidden, "Your role does not do that", "Ask somebody with another role. Nothing was changed.")
	errBusy      = fault(http.StatusServiceUnavailable, "Not right now", "The service is busy or its database cannot be reached. Try again in a moment.")
	errBug       = fault(http.StatusInternalServerError, "Something went wrong", "It is not your fault. The log of the service says more, under the number below.")
)

// faultData is the content of a fault's page.
type faultData struct {
	Title, Text, Request string
}

// fail sends an error page, and logs the details that the page does not show. A person who is
// not signed in is redirected to sign in.
func (h *Handler) fail(pc *Context, err error) {
	if errors.Is(err, operators.ErrNoSession) {
		web.Redirect(pc.Writer, Root+"sign-in")
		return
	}
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNoPage
	}
	request := h.RequestID(pc)
	faults := web.Faults{Pages: own, Log: h.Log, Failure: "a page of the console could not be served", NoPage: ErrNoPage, Busy: errBusy, Bug: errBug, Method: errMethod}
	faults.Answer(pc, pc.Writer, err, request, func(f *web.FaultPage) web.Page {
		return web.Page{
			Words: web.Words{Lang: "en"}, Title: f.Title + " · Passerelle", Sheets: sheets,
			Body: frame{Data: faultData{f.Title, f.Text, request}},
		}
	})
}

// UserMessage returns the text of an error for people, if it has one.
func UserMessage(err error) (string, bool) {
	var wrong *passerelle.Error
	switch {
	case errors.Is(err, operators.ErrLocked):
		return "Too many attempts have failed. Wait a quarter of an hour, or ask whoever runs the service.", true
	case errors.Is(err, operators.ErrRefused):
		return "That is wrong. Check what you typed.", true
	case errors.As(err, &wrong) && (errors.Is(err, passerelle.Invalid) || errors.Is(err, passerelle.Conflict) || errors.Is(err, passerelle.Unavailable)):
		return wrong.Message, true
	}
	return "", false
}
