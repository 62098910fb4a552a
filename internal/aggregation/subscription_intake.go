package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// maxSubscriptions is how many subscriptions a provider may give.
const maxSubscriptions = 1000

// subscription is a subscription of the visit; seen are the keys of documents
// that were handed over.
type subscription struct {
	store.StoredSubscription
	seen map[uint64]struct{}
	read bool
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
	s := &subscription{seen: map[uint64]struct{}{}}
	var err error
	if known == nil {
		s.StoredSubscription, err = in.foundSubscription(details)
	} else {
		s.StoredSubscription, err = in.refreshedSubscription(*known, details)
	}
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

func (in *intake) refreshedSubscription(s store.StoredSubscription, details passerelle.SubscriptionDetails) (store.StoredSubscription, error) {
	digest, err := store.SubscriptionDigest(details)
	if err != nil {
		return s, fmt.Errorf("%w: %w", errNonsense, err)
	}
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
	for chunk := range slices.Chunk(page, pageSize) {
		if err := in.documents(s, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) documents(s *subscription, page []passerelle.DocumentDetails) error {
	var fresh []passerelle.DocumentDetails
	var keys []string
	for _, d := range page {
		if !sound(d.Key) || len(s.seen) >= maxPerVisit {
			return fmt.Errorf("%w: a document has a key of 1 to %d bytes", errNonsense, maxKeyLength)
		}
		if _, twice := s.seen[hashed(d.Key)]; !twice {
			s.seen[hashed(d.Key)] = struct{}{}
			fresh, keys = append(fresh, d), append(keys, d.Key)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	known, err := in.DB.DocumentsByKey(in.ctx, s.StoredSubscription, keys)
	if err != nil {
		return fmt.Errorf("%w: find documents: %w", errStore, err)
	}
	return in.storeDocuments(s, fresh, known)
}

func (in *intake) storeDocuments(s *subscription, fresh []passerelle.DocumentDetails, known map[string]store.KnownDocument) error {
	now := in.instant()
	var writes []func(tx *store.Tx) error
	more := int64(0)
	for _, d := range fresh {
		before, isKnown := known[d.Key]
		digest, err := store.DocumentDigest(d)
		if err != nil {
			return fmt.Errorf("%w: %w", errNonsense, err)
		}
		switch {
		case !isKnown:
			more++
			one := passerelle.Document{DocumentDetails: d, Found: now, LastUpdate: now}
			writes = append(writes, func(tx *store.Tx) error { return tx.CreateDocument(in.domain.ID, s.StoredSubscription, &one, in.sync) })
		case digest != before.Digest || before.Deleted:
			if before.Deleted {
				more++
			}
			writes = append(writes, func(tx *store.Tx) error {
				return tx.UpdateDocument(in.domain.ID, s.StoredSubscription, before.ID, d, now, in.sync)
			})
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return in.store(func(tx *store.Tx) error {
		for _, write := range writes {
			if err := write(tx); err != nil {
				return err
			}
		}
		tx.CountDocuments(in.domain.ID, s.StoredSubscription, more)
		return nil
	})
}

// SubscriptionRead ends a subscription: documents that were not handed over are
// gone at the provider. It tells of what changed.
func (in *intake) SubscriptionRead(key string) error {
	s := in.subscriptions[key]
	if !in.SubscriptionWanted(key) || s.read {
		return fmt.Errorf("%w: the end of a subscription that was not asked for", errNonsense)
	}
	if err := in.sweepDocuments(s); err != nil {
		return err
	}
	s.read = true
	now := in.instant()
	s.LastUpdate = &now
	e, l := store.Event{Name: webhook.SubscriptionSynced}, in.letter(in.ctx)
	if err := errors.Join(in.writeSubscription(in.ctx, l, s.StoredSubscription), l.into(&e)); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return in.store(func(tx *store.Tx) error {
		tx.TouchSubscription(in.domain.ID, s.ID, now)
		return nil
	}, e)
}

func (in *intake) sweepDocuments(s *subscription) error {
	for after := ""; ; {
		page, err := in.DB.DocumentKeys(in.ctx, s.StoredSubscription, after, pageSize)
		if err != nil {
			return fmt.Errorf("%w: list documents: %w", errStore, err)
		}
		gone := slices.DeleteFunc(slices.Clone(page), func(k store.KnownDocument) bool {
			_, seen := s.seen[hashed(k.Key)]
			return seen
		})
		if len(gone) > 0 {
			err = in.store(func(tx *store.Tx) error {
				for _, k := range gone {
					tx.LoseDocument(in.domain.ID, s.StoredSubscription, k.ID, in.instant(), in.sync)
				}
				tx.CountDocuments(in.domain.ID, s.StoredSubscription, -int64(len(gone)))
				return nil
			})
		}
		if err != nil || len(page) < pageSize {
			return err
		}
		after = page[len(page)-1].Key
	}
}

// writeSubscription writes a subscription with the documents that changed.
func (v *visit) writeSubscription(ctx context.Context, l *letter, s store.StoredSubscription) error {
	l.open(wire.NewSubscription(s.Subscription, v.zone()))
	l.add(`,"documents":[`)
	n := 0
	for after := passerelle.DocumentID(0); ; {
		page, err := v.DB.ChangedDocuments(ctx, s, v.sync, after, newsPage)
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
