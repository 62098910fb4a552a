package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// ConsentVersion is that of the text a person agrees to by sharing an account
// or a subscription.
const ConsentVersion = "1"

// AccountChange is what a person may change of an account; nil leaves a thing
// as it is.
type AccountChange struct {
	Disabled            *bool
	Name                *string
	Display, Bookmarked *bool
	Usage               *passerelle.Usage
	// Origin says where the person agreed: api or webview.
	Origin string
}

// ChangeAccount changes what a person may of an account. Enabling it records
// their consent and has it read soon; disabling withdraws the consent, and what
// was read is out of sight at once. A connection that is being read is locked.
func (a *Aggregation) ChangeAccount(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.AccountID, change AccountChange) (store.StoredAccount, error) {
	before, err := a.Account(ctx, d, user, id)
	if err != nil {
		return before, err
	}
	v, _, err := a.again(ctx, d, user, before.Connection)
	if err != nil {
		return before, err
	}
	account, err := a.Account(ctx, d, user, id) // as it stands under the lease
	if err != nil {
		return account, errors.Join(err, v.release(ctx))
	}
	err = v.change(ctx, &account, change)
	return account, err
}

// Account reads an account of a user, disabled or not.
func (a *Aggregation) Account(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.AccountID) (store.StoredAccount, error) {
	found, err := a.DB.BankAccounts(ctx, store.AccountFilter{Domain: d.ID, User: user, IDs: []passerelle.AccountID{id}, All: true}, store.Window{Limit: 1})
	if err != nil {
		return store.StoredAccount{}, fmt.Errorf("load account %d: %w", id, err)
	}
	if len(found) == 0 {
		return store.StoredAccount{}, passerelle.Missing()
	}
	return found[0], nil
}

func (v *visit) change(ctx context.Context, account *store.StoredAccount, change AccountChange) error {
	before, now := *account, v.instant()
	apply(account, change)
	var events []store.Event
	turned := change.Disabled != nil && *change.Disabled != (before.Disabled != nil)
	if turned && *change.Disabled {
		account.Disabled = &now
		events = append(events, v.accountEvent(webhook.AccountDisabled, *account))
	}
	if turned && !*change.Disabled {
		account.Disabled = nil
		events = append(events, v.accountEvent(webhook.AccountEnabled, *account))
	}
	return v.write(ctx, func(tx *store.Tx) error {
		tx.EditAccount(v.domain.ID, account.BankAccount, change.Usage)
		switch {
		case turned && *change.Disabled:
			tx.DisableAccount(v.domain.ID, v.user.ID, before, now)
			tx.WithdrawConsent(v.domain.ID, account.ID, now)
			tx.AfterCommit(v.Erase)
		case turned:
			tx.EnableAccount(v.domain.ID, v.user.ID, account.ID)
			tx.ReadSoon(v.domain.ID, v.c.ID, now)
			if err := tx.RecordConsent(v.domain.ID, store.Consent{
				User: v.user.ID, Connection: v.c.ID, Account: account.ID, TextVersion: ConsentVersion, Origin: change.Origin, Given: now,
			}); err != nil {
				return err
			}
			tx.AfterCommit(v.Sync)
		}
		tx.ReleaseConnection(v.domain.ID, v.c.ID, v.holder)
		return nil
	}, events...)
}

func apply(account *store.StoredAccount, change AccountChange) {
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

func (v *visit) accountEvent(name webhook.Event, account store.StoredAccount) store.Event {
	return store.Event{Name: name, Body: wire.Encode(wire.NewBankAccount(account.BankAccount, v.zone()))}
}

// SyncDue reads the connections of a domain that are due, without their
// persons, a bounded number at once, and returns how many it read. In a process
// one call for a domain waits for another, so that what was due is read when it
// returns, whoever read it.
func (a *Aggregation) SyncDue(ctx context.Context, d passerelle.Domain) (int, error) {
	pass, _ := a.passes.LoadOrStore(d.ID, make(chan struct{}, 1))
	turn := pass.(chan struct{}) //nolint:errcheck // the map holds nothing else
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil || !values.On(settings.AutosyncEnabled) {
		return 0, err
	}
	due, err := a.DB.ConnectionsDue(ctx, d.ID, a.now(d), maxDue)
	if err != nil {
		return 0, fmt.Errorf("list connections that are due: %w", err)
	}
	return a.readAll(ctx, d, due)
}
