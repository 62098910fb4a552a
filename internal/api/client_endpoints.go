package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

var seeClient = httpapi.Needs{Kinds: []access.TokenKind{access.ConfigToken, access.UserToken}}

func (s *Service) clientRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/clients", Needs: config, Endpoint: httpapi.Handle(s.listClients),
			Summary: "List applications", Doc: "Lists applications, oldest first.",
		},
		{
			Method: http.MethodPost, Pattern: "/clients", Needs: config, Creates: "client", Endpoint: httpapi.Handle(s.createClient),
			Summary: "Register an application", Doc: "Registers an application. Returns its secret, which is never shown again.",
		},
		{
			Method: http.MethodGet, Pattern: "/clients/{clientId}", Needs: seeClient, Endpoint: httpapi.Handle(s.oneClient),
			Summary: "Read an application", Doc: "Returns an application. A user token reads the application that it belongs to.",
		},
		{
			Method: httpapi.Update, Pattern: "/clients/{clientId}", Needs: config, Endpoint: httpapi.Handle(s.updateClient),
			Summary: "Change an application", Doc: "Omitted members keep their values. With secret, creates a new secret and returns it once.",
		},
		{
			Method: http.MethodDelete, Pattern: "/clients/{clientId}", Needs: config, Endpoint: httpapi.Handle(s.deleteClient),
			Summary: "Delete an application", Doc: "Deletes the application. Its tokens stop working.",
		},
		{
			Method: http.MethodPost, Pattern: "/clients/{clientId}/logo", Needs: config, Endpoint: httpapi.Handle(s.setLogo),
			Summary: "Set the logo of an application", Doc: "Stores a PNG or JPEG of at most 256 KiB and 2048 pixels in each direction. Replaces an earlier logo. The service scales the logo to the size that pages show.",
		},
		{
			Method: http.MethodDelete, Pattern: "/clients/{clientId}/logo", Needs: config, Endpoint: httpapi.Handle(s.deleteLogo),
			Summary: "Delete the logo of an application",
		},
	}
}

// clientFields contains the fields of an application that both its creation and its change can set.
type clientFields struct {
	RedirectURIs         []string          `body:"redirect_uris" max:"2048" doc:"addresses that payers and users may be sent back to; without any, a sandbox domain allows every address and a live domain none"`
	RedirectURI          *string           `body:"redirect_uri" max:"2048" doc:"deprecated, see redirect_uris: the only address"`
	GenerateKeys         bool              `body:"generate_keys" doc:"generate a key pair for signed tokens, which replaces an earlier one"`
	PrimaryColor         *string           `body:"primary_color" doc:"six hexadecimal digits"`
	SecondaryColor       *string           `body:"secondary_color" doc:"six hexadecimal digits"`
	Description          *string           `body:"description" max:"4096"`
	DescriptionBanks     *string           `body:"description_banks" max:"4096"`
	DescriptionProviders *string           `body:"description_providers" max:"4096"`
	Pro                  *bool             `body:"pro" doc:"whether the application serves businesses"`
	Config               map[string]string `body:"config" doc:"texts that the application stores for itself, by key"`
}

// addresses returns the redirect addresses of an application, or nil when the request has none.
// Programs write a missing address as an empty text in forms.
func (in clientFields) addresses() ([]string, error) {
	one := in.RedirectURI
	if one == nil || *one == "" {
		return in.RedirectURIs, nil
	}
	if _, err := passerelle.ParseRedirectURI("redirect_uri", *one); err != nil {
		return nil, err
	}
	if in.RedirectURIs == nil {
		return []string{*one}, nil
	}
	if !slices.Contains(in.RedirectURIs, *one) {
		return nil, passerelle.InvalidField("redirect_uri", "must be one of redirect_uris when both are sent")
	}
	return in.RedirectURIs, nil
}

func (in clientFields) change() (access.ClientUpdate, error) {
	addresses, err := in.addresses()
	if err != nil {
		return access.ClientUpdate{}, err
	}
	return access.ClientUpdate{
		RedirectURIs: addresses, GenerateKeys: in.GenerateKeys, PrimaryColor: in.PrimaryColor, SecondaryColor: in.SecondaryColor,
		Description: in.Description, DescriptionBanks: in.DescriptionBanks, DescriptionProviders: in.DescriptionProviders,
		Pro: in.Pro, Config: in.Config,
	}, nil
}

type createClientInput struct {
	Name string `body:"name,required" max:"255" doc:"name that payers and operators see"`
	clientFields
}

type oneClientInput struct {
	ID passerelle.ClientID `path:"clientId"`
}

type updateClientInput struct {
	oneClientInput
	Name *string `body:"name" max:"255" doc:"name that payers and operators see"`
	clientFields
	Secret       bool `body:"secret" doc:"create a new secret; the old one stops working at once"`
	UpdateConfig bool `body:"update_config" doc:"true changes only the keys in config; false replaces all keys"`
}

