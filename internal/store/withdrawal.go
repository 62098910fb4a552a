package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// withdrawal is what was withdrawn and is still to be erased.
type withdrawal struct {
	id, domain, subject int64
	user                int64
	kind                string
	epoch               *int64
	// at is when, in the domain's time.
	at int64
}

func scanWithdrawal(row database.Row) (withdrawal, error) {
	var (
		e    withdrawal
		user *int64
	)
	err := row.Scan(&e.id, &e.domain, &user, &e.kind, &e.subject, &e.epoch, &e.at)
	e.user = owner[int64](user)
	return e, err
}

// Holding names what a person may withdraw, as it is kept with the events whose
// bodies hold it.
type Holding string

func newHolding(kind string, subject int64, epoch *int64) Holding {
	if epoch == nil {
		return Holding(fmt.Sprintf("%s:%d", kind, subject))
	}
	return Holding(fmt.Sprintf("%s:%d/%d", kind, subject, *epoch))
}

// Holding is the account with what was read of it since it was last shared.
func (a StoredAccount) Holding() Holding { return newHolding("account", int64(a.ID), &a.Epoch) }

// Holding is the subscription with what was read of it since it was last shared.
func (s StoredSubscription) Holding() Holding {
	return newHolding("subscription", int64(s.ID), &s.Epoch)
}

// Holding is the connection with all that is below it.
func (c Connection) Holding() Holding { return newHolding("connection", int64(c.ID), nil) }

// holdings writes them as they are looked for, or nil when there are none.
func holdings(all []Holding) *string {
	if len(all) == 0 {
		return nil
	}
	text := " "
	for _, one := range all {
		text += string(one) + " "
	}
	return &text
}

// A subject is withdrawn at once for whoever looks, and its rows are erased soon
// after, in steps. Bodies that hold it go first.

// maxVoided is how many bodies are done away with in the unit of the withdrawal;
// a receiver that has been away for long may have more to come.
const maxVoided = 500

