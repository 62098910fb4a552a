package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// maxSubscriptions is how many subscriptions a provider may give.
const maxSubscriptions = 1000

// subscription is a subscription of the visit.
type subscription struct {
	store.StoredSubscription
	documents shelf[passerelle.DocumentDetails]
	read      bool
}

// told is the subscription as it is told of: without documents unless it was
// read to its end.
func (s *subscription) told() store.StoredSubscription {
	told := s.StoredSubscription
	if !s.read {
		told.Readings = noReading
	}
	return told
}

// Subscriptions takes the list of subscriptions there are. New ones are
// disabled until the person shares them; those no longer listed are deleted.
func (in *intake) Subscriptions(all []passerelle.SubscriptionDetails) error {
	if in.subscriptions != nil || len(all) > maxSubscriptions {
		return fmt.Errorf("%w: subscriptions come once, at most %d", errNonsense, maxSubscriptions)
	}
	stored, err := in.DB.SubscriptionsOf(in.ctx, in.domain.ID, in.c.ID)
	if err != nil {
		return fmt.Errorf("%w: list subscriptions: %w", errStore, err)
	}
	known := map[string]*store.StoredSubscription{}
	for i := range stored {
		known[stored[i].Key] = &stored[i]
	}
	in.subscriptions = map[string]*subscription{}
	for _, details := range all {
		if err := in.subscription(known[details.Key], details); err != nil {
			return err
		}
		delete(known, details.Key)
	}
	for _, gone := range known {
		if err := in.lostSubscription(*gone); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) subscription(known *store.StoredSubscription, details passerelle.SubscriptionDetails) error {
	if _, twice := in.subscriptions[details.Key]; twice || !sound(details.Key) {
		return fmt.Errorf("%w: subscriptions have distinct keys of 1 to %d bytes", errNonsense, maxKeyLength)
	}
	encoded, err := store.EncodeDetails(details)
	if err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	s := &subscription{}
	if known == nil {
		s.StoredSubscription, err = in.foundSubscription(details)
	} else {
		s.StoredSubscription, err = in.refreshedSubscription(*known, details, encoded.Digest)
	}
	s.documents = in.documentsOf(s)
	in.subscriptions[details.Key], in.subscribed = s, append(in.subscribed, details.Key)
	return err
}

func (in *intake) foundSubscription(details passerelle.SubscriptionDetails) (store.StoredSubscription, error) {
	now := in.instant()
	s := store.StoredSubscription{Changed: in.sync, Subscription: passerelle.Subscription{
		Connection: in.c.ID, User: in.user.ID, Source: in.source.ID, SubscriptionDetails: details, Disabled: &now, LastUpdate: &now,
	}}
	var err error
	if s.ID, err = in.DB.NewSubscriptionID(in.ctx); err != nil {
		return s, fmt.Errorf("%w: number a subscription: %w", errStore, err)
	}
	body := wire.Encode(wire.FoundSubscription{ID: int64(s.ID), IDUser: int64(s.User), IDConnection: int64(s.Connection)})
	return s, in.store(func(tx *store.Tx) error { return tx.CreateSubscription(in.domain.ID, &s) }, store.Event{Name: webhook.SubscriptionFound, Body: body})
}

func (in *intake) refreshedSubscription(s store.StoredSubscription, details passerelle.SubscriptionDetails, digest int64) (store.StoredSubscription, error) {
	if digest == s.Digest && s.Deleted == nil {
		return s, nil
	}
	now := in.instant()
	s.SubscriptionDetails, s.Deleted, s.LastUpdate, s.Changed = details, nil, &now, in.sync
	return s, in.store(func(tx *store.Tx) error { return tx.UpdateSubscription(in.domain.ID, &s) })
}

func (in *intake) lostSubscription(s store.StoredSubscription) error {
	if s.Deleted != nil {
		return nil
	}
	now := in.instant()
	s.Deleted, s.Changed = &now, in.sync
	in.lapsed = append(in.lapsed, (&subscription{StoredSubscription: s}).told())
	return in.store(func(tx *store.Tx) error { return tx.UpdateSubscription(in.domain.ID, &s) })
}

// SubscriptionWanted says whether a subscription is shared.
func (in *intake) SubscriptionWanted(key string) bool {
	s := in.subscriptions[key]
	return s != nil && s.Disabled == nil && s.Deleted == nil
}

// Documents takes a page of a subscription.
func (in *intake) Documents(key string, page []passerelle.DocumentDetails) error {
	s := in.subscriptions[key]
	if !in.SubscriptionWanted(key) || s.read {
		return fmt.Errorf("%w: documents of a subscription that was not asked for", errNonsense)
	}
	bills := slices.Clone(page)
	for i := range bills {
		if err := checkBill(bills[i]); err != nil {
			return err
		}
		bills[i].MediaType = legible(bills[i].MediaType)
	}
	return s.documents.take(in, bills)
}

// checkBill refuses amounts that cannot be.
func checkBill(d passerelle.DocumentDetails) error {
	if d.Total == nil {
		return checkCurrencies(d.Currency)
	}
	return errors.Join(checkAmount(*d.Total), checkCurrencies(d.Currency))
}

// documentsOf are the documents of a subscription.
func (in *intake) documentsOf(s *subscription) shelf[passerelle.DocumentDetails] {
	return shelf[passerelle.DocumentDetails]{
		seen:    map[uint64]struct{}{},
		key:     func(d passerelle.DocumentDetails) string { return d.Key },
		details: func(d passerelle.DocumentDetails) any { return d },
		stored:  store.DocumentShelf(s.StoredSubscription),
		create: each(func(tx *store.Tx, d passerelle.DocumentDetails, at time.Time) error {
			return tx.CreateDocument(in.domain.ID, s.StoredSubscription, &passerelle.Document{DocumentDetails: d, Found: at, LastUpdate: at}, s.NextReading())
		}),
		update: func(tx *store.Tx, id int64, d passerelle.DocumentDetails, at time.Time) error {
			return tx.UpdateDocument(in.domain.ID, s.StoredSubscription, passerelle.DocumentID(id), d, at, s.NextReading())
		},
		lose: func(tx *store.Tx, id int64, at time.Time) {
			tx.LoseDocument(in.domain.ID, s.StoredSubscription, passerelle.DocumentID(id), at, s.NextReading())
		},
		count: func(tx *store.Tx, there, _ int64) { tx.CountDocuments(in.domain.ID, s.StoredSubscription, there) },
	}
}

// SubscriptionRead ends a subscription: documents that were not handed over are
// gone at the provider. It tells of what changed.
func (in *intake) SubscriptionRead(key string) error {
	s := in.subscriptions[key]
	if !in.SubscriptionWanted(key) || s.read {
		return fmt.Errorf("%w: the end of a subscription that was not asked for", errNonsense)
	}
	if err := s.documents.sweep(in, passerelle.Date{}); err != nil {
		return err
	}
	s.read = true
	now := in.instant()
	s.LastUpdate, s.Error = &now, ""
	return in.storeNews(func() (store.Event, error) { return in.subscriptionSynced(in.ctx, s.StoredSubscription) }, func(tx *store.Tx) error {
		tx.TouchSubscription(in.domain.ID, s.ID, now)
		return nil
	})
}

func (v *visit) subscriptionSynced(ctx context.Context, s store.StoredSubscription) (store.Event, error) {
	e, l := store.Event{Name: webhook.SubscriptionSynced}, v.letter(ctx)
	if unheard, err := v.unheard(ctx, &e); unheard || err != nil {
		return e, err
	}
	err := errors.Join(v.writeSubscription(ctx, l, s), l.into(&e))
	return e, err
}

// writeSubscription writes a subscription with the documents that changed.
func (v *visit) writeSubscription(ctx context.Context, l *letter, s store.StoredSubscription) error {
	l.hold(v.c, s.Holding())
	l.open(wire.NewSubscription(s.Subscription, v.zone()))
	l.add(`,"documents":[`)
	n := 0
	for after := passerelle.DocumentID(0); ; {
		page, err := v.DB.ChangedDocuments(ctx, s, after, newsPage)
		if err != nil {
			return fmt.Errorf("list what changed in subscription %d: %w", s.ID, err)
		}
		for _, d := range page {
			l.item(n)
			l.object(v.ShowDocument(v.domain, d.Document, v.zone()))
			after, n = d.ID, n+1
		}
		if len(page) < newsPage {
			break
		}
	}
	l.add("]}")
	return l.err
}
