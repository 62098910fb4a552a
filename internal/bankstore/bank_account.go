package bankstore

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// StoredAccount is a bank account with its counters and state in the store.
type StoredAccount struct {
	passerelle.BankAccount
	// Digest is a digest of the details. A sync compares it to detect changes.
	Digest int64
	// Transactions is the number of transactions that are not deleted. DeletedTransactions is the
	// number of deleted transactions.
	Transactions, DeletedTransactions int64
	// Changed is the number of the sync that last changed the row.
	Changed int64
	// Readings counts the account's complete reads. A read counts when the last event of its sync
	// reports it. A complete read reads all transactions of the account. A transaction that a sync
	// changes gets the number of the next complete read. The first complete sync after an
	// interrupted sync therefore also reports the changes of the interrupted sync.
	Readings int64
}

// WithBalances returns new details of the account, with the stored balances if the new ones could not
// be read. The account is nil if it is not stored yet.
func (a *StoredAccount) WithBalances(d passerelle.AccountDetails) passerelle.AccountDetails {
	if d.BalanceUnread && a != nil {
		d.Balance, d.Coming = a.Balance, a.Coming
	}
	d.BalanceUnread = false
	return d
}

// NextReading returns the number that changed rows get until the next complete read of the account.
func (a StoredAccount) NextReading() int64 { return a.Readings + 1 }

const accountColumns = `a.id, a.user_id, a.connection_id, a.source_id, a.parent_id, a.key, a.details, a.digest, a.custom_name, a.display, a.bookmarked, a.usage,
	a.disabled, a.deleted, a.last_update, a.error, a.covered_from, a.epoch, a.readings, a.transactions, a.deleted_transactions, a.changed, a.worth`

func scanAccount(row database.Row) (StoredAccount, error) {
	var (
		a                         StoredAccount
		key, details              string
		source, parent            *int64
		name, usage, state, since *string
		worth                     *string
		disabled, deleted, update *int64
	)
	err := row.Scan(&a.ID, &a.User, &a.Connection, &source, &parent, &key, &details, &a.Digest, &name, &a.Display, &a.Bookmarked, &usage,
		&disabled, &deleted, &update, &state, &since, &a.Epoch, &a.Readings, &a.Transactions, &a.DeletedTransactions, &a.Changed, &worth)
	if err != nil {
		return a, err
	}
	if err := decodeDetails(details, &a.AccountDetails); err != nil {
		return a, fmt.Errorf("read the details of account %d: %w", a.ID, err)
	}
	if worth != nil {
		a.Worth = new(passerelle.Worth)
		if err := decodeDetails(*worth, a.Worth); err != nil {
			return a, fmt.Errorf("read the worth of account %d: %w", a.ID, err)
		}
	}
	a.Key, a.Source, a.ParentID = key, database.ID[passerelle.SourceID](source), database.ID[passerelle.AccountID](parent)
	a.CustomName, a.Error = database.Text[string](name), database.Text[passerelle.ConnectionState](state)
	if usage != nil {
		a.Usage = passerelle.Usage(*usage)
	}
	a.Disabled, a.Deleted, a.LastUpdate = database.OptionalInstant(disabled), database.OptionalInstant(deleted), database.OptionalInstant(update)
	a.CoveredFrom, err = database.Date(since)
	return a, err
}

// AccountFilter selects accounts of a user. User is required: the filter selects nothing without
// it.
type AccountFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	// Connections selects several connections. Nil means all.
	Connections []passerelle.ConnectionID
	IDs         []passerelle.AccountID // nil for all
	// Disabled includes disabled accounts. All also includes deleted accounts.
	Disabled, All bool
}

func (f AccountFilter) selection() database.Selection {
	s := database.Selection{From: "bank_account a"}
	if f.Connection == 0 {
		s = s.And("a.domain_id = $%d AND a.user_id = $%d", int64(f.Domain), int64(f.User))
	} else { // without +, SQLite can read all accounts of the user
		s = s.And("a.connection_id = $%d AND +a.domain_id = $%d AND +a.user_id = $%d", int64(f.Connection), int64(f.Domain), int64(f.User))
	}
	s = s.And(standing("a.connection_id"))
	if !f.Disabled && !f.All {
		s = s.And("a.disabled IS NULL")
	}
	if !f.All {
		s = s.And("a.deleted IS NULL")
	}
	if f.Connections != nil {
		s = database.Among(s, "a.connection_id", f.Connections)
	}
	if f.IDs != nil {
		s = database.Among(s, "a.id", f.IDs)
	}
	return s
}

// BankAccounts lists accounts, ordered by id.
func (r Reader) BankAccounts(ctx context.Context, f AccountFilter, w store.Window) ([]StoredAccount, error) {
	sql, args := f.selection().ByID(accountColumns, "a.id", w)
	return database.Collect(ctx, r.rows, scanAccount, sql, args...)
}

