// Package access authenticates callers, and decides which actions they may do. It implements the
// use cases of tokens, scopes, and the applications that own tokens.
//
// The package decides how tokens are made, hashed, checked and revoked, and which principal a token
// represents. It also owns the approximate time of a token's last use, and the keys that sign
// tokens and API responses. The route table defines the scope that a call needs. Package
// aggregation creates a user and the user's token in the same transaction. Only the creation of a
// token returns its text. The database contains the hash of each token and, for webhooks, the
// encrypted text of permanent user tokens.
//
// The package fails with Unauthenticated for every invalid token, and does not say why. It fails
// with Forbidden when a caller requests more rights than the caller has. It fails with the code
// rateLimited after too many wrong secrets.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// PaymentTokenLife is the longest time for which a token for one payment is valid.
const PaymentTokenLife = 7 * 24 * time.Hour

// The audit log has these names for acts on applications, tokens and keys, and for their subjects.
const (
	ActCreateClient  = "create client"
	ActChangeClient  = "change client"
	ActResetSecret   = "reset client secret"
	ActDeleteClient  = "delete client"
	ActMakeKeys      = "make keys of client"
	ActSetLogo       = "set logo of client"
	ActDeleteLogo    = "delete logo of client"
	ActCreateToken   = "create token"
	ActRevokeToken   = "revoke token"
	ActRotateSignKey = "rotate sign key"

	SubjectClient = "client"
	SubjectToken  = "token"
)

// Access implements the use cases of tokens and applications. The function Now must return the real
// time, because the validity of credentials does not follow the clock of a sandbox.
type Access struct {
	DB  *store.DB
	Now func() time.Time

	throttle throttle
	uses     uses
}

func unauthenticated() error {
	return &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: "The token is missing, unknown, expired or revoked."}
}

// BearerToken is the bearer token of a request. A caller may look up the token before the domain of
// the request is known. The token grants nothing until [Access.Admit] has checked the domain.
type BearerToken struct {
	Text   string
	looked bool
	token  store.Token
	err    error
}

// Lookup looks up a bearer token. It queries the database only for a text in the form of a token.
func (a *Access) Lookup(ctx context.Context, r *store.Reader, bearer string) BearerToken {
	s := BearerToken{Text: bearer, looked: true, err: store.ErrNotFound}
	if _, formed := wellFormed(bearer); formed || signed(bearer) {
		s.token, s.err = r.TokenShown(ctx, hash(bearer))
	}
	return s
}

// Authenticate returns the principal of a bearer token in a domain.
func (a *Access) Authenticate(ctx context.Context, domain passerelle.DomainID, bearer string) (Principal, error) {
	return a.Admit(ctx, domain, BearerToken{Text: bearer})
}

// Admit returns the principal of a bearer token in a domain. It looks up the token itself if Lookup
// was not called for it.
func (a *Access) Admit(ctx context.Context, domain passerelle.DomainID, shown BearerToken) (Principal, error) {
	if !shown.looked {
		shown = a.Lookup(ctx, &a.DB.Reader, shown.Text)
	}
	kind, ok, err := a.recognise(ctx, domain, shown.Text)
	if err != nil {
		return Principal{}, err
	}
	token := shown.token
	if shown.err != nil && !errors.Is(shown.err, store.ErrNotFound) {
		return Principal{}, fmt.Errorf("look a token up: %w", shown.err)
	}
	if !ok || shown.err != nil || token.Domain != domain || !a.accepts(token, kind) {
		return Principal{}, unauthenticated()
	}
	if token.Expires == nil {
		a.uses.note(credential{domain: domain, token: token.ID}, token.Used, a.Now())
	}
	return principal(token), nil
}

// accepts reports whether a token is valid and of the kind. For anyKind, it accepts every kind.
func (a *Access) accepts(token store.Token, kind TokenKind) bool {
	return (kind == anyKind || token.Kind == string(kind)) && token.Revoked == nil && !a.expired(token)
}

func (a *Access) expired(token store.Token) bool {
	return token.Expires != nil && !a.Now().Before(*token.Expires)
}

// anyKind is the kind of a signed token before its lookup. The row of the token has the real kind.
const anyKind TokenKind = ""

// recognise returns the kind of a token. It reads the kind from the token's form. For a signed
// token, it returns anyKind.
func (a *Access) recognise(ctx context.Context, domain passerelle.DomainID, bearer string) (TokenKind, bool, error) {
	if !signed(bearer) {
		kind, ok := wellFormed(bearer)
		return kind, ok, nil
	}
	ok, err := a.genuine(ctx, domain, bearer)
	return anyKind, ok, err
}

func principal(t store.Token) Principal {
	p := Principal{Token: t.ID, Kind: TokenKind(t.Kind), Domain: t.Domain, Client: t.Client, User: t.User, Payment: t.Payment, Expires: t.Expires, RedirectURIs: t.RedirectURIs}
	for _, word := range strings.Fields(t.Scopes) {
		p.Scopes = append(p.Scopes, passerelle.Scope(word))
	}
	return p
}

// Grant is a token that was just made. The caller shows its text once. The service does not store
// the text, with one exception: [store.Tx.KeepUserToken] stores permanent user tokens.
type Grant struct {
	Text    string
	Token   store.Token
	Scopes  passerelle.Scopes
	Expires *time.Time
}

