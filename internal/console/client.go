package console

import (
	"fmt"
	"net/http"
	"strings"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
)

func (c *Console) clientRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/clients", c.clients),
		page.SetUp("domains/#/clients", c.createClient),
		page.Get("domains/#/clients/#", c.client),
		page.SetUp("domains/#/clients/#", c.changeClient),
		page.SetUp("domains/#/clients/#/secret", c.resetSecret),
		page.SetUp("domains/#/clients/#/delete", c.deleteClient),
		page.SetUp("domains/#/clients/#/keys", c.makeKeys),
		page.Get("domains/#/clients/#/logo/#", c.clientLogo),
		{Method: http.MethodPost, Pattern: "domains/#/clients/#/logo", Serve: c.setLogo, Room: access.MaxLogo},
		page.SetUp("domains/#/clients/#/logo/delete", c.deleteLogo),
		page.SetUp("domains/#/clients/#/config", c.configureClient),
	}
}

// clientsData is the content of a page that lists applications, with the form for a new one.
type clientsData struct {
	Rows     []clientRow
	Pager    page.Pager
	Form     clientForm
	MaySetUp bool
}

type clientRow struct {
	ID            passerelle.ClientID
	Name          string
	Created, Used page.When
	// Redirects is the number of the application's redirect URIs.
	Redirects int
}

func newClientRow(pc *page.Context, one store.Client) clientRow {
	return clientRow{one.ID, one.Name, pc.RealWhen(one.Created), pc.RealWhenEver(one.Used), len(one.RedirectURIs)}
}

// clientForm is a form about an application. RedirectURIs has one URI in each line.
type clientForm struct {
	Name, RedirectURIs, PrimaryColor, SecondaryColor    string
	Description, DescriptionBanks, DescriptionProviders string
	Pro                                                 bool
}

func typedClient(pc *page.Context) clientForm {
	return clientForm{
		Name: strings.TrimSpace(pc.Field("name")), RedirectURIs: pc.Field("redirect_uris"), PrimaryColor: pc.Field("primary_color"),
		SecondaryColor: pc.Field("secondary_color"), Description: pc.Field("description"), DescriptionBanks: pc.Field("description_banks"),
		DescriptionProviders: pc.Field("description_providers"), Pro: pc.Field("pro") == "1",
	}
}

// change converts the form to the input of Access.Create and Access.Update. An empty list removes
// all redirect URIs.
func (f clientForm) change() access.ClientUpdate {
	return access.ClientUpdate{
		Name: &f.Name, RedirectURIs: append([]string{}, strings.Fields(f.RedirectURIs)...), PrimaryColor: &f.PrimaryColor, SecondaryColor: &f.SecondaryColor,
		Description: &f.Description, DescriptionBanks: &f.DescriptionBanks, DescriptionProviders: &f.DescriptionProviders, Pro: &f.Pro,
	}
}

// clients lists the applications of a domain, newest first.
func (c *Console) clients(pc *page.Context) error {
	w := pc.Window(1)
	rows, err := c.DB.ClientPage(pc, pc.Domain.ID, w)
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", pc.Domain.ID, err)
	}
	data := clientsData{MaySetUp: pc.MaySetUp()}
	if pc.Problem != "" {
		data.Form = typedClient(pc)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(one store.Client) []any { return page.ByID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, newClientRow(pc, one))
	}
	return pages.Send(pc, "clients", "Applications", data)
}

// createClient creates an application with a name and redirect URIs, and shows its secret.
func (c *Console) createClient(pc *page.Context) error {
	form := typedClient(pc)
	made, secret, err := c.Access.Create(pc, pc.Domain.ID, form.change(), pc.Record(access.ActCreateClient, access.SubjectClient, 0))
	if err != nil {
		return pc.After(err, "", "", c.clients)
	}
	return pc.LeadToSecret(pc.Path("/clients/%d", made.ID), secret)
}

// clientData is the content of an application's page. The secret is set only when it is new.
type clientData struct {
	clientRow
	Form      clientForm
	PublicKey string
	Secret    string
	// Logo is the address of the application's logo, or empty.
	Logo string
	// Kept lists the texts that are stored for the application. KeptKey and KeptText are the
	// operator's input.
	Kept              []page.DetailRow
	KeptKey, KeptText string
	MaySetUp          bool
}

func (c *Console) client(pc *page.Context) error {
	one, err := c.DB.Client(pc, pc.Domain.ID, clientID(pc))
	if err != nil {
		return fmt.Errorf("load client %d: %w", pc.Numbers[1], err)
	}
	data := clientData{
		clientRow: newClientRow(pc, one),
		Form: clientForm{
			one.Name, strings.Join(one.RedirectURIs, "\n"), one.PrimaryColor, one.SecondaryColor,
			one.Description, one.DescriptionBanks, one.DescriptionProviders, one.Pro,
		},
		PublicKey: one.PublicKey, Secret: pc.TakeSecret(), MaySetUp: pc.MaySetUp(),
	}
	if pc.Problem != "" && pc.Request.URL.Path == pc.Path("/clients/%d", one.ID) { // only this form has input to show again
		data.Form = typedClient(pc)
	}
	c.addKept(pc, one, &data)
	if one.Logo != 0 {
		data.Logo = pc.Path("/clients/%d/logo/%d", one.ID, one.Logo)
	}
	return pages.Send(pc, "client", fmt.Sprintf("%s, application %d", one.Name, one.ID), data)
}

// changeClient changes an application.
func (c *Console) changeClient(pc *page.Context) error {
	id := clientID(pc)
	_, _, err := c.Access.Update(pc, pc.Domain.ID, id, typedClient(pc).change(), pc.Record(access.ActChangeClient, access.SubjectClient, 0))
	return pc.After(err, "The application was changed.", pc.Path("/clients/%d", id), c.client)
}

// resetSecret gives an application a new secret, and shows it.
func (c *Console) resetSecret(pc *page.Context) error {
	id := clientID(pc)
	one, secret, err := c.Access.Update(pc, pc.Domain.ID, id, access.ClientUpdate{ResetSecret: true}, pc.Record(access.ActResetSecret, access.SubjectClient, 0))
	if err != nil {
		return pc.After(err, "", "", c.client)
	}
	return pc.LeadToSecret(pc.Path("/clients/%d", one.ID), secret)
}

// deleteClient deletes an application after the operator has typed the application's number.
func (c *Console) deleteClient(pc *page.Context) error {
	id := clientID(pc)
	err := pc.Confirmed(int64(id))
	if err == nil {
		_, err = c.Access.Delete(pc, pc.Domain.ID, id, pc.Record(access.ActDeleteClient, access.SubjectClient, 0))
	}
	return pc.After(err, fmt.Sprintf("Application %d was deleted.", id), pc.Path("/clients"), c.client)
}
