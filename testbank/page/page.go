package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"passerelle/testbank/bank"
)

// maxForm limits the size of a form. Every form is much smaller.
const maxForm = 16 << 10

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// Pages serves the pages of one bank.
type Pages struct {
	Bank *bank.Bank
	// Title is the bank's name.
	Title string
	// Base is the path of the pages.
	Base string
	Log  *slog.Logger
}

// Handler serves the pages. The paths of its requests do not include the path of the bank.
func (p *Pages) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.front)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("GET /sca/{ticket}", p.ask)
	mux.HandleFunc("POST /sca/{ticket}", p.decide)
	mux.HandleFunc("GET /app", p.app)
	mux.HandleFunc("POST /app", p.decideInApp)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusNotFound, view{Heading: "Page not found", Notice: "The address is wrong."})
	})
	return mux
}

// view is the content of a page.
type view struct {
	Title, Base string
	Style       template.CSS
	Heading     string
	Notice      string
	Customers   []bank.Customer
	// Customer is the owner of the app or the customer who must decide. Empty means that no
	// customer is known.
	Customer  bank.Customer
	Questions []questionView
	// Banks are the banks to choose from.
	Banks  []*Pages
	Front  bool
	App    bool
	SignIn bool
}

func (p *Pages) show(w http.ResponseWriter, status int, v view) {
	v.Title, v.Base, v.Style = p.Title, p.Base, template.CSS(styleCSS) //nolint:gosec // it is ours
	v.Customers = bank.Customers()
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, v); err != nil {
		p.Log.Error("a page cannot be made", slog.Any("error", err))
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	w.Write(page.Bytes()) //nolint:errcheck // the reader may be gone
}

// headers are sent with every page. The policy allows forms to lead to any host, because browsers
// also apply form-action to redirects after a form, and third parties can be on any host.
var headers = map[string]string{
	"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	"Content-Security-Policy": "default-src 'none'; style-src '" + styleHash() + "'; form-action 'self' http: https:; base-uri 'none'; frame-ancestors 'none'",
}

func styleHash() string {
	sum := sha256.Sum256([]byte(styleCSS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (p *Pages) front(w http.ResponseWriter, _ *http.Request) {
	p.show(w, http.StatusOK, view{Heading: p.Title, Front: true})
}

// List serves a page that leads to the pages of several banks.
func List(banks []*Pages, log *slog.Logger) http.HandlerFunc {
	p := &Pages{Title: "Test banks", Log: log}
	return func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusOK, view{Heading: "Choose a bank", Banks: banks})
	}
}

// fail shows an error.
func (p *Pages) fail(w http.ResponseWriter, err error) {
	var refusal *bank.Refusal
	switch {
	case errors.Is(err, bank.ErrLinkOver):
		p.show(w, http.StatusGone, view{Heading: "This link is no longer valid", Notice: "It has been used or has expired. Go back to where you came from and start again."})
	case errors.As(err, &refusal):
		p.show(w, http.StatusConflict, view{Heading: "This did not work", Notice: refusal.Text})
	default:
		p.Log.Error("the bank failed", slog.Any("error", err))
		p.show(w, http.StatusInternalServerError, view{Heading: "This did not work", Notice: "The bank has a problem. Try again later."})
	}
}

// authorize serves the authorisation endpoint of OAuth (RFC 6749, section 3.1).
func (p *Pages) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	application := bank.Application{
		Client: q.Get("client_id"), Redirect: q.Get("redirect_uri"), Scope: q.Get("scope"), State: q.Get("state"), Challenge: q.Get("code_challenge"),
	}
	err := error(bank.InvalidRequest)
	var a *bank.Authorisation
	if q.Get("response_type") == "code" && q.Get("code_challenge_method") == "S256" {
		a, err = p.Bank.Apply(r.Context(), application)
	}
	var wrong bank.OAuthError
	switch {
	case errors.As(err, &wrong):
		// The bank redirects a customer only to the address in the order or consent.
		p.show(w, http.StatusBadRequest, view{Heading: "This did not work", Notice: "The bank does not accept the application's request: " + string(wrong) + "."})
	case err != nil:
		p.fail(w, err)
	default:
		http.Redirect(w, r, p.Base+"/sca/"+url.PathEscape(a.Ticket()), http.StatusSeeOther)
	}
}

