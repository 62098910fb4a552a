package hookdesk

import (
	"fmt"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// roomForKeys is what a form takes that carries a certificate and a key, of which
// three bytes may stand for one.
const roomForKeys = 3 * (delivery.MaxCertificate + delivery.MaxPrivateKey)

func (h *hooks) providerRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/webhooks/auth", h.providers),
		desk.Get("domains/#/webhooks/auth/new", h.newProvider),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/auth/new", Serve: h.registerProvider, Room: roomForKeys},
		desk.Get("domains/#/webhooks/auth/#", h.provider),
		desk.Get("domains/#/webhooks/auth/#/edit", h.editProvider),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/auth/#/edit", Serve: h.changeProvider, Room: roomForKeys},
		desk.Post("domains/#/webhooks/auth/#/rotate", h.rotateProvider),
		desk.Post("domains/#/webhooks/auth/#/delete", h.deleteProvider),
	}
}

// The acts on providers, as the audit log names them.
const (
	actRegisterProvider = "register authentication provider"
	actChangeProvider   = "change authentication provider"
	actRotateProvider   = "rotate secret of authentication provider"
	actDeleteProvider   = "delete authentication provider"
)

// providersData is a page of the providers of a domain, the oldest first.
type providersData struct {
	Rows     []providerRow
	MaySetUp bool
	desk.Turn
}

type providerRow struct {
	ID                           int64
	Name, Kind, Created, Changed string
	// Signs is set for those that sign, which have a secret to rotate.
	Signs bool
}

// kinds say in words what the types of providers do.
var kinds = map[string]string{delivery.HMAC: "signs requests", delivery.OAuth: "gets access tokens"}

func newProviderRow(v *desk.Visit, a store.AuthProvider) providerRow {
	return providerRow{ID: a.ID, Name: a.Name, Kind: kinds[a.Type], Created: v.Moment(&a.Created), Changed: v.Moment(a.Updated), Signs: a.Type == delivery.HMAC}
}

func (h *hooks) providers(v *desk.Visit) error {
	w := v.Window(1)
	all, err := h.DB.AuthProviders(v, store.ProviderFilter{Domain: v.Domain.ID}, w)
	if err != nil {
		return fmt.Errorf("list the providers of domain %d: %w", v.Domain.ID, err)
	}
	data := providersData{MaySetUp: v.MaySetUp()}
	all, data.Turn = desk.Paged(v, w, all, func(a store.AuthProvider) []any { return desk.ByID(a.ID) })
	for _, a := range all {
		data.Rows = append(data.Rows, newProviderRow(v, a))
	}
	return pages.Send(v, "providers", "Authentication providers", data)
}

// providerForm is what can be set of a provider, as it was typed, besides its
// secrets, which no page shows again.
type providerForm struct {
	// ID is zero of one that is to be made.
	ID                              int64
	Type, Name                      string
	URL, ClientID, Public           string
	MaxCertificate, MaxKey, MaxText int
}

// newProvider shows the form for a provider of the type that the address names.
func (h *hooks) newProvider(v *desk.Visit) error {
	return h.askForProvider(v, providerForm{Type: v.Request.URL.Query().Get("type")})
}

func (h *hooks) askForProvider(v *desk.Visit, form providerForm) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	if form.Type != delivery.OAuth {
		form.Type = delivery.HMAC
	}
	form.MaxCertificate, form.MaxKey, form.MaxText = delivery.MaxCertificate, delivery.MaxPrivateKey, delivery.MaxCredential
	title := "Make an authentication provider"
	if form.ID != 0 {
		title = fmt.Sprintf("Change authentication provider %d", form.ID)
	}
	return pages.Send(v, "provider-form", title, form)
}

func typedProvider(v *desk.Visit) providerForm {
	return providerForm{
		Type: v.Field("type"), Name: strings.TrimSpace(v.Field("name")), URL: strings.TrimSpace(v.Field("url")),
		ClientID: strings.TrimSpace(v.Field("client_id")), Public: v.Lines("public_cert"),
	}
}

// endpoint is the configuration that a form asks for. A secret that is not typed
// stays as it is; without a certificate there is no key either.
func (f providerForm) endpoint(v *desk.Visit) delivery.EndpointChange {
	if f.Type != delivery.OAuth {
		return delivery.EndpointChange{}
	}
	c := delivery.EndpointChange{URL: &f.URL, ClientID: &f.ClientID, GrantType: new(delivery.ClientCredentials), PublicCert: &f.Public}
	if secret := v.Field("client_secret"); secret != "" {
		c.ClientSecret = &secret
	}
	if key := v.Lines("private_cert"); key != "" || strings.TrimSpace(f.Public) == "" {
		c.PrivateCert = &key
	}
	return c
}

