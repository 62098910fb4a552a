package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// round is what reads several connections at once, because somebody asked for
// all of them or because they were due together.
type round struct {
	*Aggregation
	domain passerelle.Domain

	mu    sync.Mutex
	ended map[passerelle.UserID][]*visit
	errs  []error
}

// readAll reads connections, a bounded number at the same time. What fails for
// one leaves the others alone. A user of whom two or more came to an end is told
// of after that.
func (a *Aggregation) readAll(ctx context.Context, d passerelle.Domain, all []store.Connection, read func(context.Context, store.Connection) (*visit, error)) error {
	r := &round{Aggregation: a, domain: d, ended: map[passerelle.UserID][]*visit{}}
	var reading sync.WaitGroup
	room := make(chan struct{}, maxReading)
	for _, c := range all {
		room <- struct{}{}
		reading.Go(func() {
			defer func() { <-room }()
			r.note(read(ctx, c))
		})
	}
	reading.Wait()
	for _, user := range slices.Sorted(maps.Keys(r.ended)) {
		if err := r.tell(ctx, user); err != nil {
			r.errs = append(r.errs, fmt.Errorf("tell of user %d: %w", user, err))
		}
	}
	return errors.Join(r.errs...)
}

// note keeps a visit that came to an end; nil is one that was not made.
func (r *round) note(v *visit, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	if v != nil && v.ended {
		r.ended[v.user.ID] = append(r.ended[v.user.ID], v)
	}
}

// tell emits USER_SYNCED for a user of whom several connections came to an end.
// What was withdrawn since is left out, and what is withdrawn while the body is
// written has it written anew.
func (r *round) tell(ctx context.Context, user passerelle.UserID) error {
	visits := r.ended[user]
	slices.SortFunc(visits, func(a, b *visit) int { return int(a.c.ID - b.c.ID) })
	for range attempts {
		u, err := r.User(ctx, r.domain, user)
		if errors.Is(err, passerelle.NotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		err = r.tellOnce(ctx, u, visits)
		if errors.Is(err, store.ErrHeard) {
			visits[0].listened = true
			continue
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(user)
}

func (r *round) tellOnce(ctx context.Context, u passerelle.User, visits []*visit) error {
	visits, err := r.standing(ctx, u, visits)
	if err != nil || len(visits) < 2 {
		return err
	}
	e, err := r.userSynced(ctx, u, visits)
	if err != nil {
		return err
	}
	u.Version++
	e.Domain, e.Name, e.Subject, e.SubjectID, e.Version = u.Domain, webhook.UserSynced, string(webhook.SubjectUser), int64(u.ID), u.Version
	e.User, e.Held, e.Created = u.ID, u.Permanent == nil, r.now(r.domain)
	return r.DB.Write(ctx, func(tx *store.Tx) error {
		tx.BumpUser(u)
		tx.HoldUserAs(u)
		for _, v := range visits {
			for _, a := range v.told.accounts {
				tx.HoldAccount(v.domain.ID, a)
			}
			for _, s := range v.told.subscriptions {
				tx.HoldSubscription(v.domain.ID, s)
			}
		}
		tx.AfterCommit(r.Wake)
		return tx.Emit(e)
	})
}

// standing are the visits of connections that are still there, with what is
// still shared of what they have to tell of. It costs three queries.
func (r *round) standing(ctx context.Context, u passerelle.User, visits []*visit) ([]*visit, error) {
	ids, subscribed := make([]passerelle.ConnectionID, len(visits)), []passerelle.SubscriptionID{}
	for i, v := range visits {
		ids[i] = v.c.ID
		for _, s := range v.told.subscriptions {
			subscribed = append(subscribed, s.ID)
		}
	}
	there, err := r.DB.ConnectionsByID(ctx, u.Domain, u.ID, ids)
	if err != nil {
		return nil, fmt.Errorf("load the connections of user %d: %w", u.ID, err)
	}
	accounts, err := r.DB.BankAccounts(ctx, store.AccountFilter{Domain: u.Domain, User: u.ID, Connections: ids}, store.Window{Limit: maxAccounts * len(ids)})
	if err != nil {
		return nil, fmt.Errorf("load the accounts of user %d: %w", u.ID, err)
	}
	subscriptions, err := r.DB.Subscriptions(ctx, store.SubscriptionFilter{Domain: u.Domain, User: u.ID, IDs: subscribed}, store.Window{Limit: len(subscribed)})
	if err != nil {
		return nil, fmt.Errorf("load the subscriptions of user %d: %w", u.ID, err)
	}
	shared := map[store.Holding]bool{}
	for _, a := range accounts {
		shared[a.Holding()] = true
	}
	for _, s := range subscriptions {
		shared[s.Holding()] = true
	}
	return stillShared(visits, there, shared), nil
}

func stillShared(visits []*visit, there map[passerelle.ConnectionID]store.Connection, shared map[store.Holding]bool) (left []*visit) {
	for _, v := range visits {
		if _, is := there[v.c.ID]; !is {
			continue
		}
		v.told.accounts = slices.DeleteFunc(v.told.accounts, func(a store.StoredAccount) bool { return !shared[a.Holding()] })
		v.told.subscriptions = slices.DeleteFunc(v.told.subscriptions, func(s store.StoredSubscription) bool { return !shared[s.Holding()] })
		left = append(left, v)
	}
	return left
}

// userSynced writes the body, connection by connection.
func (r *round) userSynced(ctx context.Context, u passerelle.User, visits []*visit) (store.Event, error) {
	first := visits[0]
	first.user = u
	e, l := store.Event{Name: webhook.UserSynced}, first.statable(ctx)
	if unheard, err := first.unheard(ctx, &e); unheard || err != nil {
		return e, err
	}
	first.openUser(l, "connections")
	l.add("[")
	for i, v := range visits {
		l.item(i)
		if err := v.writeConnection(ctx, l, v.told); err != nil {
			return e, err
		}
	}
	l.add("]}")
	return e, first.finish(l, &e)
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
	return len(due), a.readAll(ctx, d, due, func(ctx context.Context, c store.Connection) (*visit, error) {
		return a.readOne(ctx, d, c, false)
	})
}

// maxConnections is how many connections of a user a request reads.
const maxConnections = 100

// SyncAll reads the connections of a user with the person present, or without,
// and gives them as they then are, oldest first. Those that somebody reads
// already, and without the person those that are barred, are left as they are. A
// user who has more than a hundred is a Conflict.
func (a *Aggregation) SyncAll(ctx context.Context, d passerelle.Domain, user passerelle.UserID, attended bool) ([]store.Connection, error) {
	all, err := a.atMost(ctx, d, user)
	if err != nil {
		return nil, err
	}
	err = a.readAll(ctx, d, all, func(ctx context.Context, c store.Connection) (*visit, error) {
		return a.readOne(ctx, d, c, attended)
	})
	if err != nil {
		return nil, err
	}
	return a.atMost(ctx, d, user)
}

// atMost are the connections of a user that a request may read.
func (a *Aggregation) atMost(ctx context.Context, d passerelle.Domain, user passerelle.UserID) ([]store.Connection, error) {
	all, err := a.DB.Connections(ctx, d.ID, user, store.Window{Limit: maxConnections + 1})
	if err != nil {
		return nil, fmt.Errorf("list the connections of user %d: %w", user, err)
	}
	if len(all) > maxConnections {
		return nil, passerelle.Conflicting("the user has more than %d connections; synchronise them one by one", maxConnections)
	}
	return all, nil
}
