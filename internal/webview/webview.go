// Package webview has the pages for end users. On the pages about a payment, a payer sees the
// payment, chooses a bank, enters the values that the bank requests, waits, or cancels. The pages
// redirect the payer to the bank and back to the application. On the pages about a connection, a
// person connects an institution, chooses the data to share, and later repairs or ends the
// connection.
//
// Files with the prefix payment_ are about payments, and files with the prefix flow_ are about
// connections. A flow is the task of a person after opening a link: connect, reconnect or manage.
//
// The package owns the addresses of these pages and the cookies that give access to one payment or
// one flow. It also chooses the page for each state of a payment or connection. The stored state
// decides which pages can appear. People can therefore reload every page, go back, and return
// later. Packages initiation and aggregation own the calls to banks and the rules of payments and
// connections. Package web owns the design and the sending of pages.
//
// Every error page describes the failure in plain words and shows the id of the request. A person
// without access to a payment does not even learn whether the payment exists.
package webview

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
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

// CallbackPath is the path to which banks redirect people.
const CallbackPath = "/2.0/webauth/callback"

// NotificationPath is the path to which banks report that an order or a consent has changed.
const NotificationPath = "/2.0" + notification.Path

// PageRoots lists the roots of the pages, without trailing slashes. Older programs of this API
// family use the second root.
func PageRoots() []string { return []string{"/webview", "/2.0/auth/webview"} }

// SharePath is the address to which the oldest programs of this API family send people, with or
// without a trailing slash.
const SharePath = "/2.0/auth/share"

// olderFlows maps the names of flows in addresses of older programs to flows.
var olderFlows = map[string]string{"connect/select": flowConnect, "accounts": flowManage}

const flowPayment = "payment"

var flows = []string{flowPayment, flowConnect, flowReconnect, flowManage}

//go:embed all:pages words
var embedded embed.FS

// An address may have any language for which a file of texts exists.
var (
	pages = web.MustPages(embeddedIn("pages"))
	words = web.MustDictionary(embeddedIn("words"), "en")
)

func embeddedIn(directory string) fs.FS {
	files, err := fs.Sub(embedded, directory)
	if err != nil {
		panic(fmt.Sprintf("webview: %v", err)) // happens only for a malformed file name
	}
	return files
}

// Config has the dependencies of New. Every field except Logos is required.
type Config struct {
	// Domain finds the domain of a host. It fails with NotFound for an unknown host.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// Wait counts a request of an IP address. It returns the time for which the address must wait,
	// or zero. The argument form is true for forms about connections.
	Wait func(r *http.Request, form bool) (time.Duration, error)
	// RequestID returns the id of the request.
	RequestID  func(ctx context.Context) string
	Access     *access.Access
	DB         *store.DB
	Initiation *initiation.Initiation
	// Aggregation has the use cases of connections.
	Aggregation *aggregation.Aggregation
	// Notifications handles reports of banks.
	Notifications *notification.Notifications
	// Logos has the institutions' logos that the operator provides. It may be nil.
	Logos *picture.Logos
	// MAC derives the key of the cookies from a secret of the deployment. New panics when the key
	// has fewer than 32 bytes.
	MAC func(purpose string, data []byte) []byte
	// Now returns the real time.
	Now func() time.Time
	Log *slog.Logger
}

// Webview serves the pages. New makes a Webview.
type Webview struct {
	Config
	sealer *web.Sealer
	assets http.Handler
}

// New returns the handler of the pages, of WebauthPath, CallbackPath and NotificationPath, and of
// the assets below web.AssetPath. The handler responds to every other address with a page that says
// that the address does not exist.
func New(config Config) *Webview {
	key := [32]byte(config.MAC("cookies of the payment webview", nil))
	return &Webview{Config: config, sealer: web.NewSealer(key), assets: web.Assets()}
}

// ServeHTTP handles one request.
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
	pc := &pageContext{writer: writer, request: plain(request)}
	if pc.polled() && pc.reading() {
		pc.writer = withoutCookies{writer}
	}
	if err := w.serve(pc); err != nil { //nolint:contextcheck // pc contains the request, which contains the context
		w.fail(pc, err) //nolint:contextcheck // as above
	}
}

// withoutCookies changes no cookies. A waiting page's script only polls. When a poll finds the end of
// a flow, the browser then opens the same address, and needs the cookie of the flow.
type withoutCookies struct{ http.ResponseWriter }

func (w withoutCookies) WriteHeader(status int) {
	w.Header().Del("Set-Cookie")
	w.ResponseWriter.WriteHeader(status)
}

// plain returns the request without the final slash that some programs add to the address of a
// page, and without the second version segment that programs add to a base address that already
// has one.
func plain(r *http.Request) *http.Request {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if strings.HasSuffix(path, "/") {
		path = r.URL.Path // two slashes
	}
	if strings.HasPrefix(path, "/2.0/2.0/") {
		path = strings.TrimPrefix(path, "/2.0")
	}
	if path == r.URL.Path {
		return r
	}
	address, same := *r.URL, *r
	address.Path, address.RawPath = path, ""
	same.URL = &address
	return &same
}

