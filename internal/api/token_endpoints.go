package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

func (s *Service) tokenRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/auth/token", Tokens: true, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.serviceToken),
			Summary: "Get a service token", Errors: []string{"invalidToken", "rateLimited"},
			Doc: "Exchanges an application's credentials, in the body or as HTTP Basic, for a token with the requested scopes. The token is valid for 30 minutes.",
		},
		{
			Method: http.MethodPost, Pattern: "/payments/{paymentId}/scopedtoken", Tokens: true, Needs: validatePayments, Endpoint: httpapi.Handle(s.paymentToken),
			Summary: "Get a token for one payment", Errors: []string{"conflict"},
			Doc: "Creates a token for this payment only, which is also the code for the payment webview. The token is valid for 7 days, or until an hour after the payment is final. A token that was made with a payment token expires no later than that token.",
		},
	}
}

type serviceTokenInput struct {
	credentialsInput
	GrantType string           `body:"grant_type" doc:"client_credentials"`
	Scope     httpapi.WordList `body:"scope,required" doc:"a string or an array of scopes" example:"payments:admin"`
}

type tokenOutput struct {
	Token string `json:"token"`
	Scope string `json:"scope"`
}

func (s *Service) serviceToken(ctx context.Context, c *httpapi.Caller, in serviceTokenInput) (tokenOutput, error) {
	if in.GrantType != "" && in.GrantType != "client_credentials" {
		return tokenOutput{}, passerelle.InvalidField("grant_type", "must be client_credentials")
	}
	scopes, err := passerelle.ParseScopes(in.Scope...)
	if err != nil {
		return tokenOutput{}, err
	}
	client, err := s.application(ctx, c, in.credentialsInput)
	if err != nil {
		return tokenOutput{}, err
	}
	grant, err := s.Access.IssueService(ctx, client, scopes)
	return tokenOutput{Token: grant.Text, Scope: grant.Scopes.String()}, err
}

type paymentTokenInput struct {
	onePaymentInput
	Scope httpapi.WordList `body:"scope,required" doc:"a string or an array of scopes; payments:admin is refused" example:"payments:validate"`
}

type paymentTokenOutput struct {
	Token     string `json:"token"`
	Scope     string `json:"scope"`
	IDPayment int64  `json:"id_payment"`
	ExpiresIn int64  `json:"expires_in" doc:"seconds"`
}

func (s *Service) paymentToken(ctx context.Context, c *httpapi.Caller, in paymentTokenInput) (paymentTokenOutput, error) {
	scopes, err := passerelle.ParseScopes(in.Scope...)
	if err != nil {
		return paymentTokenOutput{}, err
	}
	if err := s.checkOpen(ctx, c, in.ID); err != nil {
		return paymentTokenOutput{}, err
	}
	grant, err := s.Access.IssuePayment(ctx, c.Principal, in.ID, scopes)
	if errors.Is(err, store.ErrNoClient) {
		err = cmp.Or(s.checkOpen(ctx, c, in.ID), err) // the payment may have ended in the meantime
	}
	if err != nil {
		return paymentTokenOutput{}, err
	}
	return paymentTokenOutput{
		Token: grant.Text, Scope: grant.Scopes.String(), IDPayment: int64(in.ID), ExpiresIn: value(s.expiresIn(grant.Expires)),
	}, nil
}

// checkOpen fails when the caller may not reach the payment, or when the payment has ended.
func (s *Service) checkOpen(ctx context.Context, c *httpapi.Caller, id passerelle.PaymentID) error {
	p, err := s.reach(ctx, c, id, false)
	if err == nil && p.State.Final() {
		err = passerelle.Conflicting("The payment is %s; a token for it can no longer be used.", p.State)
	}
	return err
}
