// Package webview has the pages for end users. On some, a payer sees a payment, chooses a
// bank, enters what the bank asks for, waits, cancels, and is sent to the bank or back to
// the application. On others, a person connects an institution, chooses what to share, and
// later repairs or ends the connection.
//
// Files about payments begin with payment_, and files about connections with flow_. A flow is
// what a person does from one link on: connect, reconnect or manage.
//
// It owns the addresses of these pages, the cookies that give access to one payment or one
// flow, and which page shows a payment or connection in a given state. The stored state alone
// decides the page, so that every page survives reloading, going back and returning. It does
// not own the rules of payments and connections, does not call banks (packages initiation and
// aggregation do), and does not decide how pages look and are sent (package web).
//
// It fails with a page in plain words and the number of the request. A person without the
// right to a payment learns nothing about it, not even whether it exists.
package webview

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/initiation"
	"passerelle/internal/notification"
	"passerelle/internal/picture"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// CallbackPath is where banks send people back.
const CallbackPath = "/2.0/webauth/callback"

// NotificationPath is where banks report that an order or a consent has changed.
const NotificationPath = "/2.0" + notification.Path

// PageRoots lists the roots of the pages, without trailing slashes. The second is where older
// programs of this API family expect them.
func PageRoots() []string { return []string{"/webview", "/2.0/auth/webview"} }

// flowPayment is the flow in which a payment is made.
const flowPayment = "payment"

var flows = []string{flowPayment, flowConnect, flowReconnect, flowManage}

//go:embed all:pages words
var embedded embed.FS

// An address may name each language that has a file in words.
var (
	pages = web.MustPages(embeddedIn("pages"))
	words = web.MustDictionary(embeddedIn("words"), "en")
)

func embeddedIn(directory string) fs.FS {
	files, err := fs.Sub(embedded, directory)
	if err != nil {
		panic(fmt.Sprintf("webview: %v", err)) // only for a malformed name
	}
	return files
}

// Config wires the package to the rest of the service. Every field but Logos is required.
type Config struct {
	// Domain finds the domain of a host. It fails with NotFound for an unknown host.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// RequestID gives the identifier of the request.
	RequestID  func(ctx context.Context) string
	Access     *access.Access
	DB         *store.DB
	Initiation *initiation.Initiation
	// Aggregation owns the connections of people.
	Aggregation *aggregation.Aggregation
	// Notifications receives what banks report.
	Notifications *notification.Notifications
	// Logos are the operator's own; nil for none.
	Logos *picture.Logos
	// MAC derives the key of the cookies from a secret of the deployment: at
	// least 32 bytes, or New panics.
	MAC func(purpose string, data []byte) []byte
	// Now is the real clock.
	Now func() time.Time
	Log *slog.Logger
}

// Webview serves the pages. Make it with New.
type Webview struct {
	Config
	sealer *web.Sealer
	assets http.Handler
}

// New returns the handler of the pages, the callback and the assets of pages (below
// web.AssetPath). Every other address gets a page that says so.
func New(config Config) *Webview {
	key := [32]byte(config.MAC("cookies of the payment webview", nil))
	return &Webview{Config: config, sealer: web.NewSealer(key), assets: web.Assets()}
}

// ServeHTTP answers one request and turns every error into a page.
func (w *Webview) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	switch {
	case strings.HasPrefix(request.URL.Path, bankLogoPath):
		w.bankLogo(writer, request)
		return
	case strings.HasPrefix(request.URL.Path, logoPath):
		w.logo(writer, request)
		return
	case strings.HasPrefix(request.URL.Path, web.AssetPath):
		w.assets.ServeHTTP(writer, request)
		return
	}
	pc := &pageContext{writer: writer, request: unslashed(request)}
	if err := w.serve(pc); err != nil { //nolint:contextcheck // it carries its request, which carries the context
		w.fail(pc, err) //nolint:contextcheck // as above
	}
}

// unslashed is a request without the slash with which some programs end the address of
// a page.
func unslashed(r *http.Request) *http.Request {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == r.URL.Path || strings.HasSuffix(path, "/") {
		return r
	}
	address, same := *r.URL, *r
	address.Path, address.RawPath = path, ""
	same.URL = &address
	return &same
}

// pageContext is a request, with what its page needs.
type pageContext struct {
	writer  http.ResponseWriter
	request *http.Request
	// root is the entry of PageRoots that the request used.
	root   string
	domain passerelle.Domain
	// flow is the flow that the address names, empty for other addresses.
	flow string
	// lang is the language of the address. Words are its texts.
	lang  string
	words web.Words
	// problem is what is wrong with the sent form, and given what was filled in, for the page
	// that shows it again. notice is the key of a text about another result of the form.
	problem problem
	values  map[string]string
	notice  string
}

func (pc *pageContext) context() context.Context { return pc.request.Context() }

// step is the step that the address asks for. The payment may no longer be at it.
func (pc *pageContext) step() string { return pc.request.URL.Query().Get("step") }

func (pc *pageContext) reading() bool {
	return pc.request.Method == http.MethodGet || pc.request.Method == http.MethodHead
}

// simulated reports whether a page has to say that no money moves. Pages about connections never
// have to: they move none in any domain.
func (pc *pageContext) simulated() bool {
	reads := pc.flow != flowPayment || pc.request.URL.Path == WebauthPath || aggregation.IsReturn(pc.request.URL.Query().Get("state"))
	return pc.domain.Kind == passerelle.Sandbox && !reads
}

