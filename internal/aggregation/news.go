package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
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
		page, err := v.DB.ChangedTransactions(ctx, a, v.sync, after, newsPage)
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

// writeAccount writes an account with the transactions that changed.
func (v *visit) writeAccount(ctx context.Context, l *letter, a store.StoredAccount) error {
	l.open(wire.NewBankAccount(a.BankAccount, v.zone()))
	l.add(`,"investments":[],"recipients":[],"transactions":[`)
	n := 0
	err := v.changed(ctx, a, func(t passerelle.Transaction) {
		l.item(n)
		l.object(wire.NewTransaction(t, a.Currency, v.zone()))
		n++
	})
	l.add(`],"transfers":[]}`)
	return errors.Join(err, l.err)
}

func (v *visit) accountSynced(ctx context.Context, a *account) (store.Event, error) {
	e, l := store.Event{Name: webhook.AccountSynced}, v.letter(ctx)
	if err := v.writeAccount(ctx, l, a.StoredAccount); err != nil {
		return e, err
	}
	return e, l.into(&e)
}

// fetched tells of the accounts before any transaction is read.
func (in *intake) fetched() error {
	e, l := store.Event{Name: webhook.AccountsFetched}, in.letter(in.ctx)
	if err := in.openConnection(in.ctx, l); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	l.add(`,"accounts":[`)
	n := 0
	for _, key := range in.order {
		if a := in.accounts[key]; a.Disabled == nil {
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

// openConnection writes user and connection, up to where the accounts of the
// connection follow.
func (v *visit) openConnection(ctx context.Context, l *letter) error {
	sources, err := v.DB.SourcesOf(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", v.c.ID, err)
	}
	shown := v.Show(v.c, v.zone())
	shown.Connector, shown.Sources = v.connector(), ShowSources(sources, v.zone())
	l.add(`{"user":`)
	l.object(wire.NewUser(v.user, v.zone()))
	l.add(`,"connection":`)
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
	}
	synced, err := v.connectionSynced(ctx, in)
	if err != nil {
		return nil, err
	}
	events = append(events, synced)
	if first {
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
	l.add(`{"transactions":[`)
	for _, a := range accounts {
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
		l.item(i)
		l.object(wire.NewOwnership(a.BankAccount, v.profile.Name, v.source.ConnectorSource))
	}
	l.add("]}")
	return e, l.into(&e)
}

func (v *visit) connectionSynced(ctx context.Context, in *intake) (store.Event, error) {
	e, l := store.Event{Name: webhook.ConnectionSynced}, v.statable(ctx)
	if err := v.openConnection(ctx, l); err != nil {
		return e, err
	}
	l.add(`,"accounts":[`)
	n := 0
	for _, key := range in.order {
		if a := in.accounts[key]; a.Disabled == nil && (a.read || a.Changed == v.sync) {
			l.item(n)
			if err := v.writeAccount(ctx, l, a.StoredAccount); err != nil {
				return e, err
			}
			n++
		}
	}
	l.add(`],"subscriptions":[`)
	n = 0
	for _, key := range in.subscribed {
		if s := in.subscriptions[key]; s.read || s.Disabled == nil && s.Changed == v.sync {
			l.item(n)
			if err := v.writeSubscription(ctx, l, s.StoredSubscription); err != nil {
				return e, err
			}
			n++
		}
	}
	l.add("]}}")
	return e, v.finish(l, &e)
}
