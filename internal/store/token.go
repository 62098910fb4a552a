package store

import (
	"context"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Token is a stored credential with its rights. The hash identifies it.
type Token struct {
	ID      int64
	Domain  passerelle.DomainID
	Client  passerelle.ClientID
	Kind    string
	Hash    []byte
	Scopes  string
	User    passerelle.UserID
	Payment passerelle.PaymentID
	// Single marks a code that can be exchanged once.
	Single  bool
	Created time.Time
	// Expires is nil for a token that stays valid until it is revoked.
	Expires *time.Time
	Revoked *time.Time
	// Used is the approximate time of the last use, for tokens that do not expire.
	Used *time.Time
	// RedirectURIs are those of the client, for the creation of payments. Only TokenShown sets them,
	// for a token that belongs to neither a user nor a payment. They are nil without the client.
	RedirectURIs []string
}

const tokenColumns = `id, domain_id, client_id, kind, hash, scopes, user_id, payment_id, single, created, expires, revoked, last_used`

func scanToken(row database.Row) (Token, error) { return scanTokenAnd(row) }

// scanTokenAnd reads tokenColumns and further columns.
func scanTokenAnd(row database.Row, more ...any) (Token, error) {
	var (
		t                     Token
		client, user, payment *int64
		created               int64
		expires, revoked      *int64
		used                  *int64
	)
	err := row.Scan(append([]any{&t.ID, &t.Domain, &client, &t.Kind, &t.Hash, &t.Scopes, &user, &payment, &t.Single, &created, &expires, &revoked, &used}, more...)...)
	t.Client, t.User, t.Payment = database.ID[passerelle.ClientID](client), database.ID[passerelle.UserID](user), database.ID[passerelle.PaymentID](payment)
	t.Created, t.Expires, t.Revoked = database.Instant(created), database.OptionalInstant(expires), database.OptionalInstant(revoked)
	t.Used = database.OptionalInstant(used)
	return t, err
}

// TokenByHash loads a domain's token by its hash, even if the token is revoked or expired. It fails
// with ErrNotFound when no token of the domain has the hash. It does not find the tokens of a
// deleted user, even before they are erased.
func (r *Reader) TokenByHash(ctx context.Context, domain passerelle.DomainID, hash []byte) (Token, error) {
	return database.ByKey(ctx, r.rows, scanToken, `SELECT `+tokenColumns+` FROM token t WHERE hash = $1 AND domain_id = $2
		AND (user_id IS NULL OR EXISTS (SELECT 1 FROM end_user u WHERE u.domain_id = t.domain_id AND u.id = t.user_id))`, hash, int64(domain))
}

// TokenShown does the same as TokenByHash, but searches all domains, and sets RedirectURIs. The
// caller must compare the token's domain with the domain that received the token.
func (r *Reader) TokenShown(ctx context.Context, hash []byte) (Token, error) {
	return database.ByKey(ctx, r.rows, scanTokenShown, `SELECT `+tokenColumns+`, CASE WHEN user_id IS NULL AND payment_id IS NULL THEN
			(SELECT redirect_uris FROM client c WHERE +c.domain_id = t.domain_id AND c.id = t.client_id AND c.deleted IS NULL) END
		FROM token t WHERE hash = $1 AND (user_id IS NULL OR EXISTS (SELECT 1 FROM end_user u WHERE u.domain_id = t.domain_id AND u.id = t.user_id))`, hash)
}

func scanTokenShown(row database.Row) (Token, error) {
	var uris *string
	t, err := scanTokenAnd(row, &uris)
	if uris != nil {
		t.RedirectURIs = strings.Fields(*uris)
	}
	return t, err
}

// TokenFilter selects tokens of a domain. If All is false, it selects only the tokens of the
// operator's own programs, which have the kinds config and users.
type TokenFilter struct {
	Domain passerelle.DomainID
	// Only is the id of a single token, zero for all.
	Only int64
	All  bool
}

// Tokens lists tokens by id. It includes the tokens of a deleted user until the erasure removes
// them.
func (r *Reader) Tokens(ctx context.Context, f TokenFilter, w Window) ([]Token, error) {
	s := database.Selection{From: "token"}.And("domain_id = $%d", int64(f.Domain))
	if f.Only != 0 {
		s = s.And("id = $%d", f.Only)
	}
	if !f.All {
		s = s.And("kind IN ('config', 'users')") // the same text as in the index
	}
	sql, args := s.ByID(tokenColumns, "id", w)
	return database.Collect(ctx, r.rows, scanToken, sql, args...)
}

// paymentTokenGrace is the longest time for which the tokens of a payment stay valid after the
// payment ends. The payer can then still open the page after the redirect.
const paymentTokenGrace = time.Hour

// CreateToken stores a token and sets its id. Write fails with ErrNoClient when the token's client
// does not exist or is deleted, or when the token's payment has ended. Neither can happen while the
// unit runs. A later deletion of the client therefore also revokes the token, and EndPaymentTokens
// finds the token of a payment that ends later.
func (tx *Tx) CreateToken(t *Token) error {
	id, err := tx.unit.NewID("token")
	if err != nil {
		return err
	}
	t.ID = id
	const (
		into = `INSERT INTO token (id, domain_id, client_id, kind, hash, scopes, user_id, payment_id, single, created, expires)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS {bytes}), CAST($6 AS TEXT), CAST($7 AS BIGINT),
			CAST($8 AS BIGINT), CAST($9 AS BOOLEAN), CAST($10 AS BIGINT), CAST($11 AS BIGINT) `
		open = `COALESCE((SELECT p.state FROM payment p WHERE +p.domain_id = $2 AND p.id = $8 {for share}), 'created') IN ('created', 'validating', 'pending')`
	)
	from := `WHERE ` + open
	if t.Client != 0 {
		from = `FROM client WHERE +domain_id = $2 AND id = $3 AND deleted IS NULL AND ` + open + ` {for share}`
	}
	tx.unit.ExecOne(ErrNoClient, into+from, id, int64(t.Domain), database.OptionalID(t.Client), t.Kind, t.Hash, t.Scopes, database.OptionalID(t.User),
		database.OptionalID(t.Payment), t.Single, database.Micros(t.Created), database.OptionalMicros(t.Expires))
	return nil
}

// NoteTokenUse stores `at` as the time when a token was last used. It writes nothing when the
// stored time is after `since`.
func (tx *Tx) NoteTokenUse(domain passerelle.DomainID, id int64, at, since time.Time) {
	tx.unit.Exec(`UPDATE token SET last_used = $1 WHERE +domain_id = $2 AND id = $3 AND (last_used IS NULL OR last_used <= $4)`,
		database.Micros(at), int64(domain), id, database.Micros(since))
}

// RevokeToken revokes a token. For a user token, it also revokes the codes that the token's client
// has for the user. Write fails with ErrNotFound when the token is already revoked.
func (tx *Tx) RevokeToken(domain passerelle.DomainID, id int64, now time.Time) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE token SET revoked = $1 WHERE +domain_id = $2 AND id = $3 AND revoked IS NULL`, database.Micros(now), int64(domain), id)
	tx.unit.Exec(`DELETE FROM user_token WHERE domain_id = $1 AND token_id = $2`, int64(domain), id)
	tx.unit.Exec(`UPDATE token SET revoked = $1 WHERE domain_id = $2 AND user_id = (SELECT t.user_id FROM token t WHERE +t.domain_id = $2 AND t.id = $3 AND t.kind = 'user')
		AND kind = 'code' AND COALESCE(client_id, 0) = (SELECT COALESCE(t.client_id, 0) FROM token t WHERE +t.domain_id = $2 AND t.id = $3) AND revoked IS NULL`,
		database.Micros(now), int64(domain), id)
}

// RevokeUserTokens revokes a user's codes and permanent tokens that belong to the client or to no
// client.
func (tx *Tx) RevokeUserTokens(domain passerelle.DomainID, client passerelle.ClientID, user passerelle.UserID, now time.Time) {
	tx.unit.Exec(`UPDATE token SET revoked = $1 WHERE domain_id = $2 AND user_id = $3 AND (kind = 'user' AND expires IS NULL OR kind = 'code')
		AND (client_id IS NULL OR client_id = $4) AND revoked IS NULL`, database.Micros(now), int64(domain), int64(user), int64(client))
	tx.unit.Exec(`DELETE FROM user_token WHERE domain_id = $1 AND user_id = $2 AND (client_id IS NULL OR client_id = $3)`, int64(domain), int64(user), int64(client))
}

// EndPaymentTokens limits the remaining validity of a payment's tokens to an hour. It must come
// after the statement that ends the payment. A token that expires earlier does not change.
func (tx *Tx) EndPaymentTokens(domain passerelle.DomainID, payment passerelle.PaymentID) {
	tx.unit.Exec(`UPDATE token SET expires = {now} + $1 WHERE domain_id = $2 AND payment_id = $3 AND expires > {now} + $1`,
		paymentTokenGrace.Microseconds(), int64(domain), int64(payment))
}

// PurgeTokens removes at most limit tokens that expired before an instant.
func (tx *Tx) PurgeTokens(before time.Time, limit int) {
	tx.unit.Exec(`DELETE FROM token WHERE id IN (SELECT id FROM token WHERE expires < $1 ORDER BY expires`+database.UpTo(limit)+`)`, database.Micros(before))
}
