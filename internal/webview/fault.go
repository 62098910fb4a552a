package webview

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// fault returns an error page. The keys of the page's texts begin with "fault.", followed by
// the argument `name`.
func fault(status int, name string) *web.FaultPage {
	return &web.FaultPage{Status: status, Title: "fault." + name + ".title", Text: "fault." + name + ".text"}
}

// again returns an error page that suggests trying again.
func again(f *web.FaultPage) *web.FaultPage {
	f.Again = true
	return f
}

// These are the errors that any page can show.
var (
	errLink     = fault(http.StatusUnauthorized, "link")
	errNoPage   = fault(http.StatusNotFound, "page")
	errUsed     = fault(http.StatusUnauthorized, "used")
	errSender   = fault(http.StatusBadRequest, "sender")
	errMethod   = fault(http.StatusMethodNotAllowed, "method")
	errForeign  = fault(http.StatusForbidden, "foreign")
	errCrammed  = fault(http.StatusBadRequest, "crammed")
	errForm     = fault(http.StatusBadRequest, "form")
	errTooLarge = fault(http.StatusRequestEntityTooLarge, "form")
	errMany     = fault(http.StatusTooManyRequests, "many")
	errBusy     = again(fault(http.StatusServiceUnavailable, "busy"))
	errBug      = fault(http.StatusInternalServerError, "bug")

	// These take the place of errBusy and errBug after a form about a connection. The form may have
	// had an effect, and sending it again could have the effect twice. Forms about payments have
	// their effect once.
	errBusyUnknown = fault(http.StatusServiceUnavailable, "unknown")
	errBugUnknown  = fault(http.StatusInternalServerError, "unknown")

	// These are the errors that pages about connections can show.
	errWrong     = fault(http.StatusBadRequest, "wrong")
	errElsewhere = fault(http.StatusForbidden, "elsewhere")
	errOver      = fault(http.StatusUnauthorized, "over")
	errEnded     = fault(http.StatusUnauthorized, "ended")
	errStrange   = fault(http.StatusForbidden, "strange")
	errUnread    = fault(http.StatusBadRequest, "unread")
)

// explained is an error page that also shows the exact cause, in the words of the API. The
// developers who made the link need this cause.
type explained struct {
	fault  *web.FaultPage
	detail string
}

// Error returns the texts of the fault and of its detail.
func (e *explained) Error() string { return e.fault.Error() + ": " + e.detail }

// Unwrap returns the fault without the detail.
func (e *explained) Unwrap() error { return e.fault }

// wrongLink converts an Invalid error about a link to an error page. It does not change nil or any
// other error.
func wrongLink(err error) error {
	if errors.Is(err, passerelle.Invalid) {
		return &explained{errWrong, messageOf(err)}
	}
	return err
}

// messageOf returns the message that clients of the API see for an error, or an empty text.
func messageOf(err error) string {
	var reported *passerelle.Error
	if errors.As(err, &reported) {
		return reported.Message
	}
	return ""
}

// faultBody is the content of an error page.
type faultBody struct {
	frame
	Title, Text string
	// Detail is the exact cause, for the developers who made the link.
	Detail string
	// Request is the request's id. Support finds the request in the log by this id.
	Request string
	// Back is the address of the application, or empty.
	Back string
}

// wayBack returns the address and the name of the application, for a person who cannot continue.
// wayBack uses the address in the link if the application may use this address. Otherwise it uses
// the address of a payment for which this browser has a cookie.
func (w *Webview) wayBack(pc *pageContext) (string, string) {
	query := pc.request.URL.Query()
	if client, err := w.namedClient(pc, query); err == nil && w.acceptable(pc, access.Principal{Client: client.ID}, query.Get(redirectParameter)) {
		return stateOf(query.Get(stateParameter)).at(query.Get(redirectParameter)), client.Name
	}
	id, err := strconv.ParseInt(query.Get("payment_id"), 10, 64)
	s := &payerSession{}
	if err != nil || w.sealer.Read(pc.request, cookieName(passerelle.PaymentID(id)), &s.session) != nil {
		return "", ""
	}
	if s.payment, err = w.DB.Payment(pc.context(), pc.domain.ID, s.Payment, false); err != nil {
		return "", ""
	}
	if s.client, err = w.DB.Client(pc.context(), pc.domain.ID, s.payment.Client); err != nil {
		return "", ""
	}
	reported := stateOf(cmp.Or(s.payment.ClientState, s.State))
	url.Values(reported).Set("id_payment", paymentText(s.Payment))
	return reported.at(cmp.Or(s.RedirectURI, s.payment.ClientRedirectURI)), s.client.Name
}

// framedBy lists the origins that may show an error page in a frame. These are the origins of the
// client that the link or the flow's cookie names. Pages about payments have no such origins. After
// a failure of the service, framedBy reads nothing, because the database may be what failed. For
// other errors, wayBack has already loaded the client of the link.
func (w *Webview) framedBy(pc *pageContext, status int) []string {
	if pc.flow == "" || pc.flow == flowPayment {
		return nil
	}
	if pc.client != nil {
		return access.FrameOrigins(*pc.client)
	}
	t := flowState{}
	if status >= http.StatusInternalServerError || w.sealer.Read(pc.request, flowCookieName(pc.request.URL.Query().Get(handleParameter)), &t) != nil {
		return nil
	}
	client, err := w.DB.Client(pc.context(), pc.domain.ID, t.Client)
	if err != nil {
		return nil
	}
	return access.FrameOrigins(client)
}

// stateOf returns a result that contains only the application's own state parameter.
func stateOf(state string) result {
	if state == "" {
		return result{}
	}
	return result{stateParameter: {state}}
}

// fail sends an error page. For a failure of the service, it also logs the details that the page
// does not show.
func (w *Webview) fail(pc *pageContext, err error) {
	ctx, request := pc.context(), w.RequestID(pc.context())
	faults := web.Faults{Pages: pages, Log: w.Log, Failure: "a payment page could not be served", NoPage: errNoPage, Busy: errBusy, Bug: errBug, Method: errMethod}
	if pc.flow != "" && pc.flow != flowPayment && !pc.reading() {
		faults.Busy, faults.Bug = errBusyUnknown, errBugUnknown
	}
	if errors.Is(err, store.ErrUnknown) {
		err = fmt.Errorf("%w: %w", faults.Busy, err)
	}
	faults.Answer(ctx, pc.writer, err, request, func(f *web.FaultPage) web.Page {
		body := faultBody{Title: pc.words.Say(f.Title), Text: pc.words.Say(f.Text), Request: request}
		var e *explained
		if errors.As(err, &e) {
			body.Detail = e.detail
		}
		if f.Status < http.StatusInternalServerError {
			body.Back, body.Seller = w.wayBack(pc)
		}
		if f == errSender && body.Back != "" { // the page has a button with the name of the site
			body.Title, body.Text = pc.words.Say(errWrong.Title), pc.words.Say(errWrong.Text)
		}
		return web.Page{Words: pc.words, Title: body.Title, Simulated: pc.simulated(), Body: body, Sheets: sheets, Ancestors: w.framedBy(pc, f.Status)}
	})
}
