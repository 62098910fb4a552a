package console

import (
	"errors"
	"fmt"
	"strings"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// providersData is a page of the authentication providers of a domain.
type providersData struct {
	MaySetUp bool
	Rows     []providerRow
	turn
}

type providerRow struct {
	ID                                int64
	Name, Type, Created, NextFrom, At string
}

// providers lists the providers of a domain, the oldest first.
func (c *Console) providers(v *visit) error {
	where := v.window(1)
	all, err := c.DB.AuthProviders(v, store.ProviderFilter{Domain: v.domain.ID}, where)
	if err != nil {
		return fmt.Errorf("list the providers of domain %d: %w", v.domain.ID, err)
	}
	data := providersData{MaySetUp: v.maySetUp()}
	all, data.turn = page(v, where, all, func(a store.AuthProvider) []any { return byID(a.ID) })
	for _, a := range all {
		data.Rows = append(data.Rows, c.providerRow(v, a))
	}
	return c.send(v, "providers", "Authentication providers", data)
}

func (c *Console) providerRow(v *visit, a store.AuthProvider) providerRow {
	row := providerRow{ID: a.ID, Name: a.Name, Type: a.Type, Created: v.moment(&a.Created)}
	if a.Endpoint != nil {
		row.At = a.Endpoint.URL
	}
	if _, next := a.Secrets(c.Now()); next != "" {
		row.NextFrom = v.moment(a.NextFrom)
	}
	return row
}

// providerForm is what can be set of a provider, as it was typed; what is secret
// is never shown again.
type providerForm struct {
	Name, Type, URL, ClientID, PublicCert string
}

// newProvider shows the form for a provider.
func (c *Console) newProvider(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	return c.send(v, "provider-form", "Make a provider", providerForm{Type: delivery.HMAC})
}

// typed is the form of a provider as it came.
func (v *visit) providerTyped() providerForm {
	return providerForm{
		Name: v.field("name"), Type: v.field("type"), URL: strings.TrimSpace(v.field("url")),
		ClientID: strings.TrimSpace(v.field("client_id")), PublicCert: strings.TrimSpace(v.lines("public_cert")),
	}
}

// endpoint is what a form says about a token endpoint. A secret or a key that is
// left empty stays as it is.
func (f providerForm) endpoint(v *visit) delivery.EndpointChange {
	change := delivery.EndpointChange{URL: &f.URL, ClientID: &f.ClientID, GrantType: new(delivery.ClientCredentials), PublicCert: &f.PublicCert}
	if secret := v.field("client_secret"); secret != "" {
		change.ClientSecret = &secret
	}
	if key := strings.TrimSpace(v.lines("private_cert")); key != "" {
		change.PrivateCert = &key
	}
	if f.PublicCert == "" {
		change.PrivateCert = new("")
	}
	return change
}

// registerProvider makes a provider of what was typed, and shows its secret this
// once.
func (c *Console) registerProvider(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	form := v.providerTyped()
	do := c.handling(v, "register provider")
	var (
		made store.AuthProvider
		err  error
	)
	switch form.Type {
	case delivery.HMAC:
		made, err = do.RegisterProvider(v, v.domain, form.Name, v.by())
	case delivery.OAuth:
		made, err = do.RegisterOAuth(v, v.domain, form.Name, form.endpoint(v), v.by())
	default:
		err = passerelle.InvalidField("type", "must be %s or %s", delivery.HMAC, delivery.OAuth)
	}
	if known, is := told(err); is {
		v.problem = known
		return c.send(v, "provider-form", "Make a provider", form)
	}
	if err != nil {
		return err
	}
	if made.Type == delivery.HMAC {
		return c.showProvider(v, made, made.Secret)
	}
	c.toProvider(v, made.ID)
	return nil
}

func (c *Console) toProvider(v *visit, id int64) {
	web.Redirect(v.writer, v.path("/webhooks/auth/%d", id))
}

// providerData is all about one provider.
type providerData struct {
	providerForm
	ID    int64
	Facts []fact
	// Secret was made just now and is not shown again.
	Secret   string
	MaySetUp bool
	// Users are the first webhooks that have it.
	Users []passerelle.WebhookID
}

// manyUsers is how many webhooks that have a provider are named.
const manyUsers = 20

// providerAt loads the provider that the address names.
func (c *Console) providerAt(v *visit) (store.AuthProvider, error) {
	a, err := c.Delivery.Provider(v, v.domain, v.numbers[1])
	if errors.Is(err, passerelle.NotFound) {
		return a, errNoPage
	}
	return a, err
}

// provider shows a provider without what is secret.
func (c *Console) provider(v *visit) error {
	a, err := c.providerAt(v)
	if err != nil {
		return err
	}
	return c.showProvider(v, a, "")
}

func (c *Console) showProvider(v *visit, a store.AuthProvider, secret string) error {
	row := c.providerRow(v, a)
	data := providerData{
		ID: a.ID, Secret: secret, MaySetUp: v.maySetUp(), providerForm: providerForm{Name: a.Name, Type: a.Type},
		Facts: allOf(
			fact{"Name", a.Name}, fact{"Type", a.Type}, fact{"Token endpoint", row.At}, fact{"Made", row.Created},
			fact{"Changed", v.moment(a.Updated)}, fact{"Signs alone from", row.NextFrom},
		),
	}
	if e := a.Endpoint; e != nil {
		data.URL, data.ClientID, data.PublicCert = e.URL, e.ClientID, e.PublicCert
		data.Facts = append(data.Facts, allOf(fact{"Client", e.ClientID}, fact{"Grant", e.GrantType})...)
	}
	var err error
	if data.Users, err = c.DB.WebhooksWithProvider(v, v.domain.ID, a.ID, manyUsers); err != nil {
		return fmt.Errorf("list the webhooks that have provider %d: %w", a.ID, err)
	}
	return c.send(v, "provider", "Provider "+a.Name, data)
}

// changeProvider makes of a provider what was typed.
func (c *Console) changeProvider(v *visit) error {
	a, err := c.settable(v)
	if err != nil {
		return err
	}
	form := v.providerTyped()
	do := c.handling(v, "change provider")
	change := delivery.ProviderChange{Name: &form.Name, By: v.by()}
	if a.Type == delivery.OAuth {
		change.Endpoint = form.endpoint(v)
	}
	_, err = do.UpdateProvider(v, v.domain, a.ID, change)
	return c.afterProvider(v, a, err)
}

// settable is the provider that the address names, for those who may change it.
func (c *Console) settable(v *visit) (store.AuthProvider, error) {
	a, err := c.providerAt(v)
	if err == nil && !v.maySetUp() {
		err = errForbidden
	}
	return a, err
}

// afterProvider shows a provider anew, or what kept the act from being done.
func (c *Console) afterProvider(v *visit, a store.AuthProvider, err error) error {
	if known, is := told(err); is {
		v.problem = known
		return c.showProvider(v, a, "")
	}
	if err != nil {
		return err
	}
	c.toProvider(v, a.ID)
	return nil
}

// rotateProvider gives a provider a new secret, which is shown this once.
func (c *Console) rotateProvider(v *visit) error {
	a, err := c.settable(v)
	if err != nil {
		return err
	}
	overlap, err := passerelle.ParseDuration("overlap", v.field("overlap"))
	if err != nil {
		return c.afterProvider(v, a, err)
	}
	do := c.handling(v, "rotate provider")
	rotated, secret, err := do.Rotate(v, v.domain, a.ID, overlap, v.by())
	if err != nil {
		return c.afterProvider(v, a, err)
	}
	return c.showProvider(v, rotated, secret)
}

// deleteProvider ends a provider that no webhook has.
func (c *Console) deleteProvider(v *visit) error {
	a, err := c.settable(v)
	if err != nil {
		return err
	}
	do := c.handling(v, "delete provider")
	if err := do.DeleteProvider(v, v.domain, a.ID, v.by()); err != nil {
		return c.afterProvider(v, a, err)
	}
	web.Redirect(v.writer, v.path("/webhooks/auth"))
	return nil
}
