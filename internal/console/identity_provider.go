package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"passerelle/internal/console/page"
	"passerelle/internal/oidc"
	"passerelle/internal/operators"
	"passerelle/internal/web"
)

// providerCookie is the name of the cookie that exists during a sign-in at the identity provider.
// The cookie exists for at most awayLife.
const (
	providerCookie = "console_provider"
	awayLife       = 10 * time.Minute
)

// away has the state of a sign-in that continues at the identity provider.
type away struct {
	oidc.Departure
	Until time.Time
}

// back returns the address to which the provider redirects browsers after a sign-in. The address is
// always on the domain's own host, even when the browser uses a different name of the service.
func (c *Console) back(pc *page.Context) (string, error) {
	d, err := c.Domain(pc, pc.Request.Host)
	if err != nil {
		return "", fmt.Errorf("find the domain of a page: %w", err)
	}
	u, err := url.Parse(d.BaseURL)
	if err != nil {
		return "", fmt.Errorf("read the base URL of domain %d: %w", d.ID, err)
	}
	return u.Scheme + "://" + u.Host + page.Root + "provider/back", nil
}

// toProvider redirects the browser to the identity provider.
func (c *Console) toProvider(pc *page.Context) error {
	if c.Provider == nil {
		return page.ErrNoPage
	}
	back, err := c.back(pc)
	if err != nil {
		return err
	}
	address, departure, err := c.Provider.Leave(pc, back)
	if err != nil {
		return c.notVouched(pc, err)
	}
	kept, err := json.Marshal(away{departure, c.Now().Add(awayLife)})
	if err != nil {
		return fmt.Errorf("keep where a browser went: %w", err)
	}
	if err := pc.SetCrossing(providerCookie, string(kept), awayLife); err != nil {
		return err
	}
	web.Redirect(pc.Writer, address)
	return nil
}

// fromProvider signs in a person after the identity provider has identified the person.
func (c *Console) fromProvider(pc *page.Context) error {
	if c.Provider == nil {
		return page.ErrNoPage
	}
	var gone away
	if text, is := pc.Cookie(providerCookie); !is || json.Unmarshal([]byte(text), &gone) != nil || !c.Now().Before(gone.Until) {
		gone.Departure = oidc.Departure{}
	}
	if err := pc.SetCrossing(providerCookie, "", awayLife); err != nil {
		return err
	}
	back, err := c.back(pc)
	if err != nil {
		return err
	}
	person, err := c.Provider.Arrive(pc, back, gone.Departure, pc.Request.URL.Query())
	if err != nil {
		return c.notVouched(pc, err)
	}
	pass, err := c.Operators.SignInByIdentity(pc, operators.ProviderIdentity{
		Issuer: person.Issuer, Subject: person.Subject, Name: person.Name, Twice: person.Twice, Request: c.RequestID(pc),
	})
	if errors.Is(err, operators.ErrUnlinked) {
		pc.Problem = fmt.Sprintf("%s knows you as %q, and no operator here is linked to that. The person who runs the service can link you with passerelle operator link.", c.Provider.Host(), person.Subject)
		return c.sendSignIn(pc, "sign-in", "Sign in", "")
	}
	if errors.Is(err, operators.ErrRefused) {
		pc.Problem = "The operator that you are linked to is not allowed to sign in."
		return c.sendSignIn(pc, "sign-in", "Sign in", "")
	}
	if err != nil {
		return err
	}
	return c.letInFromElsewhere(pc, pass)
}

// letInFromElsewhere gives the browser its session, like letIn, after a request from another site.
// The browser sends the new session's cookie only with requests from this site's pages. The
// response is therefore a page that redirects the browser.
func (c *Console) letInFromElsewhere(pc *page.Context, pass operators.IssuedSession) error {
	next, err := c.inside(pc, pass)
	if err != nil {
		return err
	}
	pc.LeadTo = next
	return pages.Send(pc, "signed-in", "Signed in", next)
}

// notVouched logs why the provider has not identified the person, and shows the sign-in page again.
func (c *Console) notVouched(pc *page.Context, err error) error {
	c.Log.WarnContext(pc, "the provider of identities did not vouch for somebody", "error", err)
	pc.Problem = c.Provider.Host() + " did not confirm who you are. Try again."
	if errors.Is(err, oidc.ErrAway) {
		pc.Problem = c.Provider.Host() + " cannot be reached right now. Try again in a moment, or sign in with your password."
	}
	return c.sendSignIn(pc, "sign-in", "Sign in", "")
}
