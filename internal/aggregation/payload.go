package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// payloadPage is how many transactions are read for a body at a time.
const payloadPage = 500

// The bodies of events are written from what is stored after the change, page
// by page, so that a first read of a long history needs no memory for it.

// changed calls write for each transaction of an account that the run changed.
func (run *syncRun) changed(ctx context.Context, a bankstore.StoredAccount, write func(passerelle.Transaction)) error {
	for after := passerelle.TransactionID(0); ; {
		page, err := bankstore.From(run.DB).ChangedTransactions(ctx, a, after, payloadPage)
		if err != nil {
			return fmt.Errorf("list what changed in account %d: %w", a.ID, err)
		}
		for _, t := range page {
			write(t)
			after = t.ID
		}
		if len(page) < payloadPage {
			return nil
		}
	}
}

// openAccount writes an account with what changed of what it holds, without its
// end, so that members can be added.
func (run *syncRun) openAccount(ctx context.Context, w *payloadWriter, a bankstore.StoredAccount) error {
	w.hold(run.c, a.Holding())
	w.open(wire.NewBankAccount(a.BankAccount, run.zone()))
	w.add(`,"investments":`)
	err := run.writeInvestments(ctx, w, a)
	w.add(`,"recipients":[],"transactions":[`)
	n := 0
	err = errors.Join(err, run.changed(ctx, a, func(t passerelle.Transaction) {
		w.item(n)
		w.object(wire.NewTransaction(t, a.Currency, run.zone()))
		n++
	}))
	w.add(`],"transfers":[]`)
	return errors.Join(err, w.err)
}

func (run *syncRun) accountSynced(ctx context.Context, a *syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountSynced}, run.newPayload(ctx)
	if unwanted, err := run.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	if err := run.openAccount(ctx, w, a.StoredAccount); err != nil {
		return e, err
	}
	w.add("}")
	return w.attachTo(e)
}

// fetched emits ACCOUNTS_FETCHED, before any transaction is read.
func (im *importer) fetched() error {
	e, w := store.EmittedEvent{Name: webhook.AccountsFetched}, im.newPayload(im.ctx)
	im.openUser(w, "connection")
	im.openConnection(w)
	w.add(`,"accounts":[`)
	n := 0
	for _, key := range im.accountKeys {
		if a := im.accounts[key]; a.Disabled == nil {
			w.hold(im.c, a.Holding())
			w.item(n)
			w.object(wire.NewBankAccount(a.BankAccount, im.zone()))
			n++
		}
	}
	w.add("]}}")
	e, err := w.attachTo(e)
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return im.store(func(*store.Tx) error { return nil }, e)
}

// openUser writes the user, up to the value of the member that follows.
func (run *syncRun) openUser(w *payloadWriter, next string) {
	w.add(`{"user":`)
	w.object(wire.NewUser(run.user, run.zone()))
	w.add(`,"` + next + `":`)
}

// openConnection writes the connection, up to where its accounts follow.
func (run *syncRun) openConnection(w *payloadWriter) {
	sources := slices.Clone(run.sources)
	for i := range sources {
		if sources[i].ID == run.source.ID {
			sources[i] = run.source // as the unit of the event stores it
		}
	}
	shown := run.Show(run.c, run.zone())
	shown.Connector, shown.Sources = run.connector(), ShowSources(sources, run.zone())
	w.open(shown)
}

// finalEvents are those that end a run. They leave out what was not read.
func (run *syncRun) finalEvents(ctx context.Context, im *importer, first bool) ([]store.EmittedEvent, error) {
	var events []store.EmittedEvent
	shared := im.shared()
	if len(shared) > 0 {
		for _, write := range []func(context.Context, []*syncedAccount) (store.EmittedEvent, error){run.categorized, run.owned} {
			e, err := write(ctx, shared)
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		}
		found, err := run.attached(ctx, shared)
		if err != nil {
			return nil, err
		}
		events = append(events, found...)
	}
	var err error
	if run.report, err = run.reportOf(ctx, im); err != nil {
		return nil, err
	}
	synced, err := run.connectionSynced(ctx)
	if err != nil {
		return nil, err
	}
	events = append(events, synced)
	if first && run.settings.On(settings.OwnerCertificate) {
		body := wire.Encode(struct {
			IDConnection int64 `json:"id_connection"`
			IDUser       int64 `json:"id_user"`
		}{int64(run.c.ID), int64(run.user.ID)})
		events = append(events, store.EmittedEvent{Name: webhook.ConnectionCertificateAvailable, Body: body})
	}
	return events, nil
}

// shared are the accounts that were read, in the order of the institution.
func (im *importer) shared() []*syncedAccount {
	var read []*syncedAccount
	for _, key := range im.accountKeys {
		if im.accounts[key].read {
			read = append(read, im.accounts[key])
		}
	}
	return read
}

