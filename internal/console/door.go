package console

import (
	"crypto/rand"
	"crypto/subtle"
	"time"

	"passerelle/internal/admission"
	"passerelle/internal/web"
)

// The cookies of operators. That of the door ties the form on which somebody signs
// in to the browser it was shown in.
const (
	sessionCookie = "console"
	doorCookie    = "console_door"
)

// cookieLife is how long browsers keep a cookie at most; sessions end earlier.
const cookieLife = 24 * time.Hour

func (c *Console) setCookie(v *visit, name, value string) error {
	return c.sealer.Set(v.writer, web.Cookie{Name: name, Path: Root, Strict: true, Secure: v.secure, Life: cookieLife}, value)
}

// doorData is what the pages at the door show.
type doorData struct {
	Form, Name string
}

// atDoor shows a form to somebody who is not signed in.
func (c *Console) atDoor(v *visit, page, title, name string) error {
	var secret string
	if c.sealer.Read(v.request, doorCookie, &secret) != nil {
		secret = rand.Text()
		if err := c.setCookie(v, doorCookie, secret); err != nil {
			return err
		}
	}
	return c.send(v, page, title, doorData{Form: secret, Name: name})
}

// checkDoor refuses a form that was not made for this browser.
func (c *Console) checkDoor(v *visit) error {
	var secret string
	if c.sealer.Read(v.request, doorCookie, &secret) != nil || subtle.ConstantTimeCompare([]byte(secret), []byte(v.field("csrf"))) != 1 {
		return errForeign
	}
	return nil
}

func (c *Console) askToSignIn(v *visit) error { return c.atDoor(v, "sign-in", "Sign in", "") }

func (c *Console) signIn(v *visit) error {
	if err := c.checkDoor(v); err != nil {
		return err
	}
	pass, err := c.Admission.SignIn(v, admission.Attempt{
		Name: v.field("name"), Password: v.field("password"), Address: c.Address(v.request), Request: c.RequestID(v),
	})
	if known, is := told(err); is {
		v.problem = known
		return c.atDoor(v, "sign-in", "Sign in", v.field("name"))
	}
	if err != nil {
		return err
	}
	return c.letIn(v, pass)
}

// letIn gives the browser its session, and leads on.
func (c *Console) letIn(v *visit, pass admission.Pass) error {
	waits, err := c.Admission.Waits(v, pass.Token)
	if err != nil {
		return err
	}
	if err := c.setCookie(v, sessionCookie, pass.Token); err != nil {
		return err
	}
	if waits {
		web.Redirect(v.writer, Root+"second-factor")
		return nil
	}
	web.Redirect(v.writer, Root)
	return nil
}

// awaited finds the session that waits for its second factor.
func (c *Console) awaited(v *visit) error {
	if c.sealer.Read(v.request, sessionCookie, &v.token) != nil {
		return admission.ErrNoSession
	}
	waits, err := c.Admission.Waits(v, v.token)
	if err == nil && !waits {
		err = admission.ErrNoSession
	}
	return err
}

func (c *Console) askForCode(v *visit) error {
	if err := c.awaited(v); err != nil {
		return err
	}
	return c.atDoor(v, "second-factor", "Second factor", "")
}

func (c *Console) takeCode(v *visit) error {
	if err := c.checkDoor(v); err != nil {
		return err
	}
	if err := c.awaited(v); err != nil {
		return err
	}
	pass, err := c.Admission.SecondFactor(v, v.token, v.field("code"), c.RequestID(v))
	if known, is := told(err); is {
		v.problem = known
		return c.atDoor(v, "second-factor", "Second factor", "")
	}
	if err != nil {
		return err
	}
	return c.letIn(v, pass)
}

func (c *Console) signOut(v *visit) error {
	if err := c.Admission.SignOut(v, v.who, c.RequestID(v)); err != nil {
		return err
	}
	web.Redirect(v.writer, Root+"sign-in")
	return nil
}
