package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
)

// withdrawal is what was withdrawn and is still to be erased.
type withdrawal struct {
	id, domain, subject int64
	kind                string
	epoch               *int64
}

func scanWithdrawal(row scanner) (withdrawal, error) {
	var e withdrawal
	err := row.Scan(&e.id, &e.domain, &e.kind, &e.subject, &e.epoch)
	return e, err
}

// erasable are the tables below each kind of subject in the order in which they
// are emptied; the condition has the subject as $1 and, for accounts, the last
// epoch as $2.
var erasable = map[string][]struct{ table, condition string }{
	"account": {
		{"bank_transaction", "account_id = $1 AND epoch <= $2"},
	},
	"subscription": {
		{"document", "subscription_id = $1 AND epoch <= $2"},
	},
	"connection": {
		{"document", "subscription_id IN (SELECT id FROM subscription WHERE connection_id = $1)"},
		{"subscription", "connection_id = $1"},
		{"bank_transaction", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"consent", "connection_id = $1"},
		{"bank_account", "connection_id = $1"},
		{"connection_log", "connection_id = $1"},
		{"connection_source", "connection_id = $1"},
		{"connection", "id = $1"},
	},
}

// EraseWithdrawn removes up to limit rows of what was withdrawn, the oldest withdrawal
// first, in one short unit, and reports whether there is more. It is meant to
// be called again and again by one loop; several at once only waste work.
func (db *DB) EraseWithdrawn(ctx context.Context, limit int) (more bool, err error) {
	e, err := one(ctx, &db.Reader, scanWithdrawal, `SELECT id, domain_id, kind, subject_id, epoch FROM withdrawal ORDER BY id LIMIT 1`)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, below := range erasable[e.kind] {
		gone, err := db.eraseSome(ctx, e, below.table, below.condition, limit)
		if err != nil || gone > 0 {
			return true, err
		}
	}
	return true, db.Write(ctx, func(tx *Tx) error { tx.endWithdrawal(e); return nil })
}

// endWithdrawal forgets a withdrawal of which nothing is left. Having found
// nothing to erase does not mean that: somebody else may be erasing it.
func (tx *Tx) endWithdrawal(e withdrawal) {
	args := append(e.args(), e.id)
	statement := fmt.Sprintf(`DELETE FROM withdrawal WHERE id = $%d`, len(args))
	for _, below := range erasable[e.kind] {
		statement += fmt.Sprintf(` AND NOT EXISTS (SELECT 1 FROM %s WHERE %s)`, below.table, below.condition)
	}
	tx.exec(statement, args...)
}

// args are those of the conditions.
func (e withdrawal) args() []any {
	if e.epoch == nil {
		return []any{e.subject}
	}
	return []any{e.subject, *e.epoch}
}

func (db *DB) eraseSome(ctx context.Context, e withdrawal, table, condition string, limit int) (gone int, err error) {
	args := append(e.args(), limit)
	err = db.Write(ctx, func(tx *Tx) error {
		tx.onRetry(func() { gone = 0 })
		tx.query(func(row scanner) error {
			gone++
			var id int64
			return row.Scan(&id)
		}, fmt.Sprintf(`DELETE FROM %s WHERE id IN (SELECT id FROM %[1]s WHERE %s LIMIT $%d) RETURNING id`, table, condition, len(args)), args...)
		return nil
	})
	if err != nil {
		return gone, fmt.Errorf("erase from %s: %w", table, err)
	}
	return gone, nil
}

// WithdrawUser takes all connections of a user who is deleted out of sight, and
// leaves the erasing of what is below them to EraseWithdrawn.
func (tx *Tx) WithdrawUser(domain passerelle.DomainID, user passerelle.UserID, now time.Time) {
	tx.exec(`INSERT INTO withdrawal (domain_id, kind, subject_id, created) SELECT domain_id, 'connection', id, $1 FROM connection WHERE domain_id = $2 AND user_id = $3 AND deleted IS NULL`,
		micros(now), int64(domain), int64(user))
	tx.exec(`UPDATE connection SET deleted = $1, credentials = $2, memory = NULL, message = NULL, fields = NULL, url = NULL, next_try = NULL WHERE domain_id = $3 AND user_id = $4 AND deleted IS NULL`,
		micros(now), []byte{}, int64(domain), int64(user))
}
