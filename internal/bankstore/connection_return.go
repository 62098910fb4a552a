package bankstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ConnectionReturn describes a user's expected return from an institution: the user, and the
// address to which the service redirects the user.
type ConnectionReturn struct {
	User passerelle.UserID
	// Nonce identifies the return. Each nonce is valid once.
	Nonce []byte
	// RedirectURI is empty when no client waits for the user.
	RedirectURI, State string
}

// nonceSize is the length of a nonce in bytes.
const nonceSize = 16

// NewReturn returns a ConnectionReturn of a user, with a new nonce.
func NewReturn(user passerelle.UserID) ConnectionReturn {
	back := ConnectionReturn{User: user, Nonce: make([]byte, nonceSize)}
	rand.Read(back.Nonce) // never returns an error, according to its documentation
	return back
}

// FormatReturn returns the state parameter with which a user returns to a connection. This
// parameter consists of the number of the connection, a dot and the nonce. State parameters of
// payments have no dot.
func FormatReturn(id passerelle.ConnectionID, nonce []byte) string {
	return strconv.FormatInt(int64(id), 10) + "." + hex.EncodeToString(nonce)
}

// ParseReturn reads a state parameter, and reports whether FormatReturn could have written the
// parameter.
func ParseReturn(state string) (passerelle.ConnectionID, []byte, bool) {
	number, text, _ := strings.Cut(state, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	nonce, malformed := hex.DecodeString(text)
	ok := err == nil && malformed == nil && len(nonce) == nonceSize && FormatReturn(passerelle.ConnectionID(id), nonce) == state
	return passerelle.ConnectionID(id), nonce, ok
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

// ExpectReturn stores the expected return for a connection. It replaces an earlier expected return.
func (tx Tx) ExpectReturn(domain passerelle.DomainID, id passerelle.ConnectionID, back ConnectionReturn) {
	tx.unit.Exec(`INSERT INTO connection_return (connection_id, domain_id, user_id, nonce, redirect_uri, client_state) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (connection_id) DO UPDATE SET nonce = excluded.nonce, redirect_uri = excluded.redirect_uri, client_state = excluded.client_state`,
		int64(id), int64(domain), int64(back.User), back.Nonce, database.OptionalText(back.RedirectURI), database.OptionalText(back.State))
}

// SpendReturn removes the expected return with a nonce, so that the nonce cannot be used again.
// DB.Write fails with ErrNotFound when the nonce was already used, or when a newer expected return
// has replaced this one.
func (tx Tx) SpendReturn(domain passerelle.DomainID, id passerelle.ConnectionID, nonce []byte) {
	tx.unit.ExecOne(store.ErrNotFound, `DELETE FROM connection_return WHERE domain_id = $1 AND connection_id = $2 AND nonce = $3`, int64(domain), int64(id), nonce)
}

// EndReturn removes the expected return to a connection. It also succeeds without an expected
// return.
func (tx Tx) EndReturn(domain passerelle.DomainID, id passerelle.ConnectionID) {
	tx.unit.Exec(`DELETE FROM connection_return WHERE domain_id = $1 AND connection_id = $2`, int64(domain), int64(id))
}
