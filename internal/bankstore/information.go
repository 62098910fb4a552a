package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Information is a value that a client stored for a transaction.
type Information struct {
	ID          int64
	Transaction passerelle.TransactionID
	Key, Value  string
}

// Informations lists the values that clients stored for transactions, ordered by transaction and
// id.
func (r Reader) Informations(ctx context.Context, domain passerelle.DomainID, transactions []passerelle.TransactionID) ([]Information, error) {
	s := database.Among(database.Selection{From: "transaction_information"}.And("domain_id = $%d", int64(domain)), "transaction_id", transactions)
	return database.Collect(ctx, r.rows, func(row database.Row) (Information, error) {
		var i Information
		err := row.Scan(&i.ID, &i.Transaction, &i.Key, &i.Value)
		return i, err
	}, `SELECT id, transaction_id, key, value FROM transaction_information WHERE `+s.Conditions()+` ORDER BY transaction_id, id`, s.Args...)
}

// presentTransaction selects a transaction of a user, unless the transaction was withdrawn.
const presentTransaction = `FROM bank_transaction t WHERE +t.domain_id = $1 AND +t.user_id = $2 AND t.id = $3
	AND EXISTS (SELECT 1 FROM bank_account a WHERE a.id = t.account_id AND a.epoch = t.epoch)`

// SetInformation stores a value for a transaction of a user. Write fails with ErrNotFound when
// the user has no such transaction.
func (tx Tx) SetInformation(domain passerelle.DomainID, user passerelle.UserID, i Information) error {
	id, err := tx.unit.NewID("transaction_information")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrNotFound, `INSERT INTO transaction_information (id, domain_id, account_id, epoch, transaction_id, key, value)
		SELECT CAST($4 AS BIGINT), t.domain_id, t.account_id, t.epoch, t.id, CAST($5 AS TEXT), CAST($6 AS TEXT) `+presentTransaction+`
		ON CONFLICT (transaction_id, key) DO UPDATE SET value = excluded.value`, int64(domain), int64(user), int64(i.Transaction), id, i.Key, i.Value)
	return nil
}

// LimitInformations records the time at which the values of a transaction changed. Write fails with
// the caller's error when the transaction has more than the maximum number of values.
func (tx Tx) LimitInformations(domain passerelle.DomainID, transaction passerelle.TransactionID, at time.Time, most int, beyond error) {
	tx.unit.ExecOne(beyond, `UPDATE bank_transaction SET last_update = $1 WHERE +domain_id = $2 AND id = $3
		AND (SELECT count(*) FROM transaction_information WHERE transaction_id = $3) <= $4`, database.Micros(at), int64(domain), int64(transaction), most)
}

// DeleteInformations removes one value of a user's transaction, or all values when id is zero.
// Write fails with ErrNotFound when the value does not exist.
func (tx Tx) DeleteInformations(domain passerelle.DomainID, user passerelle.UserID, transaction passerelle.TransactionID, id int64) {
	const of = `DELETE FROM transaction_information WHERE transaction_id IN (SELECT t.id ` + presentTransaction + `)`
	args := []any{int64(domain), int64(user), int64(transaction)}
	if id == 0 {
		tx.unit.Exec(of, args...)
		return
	}
	tx.unit.ExecOne(store.ErrNotFound, of+` AND id = $4`, append(args, id)...)
}
