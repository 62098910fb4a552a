package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector/sandbox/customers"
	"passerelle/connector/sandbox/speech"
)

// pagesPath is the path of Pages.
const pagesPath = "/sandbox/bank/"

// approval is the query of a page's address with which loading the page approves the order (see
// question). The public test connector of this API family has the same query, and automated tests
// of its clients request the address without a browser.
const approval = "authFactorValue=AUTHENTICATION_VALIDATED"

// maxForm limits the size of a form. Every form of these pages is smaller.
const maxForm = 4 << 10

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// pageHeaders are sent with every response. Browsers also apply form-action to the redirects after
// a form. The client chooses the address to which the payer is redirected after the return URL. The
// policy therefore allows any address, but only two schemes.
var pageHeaders = map[string]string{
	"Content-Type":  "text/html; charset=utf-8",
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; style-src '" + styleHash() + "'; img-src data:; " +
		"form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'",
	"Referrer-Policy":        "no-referrer",
	"X-Content-Type-Options": "nosniff",
}

func styleHash() string {
	sum := sha256.Sum256([]byte(styleCSS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// view is the content of a page: an order, the question on an access page, a notice, or a shop's
// return page.
type view struct {
	speech.Speech
	Style template.CSS
	// Bank is the name of the bank. Letters are at most two initials of the name, which the page
	// shows as the bank's logo. Color is the name of the bank's colour in the style sheet.
	Bank, Letters, Color string
	// Fiction is the notice that nothing is real.
	Fiction string
	Title   string
	Notice  string
	Order   *orderView
	Access  *accessView
	Back    []pair
}

// Pages serves the bank's pages. Mount it at /sandbox/bank/. Anyone who has the id of a page may
// see the order and decide about it. For any other path, Pages shows a page with an error, because
// a mux of net/http would respond with plain text or a redirect.
func (b *Bank) Pages() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch id := strings.TrimPrefix(r.URL.Path, pagesPath); {
		case id == "" || strings.Contains(id, "/"):
			notFound(w, r)
		case reads(r) && strings.HasPrefix(id, accessPrefix):
			b.showAccess(w, r, id)
		case reads(r):
			b.show(w, r, id)
		case r.Method == http.MethodPost:
			b.decide(w, r, id)
		default:
			notAllowed(w, r, "GET, HEAD, POST")
		}
	})
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func (b *Bank) show(w http.ResponseWriter, r *http.Request, id string) {
	domain, key, ok := b.orderOf(id)
	if !ok {
		notFound(w, r)
		return
	}
	o, _, err := b.find(r.Context(), domain, key)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	if q, asked := o.question(); asked && q.loaded && r.Method == http.MethodGet && r.URL.RawQuery == approval {
		b.decided(w, r, domain, key, choice{decision: approve})
		return
	}
	b.showOrder(w, r, http.StatusOK, o, domain, key)
}

// decide records the payer's decision and sends the browser back. Only the first decision about a
// question counts. A different later decision gets a page with the first decision.
func (b *Bank) decide(w http.ResponseWriter, r *http.Request, id string) {
	domain, key, ok := b.orderOf(id)
	if !ok {
		notFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); errors.Is(err, passerelle.Unavailable) {
		b.fail(w, r, err) // the service has no capacity for the form now
		return
	}
	c := choice{decision(r.PostFormValue("decision")), r.PostFormValue("account"), r.PostFormValue("step")}
	if !c.known() {
		notice(w, r, http.StatusBadRequest, "Your decision was not understood", "Nothing has been decided. Go back and use one of the buttons.")
		return
	}
	b.decided(w, r, domain, key, c)
}

// decided records a choice and sends the browser back.
func (b *Bank) decided(w http.ResponseWriter, r *http.Request, domain passerelle.DomainID, key string, c choice) {
	o, back, err := b.take(r.Context(), domain, key, c)
	switch {
	case err != nil:
		b.fail(w, r, err)
	case o.Decision != c.decision:
		b.showOrder(w, r, http.StatusConflict, o, domain, key)
	default:
		setHeaders(w)
		http.Redirect(w, r, back, http.StatusSeeOther)
	}
}

// take records a choice, and returns the address to which the browser is redirected.
func (b *Bank) take(ctx context.Context, domain passerelle.DomainID, key string, c choice) (order, string, error) {
	var back string
	o, err := b.change(ctx, domain, key, func(o *order) bool {
		back = o.back(c.decision, b.Page(domain, key))
		return o.decide(c, b.Timing)
	})
	return o, back, err
}

// Decide presses a button on an order's page, for a scenario. It returns the address to which the
// browser would be redirected. It fails with Invalid when there is no such button, and with
// Conflict when the page does not offer the button now, unless this button was pressed last.
func (b *Bank) Decide(ctx context.Context, domain passerelle.DomainID, key, button, account string) (string, error) {
	c := choice{decision: decision(button), account: account}
	if !c.known() {
		return "", passerelle.InvalidField("decision", "no page of the bank has that button")
	}
	o, back, err := b.take(ctx, domain, key, c)
	if err == nil && o.Decision != c.decision {
		err = passerelle.Conflicting("The bank is not asking for this now.")
	}
	return back, err
}

func (b *Bank) showOrder(w http.ResponseWriter, r *http.Request, code int, o order, domain passerelle.DomainID, key string) {
	says := speech.To(r, o.Language)
	shown := newOrderView(says, o, b.reference(domain, key))
	v := brandedAs(o.Connector)
	v.Speech, v.Title, v.Order = says, shown.Title, shown
	if shown.App {
		v.Bank = says.Say("%s app", v.Bank)
	}
	render(w, code, v)
}

// lettersOf returns the initials of the first two words of a name.
func lettersOf(name string) string {
	letters := []rune(customers.Labels(name, 0).Slug)
	return string(letters[:min(2, len(letters))])
}

// brandedAs returns a page with the name and colour of a connector's bank.
func brandedAs(uuid string) view {
	i := max(slices.IndexFunc(variants, func(v variant) bool { return v.uuid == uuid }), 0)
	v := variants[i]
	return view{Bank: v.name, Letters: lettersOf(v.name), Color: fmt.Sprintf("b%d", v.id%customers.Colors)}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	notice(w, r, http.StatusNotFound, "This page does not exist",
		"The address is incomplete, or the payment it belonged to is gone. Go back to where you came from and start again.")
}

func notAllowed(w http.ResponseWriter, r *http.Request, methods string) {
	w.Header().Set("Allow", methods)
	notice(w, r, http.StatusMethodNotAllowed, "This page accepts no input", "Open it through a link, or go back to where you came from.")
}

func (b *Bank) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errNoOrder) {
		notFound(w, r)
		return
	}
	if errors.Is(err, passerelle.Unavailable) {
		notice(w, r, http.StatusServiceUnavailable, "The bank is busy", "Your decision was not recorded. Load this page again in a moment.")
		return
	}
	b.Log.ErrorContext(r.Context(), "a page of the sandbox bank could not be served", "error", err)
	notice(w, r, http.StatusInternalServerError, "The bank is not available",
		"Something went wrong on our side. Your decision may not have been recorded: load this page again to see.")
}

func notice(w http.ResponseWriter, r *http.Request, code int, title, text string) {
	v := brandedAs(TestConnector)
	v.Speech = speech.To(r, "")
	v.Title, v.Notice = v.Say(title), v.Say(text)
	render(w, code, v)
}

// render sends a page only after the complete page is rendered. Rendering cannot fail, because the
// template is fixed and the data is plain.
func render(w http.ResponseWriter, code int, v view) {
	v.Style = template.CSS(styleCSS)
	v.Fiction = v.Say(cmp.Or(v.Fiction, "This bank does not exist."))
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, v); err != nil {
		panic("sandbox: " + err.Error())
	}
	setHeaders(w)
	w.WriteHeader(code)
	_, _ = w.Write(page.Bytes()) // the browser may have left
}

func setHeaders(w http.ResponseWriter) {
	for name, value := range pageHeaders {
		w.Header().Set(name, value)
	}
}
