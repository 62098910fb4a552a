// Package console is the operators' side: the pages on which they sign in, see how
// a domain is doing, find payments and do with them what may be done.
//
// It owns the addresses below Root, the cookies of operators, and which role
// sees which page and button. It has no power of its own: it decides nothing about
// payments (package initiation does, as for the JSON interface) nor about who may
// come in (package admission), and how pages look and are sent is package web's.
//
// It fails towards people, in plain words and with the number of the request. Who
// is not signed in is sent to sign in and learns nothing else; a form that this
// console did not make for this very session changes nothing.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/admission"
	"passerelle/internal/aggregation"
	"passerelle/internal/delivery"
	"passerelle/internal/files"
	"passerelle/internal/initiation"
	"passerelle/internal/lab"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
)

// Root is where the console is.
const Root = "/console/"

//go:embed all:pages
var embedded embed.FS

var pages = func() *web.Pages {
	files, err := fs.Sub(embedded, "pages")
	if err != nil {
		panic(fmt.Sprintf("console: %v", err)) // only for a malformed name
	}
	return web.MustPages(files)
}()

// Config wires the package to the rest of the service. Every field is required.
type Config struct {
	// Domain finds the tenant a host names; an unknown host is a NotFound
	// error. The console is the same on all of them.
	Domain func(ctx context.Context, host string) (passerelle.Domain, error)
	// Location is the zone in which the times of a domain are shown.
	Location func(context.Context, passerelle.Domain) (*time.Location, error)
	// RequestID gives the identifier of a request, Address where it came from.
	RequestID   func(ctx context.Context) string
	Address     func(*http.Request) string
	Admission   *admission.Admission
	DB          *store.DB
	Initiation  *initiation.Initiation
	Aggregation *aggregation.Aggregation
	Delivery    *delivery.Delivery
	Access      *access.Access
	// Files keeps the bytes of users' files.
	Files files.Store
	Lab   *lab.Lab
	// Scenarios and Logins are what the simulated banks can be made to do.
	Scenarios []wire.Scenario
	Logins    []wire.Login
	// MAC derives the key of the cookies from a secret of the deployment: at
	// least 32 bytes, or New panics.
	MAC func(purpose string, data []byte) []byte
	// Now is the real clock.
	Now func() time.Time
	Log *slog.Logger
}

// Console serves the pages. Make it with New.
type Console struct {
	Config
	sealer *web.Sealer
}

// New makes the handler of everything below Root.
func New(config Config) *Console {
	return &Console{Config: config, sealer: web.NewSealer([32]byte(config.MAC("cookies of the console", nil)))}
}

// visit is one request on its way to a page.
type visit struct {
	context.Context
	writer  http.ResponseWriter
	request *http.Request
	// secure is set where people come over https.
	secure bool
	// who is signed in, token what they showed for it.
	who   admission.Visitor
	token string
	// domain is the tenant that the address names, zone that of its times.
	domain passerelle.Domain
	zone   *time.Location
	// numbers are those of the address, in its order.
	numbers []int64
	// problem is what is wrong with the form that was sent.
	problem string
	// tabs are the pages beside this one; none for most.
	tabs []tab
	// reload is after how long the page is to be shown anew, zero for never.
	reload time.Duration
}

// route is an address below Root, with # for a number, and who answers there.
type route struct {
	method, pattern string
	serve           func(*Console, *visit) error
	// open pages are for those who are not signed in.
	open bool
}

var routes = slices.Concat(doorRoutes, domainRoutes, userRoutes, connectionRoutes, connectorRoutes, configurationRoutes, clientRoutes, tokenRoutes, webhookRoutes)

