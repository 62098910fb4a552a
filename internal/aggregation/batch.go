package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"passerelle"
	"passerelle/internal/background"
	"passerelle/internal/bankcall"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// batch collects the ended runs of connections that are read together. These are all connections of
// a user, or connections that are due at the same time.
type batch struct {
	mu    sync.Mutex
	ended map[passerelle.UserID][]*reporter
	// pending counts the runs of each user that a queue has not ended yet.
	pending map[passerelle.UserID]int
	errs    []error
}

func newBatch() *batch {
	return &batch{ended: map[passerelle.UserID][]*reporter{}, pending: map[passerelle.UserID]int{}}
}

// maxReading limits how many connections a call of readAll reads at the same time. At most half of
// them have the same connector, so a slow institution does not delay all others.
const maxReading = 8

// readAll reads connections. A failed read does not affect the others. readAll emits USER_SYNCED for
// each user with two or more finished runs.
func (a *Aggregation) readAll(ctx context.Context, d passerelle.Domain, all []bankstore.Connection, read func(context.Context, bankstore.Connection) (*syncRun, error)) error {
	b := newBatch()
	var reading sync.WaitGroup
	room, of := make(chan struct{}, maxReading), map[string]chan struct{}{}
	for _, c := range all {
		if of[c.Connector] == nil {
			of[c.Connector] = make(chan struct{}, maxReading/2)
		}
		own := of[c.Connector]
		reading.Go(func() {
			own <- struct{}{}
			room <- struct{}{}
			defer func() { <-room; <-own }()
			var run *syncRun
			err := background.Guard(func() error { var err error; run, err = read(ctx, c); return err })
			b.add(run, err)
		})
	}
	reading.Wait()
	for _, user := range slices.Sorted(maps.Keys(b.ended)) {
		if err := a.emitUserSynced(ctx, d, user, b.ended[user]); err != nil {
			b.errs = append(b.errs, fmt.Errorf("emit USER_SYNCED of user %d: %w", user, err))
		}
	}
	return errors.Join(b.errs...)
}

// add stores an ended run. A nil run means that nothing was read.
func (b *batch) add(run *syncRun, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs = append(b.errs, err)
	if run != nil && run.ended {
		user := run.lease.user.ID
		b.ended[user] = append(b.ended[user], run.events)
	}
}

// endOne stores a run that a queue has ended. A nil run means that nothing was read. After the last
// run of the user, endOne returns the ended runs of the user.
func (b *batch) endOne(user passerelle.UserID, run *syncRun) []*reporter {
	b.add(run, nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending[user]--; b.pending[user] > 0 {
		return nil
	}
	ended := b.ended[user]
	delete(b.pending, user)
	delete(b.ended, user)
	return ended
}

// emitUserSynced emits USER_SYNCED for a user with several finished runs. It leaves out data that
// was withdrawn since the runs. It writes the body again when data is withdrawn while the body is
// written.
func (a *Aggregation) emitUserSynced(ctx context.Context, d passerelle.Domain, user passerelle.UserID, runs []*reporter) error {
	slices.SortFunc(runs, func(a, b *reporter) int { return int(a.lease.c.ID - b.lease.c.ID) })
	for range attempts {
		u, err := a.User(ctx, d, user)
		if errors.Is(err, passerelle.NotFound) {
			return nil // the user was deleted in the meantime
		}
		if err != nil {
			return err
		}
		err = a.emitUserSyncedOnce(ctx, d, u, runs)
		if errors.Is(err, store.ErrWanted) {
			runs[0].writeAll = true
			continue
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(user)
}

func (a *Aggregation) emitUserSyncedOnce(ctx context.Context, d passerelle.Domain, u passerelle.User, runs []*reporter) error {
	runs, err := a.current(ctx, u, runs)
	if err != nil || len(runs) < 2 {
		return err
	}
	e, err := userSynced(ctx, u, runs)
	if err != nil {
		return err
	}
	u.Version++
	e.Domain, e.Name, e.Subject, e.SubjectID, e.Version = u.Domain, webhook.UserSynced, string(webhook.SubjectUser), int64(u.ID), u.Version
	e.User, e.Held, e.Created = u.ID, u.Permanent == nil, a.now(d)
	return a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.BumpUser(u)
		tx.HoldUserAs(u)
		for _, run := range runs {
			for _, account := range run.report.accounts {
				bankstore.In(tx).HoldAccount(run.lease.domain.ID, account)
			}
			for _, s := range run.report.subscriptions {
				bankstore.In(tx).HoldSubscription(run.lease.domain.ID, s)
			}
		}
		tx.AfterCommit(a.Wake)
		return tx.Emit(e)
	})
}

// current returns the runs whose connections still exist. The reports of these runs contain only
// data that is still shared. current executes three queries.
func (a *Aggregation) current(ctx context.Context, u passerelle.User, runs []*reporter) ([]*reporter, error) {
	ids, subscribed := make([]passerelle.ConnectionID, len(runs)), []passerelle.SubscriptionID{}
	for i, run := range runs {
		ids[i] = run.lease.c.ID
		for _, s := range run.report.subscriptions {
			subscribed = append(subscribed, s.ID)
		}
	}
	there, err := bankstore.From(a.DB).ConnectionsByID(ctx, u.Domain, u.ID, ids)
	if err != nil {
		return nil, fmt.Errorf("load the connections of user %d: %w", u.ID, err)
	}
	accounts, err := bankstore.From(a.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: u.Domain, User: u.ID, Connections: ids, All: true}, store.Window{Limit: 2 * maxAccounts * len(ids)})
	if err != nil {
		return nil, fmt.Errorf("load the accounts of user %d: %w", u.ID, err)
	}
	subscriptions, err := bankstore.From(a.DB).Subscriptions(ctx, bankstore.SubscriptionFilter{Domain: u.Domain, User: u.ID, IDs: subscribed, All: true}, store.Window{Limit: len(subscribed)})
	if err != nil {
		return nil, fmt.Errorf("load the subscriptions of user %d: %w", u.ID, err)
	}
	shared := map[store.Holding]bool{}
	for _, account := range accounts {
		shared[account.Holding()] = account.Disabled == nil
	}
	for _, s := range subscriptions {
		shared[s.Holding()] = s.Disabled == nil
	}
	return withoutWithdrawn(runs, there, shared), nil
}

