package console

import (
	"fmt"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/desk"
	"passerelle/internal/store"
)

func (c *Console) clientRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/clients", c.clients),
		desk.Post("domains/#/clients", c.createClient),
		desk.Get("domains/#/clients/#", c.client),
		desk.Post("domains/#/clients/#", c.changeClient),
		desk.Post("domains/#/clients/#/secret", c.resetSecret),
		desk.Post("domains/#/clients/#/delete", c.deleteClient),
		desk.Post("domains/#/clients/#/keys", c.makeKeys),
		desk.Get("domains/#/clients/#/logo/#", c.clientLogo),
		{Method: http.MethodPost, Pattern: "domains/#/clients/#/logo", Serve: c.setLogo, Room: access.MaxLogo},
		desk.Post("domains/#/clients/#/logo/delete", c.deleteLogo),
		desk.Post("domains/#/clients/#/config", c.configureClient),
	}
}

// The acts on applications, as the audit log names them.
const (
	actCreateClient = "create client"
	actChangeClient = "change client"
	actResetSecret  = "reset client secret"
	actDeleteClient = "delete client"
	actMakeKeys     = "make keys of client"
	actSetLogo      = "set logo of client"
	actDeleteLogo   = "delete logo of client"
)

// clientsData is a page of applications, and the form for another.
type clientsData struct {
	Rows     []clientRow
	Turn     desk.Turn
	Form     clientForm
	MaySetUp bool
}

type clientRow struct {
	ID                  passerelle.ClientID
	Name, Created, Used string
	// Redirects is how many redirect URIs it has.
	Redirects int
}

// clientForm is what a form says about an application, with one redirect URI to
// a line.
type clientForm struct {
	Name, RedirectURIs, PrimaryColor, SecondaryColor    string
	Description, DescriptionBanks, DescriptionProviders string
	Pro                                                 bool
}

func typedClient(v *desk.Visit) clientForm {
	return clientForm{
		Name: strings.TrimSpace(v.Field("name")), RedirectURIs: v.Field("redirect_uris"), PrimaryColor: v.Field("primary_color"),
		SecondaryColor: v.Field("secondary_color"), Description: v.Field("description"), DescriptionBanks: v.Field("description_banks"),
		DescriptionProviders: v.Field("description_providers"), Pro: v.Field("pro") == "1",
	}
}

// change is the form as the use case takes it. No redirect URI is none, not those
// before.
func (f clientForm) change() access.Change {
	return access.Change{
		Name: &f.Name, RedirectURIs: append([]string{}, strings.Fields(f.RedirectURIs)...), PrimaryColor: &f.PrimaryColor, SecondaryColor: &f.SecondaryColor,
		Description: &f.Description, DescriptionBanks: &f.DescriptionBanks, DescriptionProviders: &f.DescriptionProviders, Pro: &f.Pro,
	}
}

// clients lists the applications of a domain, the newest first.
func (c *Console) clients(v *desk.Visit) error {
	w := v.Window(1)
	rows, err := c.DB.ClientPage(v, v.Domain.ID, w)
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", v.Domain.ID, err)
	}
	setUp(v, "Clients")
	data := clientsData{MaySetUp: v.MaySetUp()}
	if v.Problem != "" {
		data.Form = typedClient(v)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(one store.Client) []any { return desk.ByID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, clientRow{one.ID, one.Name, v.Moment(&one.Created), v.Moment(one.Used), len(one.RedirectURIs)})
	}
	return pages.Send(v, "clients", "Clients", data)
}

// createClient makes an application of a name and redirect URIs, and shows its
// secret.
func (c *Console) createClient(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	form := typedClient(v)
	made, secret, err := c.Access.Create(v, v.Domain.ID, form.change(), v.Record(actCreateClient, "client", 0))
	if err != nil {
		return v.After(err, "", c.clients)
	}
	return c.showClient(v, made, secret)
}

// clientData is one application, and its secret when that has just been made.
type clientData struct {
	clientRow
	Form      clientForm
	PublicKey string
	Secret    string
	// Logo is where its picture is, empty for none.
	Logo string
	// Kept are the texts that its programs keep with it, and KeptKey and KeptText
	// what was typed of one.
	Kept              []desk.Fact
	KeptKey, KeptText string
	MaySetUp          bool
}

func (c *Console) client(v *desk.Visit) error {
	one, err := c.DB.Client(v, v.Domain.ID, passerelle.ClientID(v.Numbers[1]))
	if err != nil {
		return fmt.Errorf("load client %d: %w", v.Numbers[1], err)
	}
	return c.showClient(v, one, "")
}

func (c *Console) showClient(v *desk.Visit, one store.Client, secret string) error {
	setUp(v, "Clients")
	data := clientData{
		clientRow: clientRow{one.ID, one.Name, v.Moment(&one.Created), v.Moment(one.Used), len(one.RedirectURIs)},
		Form: clientForm{
			one.Name, strings.Join(one.RedirectURIs, "\n"), one.PrimaryColor, one.SecondaryColor,
			one.Description, one.DescriptionBanks, one.DescriptionProviders, one.Pro,
		},
		PublicKey: one.PublicKey, Secret: secret, MaySetUp: v.MaySetUp(),
	}
	if v.Problem != "" && v.Request.URL.Path == v.Path("/clients/%d", one.ID) { // of all forms the one that says so much
		data.Form = typedClient(v)
	}
	c.addKept(v, one, &data)
	if one.Logo != 0 {
		data.Logo = v.Path("/clients/%d/logo/%d", one.ID, one.Logo)
	}
	return pages.Send(v, "client", fmt.Sprintf("Client %d", one.ID), data)
}

// changeClient changes what is said about an application.
func (c *Console) changeClient(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := passerelle.ClientID(v.Numbers[1])
	_, _, err := c.Access.Update(v, v.Domain.ID, id, typedClient(v).change(), v.Record(actChangeClient, "client", int64(id)))
	return v.After(err, v.Path("/clients/%d", id), c.client)
}

// resetSecret gives an application a new secret, and shows it.
func (c *Console) resetSecret(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := passerelle.ClientID(v.Numbers[1])
	one, secret, err := c.Access.Update(v, v.Domain.ID, id, access.Change{ResetSecret: true}, v.Record(actResetSecret, "client", int64(id)))
	if err != nil {
		return v.After(err, "", c.client)
	}
	return c.showClient(v, one, secret)
}

// deleteClient removes the application whose number was typed.
func (c *Console) deleteClient(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	id := passerelle.ClientID(v.Numbers[1])
	err := v.Confirmed(int64(id))
	if err == nil {
		_, err = c.Access.Delete(v, v.Domain.ID, id, v.Record(actDeleteClient, "client", int64(id)))
	}
	return v.After(err, v.Path("/clients"), c.client)
}
