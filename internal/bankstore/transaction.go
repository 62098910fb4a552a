package bankstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

const (
	transactionColumns = undocumentedColumns + attachedCount
	// undocumentedColumns are the columns that precede the number of documents.
	undocumentedColumns = `t.id, t.account_id, t.key, t.application_date, t.custom_wording, t.comment, t.active, t.categories, t.cluster_id,
	t.details, t.scraped, t.last_update, t.deleted, `
)

func scanTransaction(row database.Row) (passerelle.Transaction, error) {
	var (
		t                         passerelle.Transaction
		key, day, details         string
		wording, comment, matches *string
		cluster, deleted          *int64
		scraped, update           int64
	)
	err := row.Scan(&t.ID, &t.Account, &key, &day, &wording, &comment, &t.Active, &matches, &cluster, &details, &scraped, &update, &deleted, &t.Documents)
	if err != nil {
		return t, err
	}
	if err := decodeDetails(details, &t.TransactionDetails); err != nil {
		return t, fmt.Errorf("read the details of transaction %d: %w", t.ID, err)
	}
	t.Key, t.CustomWording, t.Comment, t.Cluster = key, database.Text[string](wording), database.Text[string](comment), database.ID[int64](cluster)
	t.Categories = strings.Fields(database.Text[string](matches))
	t.Scraped, t.LastUpdate, t.Deleted = database.Instant(scraped), database.Instant(update), database.OptionalInstant(deleted)
	t.ApplicationDate, err = database.Date(&day)
	return t, err
}

var errDigits = errors.New("an amount has too many digits")

func coefficient(d decimal.Decimal) (int64, error) {
	if d.Coef() > 1<<63-1 {
		return 0, errDigits
	}
	value := int64(d.Coef()) //nolint:gosec // checked above
	if d.IsNeg() {
		value = -value
	}
	return value, nil
}

// NewTransaction is a transaction that will be stored. Details is the encoded form of the
// transaction's details. If the caller has not set it, CreateTransactions encodes the details.
type NewTransaction struct {
	*passerelle.Transaction
	Details Details
	// Manual marks a transaction that a client created. Such a transaction gets a key that no
	// institution uses, and no sync changes it.
	Manual bool
}

// CreateTransactions stores new transactions of an account, and sets their ids. The argument
// reading is the number of the read that found them. It is Unreported for transactions that a
// client created.
func (tx Tx) CreateTransactions(domain passerelle.DomainID, a StoredAccount, reading int64, found ...NewTransaction) error {
	first, err := tx.unit.NewIDs("bank_transaction", len(found))
	if err != nil {
		return err
	}
	args := make([]any, 0, transactionRow.Width*len(found))
	for i, t := range found {
		if err := dated(t.TransactionDetails.Date, t.ApplicationDate); err != nil {
			return err
		}
		t.ID, t.Account = passerelle.TransactionID(first+int64(i)), a.ID
		if t.Manual {
			t.Key = manualKey(int64(t.ID))
		}
		if t.Details.text == "" {
			if t.Details, err = EncodeDetails(t.TransactionDetails); err != nil {
				return err
			}
		}
		value, err := coefficient(t.Value)
		if err != nil {
			return fmt.Errorf("store the value of a transaction: %w", err)
		}
		args = append(args, int64(t.ID), int64(domain), int64(a.User), int64(a.ID), a.Epoch, t.Key, t.Date.String(), t.ApplicationDate.String(), value, t.Value.Scale(),
			t.Wording, t.Coming, database.OptionalText(strings.Join(t.Categories, " ")), t.Details.text, t.Details.Digest, database.Micros(t.Scraped), database.Micros(t.LastUpdate), reading,
			int64(a.Connection), database.Fold(t.TransactionDetails.Wording), t.Manual)
	}
	tx.unit.Insert(transactionRow, args)
	for _, t := range found {
		if err := tx.keepAttachments(domain, a, t.ID, t.Attachments, t.Scraped, reading); err != nil {
			return err
		}
	}
	return nil
}

// dated fails for a transaction without one of its dates. Lists could not read such a transaction.
func dated(dates ...passerelle.Date) error {
	if slices.ContainsFunc(dates, passerelle.Date.IsZero) {
		return errors.New("store a transaction: it has no date")
	}
	return nil
}

var transactionRow = database.NewRowType(`bank_transaction (id, domain_id, user_id, account_id, epoch, key, date, application_date, value, value_scale,
	wording, coming, categories, details, digest, scraped, last_update, changed, connection_id, folded, manual)`)