var doorRoutes = []route{
	{http.MethodGet, "", (*Console).start, false},
	{http.MethodGet, "sign-in", (*Console).askToSignIn, true},
	{http.MethodPost, "sign-in", (*Console).signIn, true},
	{http.MethodGet, "second-factor", (*Console).askForCode, true},
	{http.MethodPost, "second-factor", (*Console).takeCode, true},
	{http.MethodPost, "sign-out", (*Console).signOut, false},
	{http.MethodGet, "account", (*Console).account, false},
	{http.MethodPost, "account/password", (*Console).changePassword, false},
	{http.MethodPost, "account/second-factor", (*Console).proposeTOTP, false},
	{http.MethodPost, "account/second-factor/confirm", (*Console).confirmTOTP, false},
	{http.MethodPost, "account/sessions/#/end", (*Console).endSession, false},
	{http.MethodGet, "domains/#", (*Console).home, false},
	{http.MethodGet, "domains/#/payments", (*Console).payments, false},
	{http.MethodPost, "domains/#/payments/file", (*Console).exportPayments, false},
	{http.MethodGet, "domains/#/payments/#", (*Console).payment, false},
	{http.MethodGet, "domains/#/payments/#/support", (*Console).supportFile, false},
	{http.MethodPost, "domains/#/payments/#", (*Console).act, false},
	{http.MethodPost, "domains/#/payments/#/reveal", (*Console).reveal, false},
	{http.MethodGet, "domains/#/lab", (*Console).lab, false},
	{http.MethodPost, "domains/#/lab/clock", (*Console).moveClock, false},
	{http.MethodPost, "domains/#/lab/run", (*Console).runSandbox, false},
	{http.MethodGet, "domains/#/lab/scenarios", (*Console).scenarios, false},
	{http.MethodPost, "domains/#/lab/scenarios", (*Console).playScenario, false},
	{http.MethodPost, "domains/#/lab/logins", (*Console).playLogin, false},
	{http.MethodGet, "domains/#/lab/receiver", (*Console).receiver, false},
	{http.MethodPost, "domains/#/lab/receiver/empty", (*Console).emptyReceiver, false},
}

// numbersOf compares an address with a pattern and takes its numbers.
func numbersOf(pattern, address string) ([]int64, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(address, "/")
	if len(want) != len(got) {
		return nil, false
	}
	var numbers []int64
	for i := range want {
		if want[i] != "#" && want[i] != got[i] {
			return nil, false
		}
		if want[i] != "#" {
			continue
		}
		n, err := strconv.ParseInt(got[i], 10, 64)
		if err != nil || n <= 0 || strconv.FormatInt(n, 10) != got[i] {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// find is the route of a request, with the numbers of its address.
func find(r *http.Request) (route, []int64, error) {
	address := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, Root), "/")
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	err := error(errNoPage)
	for _, one := range routes {
		numbers, matches := numbersOf(one.pattern, address)
		switch {
		case matches && one.method == method:
			return one, numbers, nil
		case matches:
			err = errMethod
		}
	}
	return route{}, nil, err
}

// ServeHTTP answers one request, whatever happens, and turns every error into a
// page.
func (c *Console) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	v := &visit{Context: request.Context(), writer: writer, request: request}
	if err := c.serve(v); err != nil { //nolint:contextcheck // a visit is the context of its request
		c.fail(v, err) //nolint:contextcheck // as above
	}
}

// maxForm is the size in bytes of a form, and maxRoomy of one that carries what
// webhooks do, of which three bytes may stand for one.
const (
	maxForm  = 64 << 10
	maxRoomy = 3*delivery.MaxTestBody + maxForm
)

// roomy are the patterns of addresses that take larger forms.
var roomy = []string{"domains/#/webhooks/#/test", "domains/#/webhooks/verify"}

// room is how many bytes a form that is sent to an address may have.
func (r route) room() int64 {
	if slices.Contains(roomy, r.pattern) {
		return maxRoomy
	}
	return maxForm
}

func (c *Console) serve(v *visit) error {
	here, err := c.Domain(v, v.request.Host)
	if err != nil {
		return fmt.Errorf("find the domain of a page: %w", err)
	}
	v.secure = strings.HasPrefix(here.BaseURL, "https:")
	one, numbers, err := find(v.request)
	if err != nil {
		return err
	}
	v.numbers = numbers
	if one.method == http.MethodPost {
		if err := v.takeForm(one.room()); err != nil {
			return err
		}
	}
	if !one.open {
		if err := c.admit(v); err != nil {
			return err
		}
	}
	return one.serve(c, v)
}

func (v *visit) takeForm(room int64) error {
	if web.Forged(v.request) {
		return errForeign
	}
	v.request.Body = http.MaxBytesReader(v.writer, v.request.Body, room)
	if err := v.request.ParseForm(); err != nil {
		return errForm
	}
	return nil
}

