package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// newsPage is how many transactions are read for a body at a time.
const newsPage = 500

// The bodies of events are written from what is stored after the change, page
// by page, so that a first read of a long history needs no memory for it.

// changed calls write for each transaction of an account that the visit changed.
func (v *visit) changed(ctx context.Context, a store.StoredAccount, write func(passerelle.Transaction)) error {
	for after := passerelle.TransactionID(0); ; {
		page, err := v.DB.ChangedTransactions(ctx, a, after, newsPage)
		if err != nil {
			return fmt.Errorf("list what changed in account %d: %w", a.ID, err)
		}
		for _, t := range page {
			write(t)
			after = t.ID
		}
		if len(page) < newsPage {
			return nil
		}
	}
}

// openAccount writes an account with what changed of what it holds, without its
// end, so that members can be added.
func (v *visit) openAccount(ctx context.Context, l *letter, a store.StoredAccount) error {
	l.hold(v.c, a.Holding())
	l.open(wire.NewBankAccount(a.BankAccount, v.zone()))
	l.add(`,"investments":`)
	err := v.writeInvestments(ctx, l, a)
	l.add(`,"recipients":[],"transactions":[`)
	n := 0
	err = errors.Join(err, v.changed(ctx, a, func(t passerelle.Transaction) {
		l.item(n)
		l.object(wire.NewTransaction(t, a.Currency, v.zone()))
		n++
	}))
	l.add(`],"transfers":[]`)
	return errors.Join(err, l.err)
}

func (v *visit) accountSynced(ctx context.Context, a *account) (store.Event, error) {
	e, l := store.Event{Name: webhook.AccountSynced}, v.letter(ctx)
	if unheard, err := v.unheard(ctx, &e); unheard || err != nil {
		return e, err
	}
	if err := v.openAccount(ctx, l, a.StoredAccount); err != nil {
		return e, err
	}
	l.add("}")
	return e, l.into(&e)
}

// fetched tells of the accounts before any transaction is read.
func (in *intake) fetched() error {
	e, l := store.Event{Name: webhook.AccountsFetched}, in.letter(in.ctx)
	in.openUser(l, "connection")
	if err := in.openConnection(in.ctx, l); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	l.add(`,"accounts":[`)
	n := 0
	for _, key := range in.order {
		if a := in.accounts[key]; a.Disabled == nil {
			l.hold(in.c, a.Holding())
			l.item(n)
			l.object(wire.NewBankAccount(a.BankAccount, in.zone()))
			n++
		}
	}
	l.add("]}}")
	if err := l.into(&e); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return in.store(func(*store.Tx) error { return nil }, e)
}

// openUser writes the user, up to the value of the member that follows.
func (v *visit) openUser(l *letter, next string) {
	l.add(`{"user":`)
	l.object(wire.NewUser(v.user, v.zone()))
	l.add(`,"` + next + `":`)
}

// openConnection writes the connection, up to where its accounts follow.
func (v *visit) openConnection(ctx context.Context, l *letter) error {
	sources, err := v.DB.SourcesOf(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", v.c.ID, err)
	}
	for i := range sources {
		if sources[i].ID == v.source.ID {
			sources[i] = v.source // as the unit of the event stores it
		}
	}
	shown := v.Show(v.c, v.zone())
	shown.Connector, shown.Sources = v.connector(), ShowSources(sources, v.zone())
	l.open(shown)
	return nil
}

// finalEvents are those that end a visit. Nothing is told of what was not read.
func (v *visit) finalEvents(ctx context.Context, in *intake, first bool) ([]store.Event, error) {
	var events []store.Event
	shared := in.shared()
	if len(shared) > 0 {
		for _, write := range []func(context.Context, []*account) (store.Event, error){v.categorized, v.owned} {
			e, err := write(ctx, shared)
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		}
		found, err := v.attached(ctx, shared)
		if err != nil {
			return nil, err
		}
		events = append(events, found...)
	}
	var err error
	if v.told, err = v.toldOf(ctx, in); err != nil {
		return nil, err
	}
	synced, err := v.connectionSynced(ctx)
	if err != nil {
		return nil, err
	}
	events = append(events, synced)
	if first && v.settings.On(settings.OwnerCertificate) {
		body := wire.Encode(struct {
			IDConnection int64 `json:"id_connection"`
			IDUser       int64 `json:"id_user"`
		}{int64(v.c.ID), int64(v.user.ID)})
		events = append(events, store.Event{Name: webhook.ConnectionCertificateAvailable, Body: body})
	}
	return events, nil
}

// shared are the accounts that were read, in the order of the institution.
func (in *intake) shared() []*account {
	var read []*account
	for _, key := range in.order {
		if in.accounts[key].read {
			read = append(read, in.accounts[key])
		}
	}
	return read
}