// serve finds the page of an address.
func (w *Webview) serve(pc *pageContext) error {
	exists := pc.parse()
	if err := w.locate(pc); err != nil {
		return err
	}
	switch {
	case slices.Contains(PageRoots(), strings.TrimSuffix(pc.request.URL.Path, "/")):
		return w.about(pc)
	case pc.request.URL.Path == CallbackPath:
		return w.callback(pc)
	case pc.request.URL.Path == NotificationPath:
		return w.notified(pc)
	case pc.request.URL.Path == WebauthPath:
		return w.webauth(pc)
	case !exists:
		return errNoPage
	case pc.flow != flowPayment:
		return w.serveFlow(pc)
	}
	return w.payment(pc)
}

// aboutBody is what the page at a root shows.
type aboutBody struct {
	frame
	Title, Text string
	// Try leads to a first connection, in which nothing is real.
	Try string
}

// about says what is below a root to a person who opens the root itself.
func (w *Webview) about(pc *pageContext) error {
	if !pc.reading() {
		return errMethod
	}
	try, err := w.tryLink(pc)
	if err != nil {
		return err
	}
	title := pc.words.Say("about.title")
	return pages.Send(pc.writer, web.Page{
		Name: "about", Words: pc.words, Title: title, Sheets: sheets, Body: aboutBody{Title: title, Text: pc.words.Say("about.text"), Try: try},
	})
}

// tryLink is a link with which a newcomer sees these pages. It works in a sandbox domain with
// one application, and ends at a shop that does not exist. Elsewhere there is none.
func (w *Webview) tryLink(pc *pageContext) (string, error) {
	if pc.domain.Kind != passerelle.Sandbox {
		return "", nil
	}
	only, err := w.DB.OnlyClient(pc.context(), pc.domain.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the only client: %w", err)
	}
	back := web.Origin(pc.domain.BaseURL) + "/sandbox/shop/back"
	if !w.acceptable(pc, access.Principal{Client: only}, back) {
		return "", nil
	}
	query := url.Values{clientParameter: {strconv.FormatInt(int64(only), 10)}, redirectParameter: {back}}
	return PageRoots()[0] + "/" + pc.words.Lang + "/" + flowConnect + "?" + query.Encode(), nil
}

// parse splits the address of a page, and reports whether it is one.
func (pc *pageContext) parse() bool {
	for _, root := range PageRoots() {
		below, ours := strings.CutPrefix(pc.request.URL.Path, root+"/")
		lang, flow, named := strings.Cut(below, "/")
		if !named {
			flow = below
		}
		if !ours || !slices.Contains(flows, flow) {
			continue
		}
		pc.root, pc.flow = root, flow
		if named {
			pc.lang = lang
		}
		return !named || words.Has(lang)
	}
	return false
}

// locate finds the words and the domain of a request.
func (w *Webview) locate(pc *pageContext) error {
	pc.words = words.Best(pc.request.Header.Get("Accept-Language"))
	if pc.lang != "" {
		pc.words = words.In(pc.lang)
	}
	domain, err := w.Domain(pc.context(), pc.request.Host)
	if err != nil {
		return fmt.Errorf("find the domain of a page: %w", err)
	}
	pc.domain = domain
	pc.speak()
	return nil
}

// speak has banks be asked in the language of the page, before those of the browser.
func (pc *pageContext) speak() {
	ctx := pc.context()
	device := connector.DeviceOf(ctx)
	device.AcceptLanguage = strings.TrimSuffix(pc.words.Lang+","+device.AcceptLanguage, ",")
	pc.request = pc.request.WithContext(connector.WithDevice(ctx, device))
}

// payment is every address of the payment pages: with a code the right to see a
// payment is established, without one it is looked for in the cookie.
func (w *Webview) payment(pc *pageContext) error {
	if pc.reading() && pc.request.URL.Query().Has("code") {
		return w.enter(pc)
	}
	if pc.request.Method == http.MethodPost {
		return w.submit(pc)
	}
	if !pc.reading() {
		return errMethod
	}
	s, err := w.resume(pc)
	if err != nil {
		return err
	}
	if pc.lang == "" {
		web.Redirect(pc.writer, pc.address(s.Payment))
		return nil
	}
	return w.show(pc, s)
}

// notified receives what banks report. The body is not read.
func (w *Webview) notified(pc *pageContext) error {
	if pc.request.Method != http.MethodPost {
		return errMethod
	}
	if err := w.Notifications.Receive(pc.context(), pc.domain, pc.request.URL.Query().Get("state")); err != nil {
		return err
	}
	pc.writer.WriteHeader(http.StatusNoContent)
	return nil
}

// callback receives people from their banks. When a payer comes back, the bank is asked for the
// state of the payment, and the payer returns to the page that they left, which decides how it
// goes on. After a cancellation that a client asked for, the payer goes to the address that the
// client named for it, if any.
func (w *Webview) callback(pc *pageContext) error {
	if !pc.reading() {
		return errMethod
	}
	state := pc.request.URL.Query().Get("state")
	if aggregation.IsReturn(state) {
		return w.returned(pc, state)
	}
	if len(pc.request.URL.RawQuery) > maxReturn {
		return errTooLong
	}
	p, err := w.Initiation.Return(pc.context(), pc.domain, state, pc.request.URL.Query())
	if err != nil {
		return fmt.Errorf("receive a payer from a bank: %w", err)
	}
	next := p.WebviewURL
	if initiation.FromCancellation(state) && p.CancelRedirectURI != "" {
		p = w.Initiation.Returned(pc.context(), pc.domain, p)
		next = outcome(p, p.CancelState).at(p.CancelRedirectURI)
	}
	web.Redirect(pc.writer, next)
	return nil
}
