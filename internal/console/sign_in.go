package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"

	"passerelle/internal/console/page"
	"passerelle/internal/operators"
	"passerelle/internal/web"
)

func (c *Console) signInRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Pattern: "sign-in", Serve: c.askToSignIn, Open: true},
		{Method: http.MethodPost, Pattern: "sign-in", Serve: c.signIn, Open: true},
		{Method: http.MethodGet, Pattern: "second-factor", Serve: c.askForCode, Open: true},
		{Method: http.MethodPost, Pattern: "second-factor", Serve: c.takeCode, Open: true},
		{Method: http.MethodGet, Pattern: "provider", Serve: c.toProvider, Open: true},
		{Method: http.MethodGet, Pattern: "provider/back", Serve: c.fromProvider, Open: true},
		page.Post("sign-out", c.signOut),
	}
}

// signInCookie binds the sign-in form to the browser that received the form.
const signInCookie = "console_door"

// signInData is the content of the sign-in pages.
type signInData struct {
	Form, Name string
	// Provider is the name of the identity provider. It is empty without an identity provider.
	Provider string
}

// sendSignIn shows a form to a person who is not signed in.
func (c *Console) sendSignIn(pc *page.Context, page, title, name string) error {
	secret, is := pc.Cookie(signInCookie)
	if !is {
		secret = rand.Text()
		if err := pc.SetCookie(signInCookie, secret); err != nil {
			return err
		}
	}
	data := signInData{Form: secret, Name: name}
	if c.Provider != nil {
		data.Provider = c.Provider.Host()
	}
	return pages.Send(pc, page, title, data)
}

// checkSignInForm fails for a form that another browser received.
func (c *Console) checkSignInForm(pc *page.Context) error {
	if secret, is := pc.Cookie(signInCookie); !is || subtle.ConstantTimeCompare([]byte(secret), []byte(pc.Field("csrf"))) != 1 {
		return page.ErrForeign
	}
	return nil
}

func (c *Console) askToSignIn(pc *page.Context) error {
	return c.sendSignIn(pc, "sign-in", "Sign in", "")
}

func (c *Console) signIn(pc *page.Context) error {
	if err := c.checkSignInForm(pc); err != nil {
		return err
	}
	pass, err := c.Operators.SignIn(pc, operators.SignInAttempt{
		Name: pc.Field("name"), Password: pc.Field("password"), Address: c.Address(pc.Request), Request: c.RequestID(pc),
	})
	if pc.Reports(named(err, "password", wrongSignIn)) {
		return c.sendSignIn(pc, "sign-in", "Sign in", pc.Field("name"))
	}
	if err != nil {
		return err
	}
	return c.letIn(pc, pass)
}

// letIn gives the browser its session, and redirects the browser to the next page.
func (c *Console) letIn(pc *page.Context, pass operators.IssuedSession) error {
	next, err := c.inside(pc, pass)
	if err != nil {
		return err
	}
	web.Redirect(pc.Writer, next)
	return nil
}

// inside gives the browser its session, and returns the address of the next page.
func (c *Console) inside(pc *page.Context, pass operators.IssuedSession) (string, error) {
	waits, err := c.Operators.AwaitsSecondFactor(pc, pass.Token)
	if err != nil {
		return "", err
	}
	if err := pc.SetSession(pass.Token); err != nil {
		return "", err
	}
	if waits {
		return page.Root + "second-factor", nil
	}
	return pc.TakeNext(), nil
}

// awaited returns the token of the session that waits for its second factor.
func (c *Console) awaited(pc *page.Context) (string, error) {
	token, err := pc.Session()
	if err != nil {
		return "", err
	}
	waits, err := c.Operators.AwaitsSecondFactor(pc, token)
	if err == nil && !waits {
		err = operators.ErrNoSession
	}
	return token, err
}

func (c *Console) askForCode(pc *page.Context) error {
	if _, err := c.awaited(pc); err != nil {
		return err
	}
	return c.sendSignIn(pc, "second-factor", "Second factor", "")
}

func (c *Console) takeCode(pc *page.Context) error {
	if err := c.checkSignInForm(pc); err != nil {
		return err
	}
	token, err := c.awaited(pc)
	if err != nil {
		return err
	}
	pass, err := c.Operators.SecondFactor(pc, token, pc.Field("code"), c.RequestID(pc))
	if pc.Reports(named(err, "code", wrongCode)) {
		return c.sendSignIn(pc, "second-factor", "Second factor", "")
	}
	if err != nil {
		return err
	}
	return c.letIn(pc, pass)
}

func (c *Console) signOut(pc *page.Context) error {
	if err := c.Operators.SignOut(pc, pc.Who, c.RequestID(pc)); err != nil {
		return err
	}
	pc.ForgetDomain()
	web.Redirect(pc.Writer, page.Root+"sign-in")
	return nil
}
