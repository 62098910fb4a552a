package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"

	"passerelle/internal/admission"
	"passerelle/internal/desk"
	"passerelle/internal/web"
)

func (c *Console) doorRoutes() []desk.Route {
	return []desk.Route{
		{Method: http.MethodGet, Pattern: "sign-in", Serve: c.askToSignIn, Open: true},
		{Method: http.MethodPost, Pattern: "sign-in", Serve: c.signIn, Open: true},
		{Method: http.MethodGet, Pattern: "second-factor", Serve: c.askForCode, Open: true},
		{Method: http.MethodPost, Pattern: "second-factor", Serve: c.takeCode, Open: true},
		{Method: http.MethodGet, Pattern: "provider", Serve: c.toProvider, Open: true},
		{Method: http.MethodGet, Pattern: "provider/back", Serve: c.fromProvider, Open: true},
		desk.Post("sign-out", c.signOut),
	}
}

// doorCookie ties the form on which somebody signs in to the browser it was shown
// in.
const doorCookie = "console_door"

// doorData is what the pages at the door show.
type doorData struct {
	Form, Name string
	// Provider is who vouches for operators, empty for nobody.
	Provider string
}

// atDoor shows a form to somebody who is not signed in.
func (c *Console) atDoor(v *desk.Visit, page, title, name string) error {
	secret, is := v.Cookie(doorCookie)
	if !is {
		secret = rand.Text()
		if err := v.SetCookie(doorCookie, secret); err != nil {
			return err
		}
	}
	data := doorData{Form: secret, Name: name}
	if c.Provider != nil {
		data.Provider = c.Provider.Host()
	}
	return pages.Send(v, page, title, data)
}

// checkDoor refuses a form that was not made for this browser.
func (c *Console) checkDoor(v *desk.Visit) error {
	if secret, is := v.Cookie(doorCookie); !is || subtle.ConstantTimeCompare([]byte(secret), []byte(v.Field("csrf"))) != 1 {
		return desk.ErrForeign
	}
	return nil
}

func (c *Console) askToSignIn(v *desk.Visit) error { return c.atDoor(v, "sign-in", "Sign in", "") }

func (c *Console) signIn(v *desk.Visit) error {
	if err := c.checkDoor(v); err != nil {
		return err
	}
	pass, err := c.Admission.SignIn(v, admission.Attempt{
		Name: v.Field("name"), Password: v.Field("password"), Address: c.Address(v.Request), Request: c.RequestID(v),
	})
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.atDoor(v, "sign-in", "Sign in", v.Field("name"))
	}
	if err != nil {
		return err
	}
	return c.letIn(v, pass)
}

// letIn gives the browser its session, and leads on.
func (c *Console) letIn(v *desk.Visit, pass admission.Pass) error {
	next, err := c.inside(v, pass)
	if err != nil {
		return err
	}
	web.Redirect(v.Writer, next)
	return nil
}

// inside gives the browser its session, and says where it leads.
func (c *Console) inside(v *desk.Visit, pass admission.Pass) (next string, err error) {
	waits, err := c.Admission.Waits(v, pass.Token)
	if err != nil {
		return "", err
	}
	if err := v.SetSession(pass.Token); err != nil {
		return "", err
	}
	if waits {
		return desk.Root + "second-factor", nil
	}
	return desk.Root, nil
}

// awaited is the token of the session that waits for its second factor.
func (c *Console) awaited(v *desk.Visit) (string, error) {
	token, err := v.Session()
	if err != nil {
		return "", err
	}
	waits, err := c.Admission.Waits(v, token)
	if err == nil && !waits {
		err = admission.ErrNoSession
	}
	return token, err
}

func (c *Console) askForCode(v *desk.Visit) error {
	if _, err := c.awaited(v); err != nil {
		return err
	}
	return c.atDoor(v, "second-factor", "Second factor", "")
}

func (c *Console) takeCode(v *desk.Visit) error {
	if err := c.checkDoor(v); err != nil {
		return err
	}
	token, err := c.awaited(v)
	if err != nil {
		return err
	}
	pass, err := c.Admission.SecondFactor(v, token, v.Field("code"), c.RequestID(v))
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.atDoor(v, "second-factor", "Second factor", "")
	}
	if err != nil {
		return err
	}
	return c.letIn(v, pass)
}

func (c *Console) signOut(v *desk.Visit) error {
	if err := c.Admission.SignOut(v, v.Who, c.RequestID(v)); err != nil {
		return err
	}
	web.Redirect(v.Writer, desk.Root+"sign-in")
	return nil
}
