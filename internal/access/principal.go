package access

import (
	"time"

	"passerelle"
)

// TokenKind is the kind of principal that a token represents.
type TokenKind string

// The kinds of token. A code is exchanged for a user token and opens webviews. A payment token
// is for one payment. Config and users tokens are for the operator's own programs.
const (
	UserToken    TokenKind = "user"
	CodeToken    TokenKind = "code"
	ServiceToken TokenKind = "service"
	PaymentToken TokenKind = "payment"
	ConfigToken  TokenKind = "config"
	UsersToken   TokenKind = "users"
)

// Principal is the caller: the resolved content of a valid token. Client, User and Payment are
// zero when the token has none. A payment token gives access to its payment only.
type Principal struct {
	Token   int64
	Kind    TokenKind
	Domain  passerelle.DomainID
	Client  passerelle.ClientID
	User    passerelle.UserID
	Payment passerelle.PaymentID
	Scopes  passerelle.Scopes
	// Expires is nil for a token that is valid until it is revoked.
	Expires *time.Time
}
