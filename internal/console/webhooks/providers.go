package webhooks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// roomForKeys is the size of a form with a certificate and a key, in bytes. A form may use three
// bytes to encode one byte.
const roomForKeys = 3 * (delivery.MaxCertificate + delivery.MaxPrivateKey)

func (h *hooks) providerRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/webhooks/auth", h.providers),
		page.Get("domains/#/webhooks/auth/new", h.newProvider),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/auth/new", Serve: h.registerProvider, Room: roomForKeys},
		page.Get("domains/#/webhooks/auth/#", h.provider),
		page.Get("domains/#/webhooks/auth/#/edit", h.editProvider),
		{Method: http.MethodPost, Pattern: "domains/#/webhooks/auth/#/edit", Serve: h.changeProvider, Room: roomForKeys},
		page.Post("domains/#/webhooks/auth/#/rotate", h.rotateProvider),
		page.Post("domains/#/webhooks/auth/#/delete", h.deleteProvider),
	}
}

// providersData is the content of a page that lists the domain's providers, oldest first.
type providersData struct {
	Rows     []providerRow
	MaySetUp bool
	page.Pager
}

type providerRow struct {
	ID               int64
	Name, Kind       string
	Created, Changed page.When
	// Signs is set for a provider that signs requests. The operator can rotate its secret.
	Signs bool
}

// kinds maps the type of a provider to its description.
var kinds = map[string]string{delivery.HMAC: "signs requests", delivery.OAuth: "gets access tokens"}

func newProviderRow(pc *page.Context, a store.AuthProvider) providerRow {
	return providerRow{ID: a.ID, Name: a.Name, Kind: kinds[a.Type], Created: pc.When(a.Created), Changed: pc.WhenEver(a.Updated), Signs: a.Type == delivery.HMAC}
}

func (h *hooks) providers(pc *page.Context) error {
	w := pc.Window(1)
	w.Descending = false // the oldest first
	all, err := h.DB.AuthProviders(pc, store.ProviderFilter{Domain: pc.Domain.ID}, w)
	if err != nil {
		return fmt.Errorf("list the providers of domain %d: %w", pc.Domain.ID, err)
	}
	data := providersData{MaySetUp: pc.MaySetUp()}
	all, data.Pager = page.Paged(pc, w, all, func(a store.AuthProvider) []any { return page.ByID(a.ID) })
	for _, a := range all {
		data.Rows = append(data.Rows, newProviderRow(pc, a))
	}
	return pages.Send(pc, "providers", "Authentication providers", data)
}

// providerForm has the values in a form about a provider. It has no secrets, because no page shows
// secrets again.
type providerForm struct {
	// ID is zero for a new provider.
	ID                              int64
	Type, Name                      string
	URL, ClientID, Public           string
	MaxCertificate, MaxKey, MaxText int
}

// newProvider shows the form for a provider. The address names the provider's type.
func (h *hooks) newProvider(pc *page.Context) error {
	return h.askForProvider(pc, providerForm{Type: pc.Request.URL.Query().Get("type")})
}

func (h *hooks) askForProvider(pc *page.Context, form providerForm) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	if form.Type != delivery.OAuth {
		form.Type = delivery.HMAC
	}
	form.MaxCertificate, form.MaxKey, form.MaxText = delivery.MaxCertificate, delivery.MaxPrivateKey, delivery.MaxCredential
	title := "Create an authentication provider"
	if form.ID != 0 {
		title = fmt.Sprintf("Change authentication provider %d", form.ID)
	}
	return pages.Send(pc, "provider-form", title, form)
}

func typedProvider(pc *page.Context) providerForm {
	return providerForm{
		Type: pc.Field("type"), Name: strings.TrimSpace(pc.Field("name")), URL: strings.TrimSpace(pc.Field("url")),
		ClientID: strings.TrimSpace(pc.Field("client_id")), Public: pc.Lines("public_cert"),
	}
}

// endpoint converts the form to a change of the token endpoint. An empty field for a secret keeps
// the stored secret. Removing the certificate also removes its key.
func (f providerForm) endpoint(pc *page.Context) delivery.EndpointChange {
	if f.Type != delivery.OAuth {
		return delivery.EndpointChange{}
	}
	c := delivery.EndpointChange{URL: &f.URL, ClientID: &f.ClientID, GrantType: new(delivery.ClientCredentials), PublicCert: &f.Public}
	if secret := pc.Field("client_secret"); secret != "" {
		c.ClientSecret = &secret
	}
	if key := pc.Lines("private_cert"); key != "" || strings.TrimSpace(f.Public) == "" {
		c.PrivateCert = &key
	}
	return c
}

// registerProvider registers the provider in the form. It shows the new secret of a signing
// provider.
func (h *hooks) registerProvider(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	var (
		form = typedProvider(pc)
		act  = pc.Record(delivery.ActRegisterProvider, delivery.SubjectProvider, 0)
		made store.AuthProvider
		err  error
	)
	switch form.Type {
	case delivery.HMAC:
		made, err = h.Delivery.RegisterProvider(pc, pc.Domain, form.Name, pc.By(), act)
	case delivery.OAuth:
		made, err = h.Delivery.RegisterOAuth(pc, pc.Domain, form.Name, form.endpoint(pc), pc.By(), act)
	default:
		return page.ErrForm
	}
	if err != nil {
		return pc.After(err, "", "", func(pc *page.Context) error { return h.askForProvider(pc, form) })
	}
	if made.Type == delivery.HMAC {
		return pc.LeadToSecret(pc.Path("/webhooks/auth/%d", made.ID), made.Secret)
	}
	toProvider(pc, made.ID)
	return nil
}

