package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// CodeLife is the time for which a temporary code is valid. A code ends earlier when its user
// expires or is deleted, or when the user's token is revoked.
const CodeLife = 30 * time.Minute

// GrantUser makes a token for a user, in the caller's transaction. The token of a permanent user is
// permanent, and webhooks of the client can carry it. The token of a temporary user ends with the
// user. The client is zero for a token that belongs to no application.
func (a *Access) GrantUser(tx *store.Tx, client passerelle.ClientID, u passerelle.User) (Grant, error) {
	return a.keep(tx, UserToken, mint(UserToken), store.Token{Domain: u.Domain, Client: client, User: u.ID, Expires: u.Expires})
}

// keep stores a token of a user. For webhooks, it also stores the text of a permanent token.
func (a *Access) keep(tx *store.Tx, kind TokenKind, text string, token store.Token) (Grant, error) {
	grant, err := a.add(tx, kind, text, token, nil)
	if err == nil && token.Expires == nil {
		err = tx.KeepUserToken(grant.Token, text)
	}
	return grant, err
}

// RevokeUser ends permanent tokens and codes of a user: those of the client, and those that belong
// to no application. It does so in the transaction that issues a new token.
func (a *Access) RevokeUser(tx *store.Tx, client passerelle.ClientID, u passerelle.User) {
	tx.RevokeUserTokens(u.Domain, client, u.ID, a.Now())
}

// IssueCode makes a temporary code for the user of a token. If single is true, the code is valid
// for one exchange. Otherwise it is valid for any number of exchanges. A code opens pages, and a
// client can exchange it for a token. API calls that need a user do not accept a code.
func (a *Access) IssueCode(ctx context.Context, maker Principal, single bool) (Grant, error) {
	expires := a.Now().Add(CodeLife)
	if maker.Expires != nil && maker.Expires.Before(expires) {
		expires = *maker.Expires
	}
	return a.issue(ctx, CodeToken, store.Token{Domain: maker.Domain, Client: maker.Client, User: maker.User, Single: single, Expires: &expires}, nil)
}

func badCode() error {
	return &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Field: "code", Message: "code: unknown, expired, already used or issued to another application."}
}

// Redeem returns the token that an application may exchange for a permanent token. The text may be
// a permanent token of the application, signed or not. It may also be a code or the token of a
// temporary user. These must belong to the application or to no application. Redeem fails with
// Unauthenticated for all other texts.
func (a *Access) Redeem(ctx context.Context, client store.Client, code string) (store.Token, error) {
	kind, ok, err := a.recognise(ctx, client.Domain, code)
	if err != nil {
		return store.Token{}, err
	}
	if !ok {
		return store.Token{}, badCode()
	}
	token, err := a.DB.TokenByHash(ctx, client.Domain, hash(code))
	if errors.Is(err, store.ErrNotFound) {
		return store.Token{}, badCode()
	}
	if err != nil {
		return store.Token{}, fmt.Errorf("look a code up: %w", err)
	}
	if !a.accepts(token, kind) || !redeemable(token, client.ID) {
		return store.Token{}, badCode()
	}
	return token, nil
}

// redeemable reports whether a token is a code or a user token, and belongs to the application. A
// temporary token may also belong to no application.
func redeemable(token store.Token, client passerelle.ClientID) bool {
	kind := TokenKind(token.Kind)
	return (kind == CodeToken || kind == UserToken) && (token.Client == client || token.Client == 0 && token.Expires != nil)
}

// Spend marks a single-use code as used, in the transaction that issues the token. When several
// exchanges happen at the same time, one succeeds. All other transactions fail with an error that
// Spent recognises.
func (a *Access) Spend(tx *store.Tx, code store.Token) {
	if code.Single {
		tx.RevokeToken(code.Domain, code.ID, a.Now())
	}
}

// Use calls Spend for a code from a browser, in a transaction of its own. It fails with
// Unauthenticated when the code was already used.
func (a *Access) Use(ctx context.Context, code store.Token) error {
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		a.Spend(tx, code)
		return nil
	})
	return Spent(err)
}

// Spent returns the error for an invalid code if a transaction failed because the code was already
// used or its user was deleted. It returns other errors unchanged.
func Spent(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, passerelle.NotFound) {
		return badCode()
	}
	return err
}
