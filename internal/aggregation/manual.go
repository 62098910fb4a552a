package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// ManualTransaction is a transaction that a client creates. It has the fields of the institution
// and the fields of the user.
type ManualTransaction struct {
	Details passerelle.TransactionDetails
	Edit    bankstore.TransactionEdit
}

// CreateTransactions creates transactions in an account, all of them or none. It returns their ids
// in order. No synchronisation deletes these transactions. CreateTransactions fails with Conflict
// when the account is not shared.
func (a *Aggregation) CreateTransactions(ctx context.Context, d passerelle.Domain, in bankstore.StoredAccount, supplied []ManualTransaction) ([]passerelle.TransactionID, error) {
	now := a.now(d)
	all, ids := make([]bankstore.NewTransaction, len(supplied)), make([]passerelle.TransactionID, len(supplied))
	for i, g := range supplied {
		all[i] = bankstore.NewTransaction{Manual: true, Transaction: &passerelle.Transaction{
			TransactionDetails: g.Details, ApplicationDate: g.Details.RDate, Active: true, Scraped: now, LastUpdate: now, Categories: passerelle.Categorize(g.Details.Wording, g.Details.Type),
		}}
	}
	err := a.ofAccount(ctx, in, func(tx *store.Tx) error {
		if err := bankstore.In(tx).CreateTransactions(d.ID, in, bankstore.Unreported, all...); err != nil {
			return err
		}
		for i, created := range all {
			if ids[i] = created.ID; !supplied[i].Edit.None() {
				bankstore.In(tx).EditTransaction(d.ID, in.User, created.ID, supplied[i].Edit, now)
			}
		}
		bankstore.In(tx).CountTransactions(d.ID, in, int64(len(all)), 0)
		return nil
	})
	return ids, err
}

// DeleteTransactions marks as deleted the transactions that clients created in an account. It fails
// with Conflict when the account is not shared.
func (a *Aggregation) DeleteTransactions(ctx context.Context, d passerelle.Domain, in bankstore.StoredAccount) error {
	return a.ofAccount(ctx, in, func(tx *store.Tx) error {
		bankstore.In(tx).DeleteManualTransactions(d.ID, in, a.now(d))
		return nil
	})
}

// ofAccount executes a unit about a shared account. It fails with Conflict when the account is not
// shared.
func (a *Aggregation) ofAccount(ctx context.Context, in bankstore.StoredAccount, fn func(tx *store.Tx) error) error {
	unshared := passerelle.Conflicting("the account is disabled or deleted; enable it first")
	if in.Disabled != nil || in.Deleted != nil {
		return unshared
	}
	err := a.DB.Write(ctx, fn)
	if errors.Is(err, store.ErrConflict) {
		return unshared
	}
	if err != nil {
		return fmt.Errorf("change the transactions of account %d: %w", in.ID, err)
	}
	return nil
}
