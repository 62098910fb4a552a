package aggregation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// maxSubscriptions limits the subscriptions that a provider may report.
const maxSubscriptions = 1000

type syncedSubscription struct {
	bankstore.StoredSubscription
	documents reconciler[passerelle.DocumentDetails]
	read      bool
}

// reported returns the subscription for events. It leaves out the documents unless the subscription
// was read completely.
func (s *syncedSubscription) reported() bankstore.StoredSubscription {
	shown := s.StoredSubscription
	if !s.read {
		shown.Readings = noReadingNumber
	}
	return shown
}

// Subscriptions stores the complete list of subscriptions. New subscriptions are disabled until the
// user shares them. Subscriptions that the provider no longer lists are marked as deleted.
func (im *importer) Subscriptions(all []passerelle.SubscriptionDetails) error {
	if im.subscriptions != nil || len(all) > maxSubscriptions {
		return fmt.Errorf("%w: subscriptions come once, at most %d", errInvalidData, maxSubscriptions)
	}
	stored, err := bankstore.From(im.lease.db).SubscriptionsOf(im.ctx, im.lease.domain.ID, im.lease.c.ID)
	if err != nil {
		return fmt.Errorf("%w: list subscriptions: %w", errStore, err)
	}
	known := map[string]*bankstore.StoredSubscription{}
	for i := range stored {
		known[stored[i].Key] = &stored[i]
	}
	im.subscriptions = map[string]*syncedSubscription{}
	for _, details := range all {
		if err := im.subscription(known[details.Key], details); err != nil {
			return err
		}
		delete(known, details.Key)
	}
	for _, s := range stored {
		if known[s.Key] == nil {
			continue
		}
		if err := im.lostSubscription(s); err != nil {
			return err
		}
	}
	return nil
}

func (im *importer) subscription(known *bankstore.StoredSubscription, details passerelle.SubscriptionDetails) error {
	if _, twice := im.subscriptions[details.Key]; twice || !validKey(details.Key) {
		return fmt.Errorf("%w: subscriptions have distinct keys of %s", errInvalidData, keyForm)
	}
	stored, err := encoded(details)
	if err != nil {
		return err
	}
	s := &syncedSubscription{}
	if known == nil {
		s.StoredSubscription, err = im.foundSubscription(details)
	} else {
		s.StoredSubscription, err = im.refreshedSubscription(*known, details, stored.Digest)
	}
	s.documents = im.documentsReconciler(s)
	im.subscriptions[details.Key], im.subscriptionKeys = s, append(im.subscriptionKeys, details.Key)
	return err
}

func (im *importer) foundSubscription(details passerelle.SubscriptionDetails) (bankstore.StoredSubscription, error) {
	now := im.lease.now()
	s := bankstore.StoredSubscription{Changed: im.lease.sync, Subscription: passerelle.Subscription{
		Connection: im.lease.c.ID, User: im.lease.user.ID, Source: im.lease.source.ID, SubscriptionDetails: details, Disabled: &now, LastUpdate: &now,
	}}
	var err error
	if s.ID, err = bankstore.NewSubscriptionID(im.ctx, im.lease.db); err != nil {
		return s, fmt.Errorf("%w: number a subscription: %w", errStore, err)
	}
	body := wire.Encode(wire.FoundSubscription{ID: int64(s.ID), IDUser: int64(s.User), IDConnection: int64(s.Connection)})
	err = im.store(func(tx *store.Tx) error { return bankstore.In(tx).CreateSubscription(im.lease.domain.ID, &s) }, store.EmittedEvent{Name: webhook.SubscriptionFound, Body: body})
	return s, err
}

func (im *importer) refreshedSubscription(s bankstore.StoredSubscription, details passerelle.SubscriptionDetails, digest int64) (bankstore.StoredSubscription, error) {
	if digest == s.Digest && s.Deleted == nil && s.Changed != bankstore.Unreported {
		return s, nil
	}
	now := im.lease.now()
	s.SubscriptionDetails, s.Deleted, s.LastUpdate, s.Changed = details, nil, &now, im.lease.sync
	err := im.store(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(im.lease.domain.ID, &s) })
	return s, err
}

func (im *importer) lostSubscription(s bankstore.StoredSubscription) error {
	if s.Deleted != nil && s.Changed != im.lease.sync && s.Changed != bankstore.Unreported {
		return nil
	}
	now := im.lease.now()
	s.Deleted, s.Changed = cmp.Or(s.Deleted, &now), im.lease.sync
	im.goneSubscriptions = append(im.goneSubscriptions, (&syncedSubscription{StoredSubscription: s}).reported())
	return im.store(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(im.lease.domain.ID, &s) })
}