func (run *syncRun) categorized(ctx context.Context, accounts []*syncedAccount) (store.EmittedEvent, error) {
	e, w, n := store.EmittedEvent{Name: webhook.AccountCategorized}, run.newPayload(ctx), 0
	if unwanted, err := run.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	w.add(`{"transactions":[`)
	for _, a := range accounts {
		w.hold(run.c, a.Holding())
		err := run.changed(ctx, a.StoredAccount, func(t passerelle.Transaction) {
			w.item(n)
			w.object(wire.NewTransaction(t, a.Currency, run.zone()))
			n++
		})
		if err != nil {
			return e, err
		}
	}
	w.add("]}")
	return w.attachTo(e)
}

func (run *syncRun) owned(ctx context.Context, accounts []*syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountOwnershipsFound}, run.newPayload(ctx)
	w.add(`{"account_ownerships":[`)
	for i, a := range accounts {
		w.hold(run.c, a.Holding())
		w.item(i)
		w.object(wire.NewOwnership(a.BankAccount, run.profile.Name, run.source.ConnectorSource))
	}
	w.add("]}")
	return w.attachTo(e)
}

// report is what the last events of a run are about: accounts and
// subscriptions that are shared and were read, or changed.
type report struct {
	accounts      []bankstore.StoredAccount
	subscriptions []bankstore.StoredSubscription
}

func (im *importer) report() report {
	var t report
	for _, key := range im.accountKeys {
		if a := im.accounts[key]; a.Disabled == nil && (a.read || a.Changed == im.sync) {
			t.accounts = append(t.accounts, a.reported())
		}
	}
	for _, key := range im.subscriptionKeys {
		if s := im.subscriptions[key]; s.read || s.Disabled == nil && s.Changed == im.sync {
			t.subscriptions = append(t.subscriptions, s.reported())
		}
	}
	withheldAccount := func(a bankstore.StoredAccount) bool { return a.Disabled != nil }
	withheldSubscription := func(s bankstore.StoredSubscription) bool { return s.Disabled != nil }
	t.accounts = append(t.accounts, slices.DeleteFunc(im.goneAccounts, withheldAccount)...)
	t.subscriptions = append(t.subscriptions, slices.DeleteFunc(im.goneSubscriptions, withheldSubscription)...)
	return t
}

// reportOf is the report of a run. After a failed update every enabled account and
// subscription is in it, with the error: a receiver that takes the event account
// by account would lose it otherwise.
func (run *syncRun) reportOf(ctx context.Context, im *importer) (report, error) {
	t := im.report()
	if run.c.State == "" {
		return t, nil
	}
	accounts, err := bankstore.From(run.DB).AccountsOf(ctx, run.domain.ID, run.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the accounts of connection %d: %w", run.c.ID, err)
	}
	subscriptions, err := bankstore.From(run.DB).SubscriptionsOf(ctx, run.domain.ID, run.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the subscriptions of connection %d: %w", run.c.ID, err)
	}
	t.addFailed(run.c.State, accounts, subscriptions)
	return t, nil
}

// addFailed adds what is enabled and was not read, and marks all of it with the error.
func (t *report) addFailed(state passerelle.ConnectionState, accounts []bankstore.StoredAccount, subscriptions []bankstore.StoredSubscription) {
	for _, a := range accounts {
		same := func(other bankstore.StoredAccount) bool { return other.ID == a.ID }
		if a.Readings = noReadingNumber; a.Disabled == nil && a.Deleted == nil && !slices.ContainsFunc(t.accounts, same) {
			t.accounts = append(t.accounts, a)
		}
	}
	for _, s := range subscriptions {
		same := func(other bankstore.StoredSubscription) bool { return other.ID == s.ID }
		if s.Readings = noReadingNumber; s.Disabled == nil && s.Deleted == nil && !slices.ContainsFunc(t.subscriptions, same) {
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

func (run *syncRun) connectionSynced(ctx context.Context) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.ConnectionSynced}, run.newStatementPayload(ctx)
	if unwanted, err := run.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	run.openUser(w, "connection")
	if err := run.writeConnection(ctx, w, run.report); err != nil {
		return e, err
	}
	w.add("}")
	return run.finish(w, e)
}

// writeConnection writes the connection with the report of a run.
func (run *syncRun) writeConnection(ctx context.Context, w *payloadWriter, t report) error {
	run.openConnection(w)
	w.add(`,"accounts":[`)
	for i, a := range t.accounts {
		w.item(i)
		if err := run.openAccount(ctx, w, a); err != nil {
			return err
		}
		w.add(`,"market_orders":`)
		if err := run.writeMarketOrders(ctx, w, a); err != nil {
			return err
		}
		w.add("}")
	}
	w.add(`],"subscriptions":[`)
	for i, s := range t.subscriptions {
		w.item(i)
		if err := run.writeSubscription(ctx, w, s); err != nil {
			return err
		}
	}
	w.add("]}")
	return w.err
}
