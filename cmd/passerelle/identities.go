package main

import (
	"fmt"
	"os"
	"strings"

	"passerelle"
	"passerelle/internal/oidc"
)

// identities is the flags of the provider that vouches for operators.
type identities struct {
	OIDCIssuer           string   `name:"oidc-issuer" placeholder:"URL" help:"Issuer URL (https) of an OpenID Connect provider with which operators sign in to the console."`
	OIDCClientID         string   `name:"oidc-client-id" help:"Client id of this service at the provider. Register the redirect address /console/provider/back on the host of each domain."`
	OIDCClientSecretFile string   `name:"oidc-client-secret-file" type:"path" placeholder:"FILE" help:"File with the client secret, readable only by its owner."`
	OIDCNameClaim        string   `name:"oidc-name-claim" placeholder:"CLAIM" help:"Claim with an operator name. The first sign-in links the operator of that name. email must be verified. Never name a claim that people can change themselves. Without this flag, use passerelle operator link."`
	OIDCSecondFactor     []string `name:"oidc-second-factor" placeholder:"VALUE,…" help:"Values of amr or acr that count as a second factor. Otherwise the console asks for its own."`
}

// config is the provider that the flags name, or nil when they name none.
func (i identities) config() (*oidc.Config, error) {
	if i.OIDCIssuer == "" {
		if i.OIDCClientID+i.OIDCClientSecretFile+i.OIDCNameClaim+strings.Join(i.OIDCSecondFactor, "") != "" {
			return nil, passerelle.MissingField("--oidc-issuer", "the other flags of the provider go with it")
		}
		return nil, nil //nolint:nilnil // without one, operators have passwords
	}
	secret, err := privateText("--oidc-client-secret-file", i.OIDCClientSecretFile)
	if err != nil {
		return nil, err
	}
	return &oidc.Config{
		Issuer: i.OIDCIssuer, ClientID: i.OIDCClientID, ClientSecret: secret, NameClaim: i.OIDCNameClaim, SecondFactor: i.OIDCSecondFactor,
	}, nil
}

// privateText is what stands in a file that only its owner may read; none is empty.
func privateText(flag, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	stat, err := os.Stat(file)
	if err != nil {
		return "", passerelle.InvalidField(flag, "there is no such file: %s", file)
	}
	if stat.Mode().Perm()&0o077 != 0 {
		return "", passerelle.InvalidField(flag, "others may read it: chmod 600 %s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}
