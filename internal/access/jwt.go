package access

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"passerelle"
	"passerelle/internal/store"
)

// A signed token (JWT, RFC 7519) is a user token that names its user, or a config token. The key
// pair of an application signs the token, and the token's header names that application. The
// service stores the token like every other token. Operators can therefore revoke the token, and it
// becomes invalid when its user is deleted.

// maxSigned is the largest size of a signed token, in bytes. The service must parse a token before
// it checks the signature. It therefore does not parse larger texts, and makes no larger tokens.
const maxSigned = 4096

// signingKeyBits is the size of the RSA keys that sign tokens.
const signingKeyBits = 2048

// Payload is the content of a signed token. Times are in seconds since the epoch. Expires is nil
// for a token that is valid until someone revokes it.
type Payload struct {
	User     passerelle.UserID `json:"id_user,omitempty"` // the encoder of signed tokens does not know omitzero
	Audience string            `json:"aud"`
	Issuer   string            `json:"iss"`
	Expires  *int64            `json:"exp,omitempty"`
	Issued   int64             `json:"iat"`
	Scope    string            `json:"scope"`
	Type     string            `json:"type"`
	ID       string            `json:"jti"`
}

// SigningKey returns the key with which an application signs. When the application has no generated
// keys, SigningKey fails with an Invalid error that names the field.
func (a *Access) SigningKey(ctx context.Context, field string, client store.Client) (jose.Signer, error) {
	raw, err := a.DB.ClientKey(ctx, client.Domain, client.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, passerelle.InvalidField(field, "client %d has no keys to sign with; update it with generate_keys", client.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("load the key of client %d: %w", client.ID, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("read the key of client %d: not a PKCS #8 key", client.ID)
	}
	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", strconv.FormatInt(int64(client.ID), 10))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, options)
	if err != nil {
		return nil, fmt.Errorf("sign for client %d: %w", client.ID, err)
	}
	return signer, nil
}

// GrantSigned makes a signed token for a user, like GrantUser. The payload repeats the given scope.
// The service never reads this scope. The token expires at token.Expires.
func (a *Access) GrantSigned(tx *store.Tx, signer jose.Signer, issuer, scope string, token store.Token) (Grant, Payload, error) {
	text, p, err := a.sign(signer, issuer, scope, token)
	if err != nil {
		return Grant{}, p, err
	}
	grant, err := a.keep(tx, UserToken, text, token)
	return grant, p, err
}

// IssueSigned makes a signed config token for an operator's own programs. The token expires at
// token.Expires. IssueSigned stores the token and the acts in one transaction.
func (a *Access) IssueSigned(ctx context.Context, signer jose.Signer, issuer string, token store.Token, acts ...store.Audit) (Grant, Payload, error) {
	text, p, err := a.sign(signer, issuer, string(passerelle.ScopeConfig), token)
	if err != nil {
		return Grant{}, p, err
	}
	var grant Grant
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		grant, err = a.add(tx, ConfigToken, text, token, passerelle.Scopes{passerelle.ScopeConfig})
		return errors.Join(err, tx.AuditOf(grant.Token.ID, acts...))
	})
	if err != nil {
		return Grant{}, p, fmt.Errorf("store a signed config token: %w", err)
	}
	return grant, p, nil
}

// sign returns the signed text and the payload of a token, from the token's row.
func (a *Access) sign(signer jose.Signer, issuer, scope string, token store.Token) (string, Payload, error) {
	now := a.Now()
	p := Payload{
		User: token.User, Audience: strconv.FormatInt(int64(token.Client), 10), Issuer: issuer, Issued: now.Unix(),
		Scope: scope, Type: string(passerelle.SharedAccess), ID: randomHex(randomBytes),
	}
	if token.Expires != nil {
		expires := token.Expires.Unix()
		p.Expires = &expires
	}
	text, err := jwt.Signed(signer).Claims(p).Serialize()
	if err != nil {
		return "", p, fmt.Errorf("sign a token: %w", err)
	}
	if len(text) > maxSigned {
		return "", p, passerelle.InvalidField("scope", "is too long to be repeated in a token of at most %d bytes", maxSigned)
	}
	return text, p, nil
}

// signed reports whether a token has the three parts of a signed token.
func signed(bearer string) bool { return strings.Count(bearer, ".") == 2 && len(bearer) <= maxSigned }

// genuine checks the signature of a token with the key of the application in the token's header. It
// also checks that the token belongs to that application. The row of the token decides whether the
// token is still valid.
func (a *Access) genuine(ctx context.Context, domain passerelle.DomainID, bearer string) (bool, error) {
	token, name, id := namesClient(bearer)
	if id == 0 {
		return false, nil
	}
	client, err := a.DB.Client(ctx, domain, passerelle.ClientID(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, fmt.Errorf("load client %d: %w", id, err)
	}
	block, _ := pem.Decode([]byte(client.PublicKey))
	if block == nil {
		return false, nil
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return false, fmt.Errorf("read the public key of client %d: %w", id, err)
	}
	var claims Payload
	return token.Claims(key, &claims) == nil && claims.Audience == name, nil
}

// namesClient parses a signed token, and returns it with the id of the application in its header.
// The id is zero when the header names no application, or when the text is not a signed token.
func namesClient(bearer string) (*jwt.JSONWebToken, string, int64) {
	var (
		name string
		id   int64
	)
	token, err := jwt.ParseSigned(bearer, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || len(token.Headers) != 1 {
		return nil, "", 0
	}
	name = token.Headers[0].KeyID
	id, err = strconv.ParseInt(name, 10, 64)
	if err != nil {
		return nil, "", 0
	}
	return token, name, id
}

// keyPair returns a pair of signing keys: the private key in PKCS #8, and the public key in PEM.
// The generation takes a noticeable part of a second.
func keyPair() ([]byte, string, error) {
	var private []byte
	pair, err := rsa.GenerateKey(rand.Reader, signingKeyBits)
	if err != nil {
		return nil, "", fmt.Errorf("generate keys to sign with: %w", err)
	}
	if private, err = x509.MarshalPKCS8PrivateKey(pair); err != nil {
		return nil, "", fmt.Errorf("write a private key to sign with: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(pair.Public())
	if err != nil {
		return nil, "", fmt.Errorf("write a public key to sign with: %w", err)
	}
	return private, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
