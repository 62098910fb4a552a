package bank

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"passerelle/testbank/ledger"
)

// These are the lifetimes of codes and access tokens. The bank's profile defines the lifetime of
// refresh tokens.
const (
	codeLife  = time.Minute
	tokenLife = time.Hour
)

// Application is a request for an authorisation code (RFC 6749, section 4.1.1, and RFC 7636).
type Application struct {
	Client    string `json:"client"`
	Redirect  string `json:"redirect"`
	Scope     string `json:"scope"`
	State     string `json:"state,omitempty"`
	Challenge string `json:"challenge"`
	// Code is the second part of the authorisation code with which the customer returns. The first
	// part is the id of the authorisation. The code is valid once, until CodeEnds.
	Code     string    `json:"code,omitempty"`
	CodeEnds time.Time `json:"code_ends,omitzero"`
}

// OAuthError is the code of an error of RFC 6749.
type OAuthError string

func (e OAuthError) Error() string { return string(e) }

// These are errors of the authorisation server.
const (
	InvalidRequest       OAuthError = "invalid_request"
	InvalidGrant         OAuthError = "invalid_grant"
	InvalidClient        OAuthError = "invalid_client"
	InvalidScope         OAuthError = "invalid_scope"
	UnsupportedGrantType OAuthError = "unsupported_grant_type"
)

// Apply stores a request for a code. The request's scope names an order or a consent, and Apply
// stores the request in an open authorisation of this order or consent. The return address must be
// the same as in the order or consent.
func (b *Bank) Apply(ctx context.Context, application Application) (*Authorisation, error) {
	kind, id, _ := strings.Cut(application.Scope, ":")
	kinds := map[string][]string{"PIS": {OfPayment, OfCancellation}, "AIS": {OfConsent}}[kind]
	if len(kinds) == 0 {
		return nil, InvalidScope
	}
	var found *Authorisation
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		for _, of := range kinds {
			all, err := ledger.List[Authorisation](tx, authorisationKind, of+" "+id)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(a *Authorisation) bool { return a.Approach == OAuth && a.Open() && a.Party == application.Client })
			if i >= 0 {
				found = all[i]
			}
		}
		if found == nil {
			return InvalidScope
		}
		if found.Return.OK != application.Redirect || application.Challenge == "" {
			return InvalidRequest
		}
		found.Application = &application
		return tx.Put(found)
	})
	return found, err
}

// Token allows a third party to access the order or consent that Scope names.
type Token struct {
	ID    string    `json:"id"`
	Kind  string    `json:"kind"`
	Party string    `json:"party"`
	Scope string    `json:"scope"`
	Ends  time.Time `json:"ends"`
}

// These are the kinds of tokens.
const (
	accessToken  = "token"
	refreshToken = "refresh"
)

// Key implements [ledger.Document].
func (t *Token) Key() (string, string) { return t.Kind, t.ID }

// Belongs implements [ledger.Document].
func (t *Token) Belongs() string { return t.Party }

// Due implements [ledger.Document]. Tokens are never due, because the bank keeps expired tokens in
// order to recognise them.
func (t *Token) Due() time.Time { return time.Time{} }

// Exchange exchanges a code for an access token and a refresh token.
func (b *Bank) Exchange(ctx context.Context, party, code, redirect, verifier string) (*Token, *Token, error) {
	var (
		access  *Token
		refresh *Token
		err     error
	)
	id, secret, _ := strings.Cut(code, "-")
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		var a Authorisation
		err := tx.Get(authorisationKind, id, &a)
		if errors.Is(err, ledger.ErrNotFound) {
			return InvalidGrant
		}
		if err != nil {
			return err
		}
		if !a.Application.opens(party, secret, redirect, verifier, b.Now()) {
			return InvalidGrant
		}
		a.Application.Code = ""
		if err := tx.Put(&a); err != nil {
			return err
		}
		if access, refresh, err = b.tokens(tx, party, a.Application.Scope); err != nil {
			return err
		}
		return requireToken(tx, a.Subject)
	})
	return access, refresh, err
}

// requireToken stores that the third party has a token for an order or a consent.
func requireToken(tx *ledger.Tx, of Subject) error {
	if of.Kind == OfConsent {
		var c Consent
		if err := tx.Get(consentKind, of.ID, &c); err != nil {
			return err
		}
		c.HasToken = true
		return tx.Put(&c)
	}
	var o Order
	if err := tx.Get(orderKind, of.ID, &o); err != nil {
		return err
	}
	o.Granted = true
	return tx.Put(&o)
}

// opens reports whether the values sent by a client match its request for the code.
func (a *Application) opens(party, secret, redirect, verifier string, now time.Time) bool {
	if a == nil || a.Code == "" || now.After(a.CodeEnds) || a.Client != party || a.Redirect != redirect {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(a.Code), []byte(secret)) == 1 && subtle.ConstantTimeCompare([]byte(a.Challenge), []byte(challenge)) == 1
}

func (b *Bank) tokens(tx *ledger.Tx, party, scope string) (*Token, *Token, error) {
	var (
		access  *Token
		refresh *Token
	)
	now := b.Now()
	access = &Token{newID(), accessToken, party, scope, now.Add(tokenLife)}
	refresh = &Token{newID(), refreshToken, party, scope, now.AddDate(0, 0, b.Profile.ConsentDays)}
	return access, refresh, errors.Join(tx.Put(access), tx.Put(refresh))
}

// Refresh exchanges a refresh token for new tokens. The old refresh token is then invalid.
func (b *Bank) Refresh(ctx context.Context, party, token string) (*Token, *Token, error) {
	var (
		access  *Token
		refresh *Token
	)
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var t Token
		err := tx.Get(refreshToken, token, &t)
		if errors.Is(err, ledger.ErrNotFound) || err == nil && (t.Party != party || b.Now().After(t.Ends)) {
			return InvalidGrant
		}
		if err != nil {
			return err
		}
		if err := tx.Delete(refreshToken, token); err != nil {
			return err
		}
		access, refresh, err = b.tokens(tx, party, t.Scope)
		return err
	})
	return access, refresh, err
}

// CheckToken checks that an access token allows a call. The scope names the order or consent of the
// call.
func (b *Bank) CheckToken(ctx context.Context, party, token, scope string) error {
	var t Token
	err := b.book.Update(ctx, func(tx *ledger.Tx) error { return tx.Get(accessToken, token, &t) })
	switch {
	case errors.Is(err, ledger.ErrNotFound) || err == nil && t.Party != party:
		return Refuse("TOKEN_UNKNOWN", "Authorization", "the bank did not give this token")
	case err != nil:
		return err
	case b.Now().After(t.Ends):
		return Refuse("TOKEN_EXPIRED", "Authorization", "the token has expired")
	case t.Scope != scope:
		return Refuse("TOKEN_INVALID", "Authorization", "the token is not for this")
	}
	return nil
}
