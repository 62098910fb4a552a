package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/payment"
)

// pagesPath is where Pages are mounted.
const pagesPath = "/sandbox/bank/"

// maxForm is far more than the one value that the form has.
const maxForm = 4 << 10

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// pageHeaders go with every answer. Browsers hold form-action against each
// redirect that follows the form, and where the payer travels after the return
// URL is the client's affair: so the addresses are open, the schemes are not.
var pageHeaders = map[string]string{
	"Content-Type":  "text/html; charset=utf-8",
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; style-src '" + styleHash() + "'; " +
		"form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'",
	"Referrer-Policy":        "no-referrer",
	"X-Content-Type-Options": "nosniff",
}

func styleHash() string {
	sum := sha256.Sum256([]byte(styleCSS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// decisions are what the payer can say, as the form's values.
var decisions = map[string]status{"approve": approved, "refuse": refused}

// view is what a page shows: an order, or else a notice.
type view struct {
	Style  template.CSS
	Title  string
	Notice string
	Order  *orderView
}

// Pages serves the bank's pages, to be mounted at /sandbox/bank/. Knowing the
// id of a page is the right to see the order and to decide on it.
func (b *Bank) Pages() http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("GET "+pagesPath+"{page}", b.show)
	pages.HandleFunc("POST "+pagesPath+"{page}", b.decide)
	pages.HandleFunc("GET "+pagesPath, func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return pages
}

func (b *Bank) show(w http.ResponseWriter, r *http.Request) {
	domain, key, ok := b.orderOf(r.PathValue("page"))
	if !ok {
		notFound(w)
		return
	}
	o, _, err := b.find(r.Context(), domain, key)
	if err != nil {
		b.fail(r.Context(), w, err)
		return
	}
	showOrder(w, http.StatusOK, o, b.reference(domain, key))
}

// decide records the payer's decision and sends the browser back. Only the
// first decision counts; another one is answered with the first.
func (b *Bank) decide(w http.ResponseWriter, r *http.Request) {
	domain, key, ok := b.orderOf(r.PathValue("page"))
	if !ok {
		notFound(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	decision, known := decisions[r.PostFormValue("decision")]
	if !known {
		notice(w, http.StatusBadRequest, "That was neither yes nor no", "Go back and choose Approve or Refuse. Nothing has been decided.")
		return
	}
	o, err := b.record(r.Context(), domain, key, decision)
	switch {
	case err != nil:
		b.fail(r.Context(), w, err)
	case o.Status != decision:
		showOrder(w, http.StatusConflict, o, b.reference(domain, key))
	default:
		sendBack(w, r, o)
	}
}

func (b *Bank) record(ctx context.Context, domain passerelle.DomainID, key string, decision status) (order, error) {
	return b.change(ctx, domain, key, func(o *order) bool {
		open := o.Status == awaiting
		if open {
			o.Status = decision
		}
		return open
	})
}

func sendBack(w http.ResponseWriter, r *http.Request, o order) {
	setHeaders(w)
	http.Redirect(w, r, o.ReturnURL, http.StatusSeeOther)
}

func showOrder(w http.ResponseWriter, code int, o order, reference string) {
	render(w, code, view{Title: titles[o.Status], Order: newOrderView(o, reference)})
}

var titles = map[status]string{
	awaiting: "Approve this payment?",
	approved: "You approved this payment",
	refused:  "You refused this payment",
}

func notFound(w http.ResponseWriter) {
	notice(w, http.StatusNotFound, "There is no such page at this bank",
		"The address is incomplete, or the payment it belonged to is gone. Go back to where you came from and start again.")
}

func (b *Bank) fail(ctx context.Context, w http.ResponseWriter, err error) {
	if errors.Is(err, errNoOrder) {
		notFound(w)
		return
	}
	b.Log.ErrorContext(ctx, "a page of the sandbox bank could not be served", "error", err)
	notice(w, http.StatusInternalServerError, "The bank is out of reach",
		"Something went wrong on our side. Your decision may not have been recorded: load this page again to see.")
}

func notice(w http.ResponseWriter, code int, title, text string) {
	render(w, code, view{Title: title, Notice: text})
}

// render makes the whole page before it answers, so that no half of one is
// ever sent. The template is fixed and its data are plain: it cannot fail.
func render(w http.ResponseWriter, code int, v view) {
	v.Style = template.CSS(styleCSS)
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

// orderView is an order in words.
type orderView struct {
	Open      bool
	Reference string
	Total     string
	When      string
	Ordered   string
	ReturnURL string
	Lines     []lineView
}

type lineView struct {
	Name, Number, Label, Amount string
}

// Single reports whether one beneficiary is all there is.
func (v *orderView) Single() bool { return len(v.Lines) == 1 }

func newOrderView(o order, reference string) *orderView {
	currency := passerelle.Currency(o.Currency)
	v := &orderView{
		Open: o.Status == awaiting, Reference: reference, ReturnURL: o.ReturnURL,
		Total: amount(o.Total, currency), When: when(o), Ordered: o.Submitted.UTC().Format("2006-01-02, 15:04 UTC"),
	}
	for _, l := range o.Lines {
		v.Lines = append(v.Lines, lineView{l.Name, grouped(l.Scheme, l.Number), l.Label, amount(l.Minor, currency)})
	}
	return v
}

func amount(minor int64, currency passerelle.Currency) string {
	return passerelle.Money{Minor: minor, Currency: currency}.Decimal() + " " + string(currency)
}

// when says in words on which day the bank is to pay.
func when(o order) string {
	switch o.DateType {
	case payment.Instant:
		return "At once"
	case payment.FirstOpenDay:
		return "On the next banking day"
	case payment.Deferred:
		return "On " + o.Day
	default:
		return series(o)
	}
}

func series(o order) string {
	text := "Repeated " + string(o.Frequency) + ", from " + o.Day
	if o.LastDay == "" {
		return text
	}
	return text + " to " + o.LastDay
}

// grouped writes an account number as people read it: a sort code in pairs,
// everything else in fours.
func grouped(scheme passerelle.AccountScheme, number string) string {
	const sortCode = 6
	if scheme == passerelle.SortCode && len(number) > sortCode {
		return chunks(number[:sortCode], 2, "-") + " " + chunks(number[sortCode:], 4, " ")
	}
	return chunks(number, 4, " ")
}

func chunks(s string, size int, separator string) string {
	var parts []string
	for ; len(s) > size; s = s[size:] {
		parts = append(parts, s[:size])
	}
	return strings.Join(append(parts, s), separator)
}