// withdraw gives up what holds a subject and leaves the rest to EraseWithdrawn.
func (tx *Tx) withdraw(e withdrawal) {
	tx.unit.Exec(`INSERT INTO withdrawal (domain_id, user_id, kind, subject_id, epoch, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.domain, e.user, e.kind, e.subject, e.epoch, e.at)
	tx.void(e, maxVoided, func() {})
}

// holding selects the events whose bodies hold a subject.
func (e withdrawal) holding(limit int) (string, []any) {
	return `SELECT id FROM event WHERE domain_id = $1 AND user_id = $2 AND holds IS NOT NULL AND erased IS NULL AND holds LIKE $3 ORDER BY id` + database.UpTo(limit),
		[]any{e.domain, e.user, "% " + string(newHolding(e.kind, e.subject, e.epoch)) + " %"}
}

// void does away with the bodies that hold a subject, at most limit, and calls
// voided for each. Deliveries of them are over, and say why; a held event stays
// without its body.
func (tx *Tx) void(e withdrawal, limit int, voided func()) {
	holding, args := e.holding(limit)
	tx.unit.Exec(`UPDATE delivery SET dropped = $4, drop_reason = 'what it holds was withdrawn' WHERE event_id IN (`+holding+`) AND COALESCE(delivered, dropped) IS NULL`, append(args, e.at)...)
	tx.unit.Exec(`DELETE FROM event_part WHERE event_id IN (`+holding+`)`, args...)
	tx.unit.Returning(func(row database.Row) error { voided(); return row.Scan(new(int64)) },
		`UPDATE event SET body = CAST('{}' AS {bytes}), holds = NULL, erased = $4 WHERE id IN (`+holding+`) RETURNING id`, append(args, e.at)...)
}

// erasable are the tables below each kind of subject in the order in which they
// are emptied; the condition has the subject as $1 and, for accounts, the last
// epoch as $2.
var erasable = map[string][]struct{ table, condition string }{
	"account": {
		{"investment_value", "account_id = $1 AND epoch <= $2"},
		{"asset", "account_id = $1 AND epoch <= $2"},
		{"transaction_information", "account_id = $1 AND epoch <= $2"},
		{"transaction_cluster", "account_id = $1 AND epoch <= $2"},
		{"attachment", "account_id = $1 AND epoch <= $2"},
		{"transaction_document", "account_id = $1 AND account_epoch <= $2"},
		{"bank_transaction", "account_id = $1 AND epoch <= $2"},
	},
	"subscription": {
		{"transaction_document", "subscription_id = $1 AND subscription_epoch <= $2"},
		{"document", "subscription_id = $1 AND epoch <= $2"},
	},
	"connection": {
		{"transaction_document", "subscription_id IN (SELECT id FROM subscription WHERE connection_id = $1)"},
		{"transaction_document", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"document", "connection_id = $1"},
		{"subscription", "connection_id = $1"},
		{"investment_value", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"asset", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"transaction_information", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"transaction_cluster", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"attachment", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"bank_transaction", "connection_id = $1"},
		{"bank_account", "connection_id = $1"},
		{"connection_log", "connection_id = $1"},
		{"connection_source", "connection_id = $1"},
		{"connection", "id = $1 AND terminate IS NULL"},
	},
}

// EraseWithdrawn removes up to limit rows of what was withdrawn, the oldest withdrawal
// first, in one short unit, and reports whether there is more. It is meant to
// be called again and again by one loop; several at once only waste work.
func (db *DB) EraseWithdrawn(ctx context.Context, limit int) (bool, error) {
	e, err := database.One(ctx, db.rows, scanWithdrawal, `SELECT id, domain_id, user_id, kind, subject_id, epoch, created FROM withdrawal ORDER BY id LIMIT 1`)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = db.eraseStep(ctx, e, limit)
	if errors.Is(err, ErrConflict) {
		err = nil // somebody else has ended it
	}
	return true, err
}

// eraseStep does away with some of what a withdrawal is of, and forgets it when
// nothing is left.
func (db *DB) eraseStep(ctx context.Context, e withdrawal, limit int) error {
	if voided, err := db.voidSome(ctx, e, maxVoided); err != nil || voided > 0 {
		return err
	}
	for _, below := range erasable[e.kind] {
		if gone, err := db.eraseSome(ctx, e, below.table, below.condition, limit); err != nil || gone > 0 {
			return err
		}
	}
	return db.Write(ctx, func(tx *Tx) error {
		tx.unit.ExecOne(ErrConflict, `DELETE FROM withdrawal WHERE id = $1`, e.id)
		return nil
	})
}

// holdWithdrawal has others who erase the same wait for the end of the unit.
// Without that, one who finds no more rows in a table, because another has not
// committed yet, goes on with the next, and what is below an account is not
// found any more without it. One that was ended is ErrConflict.
func (tx *Tx) holdWithdrawal(e withdrawal) {
	tx.unit.ExecOne(ErrConflict, `UPDATE withdrawal SET created = created WHERE id = $1`, e.id)
}

// args are those of the conditions.
func (e withdrawal) args() []any {
	if e.epoch == nil {
		return []any{e.subject}
	}
	return []any{e.subject, *e.epoch}
}

func (db *DB) voidSome(ctx context.Context, e withdrawal, limit int) (int, error) {
	var (
		voided int
		err    error
	)
	holding, args := e.holding(1)
	if found, err := database.Collect(ctx, db.rows, scanCount, holding, args...); err != nil || len(found) == 0 {
		return 0, err
	}
	err = db.Write(ctx, func(tx *Tx) error {
		tx.unit.OnRetry(func() { voided = 0 })
		tx.holdWithdrawal(e)
		tx.void(e, limit, func() { voided++ })
		return nil
	})
	if err != nil {
		return voided, fmt.Errorf("erase bodies of events: %w", err)
	}
	return voided, nil
}

func (db *DB) eraseSome(ctx context.Context, e withdrawal, table, condition string, limit int) (int, error) {
	var gone int
	args, which := e.args(), condition
	if holdFiles[table] {
		which += noFile(table)
	}
	err := db.Write(ctx, func(tx *Tx) error {
		tx.unit.OnRetry(func() { gone = 0 })
		tx.holdWithdrawal(e)
		if holdFiles[table] {
			tx.forgetFilesOf(table, condition, limit, args)
		}
		tx.unit.Returning(func(row database.Row) error {
			gone++
			var id int64
			return row.Scan(&id)
		}, fmt.Sprintf(`DELETE FROM %s WHERE id IN (SELECT id FROM %[1]s WHERE %s%s) RETURNING id`, table, which, database.UpTo(limit)), args...)
		return nil
	})
	if err != nil {
		return gone, fmt.Errorf("erase from %s: %w", table, err)
	}
	return gone, nil
}

// HoldAccount keeps an account as shared as it was read, until the unit is
// written. One that was withdrawn since is ErrConflict.
func (tx *Tx) HoldAccount(domain passerelle.DomainID, a StoredAccount) {
	tx.unit.ExecOne(ErrConflict, `UPDATE bank_account SET epoch = epoch WHERE +domain_id = $1 AND id = $2 AND epoch = $3 AND disabled IS NULL`, int64(domain), int64(a.ID), a.Epoch)
}

// HoldSubscription does the same for a subscription.
func (tx *Tx) HoldSubscription(domain passerelle.DomainID, s StoredSubscription) {
	tx.unit.ExecOne(ErrConflict, `UPDATE subscription SET epoch = epoch WHERE +domain_id = $1 AND id = $2 AND epoch = $3 AND disabled IS NULL`, int64(domain), int64(s.ID), s.Epoch)
}

// WithdrawUser takes all connections of a user who is deleted out of sight, and
// leaves the erasing of what is below them to EraseWithdrawn.
func (tx *Tx) WithdrawUser(domain passerelle.DomainID, user passerelle.UserID, now time.Time) {
	tx.unit.Exec(`INSERT INTO withdrawal (domain_id, user_id, kind, subject_id, created) SELECT domain_id, user_id, 'connection', id, $1 FROM connection WHERE domain_id = $2 AND user_id = $3 AND deleted IS NULL ORDER BY id`,
		micros(now), int64(domain), int64(user))
	tx.unit.Exec(`UPDATE connection SET deleted = $1, credentials = $2, `+keptForTermination+`, message = NULL, fields = NULL, url = NULL, next_try = NULL WHERE domain_id = $3 AND user_id = $4 AND deleted IS NULL`,
		micros(now), []byte{}, int64(domain), int64(user))
	tx.unit.Exec(`DELETE FROM connection_return WHERE domain_id = $1 AND user_id = $2`, int64(domain), int64(user))
}