func withoutWithdrawn(runs []*reporter, there map[passerelle.ConnectionID]bankstore.Connection, shared map[store.Holding]bool) []*reporter {
	var left []*reporter
	for _, run := range runs {
		if _, is := there[run.lease.c.ID]; !is {
			continue
		}
		run.report.accounts = slices.DeleteFunc(run.report.accounts, func(a bankstore.StoredAccount) bool { return !shared[a.Holding()] })
		run.report.subscriptions = slices.DeleteFunc(run.report.subscriptions, func(s bankstore.StoredSubscription) bool { return !shared[s.Holding()] })
		left = append(left, run)
	}
	return left
}

// userSynced writes the body, connection by connection.
func userSynced(ctx context.Context, u passerelle.User, runs []*reporter) (store.EmittedEvent, error) {
	first := runs[0]
	first.lease.user = u
	e, w := store.EmittedEvent{Name: webhook.UserSynced}, first.newStatementPayload(ctx)
	if unwanted, err := first.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return first.finish(w, e, w.payload.Connections(first.shownUser(), func(write func(wire.ConnectionRead)) error {
		for _, run := range runs {
			write(run.connectionRead(ctx, w))
		}
		return nil
	}))
}

// SyncDue reads at most maxDue due connections of a domain, while their users are absent. It
// returns the number of these connections. When the domain reads nothing in the background, SyncDue
// reads only connections whose users wait for a read. It reads several connections at the same
// time. A call first waits for an earlier call for the same domain in this process, and for the
// reads that BeginDue began. When SyncDue returns, the connections of the earlier call and of
// BeginDue have therefore also been read.
func (a *Aggregation) SyncDue(ctx context.Context, d passerelle.Domain) (int, error) {
	pass, _ := a.passes.LoadOrStore(d.ID, make(chan struct{}, 1))
	n := pass.(chan struct{}) //nolint:errcheck // the map contains only channels
	select {
	case n <- struct{}{}:
		defer func() { <-n }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	resume, err := a.queues.Pause(ctx, d.ID)
	defer func() {
		if wanted := resume(); wanted {
			a.Sync()
		}
	}()
	if err != nil {
		return 0, err
	}
	due, err := a.due(ctx, d, nil)
	if err != nil {
		return 0, err
	}
	return len(due), a.readAll(ctx, d, due, func(ctx context.Context, c bankstore.Connection) (*syncRun, error) {
		return a.readOne(ctx, d, c, false)
	})
}

// due lists at most maxDue due connections, without the connections of the connectors in except.
func (a *Aggregation) due(ctx context.Context, d passerelle.Domain, except map[string]bool) ([]bankstore.Connection, error) {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	list := bankstore.From(a.DB).ConnectionsAwaited
	if values.On(settings.AutosyncEnabled) {
		list = bankstore.From(a.DB).ConnectionsDue
	}
	due, err := list(ctx, d.ID, a.now(d), slices.Sorted(maps.Keys(except)), maxDue)
	if err != nil {
		return nil, fmt.Errorf("list connections that are due: %w", err)
	}
	return due, nil
}

// maxConnections limits how many connections of a user one request may read.
const maxConnections = 100

// SyncAll reads the connections of a user and returns them, oldest first. attended says whether the
// user is present. SyncAll skips connections that another run is reading, and those of institutions
// for which too many requests wait. Without the user, it also skips connections whose consent has
// ended or whose daily limit is reached. It fails with Conflict when the user has more than
// maxConnections connections.
func (a *Aggregation) SyncAll(ctx context.Context, d passerelle.Domain, user passerelle.UserID, attended bool) ([]bankstore.Connection, error) {
	all, err := a.atMost(ctx, d, user)
	if err != nil {
		return nil, err
	}
	reading, end := a.outlast(ctx)
	defer end()
	err = a.readAll(reading, d, all, func(reading context.Context, c bankstore.Connection) (*syncRun, error) {
		if ctx.Err() != nil {
			return nil, nil //nolint:nilnil // nobody waits for the reads that have not begun
		}
		leave, entered := a.callers.Enter(c.Connector, bankcall.MaxCallers)
		if !entered {
			return nil, nil //nolint:nilnil // the connection keeps its state, as if another run read it
		}
		defer leave()
		return a.readOne(reading, d, c, attended)
	})
	if err != nil {
		return nil, err
	}
	return a.atMost(ctx, d, user)
}

// atMost returns the connections of a user. It fails with Conflict when the user has too many
// connections for one request.
func (a *Aggregation) atMost(ctx context.Context, d passerelle.Domain, user passerelle.UserID) ([]bankstore.Connection, error) {
	all, err := bankstore.From(a.DB).Connections(ctx, d.ID, user, store.Window{Limit: maxConnections + 1})
	if err != nil {
		return nil, fmt.Errorf("list the connections of user %d: %w", user, err)
	}
	if len(all) > maxConnections {
		return nil, passerelle.Conflicting("the user has more than %d connections; synchronise them one by one", maxConnections)
	}
	return all, nil
}
