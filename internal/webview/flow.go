package webview

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
)

// These are the names of the flows about connections. A name is the last segment of an address.
const (
	flowConnect   = "connect"
	flowReconnect = "reconnect"
	flowManage    = "manage"
)

// flowLife is the longest time from the opening of a link to the end of its flow. The cookie lives
// longer, so the service can still tell the client that the flow has ended.
const flowLife = 2 * time.Hour

// flowState is the state of a flow. The person's browser stores this state in a sealed cookie. The
// state says who the person is, what the client requested, and where the flow redirects the person
// at the end. The address and the database determine the current step.
type flowState struct {
	// handle identifies the flow in addresses. The handle alone gives no access.
	handle string
	Flow   string `json:"f"`
	// Form is a token in every form of the flow.
	Form   string              `json:"k"`
	Client passerelle.ClientID `json:"a"`
	// User is zero until a code identifies the person, or the person's first action creates a user.
	User passerelle.UserID `json:"u,omitempty"`
	// New is set for a user that was created during the flow. The client receives a code for this
	// user.
	New         bool   `json:"n,omitempty"`
	RedirectURI string `json:"r,omitempty"`
	State       string `json:"s,omitempty"`
	// Until is the end of the flow, in real time.
	Until time.Time `json:"e"`
	// Framed is set when the flow runs in a frame inside a page of the client.
	Framed bool `json:"w,omitempty"`
	// Connection is the connection that the link names, or zero.
	Connection passerelle.ConnectionID `json:"c,omitempty"`
	// Reset makes the flow request new credentials even when the stored credentials work. Supplied
	// is set when the person has entered new credentials.
	Reset    bool `json:"x,omitempty"`
	Supplied bool `json:"p,omitempty"`
	// Sources lists the sources that the client wants to repair. An empty list means all sources.
	Sources []string `json:"o,omitempty"`
	// Most is the largest number of connections that the flow may make.
	Most int `json:"m,omitempty"`
	// Parent is the handle of the flow that started this flow. A flow has a parent when a person
	// who manages connections adds another connection. Parent is empty for a flow with its own
	// link.
	Parent string `json:"h,omitempty"`
	// Made lists the new connections that share something. Deleted is the connection that the
	// person deleted last.
	Made    []passerelle.ConnectionID `json:"d,omitempty"`
	Deleted passerelle.ConnectionID   `json:"l,omitempty"`
	Filter  filter                    `json:"i"`
}

// flowSession is a flow in progress, with its client.
type flowSession struct {
	flowState
	client store.Client
}

func randomText() string {
	raw := make([]byte, 16)
	rand.Read(raw) // never returns an error, according to its documentation
	return hex.EncodeToString(raw)
}

// flowCookiePrefix has an older word for flows. Another text would end the flows that are under way
// during an upgrade.
const flowCookiePrefix = "journey_"

func flowCookieName(handle string) string { return flowCookiePrefix + handle }

// serveFlow handles all addresses of the flows about connections. A client's link begins a flow.
// The links on a flow's pages contain the flow's handle.
func (w *Webview) serveFlow(pc *pageContext) error {
	values, err := settings.Load(pc.context(), &w.DB.Reader, pc.domain.ID)
	if err != nil {
		return err
	}
	pc.zone = values.Location()
	if pc.request.Method == http.MethodPost {
		if hasFiles(pc.request) {
			return w.replyWithFiles(pc)
		}
		return w.reply(pc)
	}
	if !pc.reading() {
		return errMethod
	}
	query := pc.request.URL.Query()
	if query.Has(connectionParameter) && !query.Has(clientParameter) {
		return w.openLink(pc, query)
	}
	if !query.Has(handleParameter) {
		return w.startFlow(pc, query)
	}
	t, err := w.findFlow(pc, query.Get(handleParameter))
	if err != nil {
		return w.refuseLink(pc, t, err)
	}
	if pc.lang == "" {
		web.Redirect(pc.writer, pc.currentAddress(t))
		return nil
	}
	return w.showFlow(pc, t)
}

const handleParameter = "session"

// openLink handles a person who comes back from an institution to a waiting flow. When findFlow
// fails, as in another browser, openLink shows the result on a page.
func (w *Webview) openLink(pc *pageContext, query url.Values) error {
	t, err := w.findFlow(pc, query.Get(stateParameter))
	if err != nil {
		return w.arrived(pc, !query.Has("error"))
	}
	web.Redirect(pc.writer, pc.to(t, connectionStep, query.Get(connectionParameter)))
	return nil
}

