package access

import (
	"time"

	"passerelle"
)

// TokenKind is the kind of principal that a token represents.
type TokenKind string

// These are the kinds of tokens. A code opens webviews and can be exchanged for a user token. A
// payment token gives access to one payment. ConfigToken and UsersToken are for the operator's own
// programs.
const (
	UserToken    TokenKind = "user"
	CodeToken    TokenKind = "code"
	ServiceToken TokenKind = "service"
	PaymentToken TokenKind = "payment"
	ConfigToken  TokenKind = "config"
	UsersToken   TokenKind = "users"
)

// Principal is the caller that a valid token represents. Client, User and Payment are zero when the
// token belongs to no such object. A payment token gives access only to its own payment.
type Principal struct {
	Token   int64
	Kind    TokenKind
	Domain  passerelle.DomainID
	Client  passerelle.ClientID
	User    passerelle.UserID
	Payment passerelle.PaymentID
	Scopes  passerelle.Scopes
	// Expires is nil for a token that is valid until someone revokes it.
	Expires *time.Time
	// RedirectURIs has the same meaning as in [store.Token].
	RedirectURIs []string
}
