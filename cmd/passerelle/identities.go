package main

import (
	"strings"

	"passerelle"
	"passerelle/internal/oidc"
	"passerelle/internal/secretfile"
)

// identities contains the flags for the provider that identifies operators.
type identities struct {
	OIDCIssuer           string   `name:"oidc-issuer" placeholder:"URL" help:"Issuer URL (https) of an OpenID Connect provider with which operators sign in to the console."`
	OIDCClientID         string   `name:"oidc-client-id" help:"Client id of this service at the provider. Register the redirect address /console/provider/back on the host of each domain."`
	OIDCClientSecretFile string   `name:"oidc-client-secret-file" type:"path" placeholder:"FILE" help:"File with the client secret, readable only by its owner."`
	OIDCNameClaim        string   `name:"oidc-name-claim" placeholder:"CLAIM" help:"Claim with the operator's name. The first sign-in links the operator with that name. The claim email counts only when it is verified. Never name a claim that people can change themselves. Without this flag, use passerelle operator link."`
	OIDCSecondFactor     []string `name:"oidc-second-factor" placeholder:"VALUE,…" help:"Values of amr or acr that count as a second factor. Otherwise the console asks for its own second factor."`
}

// config returns the provider that the flags define, or nil when they define no provider.
func (i identities) config() (*oidc.Config, error) {
	if i.OIDCIssuer == "" {
		if i.OIDCClientID+i.OIDCClientSecretFile+i.OIDCNameClaim+strings.Join(i.OIDCSecondFactor, "") != "" {
			return nil, passerelle.MissingField("--oidc-issuer", "is required with the other flags of the provider")
		}
		return nil, nil //nolint:nilnil // without a provider, operators have passwords
	}
	secret, err := secretfile.Text("--oidc-client-secret-file", i.OIDCClientSecretFile)
	if err != nil {
		return nil, err
	}
	return &oidc.Config{
		Issuer: i.OIDCIssuer, ClientID: i.OIDCClientID, ClientSecret: secret, NameClaim: i.OIDCNameClaim, SecondFactor: i.OIDCSecondFactor,
	}, nil
}
