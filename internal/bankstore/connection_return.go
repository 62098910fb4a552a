package bankstore

import (
	"context"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ConnectionReturn describes an expected return of a user from the institution of a connection:
// which user returns, and to which address the user is redirected.
type ConnectionReturn struct {
	User passerelle.UserID
	// Nonce identifies the return. Each nonce is valid once.
	Nonce []byte
	// RedirectURI is empty when no client waits for the user.
	RedirectURI, State string
}

// ConnectionReturn loads the expected return to a connection. It fails with ErrNotFound when no
// return is expected.
func (r Reader) ConnectionReturn(ctx context.Context, domain passerelle.DomainID, id passerelle.ConnectionID) (ConnectionReturn, error) {
	return database.One(ctx, r.rows, func(row database.Row) (ConnectionReturn, error) {
		var (
			back       ConnectionReturn
			uri, state *string
		)
		err := row.Scan(&back.User, &back.Nonce, &uri, &state)
		back.RedirectURI, back.State = database.Text[string](uri), database.Text[string](state)
		return back, err
	}, `SELECT user_id, nonce, redirect_uri, client_state FROM connection_return WHERE domain_id = $1 AND connection_id = $2`, int64(domain), int64(id))
}

// ExpectReturn stores the expected return for a connection. It replaces an earlier one.
func (tx Tx) ExpectReturn(domain passerelle.DomainID, id passerelle.ConnectionID, back ConnectionReturn) {
	tx.unit.Exec(`INSERT INTO connection_return (connection_id, domain_id, user_id, nonce, redirect_uri, client_state) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (connection_id) DO UPDATE SET nonce = excluded.nonce, redirect_uri = excluded.redirect_uri, client_state = excluded.client_state`,
		int64(id), int64(domain), int64(back.User), back.Nonce, database.OptionalText(back.RedirectURI), database.OptionalText(back.State))
}

// SpendReturn removes the expected return with a nonce, so that the nonce cannot be used again.
// Write fails with ErrNotFound when the nonce was already used, or when another return has replaced
// this one.
func (tx Tx) SpendReturn(domain passerelle.DomainID, id passerelle.ConnectionID, nonce []byte) {
	tx.unit.ExecOne(store.ErrNotFound, `DELETE FROM connection_return WHERE domain_id = $1 AND connection_id = $2 AND nonce = $3`, int64(domain), int64(id), nonce)
}

// EndReturn removes the expected return to a connection, if there is one.
func (tx Tx) EndReturn(domain passerelle.DomainID, id passerelle.ConnectionID) {
	tx.unit.Exec(`DELETE FROM connection_return WHERE domain_id = $1 AND connection_id = $2`, int64(domain), int64(id))
}
