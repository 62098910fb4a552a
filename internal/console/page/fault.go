package page

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

func fault(status int, title, text string) *web.FaultPage {
	return &web.FaultPage{Status: status, Title: title, Text: text}
}

// These are errors that pages can show to operators.
var (
	ErrNoPage    = fault(http.StatusNotFound, "Page not found", "The address is wrong, or the page no longer exists.")
	errMethod    = fault(http.StatusMethodNotAllowed, "This cannot be done here", "The address does not accept this kind of request.")
	ErrForeign   = fault(http.StatusForbidden, "This form has expired", "It belongs to a session that has ended, or came from another site. Nothing was changed. Go back, reload the page and try again.")
	ErrForm      = fault(http.StatusBadRequest, "The form cannot be read", "The request is malformed. Nothing was changed.")
	errTooLarge  = fault(http.StatusRequestEntityTooLarge, "The form is too large", "It contains more than this page accepts. Nothing was changed.")
	ErrForbidden = fault(http.StatusForbidden, "Your role does not allow this", "Ask somebody with another role. Nothing was changed.")
	errBusy      = &web.FaultPage{Status: http.StatusServiceUnavailable, Title: "Not available right now", Text: "The service is busy or its database cannot be reached. Try again in a moment.", Again: true}
	errUnknown   = fault(http.StatusServiceUnavailable, "It is unknown whether this was done", "The database did not confirm the change in time. Check whether the change exists before you make it again.")
	errBug       = fault(http.StatusInternalServerError, "Something went wrong", "This is not your fault. The service's log has details under the number below.")
)

// faultData is the content of an error page.
type faultData struct {
	Title, Text, Request string
}

// fail sends an error page. For a failure of the service, it also logs the details that the page
// does not show. It redirects a person who is not signed in to the sign-in page.
func (h *Handler) fail(pc *Context, err error) {
	if errors.Is(err, operators.ErrNoSession) {
		web.Redirect(pc.Writer, Root+"sign-in")
		return
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = ErrNoPage
	case !reading(pc) && (errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrUnread)):
		err = fmt.Errorf("%w: %w", errUnknown, err)
	case errors.Is(err, store.ErrUnknown): // the page only records that an operator has read it
		err = fmt.Errorf("%w: %w", errBusy, err)
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

func reading(pc *Context) bool {
	return pc.Request.Method == http.MethodGet || pc.Request.Method == http.MethodHead
}

// UserMessage returns the text of an error that people may see. It returns false for all other
// errors.
func UserMessage(err error) (string, bool) {
	var wrong *passerelle.Error
	switch {
	case errors.Is(err, operators.ErrLocked):
		return "Too many failed attempts. Wait 15 minutes, or ask the person who runs the service.", true
	case errors.As(err, &wrong) && (errors.Is(err, passerelle.Invalid) || errors.Is(err, passerelle.Conflict) || errors.Is(err, passerelle.Unavailable)):
		return labelled(wrong), true
	}
	return "", false
}

// Reports makes the page describe the mistake that an error is about, and mark the field with the
// mistake. Each item of a list, such as redirect_uris[1], has the field of the list. Reports returns
// false for an error without a message for operators.
func (pc *Context) Reports(err error) bool {
	text, is := UserMessage(err)
	if is {
		pc.Problem = text
	}
	var wrong *passerelle.Error
	if is && errors.As(err, &wrong) {
		pc.Wrong, _ = itemOf(wrong.Field)
	}
	return is
}

// fieldLabels maps the names of the API's fields to the labels of the fields in forms.
var fieldLabels = map[string]string{
	"instructions[0].amount": "Amount", "instructions": "Amount", "config": "Key", "uuid": "UUID",
	"event": "Event", "url": "URL", "id_auth": "Authentication provider", "id_service": "Application", "id_user": "Only for user",
	"data": "Payload", "since": "Since", "config.url": "Token endpoint", "config.client_id": "Client id", "config.client_secret": "Client secret",
	"config.public_cert": "Certificate", "config.private_cert": "Private key",
	"number": "Number", "name": "Name", "kind": "Kind", "base_url": "Base URL", "address": "Address", "secret": "Secret", "logo": "Picture",
	"advance": "Advance by another duration", "set": "Set to a date and time",
	"key": "Key", "overlap": "Overlap", "date": "Date", "signature": "Signature", "reason": "Reason", "password": "New password",
	"sync_frequency": "Days between two synchronisations", "auth_mechanism": "Sign-in method", "instructions[0].label": "Label",
	"instructions[0].beneficiary.label": "Name of the payer", "description": "Description",
	"description_banks": "Description on the page to choose a bank", "description_providers": "Description on the page to choose a provider",
	"redirect_uris": "Redirect URIs", "primary_color": "Primary colour", "secondary_color": "Secondary colour",
}

// itemOf returns the list of an item, and the item's number from 1 on. It returns the number 0 for a
// field that is not an item.
func itemOf(field string) (string, int) {
	list, index, _ := strings.Cut(field, "[")
	if n, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
		return list, n + 1
	}
	return field, 0
}

// labelled returns the message of an error, with the label of the field instead of its name in the
// API.
func labelled(wrong *passerelle.Error) string {
	rest, named := strings.CutPrefix(wrong.Message, wrong.Field+": ")
	list, number := itemOf(wrong.Field)
	label := fieldLabels[list]
	if label == "" && strings.HasPrefix(list, "config.") { // the key of an application's text
		label = "Value"
	}
	if !named || label == "" {
		return wrong.Message
	}
	if number > 0 {
		label += fmt.Sprintf(", number %d", number)
	}
	return label + ": " + rest
}
