package operatorstore

import (
	"context"
	"errors"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ErrLocked reports that too many recent attempts to sign in have failed.
var ErrLocked = errors.New("too many failed attempts to sign in")

// SignInCounter counts failed attempts to sign in with one subject, such as a name or an address.
type SignInCounter struct {
	// Subject is a hash of the name or address.
	Subject []byte
	// Of is the subject that contains this subject, or nil.
	Of []byte
	// Limit is the number of failed attempts after which the store refuses further attempts.
	Limit int
}

// TakeSignIn counts an attempt to sign in. Call it before you compare a password, so that all
// simultaneous attempts are counted. When the last counted attempt is at least the duration `span`
// ago, the count starts again. Otherwise, Write fails with ErrLocked when k.Limit attempts are
// already counted, and does not count this attempt.
func (tx Tx) TakeSignIn(k SignInCounter, now time.Time, span time.Duration) {
	tx.unit.ExecOne(ErrLocked, `INSERT INTO sign_in_failure (subject, part_of, failures, latest) VALUES ($1, $5, 1, $2)
		ON CONFLICT (subject) DO UPDATE SET failures = CASE WHEN sign_in_failure.latest <= $3 THEN 1 ELSE sign_in_failure.failures + 1 END, latest = $2
		WHERE sign_in_failure.failures < $4 OR sign_in_failure.latest <= $3`,
		k.Subject, database.Micros(now), database.Micros(now.Add(-span)), k.Limit, k.Of)
}

// ForgiveSignIn removes the count of a subject and the counts of its parts.
func (tx Tx) ForgiveSignIn(subject []byte) {
	tx.unit.Exec(`DELETE FROM sign_in_failure WHERE subject = $1 OR part_of = $1`, subject)
}

// ReturnSignIn subtracts a successful attempt from the count of failures.
func (tx Tx) ReturnSignIn(subject []byte) {
	tx.unit.Exec(`UPDATE sign_in_failure SET failures = failures - 1 WHERE subject = $1 AND failures > 0`, subject)
}

// ForgetSignIns removes at most `limit` subjects without an attempt since the instant `before`.
// It also removes `tooMany` other subjects: first the subjects with the fewest attempts, and among
// these the oldest.
func (tx Tx) ForgetSignIns(before time.Time, limit, tooMany int) {
	tx.unit.Exec(`DELETE FROM sign_in_failure WHERE subject IN (SELECT subject FROM sign_in_failure WHERE latest <= $1 ORDER BY latest`+database.UpTo(limit)+`)`, database.Micros(before))
	tx.unit.Exec(`DELETE FROM sign_in_failure WHERE subject IN (SELECT subject FROM sign_in_failure AS due ORDER BY failures, latest LIMIT $1)`, tooMany)
}

// CountSignIns returns the number of subjects with counted failures.
func (r Reader) CountSignIns(ctx context.Context) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM sign_in_failure`)
}

// HoldOperator locks an operator until the unit ends. Write fails with ErrConflict when the
// operator is disabled, or when the stored password or second factor no longer matches o.
func (tx Tx) HoldOperator(o Operator) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE operator SET created = created WHERE id = $1 AND disabled IS NULL AND password = $2 AND (totp IS NOT NULL) = $3`,
		int64(o.ID), o.Password, o.SecondFactor)
}
