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
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// The flows about connections, as the last word of an address.
const (
	flowConnect   = "connect"
	flowReconnect = "reconnect"
	flowManage    = "manage"
)

// journeyLife is how long a journey lasts from its link on. The cookie stays
// longer, so that the client of one that is over can be told.
const journeyLife = 2 * time.Hour

// journey is what a person's browser remembers, sealed, of a link that a client
// sent them by: who they are, what the client wants, and where they go in the end.
// Where they are on it is in the address and in what is stored.
type journey struct {
	// handle names the journey in addresses. It opens nothing by itself.
	handle string
	Flow   string `json:"f"`
	// Form comes back with every form of the journey.
	Form   string              `json:"k"`
	Client passerelle.ClientID `json:"a"`
	// User is zero as long as nobody has come with a code and nothing was done.
	User passerelle.UserID `json:"u,omitempty"`
	// New is set for a user that was made on the way: the client is handed a code
	// for it.
	New         bool   `json:"n,omitempty"`
	RedirectURI string `json:"r,omitempty"`
	State       string `json:"s,omitempty"`
	// Until is when the journey ends, in real time.
	Until time.Time `json:"e"`
	// Framed journeys are made inside a page of the client's.
	Framed bool `json:"w,omitempty"`
	// Connection is the one the link is about, zero for none, and Sync the number
	// of its last read at that time.
	Connection passerelle.ConnectionID `json:"c,omitempty"`
	Sync       int64                   `json:"y,omitempty"`
	// Reset asks for credentials even when those there are work.
	Reset bool `json:"x,omitempty"`
	// Sources are those of the connection that the client wants to be mended, by
	// name; none stands for all.
	Sources []string `json:"o,omitempty"`
	// Most is how many connections may be made.
	Most int `json:"m,omitempty"`
	// Home is the handle of the journey on which this one was begun, to add a
	// connection to those that are managed there; empty for one with its own link.
	Home string `json:"h,omitempty"`
	// Made are the connections of which something was shared, and Deleted the last
	// one that was deleted.
	Made    []passerelle.ConnectionID `json:"d,omitempty"`
	Deleted passerelle.ConnectionID   `json:"l,omitempty"`
	Filter  filter                    `json:"i"`
}

// traveller is a person on a journey.
type traveller struct {
	journey
	client store.Client
}

func randomText() string {
	raw := make([]byte, 16)
	rand.Read(raw) // never fails, by its documentation
	return hex.EncodeToString(raw)
}

const journeyPrefix = "journey_"

func journeyName(handle string) string { return journeyPrefix + handle }

// travel is every address of the flows about connections. One that a client made
// begins a journey; those that we make name one.
func (w *Webview) travel(v *visit) error {
	if v.request.Method == http.MethodPost {
		return w.reply(v)
	}
	if !v.reading() {
		return errMethod
	}
	query := v.request.URL.Query()
	if query.Has(connectionParameter) && !query.Has(clientParameter) {
		return w.land(v, query)
	}
	if !query.Has(handleParameter) {
		return w.setOut(v, query)
	}
	t, err := w.findJourney(v, query.Get(handleParameter))
	if err != nil {
		return w.strand(v, t, err)
	}
	if v.lang == "" {
		web.Redirect(v.writer, v.along(t))
		return nil
	}
	return w.pass(v, t)
}

const handleParameter = "session"

// land receives a person who comes from an institution and is expected by a
// journey. In another window than that of the journey, a page says what came of it.
func (w *Webview) land(v *visit, query url.Values) error {
	t, err := w.findJourney(v, query.Get(stateParameter))
	if err != nil {
		return w.arrived(v, !query.Has("error"))
	}
	web.Redirect(v.writer, v.to(t, connectionStep, query.Get(connectionParameter)))
	return nil
}

// strand answers somebody whose journey is over, or none of this browser's. A
// client that waits for them is told.
func (w *Webview) strand(v *visit, t *traveller, err error) error {
	why := "The person took too long."
	switch {
	case t == nil:
		return err
	case errors.Is(err, errEnded):
		why = "The user is not there any more."
	case !errors.Is(err, errOver):
		return err
	}
	if t.RedirectURI == "" && !t.framed() {
		v.journeyCookie(t.handle, t.Framed).Forget(v.writer)
		return err
	}
	return w.depart(v, t, failure("session_expired", why))
}

// setOut begins a journey: the code in the address is exchanged for a cookie, and
// the browser goes on to an address without it.
func (w *Webview) setOut(v *visit, query url.Values) error {
	if v.request.Method != http.MethodGet {
		return errMethod // a code for one use is used up by whoever means it
	}
	if w.goHome(v) {
		return nil
	}
	t, err := w.newTraveller(v, query)
	if err != nil {
		return err
	}
	if err := w.fits(t); err != nil {
		return err // before a code for one use is used up
	}
	if err := w.identify(v, t, query.Get("code")); err != nil {
		return err
	}
	w.forgetFormer(v, t)
	if err := w.keepJourney(v, t); err != nil {
		return err
	}
	web.Redirect(v.writer, v.to(t))
	return nil
}