// field is a value of the form.
func (v *visit) field(name string) string { return v.request.PostFormValue(name) }

// admit finds who is signed in, and the domain of the address. Forms must have
// been made for the session.
func (c *Console) admit(v *visit) error {
	if err := c.sealer.Read(v.request, sessionCookie, &v.token); err != nil {
		return admission.ErrNoSession
	}
	resume := c.Admission.Resume
	if v.part() {
		resume = c.Admission.Glance
	}
	who, err := resume(v, v.token)
	if err != nil {
		return err
	}
	v.who = who
	if v.request.Method == http.MethodPost && !who.Owns(v.field("csrf")) {
		return errForeign
	}
	if !strings.HasPrefix(v.request.URL.Path, Root+"domains/") {
		return nil
	}
	return c.enter(v, passerelle.DomainID(v.numbers[0]))
}

func (c *Console) enter(v *visit, id passerelle.DomainID) error {
	domain, err := c.DB.Domain(v, id)
	if errors.Is(err, store.ErrNotFound) {
		return errNoPage
	}
	if err != nil {
		return fmt.Errorf("load domain %d: %w", id, err)
	}
	v.domain = domain
	v.zone, err = c.Location(v, domain)
	return err
}

// now is the present instant of the domain.
func (c *Console) now(v *visit) time.Time { return v.domain.Clock.Now(c.Now()) }

// frame is what surrounds every page, and Data what is on it.
type frame struct {
	Operator, Role, Form string
	Domain               *passerelle.Domain
	Problem              string
	Tabs                 []tab
	Data                 any
}

// tab leads to a page beside the one that is shown, or is that one.
type tab struct {
	Name, Address string
	Here          bool
}

func (c *Console) send(v *visit, name, title string, data any) error {
	f := frame{Operator: v.who.Operator.Name, Role: v.who.Operator.Role, Problem: v.problem, Tabs: v.tabs, Data: data}
	if v.who.ID != 0 {
		f.Form = v.who.FormToken()
	}
	if v.domain.ID != 0 {
		f.Domain = &v.domain
	}
	page := web.Page{
		Name: name, Words: web.Words{Lang: "en"}, Title: title + " · Passerelle", Body: f, Sheet: "console.css",
		Simulated: v.domain.Kind == passerelle.Sandbox, Refresh: v.reload,
	}
	if v.problem != "" {
		page.Status = http.StatusUnprocessableEntity
	}
	if v.who.ID != 0 {
		page.Module, page.Asks = "console.mjs", true
	}
	if v.part() && v.problem == "" && pages.Has(name, liveBlock) {
		return pages.SendPart(v.writer, v.request, page, liveBlock)
	}
	return pages.Send(v.writer, page)
}

// record is an act of the operator on something in the domain, to be put on record
// where it becomes true.
func (c *Console) record(v *visit, act, subject string, id int64) store.Audit {
	entry := c.Admission.Entry(v.who, c.RequestID(v), act)
	entry.Domain, entry.Subject, entry.SubjectID = v.domain.ID, subject, id
	return entry
}

// by names the operator in records of changes.
func (v *visit) by() string { return fmt.Sprintf("operator %d", v.who.Operator.ID) }

// path is an address in the domain.
func (v *visit) path(format string, args ...any) string {
	return fmt.Sprintf("%sdomains/%d", Root, v.domain.ID) + fmt.Sprintf(format, args...)
}

// moment writes an instant of the domain, empty for none.
func (v *visit) moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return passerelle.FormatDateTime(*at, v.zone)
}

// after leads on to an address when an act is done, and shows a page again, with
// what is wrong with the form, when it is refused.
func (c *Console) after(v *visit, err error, address string, again func(*Console, *visit) error) error {
	if known, is := told(err); is {
		v.problem = known
		return again(c, v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.writer, address)
	return nil
}

// liveBlock is the part of a page that changes while somebody looks at it. It has
// nothing in it to be filled in or opened.
const liveBlock = "live"

// part reports whether the script of a page asks for what may have changed.
func (v *visit) part() bool {
	return v.request.Method == http.MethodGet && v.request.Header.Get(web.PartHeader) == liveBlock
}