// CountBankAccounts returns the number of accounts that a filter selects.
func (r Reader) CountBankAccounts(ctx context.Context, f AccountFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// AccountsOf lists all accounts of a connection, including disabled and deleted accounts.
func (r Reader) AccountsOf(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) ([]StoredAccount, error) {
	return database.Collect(ctx, r.rows, scanAccount, `SELECT `+accountColumns+` FROM bank_account a WHERE a.domain_id = $1 AND a.connection_id = $2 ORDER BY a.id`,
		int64(domain), int64(connection))
}

// NewAccountID reserves the id of a new account. The event about the account contains this id. The
// id must therefore be known before the unit that stores the account and the event.
func NewAccountID(ctx context.Context, db *store.DB) (passerelle.AccountID, error) {
	var id passerelle.AccountID
	err := db.Write(ctx, func(tx *store.Tx) error {
		next, err := tx.Unit().NewID("bank_account")
		id = passerelle.AccountID(next)
		return err
	})
	return id, err
}

// CreateAccount stores a newly found account under its reserved id.
func (tx Tx) CreateAccount(domain passerelle.DomainID, a *StoredAccount) error {
	details, err := EncodeDetails(a.AccountDetails)
	if err != nil {
		return err
	}
	a.Digest = details.Digest
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO bank_account (id, domain_id, user_id, connection_id, source_id, parent_id, key, type, details, digest, disabled, last_update, error, changed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		int64(a.ID), int64(domain), int64(a.User), int64(a.Connection), database.OptionalID(a.Source), database.OptionalID(a.ParentID), a.Key, string(a.Type), details.text, details.Digest,
		database.OptionalMicros(a.Disabled), database.OptionalMicros(a.LastUpdate), database.OptionalText(a.Error), a.Changed)
	return nil
}

// UpdateAccount stores an institution's new details of an account.
func (tx Tx) UpdateAccount(domain passerelle.DomainID, a *StoredAccount) error {
	details, err := EncodeDetails(a.AccountDetails)
	if err != nil {
		return err
	}
	a.Digest = details.Digest
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE bank_account SET source_id = $1, parent_id = $2, type = $3, details = $4, digest = $5, deleted = $6, last_update = $7, error = $8, changed = $9
		WHERE +domain_id = $10 AND id = $11`,
		database.OptionalID(a.Source), database.OptionalID(a.ParentID), string(a.Type), details.text, details.Digest, database.OptionalMicros(a.Deleted), database.OptionalMicros(a.LastUpdate), database.OptionalText(a.Error), a.Changed,
		int64(domain), int64(a.ID))
	return nil
}

// CountReadings records that the last event of a sync reports the changes of these accounts and
// subscriptions. It leaves out accounts and subscriptions whose Readings is negative.
func (tx Tx) CountReadings(domain passerelle.DomainID, accounts []StoredAccount, subscriptions []StoredSubscription) {
	count := func(table string, id, readings int64) {
		if readings >= 0 {
			tx.unit.Exec(`UPDATE `+table+` SET readings = $1 WHERE +domain_id = $2 AND id = $3`, readings+1, int64(domain), id)
		}
	}
	for _, a := range accounts {
		count("bank_account", int64(a.ID), a.Readings)
	}
	for _, s := range subscriptions {
		count("subscription", int64(s.ID), s.Readings)
	}
}

// TouchAccount records that an account was read completely.
func (tx Tx) TouchAccount(domain passerelle.DomainID, id passerelle.AccountID, at time.Time, coveredFrom passerelle.Date) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE bank_account SET last_update = $1, error = NULL, covered_from = COALESCE($2, covered_from) WHERE +domain_id = $3 AND id = $4`,
		database.Micros(at), database.OptionalDate(coveredFrom), int64(domain), int64(id))
}

// EditAccount stores the values that the user has set: name, display, bookmark and usage.
func (tx Tx) EditAccount(domain passerelle.DomainID, a passerelle.BankAccount, usage *passerelle.Usage) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE bank_account SET custom_name = $1, display = $2, bookmarked = $3, usage = COALESCE($4, usage) WHERE +domain_id = $5 AND +user_id = $6 AND id = $7`,
		database.OptionalText(a.CustomName), a.Display, a.Bookmarked, optionalUsage(usage), int64(domain), int64(a.User), int64(a.ID))
}

func optionalUsage(u *passerelle.Usage) *string {
	if u == nil {
		return nil
	}
	return database.OptionalText(*u)
}

// EnableAccount records that the user shares an account. Write fails with ErrConflict when the
// account is already enabled.
func (tx Tx) EnableAccount(domain passerelle.DomainID, user passerelle.UserID, id passerelle.AccountID) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET disabled = NULL WHERE +domain_id = $1 AND +user_id = $2 AND id = $3 AND disabled IS NOT NULL`,
		int64(domain), int64(user), int64(id))
}

// DisableAccounts records that the user stops sharing accounts of a connection. It hides the rows
// of the accounts immediately. EraseWithdrawn then erases the rows in small steps. Write fails with
// ErrConflict when one of the accounts is already disabled.
func (tx Tx) DisableAccounts(domain passerelle.DomainID, user passerelle.UserID, now time.Time, all ...StoredAccount) {
	gone := make([]withdrawal, len(all))
	for i, a := range all {
		tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET disabled = $1, error = NULL, epoch = epoch + 1, transactions = 0, deleted_transactions = 0, covered_from = NULL, worth = NULL
			WHERE +domain_id = $2 AND +user_id = $3 AND id = $4 AND disabled IS NULL`, database.Micros(now), int64(domain), int64(user), int64(a.ID))
		gone[i] = withdrawal{domain: int64(domain), user: int64(user), kind: "account", subject: int64(a.ID), epoch: &a.Epoch, at: database.Micros(now)}
	}
	tx.withdrawAll(gone)
}