func (v *visit) categorized(ctx context.Context, accounts []*account) (store.Event, error) {
	e, l, n := store.Event{Name: webhook.AccountCategorized}, v.letter(ctx), 0
	if unheard, err := v.unheard(ctx, &e); unheard || err != nil {
		return e, err
	}
	l.add(`{"transactions":[`)
	for _, a := range accounts {
		l.hold(v.c, a.Holding())
		err := v.changed(ctx, a.StoredAccount, func(t passerelle.Transaction) {
			l.item(n)
			l.object(wire.NewTransaction(t, a.Currency, v.zone()))
			n++
		})
		if err != nil {
			return e, err
		}
	}
	l.add("]}")
	return e, l.into(&e)
}

func (v *visit) owned(ctx context.Context, accounts []*account) (store.Event, error) {
	e, l := store.Event{Name: webhook.AccountOwnershipsFound}, v.letter(ctx)
	l.add(`{"account_ownerships":[`)
	for i, a := range accounts {
		l.hold(v.c, a.Holding())
		l.item(i)
		l.object(wire.NewOwnership(a.BankAccount, v.profile.Name, v.source.ConnectorSource))
	}
	l.add("]}")
	return e, l.into(&e)
}

// told is what a visit has to tell of when it has ended: accounts and
// subscriptions that are shared and were read, or changed.
type told struct {
	accounts      []store.StoredAccount
	subscriptions []store.StoredSubscription
}

func (in *intake) told() (t told) {
	for _, key := range in.order {
		if a := in.accounts[key]; a.Disabled == nil && (a.read || a.Changed == in.sync) {
			t.accounts = append(t.accounts, a.told())
		}
	}
	for _, key := range in.subscribed {
		if s := in.subscriptions[key]; s.read || s.Disabled == nil && s.Changed == in.sync {
			t.subscriptions = append(t.subscriptions, s.told())
		}
	}
	withheldAccount := func(a store.StoredAccount) bool { return a.Disabled != nil }
	withheldSubscription := func(s store.StoredSubscription) bool { return s.Disabled != nil }
	t.accounts = append(t.accounts, slices.DeleteFunc(in.gone, withheldAccount)...)
	t.subscriptions = append(t.subscriptions, slices.DeleteFunc(in.lapsed, withheldSubscription)...)
	return t
}

// toldOf is what a visit tells of. After a failed update every enabled account and
// subscription is told of, with the error: a receiver that takes the event account
// by account would lose it otherwise.
func (v *visit) toldOf(ctx context.Context, in *intake) (told, error) {
	t := in.told()
	if v.c.State == "" {
		return t, nil
	}
	accounts, err := v.DB.AccountsOf(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the accounts of connection %d: %w", v.c.ID, err)
	}
	subscriptions, err := v.DB.SubscriptionsOf(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the subscriptions of connection %d: %w", v.c.ID, err)
	}
	t.failed(v.c.State, accounts, subscriptions)
	return t, nil
}

// failed adds what is enabled and was not read, and marks all of it with the error.
func (t *told) failed(state passerelle.ConnectionState, accounts []store.StoredAccount, subscriptions []store.StoredSubscription) {
	for _, a := range accounts {
		same := func(other store.StoredAccount) bool { return other.ID == a.ID }
		if a.Readings = noReading; a.Disabled == nil && a.Deleted == nil && !slices.ContainsFunc(t.accounts, same) {
			t.accounts = append(t.accounts, a)
		}
	}
	for _, s := range subscriptions {
		same := func(other store.StoredSubscription) bool { return other.ID == s.ID }
		if s.Readings = noReading; s.Disabled == nil && s.Deleted == nil && !slices.ContainsFunc(t.subscriptions, same) {
			t.subscriptions = append(t.subscriptions, s)
		}
	}
	for i := range t.accounts {
		t.accounts[i].Error = state
	}
	for i := range t.subscriptions {
		t.subscriptions[i].Error = state
	}
}

func (v *visit) connectionSynced(ctx context.Context) (store.Event, error) {
	e, l := store.Event{Name: webhook.ConnectionSynced}, v.statable(ctx)
	if unheard, err := v.unheard(ctx, &e); unheard || err != nil {
		return e, err
	}
	v.openUser(l, "connection")
	if err := v.writeConnection(ctx, l, v.told); err != nil {
		return e, err
	}
	l.add("}")
	return e, v.finish(l, &e)
}

// writeConnection writes the connection with what a visit has to tell of it.
func (v *visit) writeConnection(ctx context.Context, l *letter, t told) error {
	if err := v.openConnection(ctx, l); err != nil {
		return err
	}
	l.add(`,"accounts":[`)
	for i, a := range t.accounts {
		l.item(i)
		if err := v.openAccount(ctx, l, a); err != nil {
			return err
		}
		l.add(`,"market_orders":`)
		if err := v.writeMarketOrders(ctx, l, a); err != nil {
			return err
		}
		l.add("}")
	}
	l.add(`],"subscriptions":[`)
	for i, s := range t.subscriptions {
		l.item(i)
		if err := v.writeSubscription(ctx, l, s); err != nil {
			return err
		}
	}
	l.add("]}")
	return l.err
}
