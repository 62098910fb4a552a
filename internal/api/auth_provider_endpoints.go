package api

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

func (s *Service) authProviderRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.listProviders),
			Summary: "List webhook authentication providers", Doc: "Lists providers, oldest first.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Creates: "auth_provider", Endpoint: httpapi.Handle(s.createProvider),
			Summary: "Create a webhook authentication provider", Errors: []string{"conflict"},
			Doc: "Creates a provider. For HMAC, returns the secret key, which is never shown again. For OAuth, the service gets access tokens from the token endpoint and sends one with every request.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProviders),
			Summary: "Delete all webhook authentication providers", Doc: "Deletes all providers. Their webhooks hold events back until they have another provider.",
		},
		{
			Method: http.MethodGet, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.oneProvider),
			Summary: "Read a webhook authentication provider", Doc: "Returns a provider without its secrets.",
		},
		{
			Method: httpapi.Update, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.updateProvider),
			Summary: "Change a webhook authentication provider", Errors: []string{"conflict"}, Doc: "Omitted members keep their values. Access tokens obtained with the earlier configuration are no longer used.",
		},
		{
			Method: http.MethodDelete, Pattern: "/webhooks/auth/{authId}", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.deleteProvider),
			Summary: "Delete a webhook authentication provider", Doc: "Deletes the provider. Its webhooks hold events back until they have another provider.",
		},
		{
			Method: http.MethodPost, Pattern: "/webhooks/auth/{authId}/rotate", Unversioned: true, Needs: config, Endpoint: httpapi.Handle(s.rotateProvider),
			Summary: "Replace the secret key of an HMAC provider",
			Doc:     "Returns the new secret key, which is never shown again. During the overlap, SVC-Signature uses the old secret and SVC-Signature-Next the new one. Afterwards only the new one signs. A rotation during an overlap replaces the next secret.",
		},
	}
}

type providerInput struct {
	Type   string         `body:"type,required" enum:"hmac_signature,oauth"`
	Name   string         `body:"name,required" max:"64" doc:"unique in the domain"`
	Config *endpointInput `body:"config" doc:"configuration of an oauth provider; all members are required except the two certificates"`
}

type endpointInput struct {
	URL          *string `body:"url" max:"2048" doc:"full address of the token endpoint; https only in live domains"`
	ClientID     *string `body:"client_id" max:"1024"`
	ClientSecret *string `body:"client_secret" max:"1024" doc:"never shown"`
	GrantType    *string `body:"grant_type" enum:"client_credentials"`
	PublicCert   *string `body:"public_cert" max:"32768" doc:"client certificate in PEM, for token endpoints that require one; empty for none"`
	PrivateCert  *string `body:"private_cert" max:"8192" doc:"private key of the certificate in PEM, not encrypted; never shown"`
}

// change converts the input to a change of the token endpoint. A nil input changes nothing.
func (in *endpointInput) change() delivery.EndpointChange {
	if in == nil {
		return delivery.EndpointChange{}
	}
	return delivery.EndpointChange(*in)
}

type oneProviderInput struct {
	ID int64 `path:"authId"`
}

type updateProviderInput struct {
	oneProviderInput
	Name   *string        `body:"name" max:"64" doc:"unique in the domain"`
	Config *endpointInput `body:"config" doc:"members of an oauth provider's configuration to change"`
}

type rotateProviderInput struct {
	oneProviderInput
	Overlap *string `body:"overlap" doc:"how long requests are signed with both secrets: a duration such as 36h or 2d, from 0s to 30d; 24h when omitted" example:"24h"`
}

type providerOutput struct {
	ID     int64           `json:"id"`
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Config *providerConfig `json:"config,omitempty"`
}

// providerConfig is the part of a provider's configuration that responses show.
type providerConfig struct {
	SecretKey  string `json:"secret_key,omitempty" doc:"shown only in this answer"`
	NextFrom   string `json:"next_from,omitempty" doc:"when the new secret replaces the previous one, in real time; until then requests are signed with both"`
	URL        string `json:"url,omitempty"`
	ClientID   string `json:"client_id,omitempty"`
	GrantType  string `json:"grant_type,omitempty"`
	PublicCert string `json:"public_cert,omitempty"`
}

