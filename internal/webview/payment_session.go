package webview

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// sessionLife is the time for which a browser keeps the cookie of a payment or flow. The access
// usually ends earlier.
const sessionLife = 24 * time.Hour

// session is the encrypted cookie that gives a payer's browser access to one payment. Every page
// checks the code in the cookie again, so revoking the code ends the access immediately.
type session struct {
	Code    string               `json:"code"`
	Payment passerelle.PaymentID `json:"payment"`
	// RedirectURI is the address for a person when the payment cannot be made. The service has
	// checked that the client may use this address. RedirectURI is empty when the link names no
	// such address.
	RedirectURI string `json:"redirect_uri,omitempty"`
	State       string `json:"state,omitempty"`
	// Form is a token in every form of this session.
	Form string `json:"form"`
}

// owns reports whether a form with this token belongs to the session.
func (s session) owns(token string) bool {
	return s.Form != "" && subtle.ConstantTimeCompare([]byte(s.Form), []byte(token)) == 1
}

// payerSession is a person with the right to see a payment.
type payerSession struct {
	session
	payment *payment.Payment
	// client is the application that requests the payment.
	client store.Client
	// last is the number of the payment's last attempt at a bank. It is the number of the bank's
	// question in the forms of a page.
	last int64
}

// enter exchanges the code in the address for a cookie, and redirects the browser to an address
// without the code. Banks redirect people to the configured host, so the browser must receive the
// cookie on that host.
func (w *Webview) enter(pc *pageContext) error {
	if w.toConfiguredHost(pc) {
		return nil
	}
	s, err := w.exchange(pc, pc.request.URL.Query())
	if err != nil {
		return err
	}
	var former session
	if w.sealer.Read(pc.request, cookieName(s.Payment), &former) == nil {
		s.Form = former.Form // forms in another tab of this browser stay valid
	}
	err = w.sealer.Set(pc.writer, pc.paymentCookie(s.Payment), s)
	if errors.Is(err, web.ErrLongCookie) {
		return errCrammed
	}
	if err != nil {
		return err
	}
	pc.dropOldestPayments(s.Payment)
	web.Redirect(pc.writer, pc.address(s.Payment))
	return nil
}

// paymentCookie returns the cookie that gives a browser access to a payment.
func (pc *pageContext) paymentCookie(id passerelle.PaymentID) web.Cookie {
	return web.Cookie{Name: cookieName(id), Path: pc.root, Secure: pc.secure(), Life: sessionLife}
}

// maxPaymentCookies limits the bytes of the cookies for payments in a browser. The browser sends
// all of them with every request, and the server refuses a request with headers that are too long.
const maxPaymentCookies = 16 << 10

// dropOldestPayments makes room for the cookie of an opened payment. It drops the cookies of the
// payments with the smallest numbers, because these payments are the oldest.
func (pc *pageContext) dropOldestPayments(opened passerelle.PaymentID) {
	sizes := map[passerelle.PaymentID]int{}
	for _, cookie := range pc.request.Cookies() {
		text, is := strings.CutPrefix(cookie.Name, paymentCookiePrefix)
		id, err := strconv.ParseInt(text, 10, 64)
		if is && err == nil && passerelle.PaymentID(id) != opened {
			sizes[passerelle.PaymentID(id)] += len(cookie.Name) + len(cookie.Value)
		}
	}
	room := maxPaymentCookies - web.MaxCookie
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(sizes))) {
		if room -= sizes[id]; room < 0 {
			pc.paymentCookie(id).Forget(pc.writer)
		}
	}
}

// toConfiguredHost redirects a browser to the configured host if the browser uses another host. It
// reports whether it redirected the browser.
func (w *Webview) toConfiguredHost(pc *pageContext) bool {
	parent := web.Origin(pc.domain.BaseURL)
	if _, host, _ := strings.Cut(parent, "://"); strings.EqualFold(host, pc.request.Host) {
		return false
	}
	web.Redirect(pc.writer, parent+pc.request.URL.RequestURI())
	return true
}

// secure reports whether people open the domain over https.
func (pc *pageContext) secure() bool { return strings.HasPrefix(pc.domain.BaseURL, "https://") }

