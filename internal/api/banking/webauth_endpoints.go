package banking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

func (s *Service) webauthRoutes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/webauth-url", Needs: ofUser, Endpoint: httpapi.Handle(s.webauthURL), Errors: []string{"missingParameter", "conflict", "connectionLocked", "notFound"},
		Summary: "Get the address of the institution's page",
		Doc:     "Returns the address to open in the end user's browser, for a new connection or one in state webauthRequired. The address works once, within 30 minutes. The browser returns to redirect_uri with id_connection and state, or after a failure with error and error_description. Fails with invalidValue when the connection is up to date.",
	}, {
		Method: http.MethodGet, Pattern: "/webauth", Needs: httpapi.Public, Endpoint: httpapi.Handle(webauthPage), Redirects: true,
		Summary: "Send an end user to the institution's page",
		Doc:     "Redirects the end user's browser to the institution's page, identified by the user's code. Otherwise works like /webauth-url. The browser returns to redirect_uri with id_connection and state, or with error and error_description. If the application is unknown, the answer is an error page.",
	}}
}

// webauthPageInput contains the values that an end user's browser sends.
type webauthPageInput struct {
	webauthURLInput
	Token string `query:"token,required" doc:"a temporary code of the user, see /auth/token/code"`
}

// webauthPage exists only for the OpenAPI document. Package webview serves the page.
func webauthPage(context.Context, *httpapi.Caller, webauthPageInput) (httpapi.Nothing, error) {
	return httpapi.Nothing{}, nil
}

type webauthURLInput struct {
	ClientID      httpapi.Number           `query:"client_id,required" doc:"the application that receives the end user"`
	RedirectURI   string                   `query:"redirect_uri,required" max:"2048" doc:"where the application receives them; must be registered with the application and have no query"`
	ConnectorUUID string                   `query:"connector_uuid" doc:"for a new connection"`
	IDConnector   *int64                   `query:"id_connector" min:"1" doc:"deprecated, see connector_uuid"`
	IDConnection  *passerelle.ConnectionID `query:"id_connection" min:"1" doc:"id of an existing connection that waits for the end user"`
	Source        string                   `query:"source" doc:"name of the connector's source to use; by default, the first by priority with the mechanism webauth"`
	State         string                   `query:"state" max:"2000" doc:"returned unchanged with the end user"`
	Values        map[string]string        `query:"*" max:"8192" doc:"values of the connector's fields, each as a separate parameter"`
}

type webauthURLOutput struct {
	URL string `json:"url"`
}

func (in webauthURLInput) wish(connector string) aggregation.Webauth {
	wish := aggregation.Webauth{Connector: connector, Source: in.Source, Values: in.Values, Landing: aggregation.Landing{RedirectURI: in.RedirectURI, State: in.State}}
	if in.IDConnection != nil {
		wish.Connection = *in.IDConnection
	}
	return wish
}

func (s *Service) webauthURL(ctx context.Context, c *httpapi.Caller, in webauthURLInput) (webauthURLOutput, error) {
	if err := s.receives(ctx, c, in); err != nil {
		return webauthURLOutput{}, err
	}
	named, err := s.Aggregation.Connectors.Agreed(namedConnectors(in.ConnectorUUID, in.IDConnector, nil, nil)...)
	if err != nil {
		return webauthURLOutput{}, err
	}
	wish := in.wish(named.Name)
	if err := wish.Check(); err != nil {
		return webauthURLOutput{}, err
	}
	if err := s.Aggregation.CheckWebauth(ctx, c.Domain, c.User, wish); err != nil {
		return webauthURLOutput{}, err
	}
	code, err := s.Access.IssueCode(ctx, c.Principal, true)
	if err != nil {
		return webauthURLOutput{}, err
	}
	query := url.Values{"token": {code.Text}, "client_id": {string(in.ClientID)}, "redirect_uri": {in.RedirectURI}}
	for name, value := range s.Aggregation.Asked(wish) {
		query.Set(name, value)
	}
	for name, value := range map[string]string{"connector_uuid": wish.Connector, "source": in.Source, "state": in.State} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if in.IDConnection != nil {
		query.Set("id_connection", strconv.FormatInt(int64(*in.IDConnection), 10))
	}
	return webauthURLOutput{URL: c.Base + "/webauth?" + query.Encode()}, nil
}

// receives checks that the named application exists, and that it may use the redirect address. If
// the caller's token belongs to an application, this must be the named application.
func (s *Service) receives(ctx context.Context, c *httpapi.Caller, in webauthURLInput) error {
	id, err := strconv.ParseInt(string(in.ClientID), 10, 64)
	if err != nil || c.Client != 0 && int64(c.Client) != id {
		return passerelle.InvalidField("client_id", "is not the application that the token was issued to")
	}
	if _, err := passerelle.ParseRedirectURI("redirect_uri", in.RedirectURI); err != nil {
		return err
	}
	_, err = s.DB.Client(ctx, c.Domain.ID, passerelle.ClientID(id))
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.InvalidField("client_id", "there is no such application")
	}
	if err != nil {
		return fmt.Errorf("load client %d: %w", id, err)
	}
	return s.Initiation.CheckRedirect(ctx, c.Domain, passerelle.ClientID(id), "redirect_uri", in.RedirectURI)
}
