package page

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// sessionCookie contains the token of the session.
const sessionCookie = "console"

// cookieLife is the time for which browsers keep a cookie that SetCookie sets. Sessions end
// earlier.
const cookieLife = 24 * time.Hour

// SetCookie seals a value into a cookie of the console.
func (pc *Context) SetCookie(name, value string) error {
	return pc.handler.sealer.Set(pc.Writer, web.Cookie{Name: name, Path: Root, Strict: true, Secure: pc.secure, Life: cookieLife}, value)
}

// SetCrossing seals a value into a cookie like SetCookie. The browser also sends this cookie when
// another site links to the console.
func (pc *Context) SetCrossing(name, value string, life time.Duration) error {
	return pc.handler.sealer.Set(pc.Writer, web.Cookie{Name: name, Path: Root, Secure: pc.secure, Life: life}, value)
}

// Cookie returns the value that SetCookie or SetCrossing sealed. It returns false when the request
// has no such value.
func (pc *Context) Cookie(name string) (string, bool) {
	var value string
	is := pc.handler.sealer.Read(pc.Request, name, &value) == nil
	return value, is
}

// SetSession sets the session cookie to a token.
func (pc *Context) SetSession(token string) error { return pc.SetCookie(sessionCookie, token) }

// Session returns the token in the session cookie, or ErrNoSession.
func (pc *Context) Session() (string, error) {
	token, is := pc.Cookie(sessionCookie)
	if !is {
		return "", operators.ErrNoSession
	}
	return token, nil
}

// nextCookie contains the address of the page that a person without a session requested. The person
// sees that page after the sign-in, if the sign-in takes at most nextLife.
const (
	nextCookie = "console_next"
	nextLife   = 10 * time.Minute
)

// turnAway handles a request that admit refused. A link on another site opens a page without the
// session's cookie, because browsers do not send this cookie with requests from other sites. The
// response is then a page of the console that opens the same address. This page changes nothing.
// For a person without a session, turnAway stores the address until after the sign-in.
func (h *Handler) turnAway(pc *Context, err error) error {
	if !errors.Is(err, operators.ErrNoSession) || pc.Request.Method != http.MethodGet || pc.Part() {
		return err
	}
	address := pc.Request.URL.RequestURI()
	if pc.Request.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return own.Send(pc.Writer, web.Page{
			Name: "onward", Words: web.Words{Lang: "en"}, Title: "Passerelle", Sheets: sheets, Body: frame{Data: address}, RefreshTo: address,
		})
	}
	if kept := pc.SetCrossing(nextCookie, address, nextLife); kept != nil && !errors.Is(kept, web.ErrLongCookie) {
		return kept
	}
	return err
}

// TakeNext returns the address to open after a sign-in, and forgets it. The address is that of the
// page that the person requested without a session, or Root. No form or parameter can set the
// address.
func (pc *Context) TakeNext() string {
	next, is := pc.Cookie(nextCookie)
	if !is {
		return Root
	}
	web.Cookie{Name: nextCookie, Path: Root, Secure: pc.secure}.Forget(pc.Writer)
	if !strings.HasPrefix(next, Root) {
		return Root
	}
	return next
}

// admit sets the session and the domain of a request. It refuses a form that does not belong to the
// session.
func (h *Handler) admit(pc *Context) error {
	token, err := pc.Session()
	if err != nil {
		return err
	}
	resume := h.Operators.ResumeSession
	if pc.Part() {
		resume = h.Operators.SessionOf
	}
	if pc.Who, err = resume(pc, token); err != nil {
		return err
	}
	if pc.Request.Method == http.MethodPost && !pc.Who.Owns(pc.Field("csrf")) {
		return ErrForeign
	}
	if !strings.HasPrefix(pc.Request.URL.Path, Root+"domains/") {
		return h.recall(pc)
	}
	if err := h.enter(pc, passerelle.DomainID(pc.Numbers[0])); err != nil {
		return err
	}
	return pc.remember()
}

// domainCookie contains the number of the domain that the operator viewed last.
const domainCookie = "console_domain"

// remember stores the shown domain for pages outside a domain.
func (pc *Context) remember() error {
	id := strconv.FormatInt(int64(pc.Domain.ID), 10)
	if last, _ := pc.Cookie(domainCookie); last == id || pc.Part() {
		return nil
	}
	return pc.SetCookie(domainCookie, id)
}

// ForgetDomain removes the cookie with the domain that the operator viewed last. The next operator
// in the same browser then begins without a domain.
func (pc *Context) ForgetDomain() {
	web.Cookie{Name: domainCookie, Path: Root, Strict: true, Secure: pc.secure}.Forget(pc.Writer)
}

// recall sets the domain that the operator viewed last, if the domain still exists. Pages that
// belong to no domain show the menu of the last domain.
func (h *Handler) recall(pc *Context) error {
	text, _ := pc.Cookie(domainCookie)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil //nolint:nilerr // the operator has viewed no domain
	}
	domain, err := h.DB.Domain(pc, passerelle.DomainID(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load domain %d: %w", id, err)
	}
	pc.last = &domain
	return nil
}

func (h *Handler) enter(pc *Context, id passerelle.DomainID) error {
	domain, err := h.DB.Domain(pc, id)
	if errors.Is(err, store.ErrNotFound) {
		return ErrNoPage
	}
	if err != nil {
		return fmt.Errorf("load domain %d: %w", id, err)
	}
	pc.Domain = domain
	pc.Zone, err = h.Location(pc, domain)
	return err
}
