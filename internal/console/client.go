package console

import (
	"fmt"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/store"
)

var clientRoutes = []route{
	{http.MethodGet, "domains/#/clients", (*Console).clients, false},
	{http.MethodPost, "domains/#/clients", (*Console).createClient, false},
	{http.MethodGet, "domains/#/clients/#", (*Console).client, false},
	{http.MethodPost, "domains/#/clients/#", (*Console).changeClient, false},
	{http.MethodPost, "domains/#/clients/#/secret", (*Console).resetSecret, false},
	{http.MethodPost, "domains/#/clients/#/delete", (*Console).deleteClient, false},
}

// The acts on applications, as the audit log names them.
const (
	actCreateClient = "create client"
	actChangeClient = "change client"
	actResetSecret  = "reset client secret"
	actDeleteClient = "delete client"
)

// clientsData is a page of applications, and the form for another.
type clientsData struct {
	Rows     []clientRow
	Turn     turn
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

func (v *visit) clientForm() clientForm {
	return clientForm{
		Name: strings.TrimSpace(v.field("name")), RedirectURIs: v.field("redirect_uris"), PrimaryColor: v.field("primary_color"),
		SecondaryColor: v.field("secondary_color"), Description: v.field("description"), DescriptionBanks: v.field("description_banks"),
		DescriptionProviders: v.field("description_providers"), Pro: v.field("pro") == "1",
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
func (c *Console) clients(v *visit) error {
	w := v.window(1)
	rows, err := c.DB.ClientPage(v, v.domain.ID, w)
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", v.domain.ID, err)
	}
	v.setUp("Clients")
	data := clientsData{MaySetUp: v.maySetUp()}
	if v.problem != "" {
		data.Form = v.clientForm()
	}
	rows, data.Turn = page(v, w, rows, func(one store.Client) []any { return byID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, clientRow{one.ID, one.Name, v.moment(&one.Created), v.moment(one.Used), len(one.RedirectURIs)})
	}
	return c.send(v, "clients", "Clients", data)
}

// createClient makes an application of a name and redirect URIs, and shows its
// secret.
func (c *Console) createClient(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	form := v.clientForm()
	made, secret, err := c.Access.Create(v, v.domain.ID, form.change(), c.record(v, actCreateClient, "client", 0))
	if err != nil {
		return c.after(v, err, "", (*Console).clients)
	}
	return c.showClient(v, made, secret)
}

// clientData is one application, and its secret when that has just been made.
type clientData struct {
	clientRow
	Form      clientForm
	PublicKey string
	Secret    string
	MaySetUp  bool
}

func (c *Console) client(v *visit) error {
	one, err := c.DB.Client(v, v.domain.ID, passerelle.ClientID(v.numbers[1]))
	if err != nil {
		return fmt.Errorf("load client %d: %w", v.numbers[1], err)
	}
	return c.showClient(v, one, "")
}

func (c *Console) showClient(v *visit, one store.Client, secret string) error {
	v.setUp("Clients")
	data := clientData{
		clientRow: clientRow{one.ID, one.Name, v.moment(&one.Created), v.moment(one.Used), len(one.RedirectURIs)},
		Form: clientForm{
			one.Name, strings.Join(one.RedirectURIs, "\n"), one.PrimaryColor, one.SecondaryColor,
			one.Description, one.DescriptionBanks, one.DescriptionProviders, one.Pro,
		},
		PublicKey: one.PublicKey, Secret: secret, MaySetUp: v.maySetUp(),
	}
	if v.problem != "" && v.request.URL.Path == v.path("/clients/%d", one.ID) { // of all forms the one that says so much
		data.Form = v.clientForm()
	}
	return c.send(v, "client", fmt.Sprintf("Client %d", one.ID), data)
}

// changeClient changes what is said about an application.
func (c *Console) changeClient(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	id := passerelle.ClientID(v.numbers[1])
	_, _, err := c.Access.Update(v, v.domain.ID, id, v.clientForm().change(), c.record(v, actChangeClient, "client", int64(id)))
	return c.after(v, err, v.path("/clients/%d", id), (*Console).client)
}

// resetSecret gives an application a new secret, and shows it.
func (c *Console) resetSecret(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	id := passerelle.ClientID(v.numbers[1])
	one, secret, err := c.Access.Update(v, v.domain.ID, id, access.Change{ResetSecret: true}, c.record(v, actResetSecret, "client", int64(id)))
	if err != nil {
		return c.after(v, err, "", (*Console).client)
	}
	return c.showClient(v, one, secret)
}

// deleteClient removes the application whose number was typed.
func (c *Console) deleteClient(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	id := passerelle.ClientID(v.numbers[1])
	err := v.confirmed(int64(id))
	if err == nil {
		_, err = c.Access.Delete(v, v.domain.ID, id, c.record(v, actDeleteClient, "client", int64(id)))
	}
	return c.after(v, err, v.path("/clients"), (*Console).client)
}
