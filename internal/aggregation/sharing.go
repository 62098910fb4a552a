package aggregation

import (
	"context"
	"errors"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Sharing is a user's choice of which data of one connection to share.
type Sharing struct {
	// Accounts and Subscriptions have true for data to share, and false for data to stop sharing.
	Accounts      map[passerelle.AccountID]bool
	Subscriptions map[passerelle.SubscriptionID]bool
	// Origin is the place where the user agreed: api or webview.
	Origin string
}

// ChangeSharing applies a choice to the accounts and subscriptions of a connection, completely or
// not at all. It fails with the errors of ChangeAccounts.
func (a *Aggregation) ChangeSharing(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, s Sharing) error {
	if len(s.Accounts)+len(s.Subscriptions) == 0 {
		return nil
	}
	run, _, err := a.awaitLease(ctx, d, user, connection)
	if err != nil {
		return err
	}
	parts, err := a.partsOf(ctx, d, user, connection, s)
	if err == nil {
		if shared := parts[1]; len(shared.accounts)+len(shared.subscriptions) > 0 {
			a.devices.Note(connection, connector.DeviceOf(ctx), a.Now())
		}
		err = a.applySharing(ctx, run, parts, s.Origin)
	}
	if err != nil {
		return errors.Join(err, run.lease.release(ctx))
	}
	return nil
}

// sharingPart is the part of a choice that shares data, or the part that stops sharing data.
type sharingPart struct {
	disabled      bool
	accounts      []bankstore.StoredAccount
	subscriptions []bankstore.StoredSubscription
}

// partsOf loads the data of a choice. The part that stops sharing comes first. partsOf fails with
// NotFound when some of the data belongs to another connection.
func (a *Aggregation) partsOf(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, s Sharing) ([]sharingPart, error) {
	parts := []sharingPart{{disabled: true}, {disabled: false}}
	for i := range parts {
		accounts, err := a.accounts(ctx, d, user, chosen(s.Accounts, !parts[i].disabled))
		if err != nil {
			return nil, err
		}
		subscriptions, err := a.subscriptions(ctx, d, user, chosen(s.Subscriptions, !parts[i].disabled))
		if err != nil {
			return nil, err
		}
		if !allOf(connection, accounts, subscriptions) {
			return nil, passerelle.Missing()
		}
		parts[i].accounts, parts[i].subscriptions = accounts, subscriptions
	}
	return parts, nil
}

func allOf(connection passerelle.ConnectionID, accounts []bankstore.StoredAccount, subscriptions []bankstore.StoredSubscription) bool {
	return !slices.ContainsFunc(accounts, func(one bankstore.StoredAccount) bool { return one.Connection != connection }) &&
		!slices.ContainsFunc(subscriptions, func(one bankstore.StoredSubscription) bool { return one.Connection != connection })
}

func chosen[T ~int64](all map[T]bool, shared bool) []T {
	ids := []T{}
	for id, is := range all {
		if is == shared {
			ids = append(ids, id)
		}
	}
	return ids
}

func (a *Aggregation) applySharing(ctx context.Context, run *syncRun, parts []sharingPart, origin string) error {
	now := run.lease.now()
	var events []store.EmittedEvent
	for _, p := range parts {
		events = append(events, run.sharingEvents(p.accounts, AccountChange{Disabled: &p.disabled, Origin: origin}, now)...)
	}
	return run.lease.write(ctx, func(tx *store.Tx) error {
		for _, p := range parts {
			err := a.editAccounts(tx, run, p.accounts, AccountChange{Disabled: &p.disabled, Origin: origin}, now)
			if err == nil {
				err = a.editSubscriptions(tx, run.lease, p.subscriptions, SubscriptionChange{Disabled: &p.disabled, Origin: origin}, now)
			}
			if err != nil {
				return err
			}
		}
		bankstore.In(tx).ReleaseConnection(run.lease.domain.ID, run.lease.c.ID, run.lease.holder, run.lease.brokenOff)
		return nil
	}, events...)
}
