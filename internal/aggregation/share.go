package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// ConsentVersion is the version of the text to which a person agrees when sharing an account or a
// subscription. The keys of these texts in internal/webview/words begin with agree.
const ConsentVersion = "2"

// AccountChange is a user's change of an account. A nil field leaves the value unchanged.
type AccountChange struct {
	Disabled            *bool
	Name                *string
	Display, Bookmarked *bool
	Usage               *passerelle.Usage
	// Origin is the place where the user agreed: api or webview.
	Origin string
}

// ChangeAccounts applies a user's change to accounts, and returns the changed accounts in the order
// of their ids. The accounts of one connection change together. Enabling stores the consent. If the
// connection is active and healthy, and the user does not upload its statements, enabling also
// makes the service read the accounts soon. Disabling ends the consent, and immediately hides the
// accounts' rows. ChangeAccounts fails with the locked error when a read of the connection takes
// longer than LeaseTimeout.
func (a *Aggregation) ChangeAccounts(ctx context.Context, d passerelle.Domain, user passerelle.UserID, ids []passerelle.AccountID, change AccountChange) ([]bankstore.StoredAccount, error) {
	all, err := a.accounts(ctx, d, user, ids)
	if err != nil {
		return nil, err
	}
	together := map[passerelle.ConnectionID][]passerelle.AccountID{}
	for _, account := range all {
		together[account.Connection] = append(together[account.Connection], account.ID)
	}
	for _, connection := range slices.Sorted(maps.Keys(together)) {
		if err := a.changeAccounts(ctx, d, user, connection, together[connection], change); err != nil {
			return nil, err
		}
	}
	return a.accounts(ctx, d, user, ids)
}

// WithholdAccounts applies a change that disables accounts. It changes all shared accounts of a
// user or, if connection is not zero, the shared accounts of one connection.
func (a *Aggregation) WithholdAccounts(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, change AccountChange) error {
	filter, w := bankstore.AccountFilter{Domain: d.ID, User: user, Connection: connection, All: true}, store.Window{Limit: maxAccounts}
	for {
		page, err := bankstore.From(a.DB).BankAccounts(ctx, filter, w)
		if err != nil {
			return fmt.Errorf("list the accounts of user %d: %w", user, err)
		}
		shared := []passerelle.AccountID{}
		for _, one := range page {
			if one.Disabled == nil {
				shared = append(shared, one.ID)
			}
			w.From = []any{int64(one.ID)}
		}
		if _, err := a.ChangeAccounts(ctx, d, user, shared, change); err != nil || len(page) < w.Limit {
			return err
		}
	}
}

// Account returns a stored account of a user, even if it is disabled. It fails with NotFound when
// the user has no such account.
func (a *Aggregation) Account(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.AccountID) (bankstore.StoredAccount, error) {
	found, err := a.accounts(ctx, d, user, []passerelle.AccountID{id})
	if err != nil {
		return bankstore.StoredAccount{}, err
	}
	return found[0], nil
}

// accounts returns stored accounts of a user, including disabled accounts. It fails with NotFound
// when one is missing.
func (a *Aggregation) accounts(ctx context.Context, d passerelle.Domain, user passerelle.UserID, ids []passerelle.AccountID) ([]bankstore.StoredAccount, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	found, err := bankstore.From(a.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: d.ID, User: user, IDs: ids, All: true}, store.Window{Limit: len(ids)})
	if err != nil {
		return nil, fmt.Errorf("load accounts: %w", err)
	}
	if len(found) < len(ids) {
		return nil, passerelle.Missing()
	}
	return found, nil
}

func (a *Aggregation) changeAccounts(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, ids []passerelle.AccountID, change AccountChange) error {
	run, _, err := a.awaitLease(ctx, d, user, connection)
	if err != nil {
		return err
	}
	all, err := a.accounts(ctx, d, user, ids) // again, because the lease is now held
	if change.Disabled != nil && !*change.Disabled {
		a.devices.Note(connection, connector.DeviceOf(ctx), a.Now())
	}
	if err == nil {
		err = a.change(ctx, run, all, change)
	}
	if err != nil {
		return errors.Join(err, run.lease.release(ctx))
	}
	return nil
}

// changesDisabled reports whether a change enables or disables an account.
func (c AccountChange) changesDisabled(account bankstore.StoredAccount) bool {
	return c.Disabled != nil && *c.Disabled != (account.Disabled != nil)
}

