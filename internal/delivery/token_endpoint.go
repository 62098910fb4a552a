package delivery

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// ClientCredentials is the only grant type that token endpoints may have.
const ClientCredentials = "client_credentials"

// These are the largest sizes of the fields of a token endpoint.
const (
	MaxCredential  = 1024
	MaxCertificate = 32 << 10 // includes the certificates of its issuers
	MaxPrivateKey  = 8 << 10
)

// EndpointChange is a change of a token endpoint. A nil field leaves the value unchanged. The URL
// must follow the rules for webhooks. The certificate and the key are PEM texts. Both are set, or
// both are empty. Empty values remove the certificate and the key.
type EndpointChange struct {
	URL, ClientID, ClientSecret, GrantType, PublicCert, PrivateCert *string
}

// apply checks the change and applies it to the provider. If apply fails, the provider is
// unchanged.
func (c EndpointChange) apply(domain passerelle.Domain, a *store.AuthProvider, now time.Time) error {
	var e store.TokenEndpoint
	if a.Endpoint != nil {
		e = *a.Endpoint
	}
	secret := a.Secret
	for _, field := range c.fields(&e, &secret) {
		if field.from != nil {
			*field.to = *field.from
		}
		if err := field.check(domain); err != nil {
			return err
		}
	}
	if _, err := clientCertificate(e, now); err != nil {
		return err
	}
	a.Endpoint, a.Secret = &e, secret
	return nil
}

// endpointField is one member of a provider's configuration.
type endpointField struct {
	name     string
	from, to *string
	required bool
	max      int
}

func (c EndpointChange) fields(e *store.TokenEndpoint, secret *string) []endpointField {
	return []endpointField{
		{"config.url", c.URL, &e.URL, true, passerelle.MaxURL},
		{"config.client_id", c.ClientID, &e.ClientID, true, MaxCredential},
		{"config.client_secret", c.ClientSecret, secret, true, MaxCredential},
		{"config.grant_type", c.GrantType, &e.GrantType, true, len(ClientCredentials)},
		{"config.public_cert", c.PublicCert, &e.PublicCert, false, MaxCertificate},
		{"config.private_cert", c.PrivateCert, &e.PrivateCert, false, MaxPrivateKey},
	}
}

func (f endpointField) check(domain passerelle.Domain) error {
	switch {
	case *f.to == "" && f.required:
		return passerelle.MissingField(f.name, "is required")
	case f.name == "config.url":
		return checkURL(domain, f.name, *f.to)
	case f.name == "config.grant_type" && *f.to != ClientCredentials:
		return passerelle.InvalidField(f.name, "must be %s", ClientCredentials)
	}
	return passerelle.CheckText(f.name, *f.to, f.max)
}

// mustBeEmpty fails when the change sets a field of a token endpoint. It is used for a provider
// without a token endpoint.
func (c EndpointChange) mustBeEmpty() error {
	for _, field := range c.fields(&store.TokenEndpoint{}, new(string)) {
		if field.from != nil {
			return passerelle.InvalidField(field.name, "is only for providers of type %s", OAuth)
		}
	}
	return nil
}

// clientCertificate returns the client certificate for a token endpoint, or nil when the endpoint
// has no certificate. It fails when only one of certificate and key is set, when one is unreadable,
// when they do not belong together, or when the certificate has expired.
func clientCertificate(e store.TokenEndpoint, now time.Time) (*tls.Certificate, error) {
	switch {
	case e.PublicCert == "" && e.PrivateCert == "":
		return nil, nil //nolint:nilnil // no certificate is configured
	case e.PublicCert == "":
		return nil, passerelle.MissingField("config.public_cert", "is required with config.private_cert")
	case e.PrivateCert == "":
		return nil, passerelle.MissingField("config.private_cert", "is required with config.public_cert")
	}
	leaf, err := parseCertificate(e.PublicCert)
	if err != nil {
		return nil, passerelle.InvalidField("config.public_cert", "must be a certificate in PEM")
	}
	if !leaf.NotAfter.After(now) {
		return nil, passerelle.InvalidField("config.public_cert", "expired on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	if !isPrivateKey(e.PrivateCert) {
		return nil, passerelle.InvalidField("config.private_cert", "must be an unencrypted private key in PEM")
	}
	pair, err := tls.X509KeyPair([]byte(e.PublicCert), []byte(e.PrivateCert))
	if err != nil {
		return nil, passerelle.InvalidField("config.private_cert", "does not belong to config.public_cert")
	}
	return &pair, nil
}

// parseCertificate reads the first certificate of a PEM text. The certificates of its issuers
// may follow.
func parseCertificate(text string) (*x509.Certificate, error) {
	return x509.ParseCertificate(firstBlock(text, func(kind string) bool { return kind == "CERTIFICATE" }))
}

func isPrivateKey(text string) bool {
	der := firstBlock(text, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") })
	_, pkcs8 := x509.ParsePKCS8PrivateKey(der)
	_, pkcs1 := x509.ParsePKCS1PrivateKey(der)
	_, sec1 := x509.ParseECPrivateKey(der)
	return pkcs8 == nil || pkcs1 == nil || sec1 == nil
}

// firstBlock returns the content of the first PEM block of a kind, or nil when the text has no such
// block.
func firstBlock(text string, is func(kind string) bool) []byte {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if is(block.Type) {
			return block.Bytes
		}
	}
	return nil
}