func toProvider(pc *page.Context, id int64) {
	web.Redirect(pc.Writer, pc.Path("/webhooks/auth/%d", id))
}

// editProvider shows a provider in a form.
func (h *hooks) editProvider(pc *page.Context) error {
	a, err := h.Delivery.Provider(pc, pc.Domain, pc.Numbers[1])
	if err != nil {
		return err
	}
	form := providerForm{ID: a.ID, Type: a.Type, Name: a.Name}
	if e := a.Endpoint; e != nil {
		form.URL, form.ClientID, form.Public = e.URL, e.ClientID, e.PublicCert
	}
	return h.askForProvider(pc, form)
}

// changeProvider changes a provider to the values in the form. The type cannot change.
func (h *hooks) changeProvider(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	a, err := h.Delivery.Provider(pc, pc.Domain, pc.Numbers[1])
	if err != nil {
		return err
	}
	form := typedProvider(pc)
	form.ID, form.Type = a.ID, a.Type
	_, err = h.Delivery.UpdateProvider(pc, pc.Domain, a.ID, delivery.ProviderChange{
		Name: &form.Name, Endpoint: form.endpoint(pc), By: pc.By(),
	}, pc.Record(delivery.ActChangeProvider, delivery.SubjectProvider, 0))
	return pc.After(err, "The provider was changed.", pc.Path("/webhooks/auth/%d", a.ID), func(pc *page.Context) error { return h.askForProvider(pc, form) })
}

// shownUsers is the largest number of webhooks that a provider's page names.
const shownUsers = 20

// providerData is the content of a provider's page. The secret is set only directly after its
// generation.
type providerData struct {
	providerRow
	Facts []page.DetailRow
	// Public is the client certificate in PEM.
	Public, Secret string
	// Users lists the first webhooks that use the provider. More is set when more webhooks use it.
	Users    []passerelle.WebhookID
	More     bool
	MaySetUp bool
	Overlap  string
}

func (h *hooks) provider(pc *page.Context) error {
	a, err := h.Delivery.Provider(pc, pc.Domain, pc.Numbers[1])
	if err != nil {
		return err
	}
	users, err := h.DB.WebhooksWithProvider(pc, pc.Domain.ID, a.ID, shownUsers+1)
	if err != nil {
		return fmt.Errorf("list the webhooks that have provider %d: %w", a.ID, err)
	}
	data := providerData{
		providerRow: newProviderRow(pc, a), Facts: h.providerFacts(pc, a), Secret: pc.TakeSecret(),
		Users: users[:min(len(users), shownUsers)], More: len(users) > shownUsers, MaySetUp: pc.MaySetUp(), Overlap: "24h",
	}
	if a.Endpoint != nil {
		data.Public = a.Endpoint.PublicCert
	}
	if typed := pc.Field("overlap"); typed != "" && pc.Problem != "" {
		data.Overlap = typed
	}
	return pages.Send(pc, "provider", fmt.Sprintf("Authentication provider %d", a.ID), data)
}

func (h *hooks) providerFacts(pc *page.Context, a store.AuthProvider) []page.DetailRow {
	facts := slices.Concat(page.Details("Type", a.Type, "Name", a.Name), page.At("Created", pc.When(a.Created)), page.At("Changed", pc.WhenEver(a.Updated)))
	if _, next := a.Secrets(h.Now()); next != "" {
		facts = append(facts, page.At("The new secret alone signs", pc.RealWhenEver(a.NextFrom))...)
	}
	if e := a.Endpoint; e != nil {
		facts = append(facts, page.Details("Token endpoint", e.URL, "Client id", e.ClientID, "Client secret", "stored, never shown", "Grant", e.GrantType)...)
	}
	return facts
}

// rotateProvider gives a signing provider a new secret, and shows this secret.
func (h *hooks) rotateProvider(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	overlap, err := passerelle.ParseDuration("overlap", strings.TrimSpace(pc.Field("overlap")))
	if err != nil {
		return pc.After(err, "", "", h.provider)
	}
	a, secret, err := h.Delivery.Rotate(pc, pc.Domain, pc.Numbers[1], overlap, pc.By(), pc.Record(delivery.ActRotateProvider, delivery.SubjectProvider, 0))
	if err != nil {
		return pc.After(err, "", "", h.provider)
	}
	return pc.LeadToSecret(pc.Path("/webhooks/auth/%d", a.ID), secret)
}

// deleteProvider deletes a provider after the operator has typed the provider's number.
func (h *hooks) deleteProvider(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	id := pc.Numbers[1]
	err := pc.Confirmed(id)
	if err == nil {
		err = h.Delivery.DeleteProvider(pc, pc.Domain, id, pc.By(), pc.Record(delivery.ActDeleteProvider, delivery.SubjectProvider, 0))
	}
	return pc.After(err, fmt.Sprintf("Provider %d was deleted.", id), pc.Path("/webhooks/auth"), h.provider)
}