// UpdateTransaction stores an institution's new details of a transaction. It does not change the
// user's values. It restores a deleted transaction. The column booked keeps the number of the
// complete read that first found the transaction booked, because UpdateTransaction overwrites this
// number in the column named changed.
func (tx Tx) UpdateTransaction(domain passerelle.DomainID, a StoredAccount, id passerelle.TransactionID, d passerelle.TransactionDetails, at time.Time, reading int64) error {
	if err := dated(d.Date, d.RDate); err != nil {
		return err
	}
	details, err := EncodeDetails(d)
	if err != nil {
		return err
	}
	value, err := coefficient(d.Value)
	if err != nil {
		return fmt.Errorf("store the value of a transaction: %w", err)
	}
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_transaction SET date = $1, application_date = CASE WHEN moved THEN application_date ELSE $2 END, value = $3, value_scale = $4,
			wording = $5, coming = $6, details = $7, digest = $8, last_update = $9, deleted = NULL, changed = $10, folded = $11,
			booked = COALESCE(booked, CASE WHEN NOT coming AND changed <> $16 THEN changed WHEN NOT $6 THEN $10 END)
		WHERE domain_id = $12 AND account_id = $13 AND epoch = $14 AND id = $15`,
		d.Date.String(), d.RDate.String(), value, d.Value.Scale(), d.Wording, d.Coming, details.text, details.Digest, database.Micros(at), reading, database.Fold(d.Wording),
		int64(domain), int64(a.ID), a.Epoch, int64(id), Unreported)
	return tx.keepAttachments(domain, a, id, d.Attachments, at, reading)
}

// DeleteManualTransactions marks as deleted the transactions that clients created in an account. It
// updates the counters of the account. Write fails with ErrConflict when the account's data was
// withdrawn since the account was read.
func (tx Tx) DeleteManualTransactions(domain passerelle.DomainID, a StoredAccount, at time.Time) {
	const theirs = `account_id = $1 AND epoch = $2 AND manual AND deleted IS NULL`
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET transactions = transactions WHERE +domain_id = $1 AND id = $2 AND epoch = $3`, int64(domain), int64(a.ID), a.Epoch) // locks the row: no transactions are added before the unit ends
	tx.unit.Exec(`UPDATE bank_account SET transactions = transactions - gone.n, deleted_transactions = deleted_transactions + gone.n
		FROM (SELECT count(*) AS n FROM bank_transaction WHERE `+theirs+`) AS gone WHERE bank_account.id = $1`, int64(a.ID), a.Epoch)
	tx.unit.Exec(`UPDATE bank_transaction SET deleted = $3, last_update = $3, changed = $4 WHERE `+theirs, int64(a.ID), a.Epoch, database.Micros(at), Unreported)
}

// LoseTransaction marks a transaction as deleted, because the institution no longer lists it.
func (tx Tx) LoseTransaction(domain passerelle.DomainID, a StoredAccount, id passerelle.TransactionID, at time.Time, reading int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_transaction SET deleted = $1, last_update = $1, changed = $2 WHERE domain_id = $3 AND account_id = $4 AND epoch = $5 AND id = $6 AND deleted IS NULL`,
		database.Micros(at), reading, int64(domain), int64(a.ID), a.Epoch, int64(id))
}

// CountTransactions adds to the counters of an account, in the unit that changes the transactions.
// Write fails with ErrConflict when the account's data was withdrawn since the account was read.
func (tx Tx) CountTransactions(domain passerelle.DomainID, a StoredAccount, present, deleted int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET transactions = transactions + $1, deleted_transactions = deleted_transactions + $2 WHERE +domain_id = $3 AND id = $4 AND epoch = $5`,
		present, deleted, int64(domain), int64(a.ID), a.Epoch)
}

// TransactionEdit is a user's change of a transaction. A nil field leaves the value unchanged. An
// empty text or list removes the value.
type TransactionEdit struct {
	Wording, Comment *string
	ApplicationDate  *passerelle.Date
	Active           *bool
	Categories       []string
}

// None reports whether the edit changes nothing.
func (e TransactionEdit) None() bool {
	return e.Wording == nil && e.Comment == nil && e.ApplicationDate == nil && e.Active == nil && e.Categories == nil
}

// EditTransaction stores a user's changes. Write fails with ErrNotFound when the user has no
// such transaction.
func (tx Tx) EditTransaction(domain passerelle.DomainID, user passerelle.UserID, id passerelle.TransactionID, e TransactionEdit, at time.Time) {
	var day *string
	if e.ApplicationDate != nil {
		day = database.OptionalDate(*e.ApplicationDate)
	}
	var categories *string
	if e.Categories != nil {
		joined := strings.Join(e.Categories, " ")
		categories = &joined
	}
	var folded *string
	if e.Wording != nil {
		text := database.Fold(*e.Wording)
		folded = &text
	}
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE bank_transaction SET custom_wording = NULLIF(COALESCE($1, custom_wording), ''), comment = NULLIF(COALESCE($2, comment), ''),
			application_date = COALESCE($3, application_date), moved = CASE WHEN $3 IS NULL THEN moved ELSE TRUE END, active = COALESCE($4, active),
			categories = NULLIF(COALESCE($5, categories), ''), last_update = $6, custom_folded = NULLIF(COALESCE($7, custom_folded), '')
		WHERE +domain_id = $8 AND +user_id = $9 AND id = $10 AND EXISTS (SELECT 1 FROM bank_account a WHERE a.id = account_id AND a.epoch = bank_transaction.epoch)`,
		e.Wording, e.Comment, day, e.Active, categories, database.Micros(at), folded, int64(domain), int64(user), int64(id))
}