type listClientsInput struct{ httpapi.Paging }

type listClientsOutput struct {
	Clients []wire.Client `json:"clients"`
	httpapi.Listing
}

func shownClient(client store.Client) wire.Client {
	shown := wire.Client{
		ID: int64(client.ID), Name: client.Name, PublicKey: optionalText(client.PublicKey), RedirectURIs: client.RedirectURIs, Pro: client.Pro,
		IDLogo: optionalInt(client.Logo), PrimaryColor: optionalText(client.PrimaryColor), SecondaryColor: optionalText(client.SecondaryColor),
		Description: optionalText(client.Description), DescriptionBanks: optionalText(client.DescriptionBanks),
		DescriptionProviders: optionalText(client.DescriptionProviders), Config: client.Config,
	}
	if shown.RedirectURIs == nil {
		shown.RedirectURIs = []string{}
	} else if len(shown.RedirectURIs) > 0 {
		shown.RedirectURI = &shown.RedirectURIs[0]
	}
	if shown.Config == nil {
		shown.Config = map[string]string{}
	}
	return shown
}

func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// missing converts ErrNotFound to the error that clients receive. It returns other errors
// unchanged.
func missing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.Missing()
	}
	return err
}

func (s *Service) listClients(ctx context.Context, c *httpapi.Caller, in listClientsInput) (listClientsOutput, error) {
	all, err := s.DB.Clients(ctx, c.Domain.ID)
	if err != nil {
		return listClientsOutput{}, err
	}
	id := func(client store.Client) int64 { return int64(client.ID) }
	fetch := func(_ context.Context, _ *store.Reader, w httpapi.PageWindow) ([]store.Client, error) {
		return windowOf(all, id, w), nil
	}
	position := func(client store.Client) httpapi.Position { return httpapi.Position{id(client)} }
	count := func(context.Context, *store.Reader) (int64, error) { return int64(len(all)), nil }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	out := listClientsOutput{Clients: make([]wire.Client, len(rows)), Listing: listing}
	for i, client := range rows {
		out.Clients[i] = shownClient(client)
	}
	return out, err
}

func (s *Service) createClient(ctx context.Context, c *httpapi.Caller, in createClientInput) (wire.Client, error) {
	change, err := in.change()
	if err != nil {
		return wire.Client{}, err
	}
	change.Name = &in.Name
	client, secret, err := s.Access.Create(ctx, c.Domain.ID, change, s.recordIn(c, access.ActCreateClient, access.SubjectClient))
	shown := shownClient(client)
	shown.Secret = secret
	return shown, err
}

func (s *Service) oneClient(ctx context.Context, c *httpapi.Caller, in oneClientInput) (wire.Client, error) {
	if c.Kind == access.UserToken && in.ID != c.Client {
		return wire.Client{}, passerelle.Missing()
	}
	client, err := s.DB.Client(ctx, c.Domain.ID, in.ID)
	return shownClient(client), missing(err)
}

func (s *Service) updateClient(ctx context.Context, c *httpapi.Caller, in updateClientInput) (wire.Client, error) {
	change, err := in.change()
	if err != nil {
		return wire.Client{}, err
	}
	change.Name, change.ResetSecret, change.MergeConfig = in.Name, in.Secret, in.UpdateConfig
	acts := change.Acts(func(act, subject string) store.Audit { return s.recordIn(c, act, subject) })
	client, secret, err := s.Access.Update(ctx, c.Domain.ID, in.ID, change, acts...)
	shown := shownClient(client)
	shown.Secret = secret
	return shown, missing(err)
}

func (s *Service) deleteClient(ctx context.Context, c *httpapi.Caller, in oneClientInput) (httpapi.Nothing, error) {
	_, err := s.Access.Delete(ctx, c.Domain.ID, in.ID, s.recordIn(c, access.ActDeleteClient, access.SubjectClient))
	return httpapi.Nothing{}, missing(err)
}

type setLogoInput struct {
	oneClientInput
	Logo httpapi.FileContent `body:"logo,required" doc:"the picture, as a file in a form or in base64"`
}

type logoOutput struct {
	ID        int64  `json:"id"`
	MediaType string `json:"media_type"`
}

func (s *Service) setLogo(ctx context.Context, c *httpapi.Caller, in setLogoInput) (logoOutput, error) {
	logo, err := s.Access.SetLogo(ctx, c.Domain.ID, in.ID, in.Logo, s.recordIn(c, access.ActSetLogo, access.SubjectClient))
	return logoOutput{logo.ID, logo.MediaType}, missing(err)
}

func (s *Service) deleteLogo(ctx context.Context, c *httpapi.Caller, in oneClientInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, missing(s.Access.DeleteLogo(ctx, c.Domain.ID, in.ID, s.recordIn(c, access.ActDeleteLogo, access.SubjectClient)))
}
