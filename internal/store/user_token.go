package store

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

func userTokenPlace(domain passerelle.DomainID, token int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "user_token", Column: "sealed", Row: token}
}

// KeepUserToken seals and stores the text of a permanent user token. Webhooks can then carry the
// token. Call KeepUserToken in the unit that creates the token.
func (tx *Tx) KeepUserToken(t Token, text string) error {
	sealed, err := tx.Seal(userTokenPlace(t.Domain, t.ID), []byte(text))
	if err != nil {
		return fmt.Errorf("seal a user token: %w", err)
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO user_token (token_id, domain_id, client_id, user_id, sealed, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		t.ID, int64(t.Domain), database.OptionalID(t.Client), int64(t.User), sealed, database.Micros(t.Created))
	return nil
}

// WebhookToken returns the text of a user's newest permanent token for a client. It ignores revoked
// tokens. It finds the token of a deleted user until the erasure removes the token. WebhookToken
// fails with ErrNotFound when the user has no such token, and with ErrSealed when the token cannot
// be decrypted.
func (r *Reader) WebhookToken(ctx context.Context, domain passerelle.DomainID, client passerelle.ClientID, user passerelle.UserID) (string, error) {
	type row struct {
		token  int64
		sealed []byte
	}
	kept, err := database.One(ctx, r.rows, func(from database.Row) (row, error) {
		var k row
		err := from.Scan(&k.token, &k.sealed)
		return k, err
	}, `SELECT token_id, sealed FROM user_token WHERE domain_id = $1 AND user_id = $2 AND client_id = $3 ORDER BY created DESC, token_id DESC LIMIT 1`,
		int64(domain), int64(user), int64(client))
	if err != nil {
		return "", err
	}
	text, err := r.keys.Open(userTokenPlace(domain, kept.token), kept.sealed)
	if err != nil {
		return "", fmt.Errorf("%w: user token %d: %w", ErrSealed, kept.token, err)
	}
	return string(text), nil
}