func (a *Aggregation) change(ctx context.Context, run *syncRun, accounts []bankstore.StoredAccount, change AccountChange) error {
	now := run.lease.now()
	return run.lease.write(ctx, func(tx *store.Tx) error {
		if err := a.editAccounts(tx, run, accounts, change, now); err != nil {
			return err
		}
		bankstore.In(tx).ReleaseConnection(run.lease.domain.ID, run.lease.c.ID, run.lease.holder, run.lease.brokenOff)
		return nil
	}, run.sharingEvents(accounts, change, now)...)
}

// sharingEvents returns the events of accounts that a change enables or disables.
func (run *syncRun) sharingEvents(accounts []bankstore.StoredAccount, change AccountChange, now time.Time) []store.EmittedEvent {
	var events []store.EmittedEvent
	for _, account := range accounts {
		if !change.changesDisabled(account) {
			continue
		}
		apply(&account, change)
		if account.Disabled = nil; *change.Disabled {
			account.Disabled, account.Error, account.CoveredFrom, account.Worth = &now, "", passerelle.Date{}, nil // as DisableAccounts stores them
			events = append(events, run.events.accountEvent(webhook.AccountDisabled, account))
			continue
		}
		events = append(events, run.events.enabled(account))
	}
	return events
}

func (a *Aggregation) editAccounts(tx *store.Tx, run *syncRun, accounts []bankstore.StoredAccount, change AccountChange, now time.Time) error {
	var withdrawn []bankstore.StoredAccount
	for _, account := range accounts {
		before := account
		apply(&account, change)
		bankstore.In(tx).EditAccount(run.lease.domain.ID, account.BankAccount, change.Usage)
		if !change.changesDisabled(before) {
			continue
		}
		if *change.Disabled {
			withdrawn = append(withdrawn, before)
		} else if err := a.enableAccount(tx, run, before, change, now); err != nil {
			return err
		}
	}
	a.disableAccounts(tx, run.lease, withdrawn, now)
	return nil
}

func (a *Aggregation) enableAccount(tx *store.Tx, run *syncRun, account bankstore.StoredAccount, change AccountChange, now time.Time) error {
	if !run.profile.Data.TakesFiles {
		bankstore.In(tx).ReadSoon(run.lease.domain.ID, run.lease.c.ID, now)
		tx.AfterCommit(a.Sync)
	}
	return run.lease.enableAccount(tx, account, change.Origin, now)
}

func (a *Aggregation) disableAccounts(tx *store.Tx, l *lease, withdrawn []bankstore.StoredAccount, now time.Time) {
	bankstore.In(tx).DisableAccounts(l.domain.ID, l.user.ID, now, withdrawn...)
	for _, account := range withdrawn {
		bankstore.In(tx).WithdrawConsent(l.domain.ID, account.ID, now)
		tx.AfterCommit(a.Erase)
	}
}

// enableAccount enables an account and records the consent. The argument origin is the place where
// the user agreed.
func (l *lease) enableAccount(tx *store.Tx, account bankstore.StoredAccount, origin string, now time.Time) error {
	bankstore.In(tx).EnableAccount(l.domain.ID, l.user.ID, account.ID)
	return bankstore.In(tx).RecordConsent(l.domain.ID, bankstore.Consent{User: l.user.ID, Connection: l.c.ID, Account: account.ID, TextVersion: ConsentVersion, Origin: origin, Granted: now})
}

func apply(account *bankstore.StoredAccount, change AccountChange) {
	if change.Name != nil {
		account.CustomName = *change.Name
	}
	if change.Display != nil {
		account.Display = *change.Display
	}
	if change.Bookmarked != nil {
		account.Bookmarked = *change.Bookmarked
	}
	if change.Usage != nil {
		account.Usage = *change.Usage
	}
}

// enabled returns the event ACCOUNT_ENABLED. When the user withdraws the account or its connection,
// the store drops the event's pending deliveries.
func (r *reporter) enabled(account bankstore.StoredAccount) store.EmittedEvent {
	e := r.accountEvent(webhook.AccountEnabled, account)
	e.Holds = []store.Holding{r.lease.c.Holding(), account.Holding()}
	return e
}

func (r *reporter) accountEvent(name webhook.Event, account bankstore.StoredAccount) store.EmittedEvent {
	return store.EmittedEvent{Name: name, Body: wire.Encode(wire.NewBankAccount(account.BankAccount, r.zone()))}
}