// registerProvider makes a provider of what was typed, and shows the secret that
// it made for one that signs.
func (h *hooks) registerProvider(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	var (
		form = typedProvider(v)
		do   = h.handling(v, actRegisterProvider)
		made store.AuthProvider
		err  error
	)
	switch form.Type {
	case delivery.HMAC:
		made, err = do.RegisterProvider(v, v.Domain, form.Name, v.By())
	case delivery.OAuth:
		made, err = do.RegisterOAuth(v, v.Domain, form.Name, form.endpoint(v), v.By())
	default:
		return desk.ErrForm
	}
	if err != nil {
		return v.After(err, "", func(v *desk.Visit) error { return h.askForProvider(v, form) })
	}
	if made.Type == delivery.HMAC {
		return h.showProvider(v, made, made.Secret)
	}
	toProvider(v, made.ID)
	return nil
}

func toProvider(v *desk.Visit, id int64) { web.Redirect(v.Writer, v.Path("/webhooks/auth/%d", id)) }

// editProvider shows a provider in a form.
func (h *hooks) editProvider(v *desk.Visit) error {
	a, err := h.Delivery.Provider(v, v.Domain, v.Numbers[1])
	if err != nil {
		return err
	}
	form := providerForm{ID: a.ID, Type: a.Type, Name: a.Name}
	if e := a.Endpoint; e != nil {
		form.URL, form.ClientID, form.Public = e.URL, e.ClientID, e.PublicCert
	}
	return h.askForProvider(v, form)
}

// changeProvider makes of a provider what was typed. Its type stays.
func (h *hooks) changeProvider(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	a, err := h.Delivery.Provider(v, v.Domain, v.Numbers[1])
	if err != nil {
		return err
	}
	form := typedProvider(v)
	form.ID, form.Type = a.ID, a.Type
	_, err = h.handling(v, actChangeProvider).UpdateProvider(v, v.Domain, a.ID, delivery.ProviderChange{
		Name: &form.Name, Endpoint: form.endpoint(v), By: v.By(),
	})
	return v.After(err, v.Path("/webhooks/auth/%d", a.ID), func(v *desk.Visit) error { return h.askForProvider(v, form) })
}

// shownUsers is how many of the webhooks that have a provider a page names.
const shownUsers = 20

// providerData is one provider, with its secret when that has just been made.
type providerData struct {
	providerRow
	Facts []desk.Fact
	// Public is the certificate of the client, as PEM.
	Public, Secret string
	// Users are the first webhooks that have it, and More that there are others.
	Users    []passerelle.WebhookID
	More     bool
	MaySetUp bool
	Overlap  string
}

func (h *hooks) provider(v *desk.Visit) error {
	a, err := h.Delivery.Provider(v, v.Domain, v.Numbers[1])
	if err != nil {
		return err
	}
	return h.showProvider(v, a, "")
}

func (h *hooks) showProvider(v *desk.Visit, a store.AuthProvider, secret string) error {
	users, err := h.DB.WebhooksWithProvider(v, v.Domain.ID, a.ID, shownUsers+1)
	if err != nil {
		return fmt.Errorf("list the webhooks that have provider %d: %w", a.ID, err)
	}
	data := providerData{
		providerRow: newProviderRow(v, a), Facts: h.providerFacts(v, a), Secret: secret,
		Users: users[:min(len(users), shownUsers)], More: len(users) > shownUsers, MaySetUp: v.MaySetUp(), Overlap: "24h",
	}
	if a.Endpoint != nil {
		data.Public = a.Endpoint.PublicCert
	}
	if typed := v.Field("overlap"); typed != "" && v.Problem != "" {
		data.Overlap = typed
	}
	return pages.Send(v, "provider", fmt.Sprintf("Authentication provider %d", a.ID), data)
}

func (h *hooks) providerFacts(v *desk.Visit, a store.AuthProvider) []desk.Fact {
	facts := desk.Facts("Type", a.Type, "Name", a.Name, "Made", v.Moment(&a.Created), "Changed", v.Moment(a.Updated))
	if _, next := a.Secrets(h.Now()); next != "" {
		facts = append(facts, desk.Facts("Signs by two secrets until", v.Moment(a.NextFrom))...)
	}
	if e := a.Endpoint; e != nil {
		facts = append(facts, desk.Facts("Token endpoint", e.URL, "Client id", e.ClientID, "Client secret", "kept, and never shown", "Grant", e.GrantType)...)
	}
	return facts
}

// rotateProvider replaces the secret of a provider that signs, and shows the new
// one.
func (h *hooks) rotateProvider(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	overlap, err := passerelle.ParseDuration("overlap", strings.TrimSpace(v.Field("overlap")))
	if err != nil {
		return v.After(err, "", h.provider)
	}
	a, secret, err := h.handling(v, actRotateProvider).Rotate(v, v.Domain, v.Numbers[1], overlap, v.By())
	if err != nil {
		return v.After(err, "", h.provider)
	}
	return h.showProvider(v, a, secret)
}

// deleteProvider deletes the provider whose number was typed.
func (h *hooks) deleteProvider(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := v.Numbers[1]
	err := v.Confirmed(id)
	if err == nil {
		err = h.handling(v, actDeleteProvider).DeleteProvider(v, v.Domain, id, v.By())
	}
	return v.After(err, v.Path("/webhooks/auth"), h.provider)
}
