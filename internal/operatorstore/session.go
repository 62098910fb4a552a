package operatorstore

import (
	"context"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Session is a session of an operator in the console.
type Session struct {
	ID       int64
	Operator store.OperatorID
	// TokenHash is the SHA-256 hash of the random token in the browser.
	TokenHash []byte
	// CSRF is the token that each form must contain.
	CSRF []byte
	// Step is "waiting" until the operator enters the second factor, and "double" afterwards. It is
	// "single" for operators without a second factor.
	Step    string
	Created time.Time
	// Seen is the time of the last use, accurate to the minute.
	Seen    time.Time
	Expires time.Time
	Revoked *time.Time
}

const sessionColumns = `s.id, s.operator_id, s.token_hash, s.csrf, s.stage, s.created, s.seen, s.expires, s.revoked`

// sessionRow is the row of a session.
type sessionRow struct {
	Session
	created, seen, expires int64
	revoked                *int64
}

func (s *sessionRow) columns() []any {
	return []any{&s.ID, &s.Operator, &s.TokenHash, &s.CSRF, &s.Step, &s.created, &s.seen, &s.expires, &s.revoked}
}

func (s *sessionRow) session() Session {
	s.Created, s.Seen, s.Expires, s.Revoked = database.Instant(s.created), database.Instant(s.seen), database.Instant(s.expires), database.OptionalInstant(s.revoked)
	return s.Session
}

// Session loads the session that belongs to a token, with its operator, even if the session has
// ended or the operator is disabled. It fails with ErrNotFound when no session has the token.
func (r Reader) Session(ctx context.Context, hash []byte) (Session, Operator, error) {
	var o Operator
	s, err := database.One(ctx, r.rows, func(row database.Row) (Session, error) {
		var s sessionRow
		err := o.scan(row, s.columns()...)
		return s.session(), err
	}, `SELECT `+operatorColumns+`, `+sessionColumns+` FROM console_session s JOIN operator ON operator.id = s.operator_id WHERE s.token_hash = $1`, hash)
	return s, o, err
}

// Sessions lists at most limit sessions of an operator, the newest first. It leaves out revoked and
// expired sessions, and sessions without a use after the instant `unused`.
func (r Reader) Sessions(ctx context.Context, operator store.OperatorID, now, unused time.Time, limit int) ([]Session, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Session, error) {
		var s sessionRow
		err := row.Scan(s.columns()...)
		return s.session(), err
	}, `SELECT `+sessionColumns+` FROM console_session s WHERE s.operator_id = $1 AND s.revoked IS NULL AND s.expires > $2 AND s.seen > $3
		ORDER BY s.id DESC LIMIT $4`, int64(operator), database.Micros(now), database.Micros(unused), limit)
}

// CreateSession stores a session and sets its id.
func (tx Tx) CreateSession(s *Session) error {
	id, err := tx.unit.NewID("console_session")
	if err != nil {
		return err
	}
	s.ID = id
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO console_session (id, operator_id, token_hash, csrf, stage, created, seen, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, int64(s.Operator), s.TokenHash, s.CSRF, s.Step, database.Micros(s.Created), database.Micros(s.Seen), database.Micros(s.Expires))
	return nil
}

// TouchSession records that a session was used.
func (tx Tx) TouchSession(id int64, now time.Time) {
	tx.unit.Exec(`UPDATE console_session SET seen = $1 WHERE id = $2`, database.Micros(now), id)
}

const revoke = `UPDATE console_session SET revoked = $1, expires = CASE WHEN expires < $1 THEN expires ELSE $1 END WHERE operator_id = $2 AND revoked IS NULL AND `

// RevokeSession ends a session of an operator. Write fails with ErrNotFound when the session is
// already revoked.
func (tx Tx) RevokeSession(operator store.OperatorID, id int64, now time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, revoke+`id = $3`, database.Micros(now), int64(operator), id)
}

// RevokeSessions ends the sessions of an operator. If the argument `but` is not zero, it keeps the
// session with this id.
func (tx Tx) RevokeSessions(operator store.OperatorID, but int64, now time.Time) {
	tx.unit.Exec(revoke+`id <> $3`, database.Micros(now), int64(operator), but)
}

// HoldSession keeps a session until the unit ends. Write fails with ErrConflict when the session is
// revoked.
func (tx Tx) HoldSession(id int64) {
	// With revoked IS NULL, PostgreSQL might search the index of all valid sessions.
	tx.unit.ExecOne(store.ErrConflict, `UPDATE console_session SET seen = seen WHERE id = $1 AND COALESCE(revoked, 0) = 0`, id)
}

// RaiseSession records that the operator of a session entered a second factor.
func (tx Tx) RaiseSession(id int64) {
	// With revoked IS NULL, PostgreSQL might search the index of all valid sessions.
	tx.unit.ExecOne(store.ErrConflict, `UPDATE console_session SET stage = 'double' WHERE id = $1 AND COALESCE(revoked, 0) = 0`, id)
}