// refuseLink handles an error of findFlow. For a flow that has ended, the client gets an error if
// the link has a redirect address or the client shows the flow in a frame. If the person has made
// connections in time, the client gets these connections instead, unless the user was deleted. In
// all other cases, the error becomes a page.
func (w *Webview) refuseLink(pc *pageContext, t *flowSession, err error) error {
	why := "The person took too long."
	switch {
	case t == nil:
		return err
	case errors.Is(err, errEnded):
		why = "The user no longer exists."
	case !errors.Is(err, errOver):
		return err
	case len(t.Made) > 0:
		_, gone := w.Aggregation.User(pc.context(), pc.domain, t.User)
		if !errors.Is(gone, passerelle.NotFound) {
			return w.finishConnect(pc, t)
		}
		why = "The user no longer exists."
	}
	if t.RedirectURI == "" && !t.framed() {
		pc.flowCookie(t.handle, t.Framed).Forget(pc.writer)
		return err
	}
	return w.finishFlow(pc, t, failure("session_expired", why))
}

// startFlow begins a flow. It exchanges the code in the address for a cookie, and redirects the
// browser to an address without the code.
func (w *Webview) startFlow(pc *pageContext, query url.Values) error {
	if pc.request.Method != http.MethodGet {
		return errMethod // only a GET may use up a single-use code
	}
	if w.toConfiguredHost(pc) {
		return nil
	}
	t, err := w.newFlowSession(pc, query)
	if err != nil {
		return err
	}
	if err := w.fits(t); err != nil {
		return err // the check comes before the use of a single-use code
	}
	if err := w.identify(pc, t, query.Get("code")); err != nil {
		return err
	}
	w.dropOldestFlow(pc, t)
	if err := w.storeFlow(pc, t); err != nil {
		return err
	}
	web.Redirect(pc.writer, pc.to(t))
	return nil
}

// named reports whether a domain parameter means the domain of the request. The parameter may be
// empty. Otherwise it must be the domain's name, its host, or the first label of that host.
func (pc *pageContext) named(domain string) bool {
	_, parent, _ := strings.Cut(web.Origin(pc.domain.BaseURL), "://")
	bare, _, _ := strings.Cut(parent, ":")
	first, _, _ := strings.Cut(bare, ".")
	return domain == "" || slices.ContainsFunc([]string{parent, bare, first, pc.domain.Name}, func(name string) bool { return strings.EqualFold(name, domain) })
}

// newFlowSession reads all parameters of a link except the code.
func (w *Webview) newFlowSession(pc *pageContext, query url.Values) (*flowSession, error) {
	client, err := w.linkedBy(pc, query)
	if err != nil {
		return nil, err
	}
	t := &flowSession{client: client, flowState: flowState{
		handle: randomText(), Flow: pc.flow, Form: randomText(), Client: client.ID, State: query.Get(stateParameter),
		RedirectURI: query.Get(redirectParameter), Until: w.Now().Add(flowLife),
		Framed: strings.Contains(pc.request.Header.Get("Sec-Fetch-Dest"), "frame"), Reset: flagged(query, "reset_credentials"), Most: 1,
		Sources: listOf(query, "connection_sources", "sources"),
	}}
	if err := passerelle.CheckText(stateParameter, t.State, maxState); err != nil {
		return nil, wrongLink(err)
	}
	banks, err := w.Aggregation.Banks(pc.context(), pc.domain)
	if err != nil {
		return nil, fmt.Errorf("list the institutions: %w", err)
	}
	if t.Filter, err = readFilter(pc.flow, query, banks); err != nil {
		return nil, wrongLink(err)
	}
	return t, wrongLink(t.count(query))
}

// checkDomain fails when the domain parameter of a link means another domain.
func (pc *pageContext) checkDomain(query url.Values) error {
	if domain := query.Get("domain"); !pc.named(domain) {
		return &explained{errSender, fmt.Sprintf("domain: %q is not this service; leave it out, or name the host", domain)}
	}
	return nil
}

// linkedBy returns the client that made the person's link. The client must be allowed to redirect
// to the address in the link. A link may omit the address when the person only manages connections.
func (w *Webview) linkedBy(pc *pageContext, query url.Values) (store.Client, error) {
	if err := pc.checkDomain(query); err != nil {
		return store.Client{}, err
	}
	client, err := w.namedClient(pc, query)
	if err != nil || pc.flow == flowManage && !query.Has(redirectParameter) {
		return client, err
	}
	return client, w.checkRedirect(pc, client.ID, query)
}

// checkRedirect fails for an address to which the client may not redirect people.
func (w *Webview) checkRedirect(pc *pageContext, client passerelle.ClientID, query url.Values) error {
	uri := query.Get(redirectParameter)
	_, err := passerelle.ParseRedirectURI(redirectParameter, uri)
	if uri == "" {
		err = passerelle.MissingField(redirectParameter, "is required")
	}
	if err == nil {
		err = w.Initiation.CheckRedirect(pc.context(), pc.domain, client, redirectParameter, uri)
	}
	if errors.Is(err, passerelle.Invalid) {
		return &explained{errSender, messageOf(err)}
	}
	return err
}

