package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// attachedCount counts the documents that the user may see and that are attached to the transaction
// t. For a transaction without documents, like most transactions, it costs one index lookup.
const attachedCount = `CASE WHEN (SELECT x.id FROM transaction_document x WHERE x.transaction_id = t.id LIMIT 1) IS NOT NULL THEN
	(SELECT count(*) FROM transaction_document x JOIN document d ON d.id = x.document_id JOIN subscription s ON s.id = d.subscription_id JOIN connection sc ON sc.id = s.connection_id
		WHERE x.transaction_id = t.id AND d.deleted IS NULL AND s.epoch = d.epoch AND s.disabled IS NULL AND s.deleted IS NULL AND sc.deleted IS NULL) ELSE 0 END`

// AttachedDocument is a document with a transaction to which it is attached.
type AttachedDocument struct {
	Transaction passerelle.TransactionID
	StoredDocument
}

// after is a row. Scan writes the leading columns to the pointers in the field named first, and the
// other columns to the arguments.
type after struct {
	database.Row
	first []any
}

func (a after) Scan(into ...any) error { return a.Row.Scan(append(a.first, into...)...) }

// DocumentsOf lists the documents that a filter selects and that are attached to the transactions.
// The list is ordered by transaction. The documents of a transaction are ordered by age, the newest
// first. The caller must have checked that the transactions belong to the user of the filter.
func (r Reader) DocumentsOf(ctx context.Context, f DocumentFilter, transactions []passerelle.TransactionID) ([]AttachedDocument, error) {
	var c database.Clauses
	f.where(&c)
	c.All = append(c.All, "x.document_id = d.id AND x.transaction_id IN ("+database.AnyOf(&c, transactions)+")")
	return database.Collect(ctx, r.rows, func(row database.Row) (AttachedDocument, error) {
		var (
			a   AttachedDocument
			err error
		)
		a.StoredDocument, err = scanDocument(after{row, []any{&a.Transaction}})
		return a, err
	}, `SELECT x.transaction_id, `+documentColumns+` FROM transaction_document x CROSS JOIN `+documentSource+c.String()+` ORDER BY x.transaction_id, d.date DESC, d.id DESC`, c.Args...)
}

// AttachDocument attaches a document to a transaction of the same user. It also succeeds when the
// document is already attached. Write fails with ErrNotFound when the user does not have the
// document or the transaction. Write fails with the caller's error when the transaction would have
// more than the maximum number of documents.
//
// AttachDocument locks both rows until the unit ends. A process that erases one of them must wait,
// and then finds the attachment.
func (tx Tx) AttachDocument(domain passerelle.DomainID, user passerelle.UserID, transaction passerelle.TransactionID, document passerelle.DocumentID, at time.Time, most int, beyond error) error {
	id, err := tx.unit.NewID("transaction_document")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE document SET epoch = epoch WHERE +domain_id = $1 AND +user_id = $2 AND id = $3 AND deleted IS NULL
		AND EXISTS (SELECT 1 FROM subscription s WHERE s.id = document.subscription_id AND s.epoch = document.epoch)`, int64(domain), int64(user), int64(document))
	tx.touchTransaction(domain, user, transaction, at)
	tx.unit.ExecOne(store.ErrNotFound, `INSERT INTO transaction_document (id, domain_id, user_id, account_id, account_epoch, transaction_id, subscription_id, subscription_epoch, document_id)
		SELECT CAST($4 AS BIGINT), t.domain_id, t.user_id, t.account_id, t.epoch, t.id, d.subscription_id, d.epoch, d.id
		FROM bank_transaction t CROSS JOIN document d WHERE +t.domain_id = $1 AND +t.user_id = $2 AND t.id = $3 AND +d.domain_id = $1 AND d.user_id = $2 AND d.id = $5
		ON CONFLICT (transaction_id, document_id) DO UPDATE SET account_epoch = excluded.account_epoch`, int64(domain), int64(user), int64(transaction), id, int64(document))
	tx.unit.ExecOne(beyond, `UPDATE bank_transaction SET last_update = last_update WHERE +domain_id = $1 AND id = $2
		AND (SELECT count(*) FROM transaction_document WHERE transaction_id = $2) <= $3`, int64(domain), int64(transaction), most)
	return nil
}

// DetachDocuments detaches a document from a user's transaction. If document is zero, it detaches
// all documents. It does not delete any document. Write fails with ErrNotFound when the user has no
// such transaction, or when the document is not attached to it.
func (tx Tx) DetachDocuments(domain passerelle.DomainID, user passerelle.UserID, transaction passerelle.TransactionID, document passerelle.DocumentID, at time.Time) {
	tx.touchTransaction(domain, user, transaction, at)
	const of = `DELETE FROM transaction_document WHERE domain_id = $1 AND user_id = $2 AND transaction_id = $3`
	args := []any{int64(domain), int64(user), int64(transaction)}
	if document == 0 {
		tx.unit.Exec(of, args...)
		return
	}
	tx.unit.ExecOne(store.ErrNotFound, of+` AND document_id = $4`, append(args, int64(document))...)
}

// touchTransaction records the time at which data that belongs to a user's transaction has changed,
// such as its documents.
func (tx Tx) touchTransaction(domain passerelle.DomainID, user passerelle.UserID, transaction passerelle.TransactionID, at time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE bank_transaction SET last_update = $4 WHERE id IN (SELECT t.id `+presentTransaction+`)`, int64(domain), int64(user), int64(transaction), database.Micros(at))
}
