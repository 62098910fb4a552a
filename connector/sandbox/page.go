package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"passerelle"
)

// pagesPath is where Pages are mounted.
const pagesPath = "/sandbox/bank/"

// maxForm is far more than the few values that the form has.
const maxForm = 4 << 10

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// pageHeaders go with every answer. Browsers apply form-action to each redirect after the form,
// and the client decides where the payer goes after the return URL. So addresses are open and
// schemes are not.
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

// view is the content of a page: an order, a question for access, a notice, or a shop's
// return page.
type view struct {
	Style template.CSS
	Bank  string
	// Fiction says what is not real.
	Fiction string
	Title   string
	Notice  string
	Order   *orderView
	Access  *accessView
	Back    []pair
}

// Pages serves the bank's pages, to be mounted at /sandbox/bank/. Knowing the id of a page is
// the right to see the order and to decide on it. Any other path gets a page that says so, not
// the plain text or redirect of a mux of net/http.
func (b *Bank) Pages() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch id := strings.TrimPrefix(r.URL.Path, pagesPath); {
		case id == "" || strings.Contains(id, "/"):
			notFound(w)
		case reads(r) && strings.HasPrefix(id, accessPrefix):
			b.showAccess(w, id)
		case reads(r):
			b.show(w, r, id)
		case r.Method == http.MethodPost:
			b.decide(w, r, id)
		default:
			notAllowed(w, "GET, HEAD, POST")
		}
	})
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func (b *Bank) show(w http.ResponseWriter, r *http.Request, id string) {
	domain, key, ok := b.orderOf(id)
	if !ok {
		notFound(w)
		return
	}
	o, _, err := b.find(r.Context(), domain, key)
	if err != nil {
		b.fail(r.Context(), w, err)
		return
	}
	b.showOrder(w, http.StatusOK, o, domain, key)
}

// decide records the payer's decision and sends the browser back. Only the first decision
// counts; later ones get the result of the first.
func (b *Bank) decide(w http.ResponseWriter, r *http.Request, id string) {
	domain, key, ok := b.orderOf(id)
	if !ok {
		notFound(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); errors.Is(err, passerelle.Unavailable) {
		b.fail(r.Context(), w, err) // there is no room for it
		return
	}
	c := choice{decision(r.PostFormValue("decision")), r.PostFormValue("account"), r.PostFormValue("step")}
	if !c.known() {
		notice(w, http.StatusBadRequest, "That was neither yes nor no", "Go back and choose one of the buttons. Nothing has been decided.")
		return
	}
	o, back, err := b.take(r.Context(), domain, key, c)
	switch {
	case err != nil:
		b.fail(r.Context(), w, err)
	case o.Decision != c.decision:
		b.showOrder(w, http.StatusConflict, o, domain, key)
	default:
		setHeaders(w)
		http.Redirect(w, r, back, http.StatusSeeOther)
	}
}

// take records a choice, and returns where the browser goes then.
func (b *Bank) take(ctx context.Context, domain passerelle.DomainID, key string, c choice) (order, string, error) {
	var back string
	o, err := b.change(ctx, domain, key, func(o *order) bool {
		back = o.back(c.decision, b.Page(domain, key))
		return o.decide(c, b.Timing)
	})
	return o, back, err
}

// Decide presses a button of an order's page for a scenario. It returns where the browser would
// go then. It is Invalid when there is no such button, and a Conflict when it is not offered
// now.
func (b *Bank) Decide(ctx context.Context, domain passerelle.DomainID, key, button, account string) (string, error) {
	c := choice{decision: decision(button), account: account}
	if !c.known() {
		return "", passerelle.InvalidField("decision", "no page of the bank has that button")
	}
	o, back, err := b.take(ctx, domain, key, c)
	if err == nil && o.Decision != c.decision {
		err = passerelle.Conflicting("The bank does not ask for that now.")
	}
	return back, err
}

func (b *Bank) showOrder(w http.ResponseWriter, code int, o order, domain passerelle.DomainID, key string) {
	shown := newOrderView(o, b.reference(domain, key))
	render(w, code, view{Bank: shown.Bank, Title: shown.Title, Order: shown})
}

func notFound(w http.ResponseWriter) {
	notice(w, http.StatusNotFound, "There is no such page at this bank",
		"The address is incomplete, or the payment it belonged to is gone. Go back to where you came from and start again.")
}

func notAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	notice(w, http.StatusMethodNotAllowed, "This page is for reading", "Follow a link to it, or go back to where you came from.")
}

func (b *Bank) fail(ctx context.Context, w http.ResponseWriter, err error) {
	if errors.Is(err, errNoOrder) {
		notFound(w)
		return
	}
	if errors.Is(err, passerelle.Unavailable) {
		notice(w, http.StatusServiceUnavailable, "The bank is busy", "Your decision was not recorded. Load this page again in a moment.")
		return
	}
	b.Log.ErrorContext(ctx, "a page of the sandbox bank could not be served", "error", err)
	notice(w, http.StatusInternalServerError, "The bank is out of reach",
		"Something went wrong on our side. Your decision may not have been recorded: load this page again to see.")
}

func notice(w http.ResponseWriter, code int, title, text string) {
	render(w, code, view{Title: title, Notice: text})
}

// render renders the complete page before it answers, so that half a page is never sent. The
// template is fixed and its data are plain: it cannot fail.
func render(w http.ResponseWriter, code int, v view) {
	v.Style = template.CSS(styleCSS)
	v.Bank, v.Fiction = cmp.Or(v.Bank, bankName), cmp.Or(v.Fiction, "This bank does not exist.")
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