// pageContext has a request, and the data that the request's page needs.
type pageContext struct {
	writer  http.ResponseWriter
	request *http.Request
	// root is the entry of PageRoots that the request used.
	root   string
	domain passerelle.Domain
	// flow is the name of the flow in the address, or empty for other addresses.
	flow string
	// client is the client that the link or the flow's cookie names. It is nil until it was loaded.
	client *store.Client
	// lang is the language in the address, and words has the texts of that language.
	lang  string
	words web.Words
	zone  *time.Location // the time zone of the domain, in flows
	// problem is a mistake in the submitted form, and values has the form's input. The page needs
	// both to show the form again. notice is the key of a text about another result of the form.
	problem problem
	values  map[string]string
	notice  string
	// ticks is the submitted choice of data to share. The page needs it to show the choice again.
	ticks url.Values
}

func (pc *pageContext) context() context.Context { return pc.request.Context() }

// step returns the step parameter. The stored state decides whether the step applies.
func (pc *pageContext) step() string { return pc.request.URL.Query().Get("step") }

func (pc *pageContext) reading() bool {
	return pc.request.Method == http.MethodGet || pc.request.Method == http.MethodHead
}

// polled reports whether a page's script has sent the request. The browser then still shows the page
// of the script, and opens another page by a further request.
func (pc *pageContext) polled() bool { return pc.request.Header.Get(web.PartHeader) != "" }

// simulated reports whether a page must say that no money moves. Pages about connections never say
// so, because they move no money in any domain.
func (pc *pageContext) simulated() bool {
	reads := pc.flow != flowPayment || pc.request.URL.Path == WebauthPath || aggregation.IsReturn(pc.request.URL.Query().Get("state"))
	return pc.domain.Kind == passerelle.Sandbox && !reads
}

// serve sends the page for the address of the request.
func (w *Webview) serve(pc *pageContext) error {
	exists := pc.parse()
	err := w.locate(pc)
	if err == nil {
		err = w.admit(pc)
	}
	switch {
	case err != nil:
		return err
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

// admit refuses a request from an IP address that has sent too many requests. Forms about
// connections have their own limit, because strangers could use these forms to create users and try
// passwords. Reports of banks have no limit.
func (w *Webview) admit(pc *pageContext) error {
	if pc.request.URL.Path == NotificationPath {
		return nil
	}
	wait, err := w.Wait(pc.request, !pc.reading() && pc.flow != "" && pc.flow != flowPayment)
	if err != nil || wait == 0 {
		return err
	}
	pc.writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return errMany
}

// aboutBody is the content of the page at a root.
type aboutBody struct {
	frame
	Title, Text string
	// Try is the address of a simulated first connection.
	Try string
}

// about shows the purpose of the pages to a person who opens a root.
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

// tryLink returns a link for newcomers who want to try these pages. The flow ends at the sandbox's
// own shop. tryLink returns an empty text if the domain is live, if the domain does not have
// exactly one application, or if that application may not redirect people to the shop.
func (w *Webview) tryLink(pc *pageContext) (string, error) {
	if pc.domain.Kind != passerelle.Sandbox {
		return "", nil
	}
	only, err := w.DB.OnlyClient(pc.context(), pc.domain.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the only client: %w", err)
	}
	back := web.Origin(pc.domain.BaseURL) + "/sandbox/shop/back"
	if !w.acceptable(pc, access.Principal{Client: only}, back) {
		return "", nil
	}
	query := url.Values{clientParameter: {strconv.FormatInt(int64(only), 10)}, redirectParameter: {back}}
	return PageRoots()[0] + "/" + pc.words.Lang + "/" + flowConnect + "?" + query.Encode(), nil
}

// parse splits the address of a page, and reports whether the address is valid. SharePath has no
// name of a flow: programs send people there with a code to manage what they share, and without a
// code to connect.
func (pc *pageContext) parse() bool {
	if pc.request.URL.Path == SharePath {
		pc.root, pc.flow = PageRoots()[1], flowConnect
		if pc.request.URL.Query().Has("code") {
			pc.flow = flowManage
		}
		return true
	}
	for _, root := range PageRoots() {
		below, ours := strings.CutPrefix(pc.request.URL.Path, root+"/")
		lang, flow, named := strings.Cut(below, "/")
		if !named || olderFlows[below] != "" {
			flow, named = below, false
		}
		flow = cmp.Or(olderFlows[flow], flow)
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

// locate sets the texts and the domain of a request.
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

// speak puts the page's language before the languages of the browser in requests to banks.
func (pc *pageContext) speak() {
	ctx := pc.context()
	device := connector.DeviceOf(ctx)
	device.AcceptLanguage = strings.TrimSuffix(pc.words.Lang+","+device.AcceptLanguage, ",")
	pc.request = pc.request.WithContext(connector.WithDevice(ctx, device))
}

// payment handles all addresses of the payment pages. A code in the address gives access to a
// payment. Without a code, the cookie gives access.
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

// notified handles reports of banks. It ignores the body.
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

// callback handles people who come back from their banks. For a payer, the service asks the bank
// for the state of the payment. It then redirects the payer to the payment's page, which shows the
// next step. A payer who was asked to approve a cancellation is redirected to the address in the
// request to cancel, if any.
func (w *Webview) callback(pc *pageContext) error {
	if !pc.reading() {
		return errMethod
	}
	state := pc.request.URL.Query().Get("state")
	if aggregation.IsReturn(state) {
		return w.returned(pc, state)
	}
	if len(pc.request.URL.RawQuery) > maxReturn {
		return errCrammed
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