// IssueService makes a service token for an application.
func (a *Access) IssueService(ctx context.Context, client store.Client, scopes passerelle.Scopes) (Grant, error) {
	values, err := settings.Load(ctx, &a.DB.Reader, client.Domain)
	if err != nil {
		return Grant{}, err
	}
	expires := a.Now().Add(time.Duration(values.Int(settings.ServiceTokenLife)) * time.Minute)
	return a.issue(ctx, ServiceToken, store.Token{Domain: client.Domain, Client: client.ID, Expires: &expires}, scopes)
}

// IssuePayment makes a token that gives access to only one payment. No maker can grant
// payments:admin. A maker with payments:admin can grant every other payment scope. Any other maker
// can grant only its own scopes. A maker with access to one payment can make tokens only for that
// payment. A token that a payment token makes expires no later than its maker.
func (a *Access) IssuePayment(ctx context.Context, maker Principal, payment passerelle.PaymentID, scopes passerelle.Scopes) (Grant, error) {
	if payment == 0 || (maker.Payment != 0 && maker.Payment != payment) {
		return Grant{}, passerelle.Missing()
	}
	scopes, err := passerelle.ParseScopes(scopes.String())
	if err != nil {
		return Grant{}, err
	}
	if err := grantable(maker, scopes); err != nil {
		return Grant{}, err
	}
	now := a.Now()
	expires := now.Add(PaymentTokenLife)
	if maker.Kind == PaymentToken && maker.Expires != nil && maker.Expires.Before(expires) {
		expires = *maker.Expires // otherwise clients could renew a token from a link forever
	}
	return a.issue(ctx, PaymentToken, store.Token{Domain: maker.Domain, Client: maker.Client, Payment: payment, Created: now, Expires: &expires}, scopes)
}

func grantable(maker Principal, scopes passerelle.Scopes) error {
	for _, scope := range scopes {
		if scope == passerelle.ScopePaymentsAdmin {
			return passerelle.InvalidField("scope", "payments:admin cannot be granted to a token bound to one payment")
		}
		if !maker.Scopes.Has(scope, passerelle.ScopePaymentsAdmin) {
			return &passerelle.Error{Kind: passerelle.Forbidden, Code: "forbidden", Message: fmt.Sprintf("scope: this token does not have %s and cannot grant it.", scope)}
		}
	}
	return nil
}

// IssueOperator makes a permanent config or users token for the operator's own programs. It stores
// the token and the acts in one transaction.
func (a *Access) IssueOperator(ctx context.Context, domain passerelle.DomainID, kind TokenKind, acts ...store.Audit) (Grant, error) {
	scope, ok := map[TokenKind]passerelle.Scope{ConfigToken: passerelle.ScopeConfig, UsersToken: passerelle.ScopeUsers}[kind]
	if !ok {
		return Grant{}, passerelle.InvalidField("kind", "must be config or users")
	}
	return a.issue(ctx, kind, store.Token{Domain: domain}, passerelle.Scopes{scope}, acts...)
}

// IssueDeployment makes a config token that also gives access to the data that all domains share.
// Only commands call it, so no caller over the network can create such a token. It stores the token
// and the acts in one transaction.
func (a *Access) IssueDeployment(ctx context.Context, domain passerelle.DomainID, acts ...store.Audit) (Grant, error) {
	return a.issue(ctx, ConfigToken, store.Token{Domain: domain}, passerelle.Scopes{passerelle.ScopeConfig, passerelle.ScopeDeployment}, acts...)
}

// Revoke makes a token invalid. For a user token, it also revokes the codes that the token's
// application has for the user. It fails with store.ErrNotFound when the token is already revoked.
func (a *Access) Revoke(ctx context.Context, domain passerelle.DomainID, id int64, acts ...store.Audit) (time.Time, error) {
	now := a.Now()
	return now, a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.RevokeToken(domain, id, now)
		return tx.AuditOf(id, acts...)
	})
}

func (a *Access) issue(ctx context.Context, kind TokenKind, token store.Token, scopes passerelle.Scopes, acts ...store.Audit) (Grant, error) {
	var grant Grant
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		var err error
		grant, err = a.add(tx, kind, mint(kind), token, scopes)
		return errors.Join(err, tx.AuditOf(grant.Token.ID, acts...))
	})
	if err != nil {
		return Grant{}, fmt.Errorf("store a %s token: %w", kind, err)
	}
	return grant, nil
}

// add stores a token in a transaction. A token without a time of creation is created now.
func (a *Access) add(tx *store.Tx, kind TokenKind, text string, token store.Token, scopes passerelle.Scopes) (Grant, error) {
	token.Kind, token.Hash, token.Scopes = string(kind), hash(text), scopes.String()
	if token.Created.IsZero() {
		token.Created = a.Now()
	}
	err := tx.CreateToken(&token)
	return Grant{Text: text, Token: token, Scopes: scopes, Expires: token.Expires}, err
}

// hash returns the stored form of a token or a secret. A fast hash is enough, because tokens and
// secrets have at least 128 random bits.
func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	rand.Read(raw) // rand.Read never fails, according to its documentation
	return hex.EncodeToString(raw)
}
