package api

import (
	"context"

	"passerelle"
	"passerelle/internal/httpapi"
)

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
	p, err := s.reach(ctx, c, in.ID, false)
	if err != nil {
		return paymentTokenOutput{}, err
	}
	if p.State.Final() {
		return paymentTokenOutput{}, passerelle.Conflicting("The payment is %s; there is nothing left to be done with a token for it.", p.State)
	}
	grant, err := s.Access.IssuePayment(ctx, c.Principal, in.ID, scopes)
	if err != nil {
		return paymentTokenOutput{}, err
	}
	return paymentTokenOutput{
		Token: grant.Text, Scope: grant.Scopes.String(), IDPayment: int64(in.ID),
		ExpiresIn: int64(grant.Expires.Sub(grant.Token.Created).Seconds()),
	}, nil
}
