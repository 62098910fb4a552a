package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"passerelle/internal/admission"
	"passerelle/internal/desk"
	"passerelle/internal/oidc"
	"passerelle/internal/web"
)

// providerCookie is what a browser keeps while it is at the provider of identities,
// for as long as awayLife.
const (
	providerCookie = "console_provider"
	awayLife       = 10 * time.Minute
)

// away is somebody who went to the provider.
type away struct {
	oidc.Departure
	Until time.Time
}

// back is where the provider sends browsers: the address of the console in the
// domain, whatever else the service is called.
func (c *Console) back(v *desk.Visit) (string, error) {
	d, err := c.Domain(v, v.Request.Host)
	if err != nil {
		return "", fmt.Errorf("find the domain of a page: %w", err)
	}
	u, err := url.Parse(d.BaseURL)
	if err != nil {
		return "", fmt.Errorf("read the base URL of domain %d: %w", d.ID, err)
	}
	return u.Scheme + "://" + u.Host + desk.Root + "provider/back", nil
}

// toProvider sends somebody to the provider.
func (c *Console) toProvider(v *desk.Visit) error {
	if c.Provider == nil {
		return desk.ErrNoPage
	}
	back, err := c.back(v)
	if err != nil {
		return err
	}
	address, departure, err := c.Provider.Leave(v, back)
	if err != nil {
		return c.notVouched(v, err)
	}
	kept, err := json.Marshal(away{departure, c.Now().Add(awayLife)})
	if err != nil {
		return fmt.Errorf("keep where a browser went: %w", err)
	}
	if err := v.SetCrossing(providerCookie, string(kept), awayLife); err != nil {
		return err
	}
	web.Redirect(v.Writer, address)
	return nil
}

// fromProvider lets in for whom the provider vouches.
func (c *Console) fromProvider(v *desk.Visit) error {
	if c.Provider == nil {
		return desk.ErrNoPage
	}
	var gone away
	if text, is := v.Cookie(providerCookie); !is || json.Unmarshal([]byte(text), &gone) != nil || !c.Now().Before(gone.Until) {
		gone.Departure = oidc.Departure{}
	}
	if err := v.SetCrossing(providerCookie, "", awayLife); err != nil {
		return err
	}
	back, err := c.back(v)
	if err != nil {
		return err
	}
	person, err := c.Provider.Arrive(v, back, gone.Departure, v.Request.URL.Query())
	if err != nil {
		return c.notVouched(v, err)
	}
	pass, err := c.Admission.Vouched(v, admission.Voucher{
		Issuer: person.Issuer, Subject: person.Subject, Name: person.Name, Twice: person.Twice, Request: c.RequestID(v),
	})
	if errors.Is(err, admission.ErrStranger) {
		v.Problem = fmt.Sprintf("%s knows you as %q, and no operator here is linked to that. Whoever runs the service links you with passerelle operator link.", c.Provider.Host(), person.Subject)
		return c.atDoor(v, "sign-in", "Sign in", "")
	}
	if errors.Is(err, admission.ErrRefused) {
		v.Problem = "The operator you are linked to may not sign in."
		return c.atDoor(v, "sign-in", "Sign in", "")
	}
	if err != nil {
		return err
	}
	return c.letInFromElsewhere(v, pass)
}

// letInFromElsewhere is letIn for a request that another site led to: the
// browser shows the session's cookie only to pages that a page of ours leads to.
func (c *Console) letInFromElsewhere(v *desk.Visit, pass admission.Pass) error {
	next, err := c.inside(v, pass)
	if err != nil {
		return err
	}
	v.LeadTo = next
	return pages.Send(v, "signed-in", "Signed in", next)
}

// notVouched shows the door again to somebody for whom the provider does not vouch.
// Why not is for the log.
func (c *Console) notVouched(v *desk.Visit, err error) error {
	c.Log.WarnContext(v, "the provider of identities did not vouch for somebody", "error", err)
	v.Problem = c.Provider.Host() + " did not confirm who you are. Try again."
	if errors.Is(err, oidc.ErrAway) {
		v.Problem = c.Provider.Host() + " cannot be asked just now. Try again in a moment, or sign in with your password."
	}
	return c.atDoor(v, "sign-in", "Sign in", "")
}