// named reports whether a domain parameter means the domain that was called: by
// its host, the first part of that, or its name.
func (v *visit) named(domain string) bool {
	_, home, _ := strings.Cut(web.Origin(v.domain.BaseURL), "://")
	bare, _, _ := strings.Cut(home, ":")
	first, _, _ := strings.Cut(bare, ".")
	return domain == "" || slices.ContainsFunc([]string{home, bare, first, v.domain.Name}, func(name string) bool { return strings.EqualFold(name, domain) })
}

// newTraveller reads a link, apart from the code.
func (w *Webview) newTraveller(v *visit, query url.Values) (*traveller, error) {
	client, err := w.linkedBy(v, query)
	if err != nil {
		return nil, err
	}
	t := &traveller{client: client, journey: journey{
		handle: randomText(), Flow: v.flow, Form: randomText(), Client: client.ID, State: query.Get(stateParameter),
		RedirectURI: query.Get(redirectParameter), Until: w.Now().Add(journeyLife),
		Framed: strings.Contains(v.request.Header.Get("Sec-Fetch-Dest"), "frame"), Reset: flagged(query, "reset_credentials"), Most: 1,
		Sources: slices.Concat(listOf(query, "connection_sources"), listOf(query, "sources")),
	}}
	if err := passerelle.CheckText(stateParameter, t.State, maxState); err != nil {
		return nil, wrongLink(err)
	}
	banks, err := w.Aggregation.Banks(v.context(), v.domain)
	if err != nil {
		return nil, fmt.Errorf("list the institutions: %w", err)
	}
	if t.Filter, err = readFilter(query, banks); err != nil {
		return nil, wrongLink(err)
	}
	return t, wrongLink(t.count(query))
}

// checkDomain refuses a link that means another service.
func (v *visit) checkDomain(query url.Values) error {
	if domain := query.Get("domain"); !v.named(domain) {
		return &explained{errSender, fmt.Sprintf("domain: %q is not this service; leave it out, or name the host", domain)}
	}
	return nil
}

// linkedBy is the client that sent the person by a link, which has to mean this
// domain. The client has to be one that may receive people where it wants them; those
// who manage what they share may come from nowhere in particular.
func (w *Webview) linkedBy(v *visit, query url.Values) (store.Client, error) {
	if err := v.checkDomain(query); err != nil {
		return store.Client{}, err
	}
	client, err := w.namedClient(v, query)
	if err != nil || v.flow == flowManage && !query.Has(redirectParameter) {
		return client, err
	}
	return client, w.checkRedirect(v, client.ID, query)
}

// checkRedirect refuses an address that the client may not send people to.
func (w *Webview) checkRedirect(v *visit, client passerelle.ClientID, query url.Values) error {
	uri := query.Get(redirectParameter)
	_, err := passerelle.ParseRedirectURI(redirectParameter, uri)
	if err == nil {
		err = w.Initiation.CheckRedirect(v.context(), v.domain, client, redirectParameter, uri)
	}
	if errors.Is(err, passerelle.Invalid) {
		return &explained{errSender, messageOf(err)}
	}
	return err
}

// flagged reads a parameter without a value, or with one that says yes or no.
func flagged(query url.Values, name string) bool {
	return query.Has(name) && !slices.Contains([]string{"0", "false"}, strings.ToLower(query.Get(name)))
}