// SubscriptionWanted reports whether a subscription is shared.
func (im *importer) SubscriptionWanted(key string) bool {
	s := im.subscriptions[key]
	return s != nil && s.Disabled == nil && s.Deleted == nil
}

// Documents stores a page of a subscription's documents.
func (im *importer) Documents(key string, page []passerelle.DocumentDetails) error {
	s := im.subscriptions[key]
	if !im.SubscriptionWanted(key) || s.read {
		return fmt.Errorf("%w: documents of a subscription that was not requested", errInvalidData)
	}
	bills := slices.Clone(page)
	for i := range bills {
		if err := errors.Join(checkAmount(bills[i].Total), checkCurrencies(bills[i].Currency)); err != nil {
			return err
		}
		bills[i].MediaType = storable(bills[i].MediaType)
	}
	return s.documents.reconcile(im, bills)
}

func (im *importer) documentsReconciler(s *syncedSubscription) reconciler[passerelle.DocumentDetails] {
	return reconciler[passerelle.DocumentDetails]{
		seen:    map[uint64]int64{},
		key:     func(d passerelle.DocumentDetails) string { return d.Key },
		details: func(d passerelle.DocumentDetails) any { return d },
		rows:    bankstore.SyncedDocuments(s.StoredSubscription),
		create: each(func(tx *store.Tx, d passerelle.DocumentDetails, at time.Time) error {
			return bankstore.In(tx).CreateDocument(im.lease.domain.ID, s.StoredSubscription, &passerelle.Document{DocumentDetails: d, Found: at, LastUpdate: at}, s.NextReading())
		}),
		update: func(tx *store.Tx, id int64, d passerelle.DocumentDetails, at time.Time) error {
			return bankstore.In(tx).UpdateDocument(im.lease.domain.ID, s.StoredSubscription, passerelle.DocumentID(id), d, at, s.NextReading())
		},
		markDeleted: func(tx *store.Tx, id int64, at time.Time) {
			bankstore.In(tx).LoseDocument(im.lease.domain.ID, s.StoredSubscription, passerelle.DocumentID(id), at, s.NextReading())
		},
		count: func(tx *store.Tx, there, _ int64) {
			bankstore.In(tx).CountDocuments(im.lease.domain.ID, s.StoredSubscription, there)
		},
	}
}

// SubscriptionRead marks unreported documents as deleted, and emits an event with the changes.
func (im *importer) SubscriptionRead(key string) error {
	s := im.subscriptions[key]
	if !im.SubscriptionWanted(key) || s.read {
		return fmt.Errorf("%w: the end of a subscription that was not requested", errInvalidData)
	}
	if err := s.documents.findMissing(im.ctx, &im.lease.db.Reader, passerelle.Date{}); err != nil {
		return err
	}
	if err := s.documents.markMissing(im); err != nil {
		return err
	}
	s.read = true
	now := im.lease.now()
	s.LastUpdate, s.Error = &now, ""
	return im.storeWithEvent(func() (store.EmittedEvent, error) { return im.events.subscriptionSynced(im.ctx, s.StoredSubscription) }, func(tx *store.Tx) error {
		bankstore.In(tx).TouchSubscription(im.lease.domain.ID, s.ID, now)
		return nil
	})
}

func (r *reporter) subscriptionSynced(ctx context.Context, s bankstore.StoredSubscription) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.SubscriptionSynced}, r.newPayload(ctx)
	if unwanted, err := r.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return w.attachTo(e, w.payload.Subscription(r.subscriptionRead(ctx, w, s)))
}

// subscriptionRead returns a subscription and its changed documents, for an event body.
func (r *reporter) subscriptionRead(ctx context.Context, w *payloadWriter, s bankstore.StoredSubscription) wire.SubscriptionRead {
	w.hold(r.lease.c, s.Reported(r.lease.sync)...)
	return wire.SubscriptionRead{Subscription: wire.NewSubscription(s.Subscription, r.zone()), Documents: func(write func(wire.Document)) error {
		for after := passerelle.DocumentID(0); ; {
			page, err := bankstore.From(r.lease.db).ChangedDocuments(ctx, s, after, payloadPage)
			if err != nil {
				return fmt.Errorf("list the changes in subscription %d: %w", s.ID, err)
			}
			for _, d := range page {
				write(ShowDocument(r.lease.domain.BaseURL, d.Document, r.zone()))
				after = d.ID
			}
			if len(page) < payloadPage {
				return nil
			}
		}
	}}
}
