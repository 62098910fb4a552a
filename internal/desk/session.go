package desk

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// sessionCookie says who is signed in.
const sessionCookie = "console"

// cookieLife is how long browsers keep a cookie at most; sessions end earlier.
const cookieLife = 24 * time.Hour

// SetCookie seals a value into a cookie of the console.
func (v *Visit) SetCookie(name, value string) error {
	return v.desk.sealer.Set(v.Writer, web.Cookie{Name: name, Path: Root, Strict: true, Secure: v.secure, Life: cookieLife}, value)
}

// SetCrossing is SetCookie for a value that has to come back when another site leads
// here.
func (v *Visit) SetCrossing(name, value string, life time.Duration) error {
	return v.desk.sealer.Set(v.Writer, web.Cookie{Name: name, Path: Root, Secure: v.secure, Life: life}, value)
}

// Cookie is the value that SetCookie or SetCrossing sealed, and whether there is one.
func (v *Visit) Cookie(name string) (value string, is bool) {
	is = v.desk.sealer.Read(v.Request, name, &value) == nil
	return value, is
}

// SetSession gives the browser a session by its token.
func (v *Visit) SetSession(token string) error { return v.SetCookie(sessionCookie, token) }

// Session is the token of the session that the browser has, or ErrNoSession.
func (v *Visit) Session() (string, error) {
	token, is := v.Cookie(sessionCookie)
	if !is {
		return "", admission.ErrNoSession
	}
	return token, nil
}

// admit finds who is signed in, and the domain of the address. Forms must have
// been made for the session.
func (d *Desk) admit(v *Visit) error {
	token, err := v.Session()
	if err != nil {
		return err
	}
	resume := d.Admission.Resume
	if v.part() {
		resume = d.Admission.Glance
	}
	if v.Who, err = resume(v, token); err != nil {
		return err
	}
	if v.Request.Method == http.MethodPost && !v.Who.Owns(v.Field("csrf")) {
		return ErrForeign
	}
	if !strings.HasPrefix(v.Request.URL.Path, Root+"domains/") {
		return nil
	}
	return d.enter(v, passerelle.DomainID(v.Numbers[0]))
}

func (d *Desk) enter(v *Visit, id passerelle.DomainID) error {
	domain, err := d.DB.Domain(v, id)
	if errors.Is(err, store.ErrNotFound) {
		return ErrNoPage
	}
	if err != nil {
		return fmt.Errorf("load domain %d: %w", id, err)
	}
	v.Domain = domain
	v.Zone, err = d.Location(v, domain)
	return err
}