// flagged reads a boolean parameter. A parameter without a value means true.
func flagged(query url.Values, name string) bool {
	return query.Has(name) && !slices.Contains([]string{"0", "false"}, strings.ToLower(query.Get(name)))
}

// count reads the parameters max_connections and connection_id.
func (t *flowSession) count(query url.Values) error {
	if text := query.Get("max_connections"); text != "" {
		most, err := strconv.Atoi(text)
		if err != nil || most < 1 {
			return passerelle.InvalidField("max_connections", "must be a number from 1 on")
		}
		t.Most = min(most, maxConnections)
	}
	text := query.Get("connection_id")
	switch {
	case t.Flow == flowConnect || text == "" && t.Flow == flowManage:
		return nil
	case text == "":
		return passerelle.MissingField("connection_id", "is required")
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return passerelle.InvalidField("connection_id", "must be the number of a connection")
	}
	t.Connection = passerelle.ConnectionID(id)
	return nil
}

// identify exchanges a code for its user. Without a code, a person who makes a connection becomes a
// new user at their first action.
func (w *Webview) identify(pc *pageContext, t *flowSession, text string) error {
	if text == "" {
		return nil
	}
	code, err := w.redeem(pc, t.client, text)
	if err != nil {
		return err
	}
	if t.Connection != 0 {
		_, err := w.Aggregation.Connection(pc.context(), pc.domain, code.User, t.Connection)
		if errors.Is(err, passerelle.NotFound) {
			err = wrongLink(passerelle.InvalidField("connection_id", "must be the number of a connection of the user who has the code"))
		}
		if err != nil {
			return err
		}
	}
	if err := w.use(pc, code); err != nil {
		return err
	}
	t.User = code.User
	return nil
}

// use spends a code. It fails with errUsed when the code was already used.
func (w *Webview) use(pc *pageContext, code store.Token) error {
	err := w.Access.Use(pc.context(), code)
	if errors.Is(err, passerelle.Unauthenticated) {
		return errUsed
	}
	if err != nil {
		return fmt.Errorf("use a code: %w", err)
	}
	return nil
}

// flowCookie returns the cookie in which the browser stores a flow.
func (pc *pageContext) flowCookie(handle string, framed bool) web.Cookie {
	return web.Cookie{Name: flowCookieName(handle), Path: pc.root, Secure: pc.secure(), Framed: framed, Life: sessionLife}
}

// storeFlow stores the current state of the flow in the browser's cookie.
func (w *Webview) storeFlow(pc *pageContext, t *flowSession) error {
	err := w.sealer.Set(pc.writer, pc.flowCookie(t.handle, t.Framed), t.flowState)
	if errors.Is(err, web.ErrLongCookie) {
		return errCrammed
	}
	return err
}

// fits fails when the cookie of a flow could become too large. It counts all data that may be added
// during the flow.
func (w *Webview) fits(t *flowSession) error {
	const long = math.MaxInt64
	most := t.flowState
	most.User, most.New, most.Supplied, most.Connection, most.Deleted = long, true, true, long, long
	most.Made = slices.Repeat([]passerelle.ConnectionID{long}, most.Most)
	fits, err := w.sealer.Fits(flowCookieName(t.handle), most)
	if err == nil && !fits {
		err = errCrammed
	}
	return err
}

// maxFlows is the largest number of flows that a browser stores after a link has begun a flow.
// maxFlowCookies limits the bytes of their cookies, like maxPaymentCookies for payments. The limits
// leave room, in the headers that a server accepts, for the cookies of flows that other flows
// start.
const (
	maxFlows       = 8
	maxFlowCookies = 20 << 10
)

// dropOldestFlow makes room for a new flow. It drops the oldest flows in the browser's cookies.
func (w *Webview) dropOldestFlow(pc *pageContext, t *flowSession) {
	var former []flowState
	sizes := map[string]int{}
	for _, cookie := range pc.request.Cookies() {
		if handle, is := strings.CutPrefix(cookie.Name, flowCookiePrefix); is {
			j := flowState{Framed: t.Framed} // used when the cookie cannot be read
			_ = w.sealer.Open(cookie.Name, cookie.Value, &j)
			j.handle, sizes[handle] = handle, len(cookie.Name)+len(cookie.Value)
			former = append(former, j)
		}
	}
	slices.SortFunc(former, func(a, b flowState) int { return b.Until.Compare(a.Until) })
	room := maxFlowCookies - web.MaxCookie
	for i, j := range former {
		if room -= sizes[j.handle]; room < 0 || i >= maxFlows-1 {
			pc.flowCookie(j.handle, j.Framed).Forget(pc.writer)
		}
	}
}