// count reads the numbers of a link.
func (t *traveller) count(query url.Values) error {
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

// identify exchanges a code for the user it stands for. Without one a person who
// makes a connection is a new user, from the first thing they do.
func (w *Webview) identify(v *visit, t *traveller, text string) error {
	if text == "" {
		return nil
	}
	code, err := w.redeem(v, t.client, text)
	if err != nil {
		return err
	}
	if t.Connection != 0 {
		c, err := w.Aggregation.Connection(v.context(), v.domain, code.User, t.Connection)
		if err != nil {
			return err
		}
		t.Sync = c.Sync
	}
	if err := w.Access.Use(v.context(), code); err != nil {
		return errUsed
	}
	t.User = code.User
	return nil
}

// journeyCookie is where the browser keeps a journey.
func (v *visit) journeyCookie(handle string, framed bool) web.Cookie {
	return web.Cookie{Name: journeyName(handle), Path: v.root, Secure: v.secure(), Framed: framed, Life: sessionLife}
}

// keepJourney has the browser keep the journey as it now is.
func (w *Webview) keepJourney(v *visit, t *traveller) error {
	err := w.sealer.Set(v.writer, v.journeyCookie(t.handle, t.Framed), t.journey)
	if errors.Is(err, web.ErrLongCookie) {
		return errCrammed
	}
	return err
}

// fits refuses a journey that a cookie could not keep to its end, with all that may
// be added on the way.
func (w *Webview) fits(t *traveller) error {
	const long = math.MaxInt64
	most := t.journey
	most.User, most.New, most.Sync, most.Connection, most.Deleted = long, true, long, long, long
	most.Made = slices.Repeat([]passerelle.ConnectionID{long}, most.Most)
	fits, err := w.sealer.Fits(journeyName(t.handle), most)
	if err == nil && !fits {
		err = errCrammed
	}
	return err
}

// mostJourneys is how many journeys a browser remembers at once: each is sent with
// every request, and a server reads no more than so much of that.
const mostJourneys = 8

// forgetFormer makes room for a journey: of those that were never brought to an
// end, the ones that began first are forgotten.
func (w *Webview) forgetFormer(v *visit, t *traveller) {
	var former []journey
	for _, cookie := range v.request.Cookies() {
		if handle, is := strings.CutPrefix(cookie.Name, journeyPrefix); is {
			j := journey{Framed: t.Framed} // unless it can be read
			_ = w.sealer.Open(cookie.Name, cookie.Value, &j)
			j.handle = handle
			former = append(former, j)
		}
	}
	slices.SortFunc(former, func(a, b journey) int { return b.Until.Compare(a.Until) })
	for i := mostJourneys - 1; i < len(former); i++ {
		v.journeyCookie(former[i].handle, former[i].Framed).Forget(v.writer)
	}
}

// findJourney finds the journey of a handle. It is over with its time, with its user
// and with its client.
func (w *Webview) findJourney(v *visit, handle string) (*traveller, error) {
	t := &traveller{}
	if err := w.sealer.Read(v.request, journeyName(handle), &t.journey); err != nil {
		return nil, errUsed
	}
	t.handle = handle
	return w.resumed(v, t)
}

func (w *Webview) resumed(v *visit, t *traveller) (*traveller, error) {
	var err error
	if t.Flow != v.flow {
		return nil, errUsed
	}
	if t.client, err = w.DB.Client(v.context(), v.domain.ID, t.Client); errors.Is(err, store.ErrNotFound) {
		return nil, errUsed
	}
	if err != nil {
		return nil, fmt.Errorf("load client %d: %w", t.Client, err)
	}
	if !w.Now().Before(t.Until) {
		return t, errOver
	}
	if t.User == 0 {
		return t, nil
	}
	if _, err = w.Aggregation.User(v.context(), v.domain, t.User); errors.Is(err, passerelle.NotFound) {
		return t, errEnded
	}
	return t, err
}

// settle makes a user of somebody who is none yet.
func (w *Webview) settle(v *visit, t *traveller) error {
	if t.User != 0 {
		return nil
	}
	u, err := w.Aggregation.CreateUser(v.context(), v.domain, false, func(*store.Tx, passerelle.User) error { return nil })
	if err != nil {
		return err
	}
	t.User, t.New = u.ID, true
	return w.keepJourney(v, t)
}

// genuine reports whether a form belongs to the journey.
func (t *traveller) genuine(form url.Values) bool {
	return subtle.ConstantTimeCompare([]byte(form.Get(formParameter)), []byte(t.Form)) == 1
}

const formParameter = "csrf"

// The parameters of our own addresses besides the handle.
const (
	connectionStep = "connection"
	bankStep       = "bank"
)

// to is an address on the way of a journey, with pairs of parameters.
func (v *visit) to(t *traveller, pairs ...string) string {
	query := url.Values{handleParameter: {t.handle}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return v.inTongue(cmp.Or(v.lang, v.words.Lang), query)
}

// along is the address that was called.
func (v *visit) along(t *traveller) string {
	return v.inTongue(cmp.Or(v.lang, v.words.Lang), v.where(t))
}

// where are the parameters of the page that was called, or that a form was sent
// from.
func (v *visit) where(t *traveller) url.Values {
	query := url.Values{handleParameter: {t.handle}}
	for _, name := range []string{connectionStep, bankStep, "by", "country", "search", fromParameter, "step", "after"} {
		if value := v.request.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func (v *visit) inTongue(lang string, query url.Values) string {
	return v.flowAddress(lang) + "?" + query.Encode()
}

// flowAddress is the address of the flow, without what belongs to the journey.
func (v *visit) flowAddress(lang string) string { return v.root + "/" + lang + "/" + v.flow }

// landing is where a person comes back to from an institution.
func (v *visit) landing(t *traveller) aggregation.Landing {
	return aggregation.Landing{RedirectURI: web.Origin(v.domain.BaseURL) + v.flowAddress(cmp.Or(v.lang, v.words.Lang)), State: t.handle}
}
