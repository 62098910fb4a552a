package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// SubscriptionChange is a user's change of subscriptions. A nil field leaves the value unchanged.
type SubscriptionChange struct {
	Disabled *bool
	// Origin is the place where the user agreed: api or webview.
	Origin string
}

// ChangeSubscriptions enables or disables subscriptions. The subscriptions of one connection change
// together. Enabling stores the consent. If the connection is active and healthy, enabling also
// makes the service read the subscriptions soon. Disabling ends the consent, and immediately hides
// the documents. ChangeSubscriptions fails with the locked error when a read of the connection
// takes longer than LeaseTimeout. It emits no event, because the API defines no event for this
// change.
func (a *Aggregation) ChangeSubscriptions(ctx context.Context, d passerelle.Domain, user passerelle.UserID, ids []passerelle.SubscriptionID, change SubscriptionChange) error {
	all, err := a.subscriptions(ctx, d, user, ids)
	if err != nil {
		return err
	}
	var order []passerelle.ConnectionID
	together := map[passerelle.ConnectionID][]passerelle.SubscriptionID{}
	for _, s := range all {
		if !change.changesDisabled(s) {
			continue
		}
		if together[s.Connection] == nil {
			order = append(order, s.Connection)
		}
		together[s.Connection] = append(together[s.Connection], s.ID)
	}
	for _, connection := range order {
		if err := a.changeSubscriptions(ctx, d, user, connection, together[connection], change); err != nil {
			return err
		}
	}
	return nil
}

// changesDisabled reports whether a change enables or disables a subscription.
func (c SubscriptionChange) changesDisabled(s bankstore.StoredSubscription) bool {
	return c.Disabled != nil && *c.Disabled != (s.Disabled != nil)
}

// subscriptions returns stored subscriptions of a user, including disabled subscriptions. It fails
// with NotFound when one is missing.
func (a *Aggregation) subscriptions(ctx context.Context, d passerelle.Domain, user passerelle.UserID, ids []passerelle.SubscriptionID) ([]bankstore.StoredSubscription, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	filter := bankstore.SubscriptionFilter{Domain: d.ID, User: user, IDs: ids, All: true}
	found, err := bankstore.From(a.DB).Subscriptions(ctx, filter, store.Window{Limit: len(ids)})
	if err != nil {
		return nil, fmt.Errorf("load subscriptions: %w", err)
	}
	if len(found) < len(ids) {
		return nil, passerelle.Missing()
	}
	return found, nil
}

func (a *Aggregation) changeSubscriptions(ctx context.Context, d passerelle.Domain, user passerelle.UserID, connection passerelle.ConnectionID, ids []passerelle.SubscriptionID, change SubscriptionChange) error {
	run, _, err := a.awaitLease(ctx, d, user, connection)
	if err != nil {
		return err
	}
	all, err := a.subscriptions(ctx, d, user, ids) // again, because the lease is now held
	if err == nil {
		err = a.changeLeased(ctx, run.lease, all, change)
	}
	if err != nil {
		return errors.Join(err, run.lease.release(ctx))
	}
	return nil
}

// changeLeased enables or disables subscriptions.
func (a *Aggregation) changeLeased(ctx context.Context, l *lease, all []bankstore.StoredSubscription, change SubscriptionChange) error {
	now := l.now()
	return l.write(ctx, func(tx *store.Tx) error {
		if err := a.editSubscriptions(tx, l, all, change, now); err != nil {
			return err
		}
		bankstore.In(tx).ReleaseConnection(l.domain.ID, l.c.ID, l.holder, l.brokenOff)
		return nil
	})
}

func (a *Aggregation) editSubscriptions(tx *store.Tx, l *lease, all []bankstore.StoredSubscription, change SubscriptionChange, now time.Time) error {
	all = slices.DeleteFunc(slices.Clone(all), func(s bankstore.StoredSubscription) bool { return !change.changesDisabled(s) })
	if change.Disabled != nil && *change.Disabled {
		bankstore.In(tx).DisableSubscriptions(l.domain.ID, l.user.ID, now, all...)
		tx.AfterCommit(a.Erase)
		return nil
	}
	for _, s := range all {
		if err := a.enableSubscription(tx, l, s, now, change); err != nil {
			return err
		}
	}
	return nil
}

func (a *Aggregation) enableSubscription(tx *store.Tx, l *lease, s bankstore.StoredSubscription, now time.Time, change SubscriptionChange) error {
	bankstore.In(tx).EnableSubscription(l.domain.ID, l.user.ID, s.ID)
	bankstore.In(tx).ReadSoon(l.domain.ID, l.c.ID, now)
	tx.AfterCommit(a.Sync)
	return bankstore.In(tx).RecordConsent(l.domain.ID, bankstore.Consent{
		User: l.user.ID, Connection: l.c.ID, Subscription: s.ID, TextVersion: ConsentVersion, Origin: change.Origin, Granted: now,
	})
}