// findFlow returns the flow with a handle. A flow ends when its time is over, or when its user or
// its client is deleted.
func (w *Webview) findFlow(pc *pageContext, handle string) (*flowSession, error) {
	t := &flowSession{}
	if err := w.sealer.Read(pc.request, flowCookieName(handle), &t.flowState); err != nil {
		return nil, errUsed
	}
	t.handle = handle
	pc.nameInstitutions(!t.Filter.accounts())
	return w.resumed(pc, t)
}

func (w *Webview) resumed(pc *pageContext, t *flowSession) (*flowSession, error) {
	var err error
	if t.Flow != pc.flow {
		return nil, errUsed
	}
	if t.client, err = w.DB.Client(pc.context(), pc.domain.ID, t.Client); errors.Is(err, store.ErrNotFound) {
		return nil, errUsed
	}
	if err != nil {
		return nil, fmt.Errorf("load client %d: %w", t.Client, err)
	}
	pc.client = &t.client
	if !w.Now().Before(t.Until) {
		return t, errOver
	}
	if t.User == 0 {
		return t, nil
	}
	if _, err = w.Aggregation.User(pc.context(), pc.domain, t.User); errors.Is(err, passerelle.NotFound) {
		return t, errEnded
	}
	return t, err
}

// settle creates a user for a person without a user. The flow has only one new user, although the
// browser may send a form again before it has the cookie with this user.
func (w *Webview) settle(pc *pageContext, t *flowSession) error {
	if t.User != 0 {
		return nil
	}
	only := pc.once(t, "user")
	u, err := w.Aggregation.CreateUser(pc.context(), pc.domain, false, func(tx *store.Tx, u passerelle.User) error { return tx.Executed(only, int64(u.ID)) })
	t.User, t.New = u.ID, true
	if errors.Is(err, store.ErrRepeated) {
		t.User, err = madeFor[passerelle.UserID](w, pc, only)
	}
	if err != nil {
		return err
	}
	return w.storeFlow(pc, t)
}

// once returns the right to create one object for a purpose of a flow.
func (pc *pageContext) once(t *flowSession, purpose string) store.Execution {
	return store.FormExecution(pc.domain.ID, t.handle+" "+purpose)
}

// madeFor returns the id of the object that an earlier request created with the same right.
func madeFor[ID ~int64](w *Webview, pc *pageContext, only store.Execution) (ID, error) {
	id, err := w.DB.MadeFor(pc.context(), only)
	if err != nil {
		return 0, fmt.Errorf("find what a form has created: %w", err)
	}
	return ID(id), nil
}

// ownsForm reports whether a form belongs to the flow.
func (t *flowSession) ownsForm(form url.Values) bool {
	return subtle.ConstantTimeCompare([]byte(form.Get(formParameter)), []byte(t.Form)) == 1
}

const formParameter = "csrf"

// These are parameters in the addresses of a flow's pages.
const (
	connectionStep = "connection"
	bankStep       = "bank"
)

// to returns the address of a step of a flow. Additional parameters are pairs of name and value.
func (pc *pageContext) to(t *flowSession, pairs ...string) string {
	query := url.Values{handleParameter: {t.handle}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return pc.inTongue(cmp.Or(pc.lang, pc.words.Lang), query)
}

// currentAddress returns the address of the current page.
func (pc *pageContext) currentAddress(t *flowSession) string {
	return pc.inTongue(cmp.Or(pc.lang, pc.words.Lang), pc.where(t))
}

// where returns the parameters of the requested page. For a form, these are the parameters of the
// page with that form.
func (pc *pageContext) where(t *flowSession) url.Values {
	query := url.Values{handleParameter: {t.handle}}
	for _, name := range []string{connectionStep, bankStep, "by", chooser.CountryParameter, chooser.SearchParameter, chooser.FromParameter, "step", "after"} {
		if value := pc.request.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func (pc *pageContext) inTongue(lang string, query url.Values) string {
	return pc.flowAddress(lang) + "?" + query.Encode()
}

// flowAddress returns the address of a flow's pages, without parameters.
func (pc *pageContext) flowAddress(lang string) string { return pc.root + "/" + lang + "/" + pc.flow }

// landing returns the address to which an institution sends the person back.
func (pc *pageContext) landing(t *flowSession) aggregation.Landing {
	return aggregation.Landing{RedirectURI: web.Origin(pc.domain.BaseURL) + pc.flowAddress(cmp.Or(pc.lang, pc.words.Lang)), State: t.handle}
}