// exchange checks the code in the address. It returns a session with the code and the other
// parameters of the address.
func (w *Webview) exchange(pc *pageContext, query url.Values) (session, error) {
	s := session{Code: query.Get("code"), State: query.Get("state"), RedirectURI: query.Get(redirectParameter), Form: rand.Text()}
	if err := w.checkAddress(pc, query); err != nil {
		return session{}, err
	}
	principal, err := w.principal(pc, s.Code)
	if err != nil {
		return session{}, err
	}
	if err := w.checkSender(pc, principal.Client, query); err != nil {
		return session{}, err
	}
	s.Payment = principal.Payment
	named := query.Get("payment_id")
	if named != "" && named != paymentText(s.Payment) {
		return session{}, errLink
	}
	return s, nil
}

// checkAddress fails for a link to another domain, and for a link of an unknown application.
func (w *Webview) checkAddress(pc *pageContext, query url.Values) error {
	if err := pc.checkDomain(query); err != nil || !query.Has(clientParameter) {
		return err
	}
	_, err := w.namedClient(pc, query)
	return err
}

// checkSender fails when the link and the code name different applications. It also fails when the
// application may not use the link's redirect address. A link may omit both: the application then
// comes from the code, and the address from the payment.
func (w *Webview) checkSender(pc *pageContext, client passerelle.ClientID, query url.Values) error {
	if named := query.Get(clientParameter); named != "" && client != 0 && named != strconv.FormatInt(int64(client), 10) {
		return &explained{errSender, "client_id: the code is of another application"}
	}
	if query.Get(redirectParameter) == "" {
		return nil
	}
	return w.checkRedirect(pc, client, query)
}

// principal returns the principal of a code. It fails unless the code allows its holder to validate
// one payment.
func (w *Webview) principal(pc *pageContext, code string) (access.Principal, error) {
	principal, err := w.Access.Authenticate(pc.context(), pc.domain.ID, code)
	if errors.Is(err, passerelle.Unauthenticated) {
		return principal, errLink
	}
	if err != nil {
		return principal, fmt.Errorf("check the code of a payer: %w", err)
	}
	if principal.Payment == 0 || !principal.Scopes.Has(passerelle.ScopePaymentsValidate) {
		return principal, errLink
	}
	return principal, nil
}

// acceptable reports whether the client may redirect people to the URI. If an address in a link is
// not acceptable, the pages never redirect people there.
func (w *Webview) acceptable(pc *pageContext, by access.Principal, uri string) bool {
	if uri == "" {
		return false
	}
	if _, err := passerelle.ParseRedirectURI("redirect_uri", uri); err != nil {
		return false
	}
	return w.Initiation.CheckRedirect(pc.context(), pc.domain, by.Client, "redirect_uri", uri) == nil
}

// resume returns the session for the payment that the address names.
func (w *Webview) resume(pc *pageContext) (*payerSession, error) {
	id, err := strconv.ParseInt(pc.request.URL.Query().Get("payment_id"), 10, 64)
	if err != nil {
		return nil, errLink
	}
	s := &payerSession{}
	if err := w.sealer.Read(pc.request, cookieName(passerelle.PaymentID(id)), &s.session); err != nil {
		return nil, errLink
	}
	principal, err := w.principal(pc, s.Code)
	if err != nil {
		return nil, err
	}
	s.payment, err = w.DB.Payment(pc.context(), pc.domain.ID, principal.Payment, false)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errLink
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", principal.Payment, err)
	}
	s.client, err = w.DB.Client(pc.context(), pc.domain.ID, s.payment.Client)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("load client %d: %w", s.payment.Client, err)
	}
	return s, nil
}

const paymentCookiePrefix = "payment_"

// cookieName returns a different name for each payment, so a person can make two payments in two
// tabs of one browser.
func cookieName(id passerelle.PaymentID) string { return paymentCookiePrefix + paymentText(id) }

func paymentText(id passerelle.PaymentID) string { return strconv.FormatInt(int64(id), 10) }

// address returns the path of a payment's page, without a code or a host.
func (pc *pageContext) address(id passerelle.PaymentID) string {
	return pc.inLanguage(cmp.Or(pc.lang, pc.words.Lang), id)
}

func (pc *pageContext) inLanguage(lang string, id passerelle.PaymentID) string {
	return pc.root + "/" + lang + "/payment?payment_id=" + paymentText(id)
}

// returnURL returns the address of the payment's page to which banks redirect people.
func (pc *pageContext) returnURL(id passerelle.PaymentID) string {
	return web.Origin(pc.domain.BaseURL) + pc.address(id)
}