func (s *Service) createProvider(ctx context.Context, c *httpapi.Caller, in providerInput) (providerOutput, error) {
	if in.Type == delivery.OAuth {
		a, err := s.Delivery.RegisterOAuth(ctx, c.Domain, in.Name, in.Config.change(), c.By(), s.recordIn(c, delivery.ActRegisterProvider, delivery.SubjectProvider))
		return s.shownProvider(c, a), err
	}
	if in.Config.change() != (delivery.EndpointChange{}) {
		return providerOutput{}, passerelle.InvalidField("config", "is only for providers of type %s", delivery.OAuth)
	}
	a, err := s.Delivery.RegisterProvider(ctx, c.Domain, in.Name, c.By(), s.recordIn(c, delivery.ActRegisterProvider, delivery.SubjectProvider))
	out := s.shownProvider(c, a)
	out.Config = &providerConfig{SecretKey: a.Secret}
	return out, err
}

// shownProvider renders a provider with the public part of the provider's configuration.
func (s *Service) shownProvider(c *httpapi.Caller, a store.AuthProvider) providerOutput {
	out := providerOutput{ID: a.ID, Type: a.Type, Name: a.Name}
	if e := a.Endpoint; e != nil {
		out.Config = &providerConfig{URL: e.URL, ClientID: e.ClientID, GrantType: e.GrantType, PublicCert: e.PublicCert}
	}
	if _, next := a.Secrets(s.Now()); next != "" {
		out.Config = &providerConfig{NextFrom: passerelle.FormatDateTime(*a.NextFrom, c.Location)}
	}
	return out
}

type listProvidersInput struct {
	httpapi.Paging
	Name *string `query:"name" doc:"only the provider with exactly this name"`
}

type listProvidersOutput struct {
	Providers []providerOutput `json:"authproviders"`
	httpapi.Listing
}

func (s *Service) listProviders(ctx context.Context, c *httpapi.Caller, in listProvidersInput) (listProvidersOutput, error) {
	filter := store.ProviderFilter{Domain: c.Domain.ID, Name: in.Name}
	fetch := func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.AuthProvider, error) {
		return r.AuthProviders(ctx, filter, store.Window{Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward})
	}
	position := func(a store.AuthProvider) httpapi.Position { return httpapi.Position{a.ID} }
	count := func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountAuthProviders(ctx, filter) }
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging, fetch, position, count)
	if err != nil {
		return listProvidersOutput{}, err
	}
	out := listProvidersOutput{Providers: make([]providerOutput, len(rows)), Listing: listing}
	for i, a := range rows {
		out.Providers[i] = s.shownProvider(c, a)
	}
	return out, nil
}

func (s *Service) oneProvider(ctx context.Context, c *httpapi.Caller, in oneProviderInput) (providerOutput, error) {
	a, err := s.Delivery.Provider(ctx, c.Domain, in.ID)
	return s.shownProvider(c, a), err
}

func (s *Service) updateProvider(ctx context.Context, c *httpapi.Caller, in updateProviderInput) (providerOutput, error) {
	a, err := s.Delivery.UpdateProvider(ctx, c.Domain, in.ID, delivery.ProviderChange{Name: in.Name, Endpoint: in.Config.change(), By: c.By()},
		s.recordIn(c, delivery.ActChangeProvider, delivery.SubjectProvider))
	return s.shownProvider(c, a), err
}

func (s *Service) rotateProvider(ctx context.Context, c *httpapi.Caller, in rotateProviderInput) (providerOutput, error) {
	overlap := delivery.DefaultOverlap
	if in.Overlap != nil {
		length, err := passerelle.ParseDuration("overlap", *in.Overlap)
		if err != nil {
			return providerOutput{}, err
		}
		overlap = length
	}
	a, secret, err := s.Delivery.Rotate(ctx, c.Domain, in.ID, overlap, c.By(), s.recordIn(c, delivery.ActRotateProvider, delivery.SubjectProvider))
	out := s.shownProvider(c, a)
	if out.Config == nil {
		out.Config = &providerConfig{}
	}
	out.Config.SecretKey = secret
	return out, err
}

func (s *Service) deleteProvider(ctx context.Context, c *httpapi.Caller, in oneProviderInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.DeleteProvider(ctx, c.Domain, in.ID, c.By(), s.recordIn(c, delivery.ActDeleteProvider, delivery.SubjectProvider))
}

func (s *Service) deleteProviders(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, s.Delivery.DeleteProviders(ctx, c.Domain, c.By(), s.recordIn(c, delivery.ActDeleteAllProviders, ""))
}