func (p *Pages) ask(w http.ResponseWriter, r *http.Request) {
	q, err := p.Bank.Ask(r.Context(), r.PathValue("ticket"))
	if err == nil && (!q.Authorisation.Open() || q.Authorisation.Approach == bank.Embedded || p.Bank.Now().After(q.Authorisation.LinkEnds)) {
		err = bank.ErrLinkOver
	}
	if err != nil {
		p.fail(w, err)
		return
	}
	customer, known := bank.CustomerByID(cmp.Or(q.Authorisation.PSU, r.URL.Query().Get("customer")))
	switch {
	case q.Silent && q.Authorisation.Status == "started":
		p.show(w, http.StatusOK, view{Heading: "Please wait", Customer: customer, Notice: "The bank has your answer and ignores it, as the test requested."})
	case !known:
		p.show(w, http.StatusOK, view{Heading: "Sign in", SignIn: true})
	default:
		p.askCustomer(w, r, q, customer)
	}
}

func (p *Pages) askCustomer(w http.ResponseWriter, r *http.Request, q bank.Question, customer bank.Customer) {
	shown, err := p.question(r, q, customer)
	if err != nil {
		p.fail(w, err)
		return
	}
	shown.Silent = false
	p.show(w, http.StatusOK, view{Heading: shown.Heading, Customer: customer, Questions: []questionView{shown}})
}

// decide applies a customer's decision. If the authorisation is still open, decide redirects the
// customer to the same page. Otherwise decide redirects the customer to the return address or,
// without one, shows the outcome.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request) {
	a, err := p.take(w, r, r.PathValue("ticket"))
	if err != nil {
		p.fail(w, err)
		return
	}
	to := a.ReturnTo()
	switch {
	case a.Open():
		http.Redirect(w, r, p.Base+r.URL.RequestURI(), http.StatusSeeOther)
	case to == "":
		p.show(w, http.StatusOK, view{Heading: outcome(a), Notice: "You can close this page."})
	default:
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

func outcome(a *bank.Authorisation) string {
	if a.Status == "failed" {
		return "Refused"
	}
	return "Approved"
}

// take reads a form and applies the decision in it.
func (p *Pages) take(w http.ResponseWriter, r *http.Request, ticket string) (*bank.Authorisation, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, bank.Refuse("FORMAT_ERROR", "", "The form could not be read.")
	}
	decision := r.PostForm.Get("decision")
	if decision != "approve" && decision != "refuse" {
		return nil, bank.Refuse("FORMAT_ERROR", "decision", "Choose to approve or to refuse.")
	}
	return p.Bank.Decide(r.Context(), ticket, bank.Decision{Approve: decision == "approve", PSU: r.PostForm.Get("customer"), Accounts: r.PostForm["account"]})
}

// app shows the questions that wait for a customer in the app.
func (p *Pages) app(w http.ResponseWriter, r *http.Request) {
	customer, known := bank.CustomerByID(r.URL.Query().Get("customer"))
	v := view{Heading: "Sign in to the app", App: true}
	if known {
		v.Heading, v.Customer = "Waiting for your approval", customer
		waiting, err := p.Bank.Waiting(r.Context(), customer.ID)
		if err != nil {
			p.fail(w, err)
			return
		}
		for _, q := range waiting {
			shown, err := p.question(r, q, customer)
			if err != nil {
				p.fail(w, err)
				return
			}
			v.Questions = append(v.Questions, shown)
		}
		if len(waiting) == 0 {
			v.Heading, v.Notice = "Nothing to approve", "When an application asks for your approval, it appears here."
		}
	}
	p.show(w, http.StatusOK, v)
}

func (p *Pages) decideInApp(w http.ResponseWriter, r *http.Request) {
	if _, err := p.take(w, r, r.FormValue("ticket")); err != nil {
		p.fail(w, err)
		return
	}
	http.Redirect(w, r, p.Base+"/app?"+url.Values{"customer": {r.PostForm.Get("customer")}}.Encode(), http.StatusSeeOther)
}
