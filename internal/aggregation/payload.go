package aggregation

import (
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// payloadPage is how many transactions are read at a time for a body.
const payloadPage = 500

// The bodies of events are written page by page from stored data after the change, so that the
// first read of a long history needs little memory.

// changed are the transactions of an account that the run changed.
func (run *syncRun) changed(ctx context.Context, a bankstore.StoredAccount) wire.Each[wire.Transaction] {
	return func(write func(wire.Transaction)) error {
		for after := passerelle.TransactionID(0); ; {
			page, err := bankstore.From(run.DB).ChangedTransactions(ctx, a, after, payloadPage)
			if err != nil {
				return fmt.Errorf("list what changed in account %d: %w", a.ID, err)
			}
			for _, t := range page {
				write(wire.NewTransaction(t, a.Currency, run.zone()))
				after = t.ID
			}
			if len(page) < payloadPage {
				return nil
			}
		}
	}
}

// accountRead is an account in an event body, with its changed rows.
func (run *syncRun) accountRead(ctx context.Context, w *payloadWriter, a bankstore.StoredAccount) wire.AccountRead {
	w.hold(run.c, a.Holding())
	return wire.AccountRead{BankAccount: wire.NewBankAccount(a.BankAccount, run.zone()), Investments: run.changedInvestments(ctx, a), Transactions: run.changed(ctx, a)}
}

func (run *syncRun) accountSynced(ctx context.Context, a *syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountSynced}, run.newPayload(ctx)
	if unwanted, err := run.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return w.attachTo(e, w.Account(run.accountRead(ctx, w, a.StoredAccount)))
}

// fetched emits ACCOUNTS_FETCHED, before any transaction is read.
func (im *importer) fetched() error {
	e, w := store.EmittedEvent{Name: webhook.AccountsFetched}, im.newPayload(im.ctx)
	e, err := w.attachTo(e, w.Fetched(im.shownUser(), im.shown(), func(write func(wire.BankAccount)) error {
		for _, key := range im.accountKeys {
			if a := im.accounts[key]; a.Disabled == nil {
				w.hold(im.c, a.Holding())
				write(wire.NewBankAccount(a.BankAccount, im.zone()))
			}
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return im.store(func(*store.Tx) error { return nil }, e)
}

func (run *syncRun) shownUser() wire.User { return wire.NewUser(run.user, run.zone()) }

// shown is the connection with its sources in the form in which the unit of the event stores
// them.
func (run *syncRun) shown() wire.Connection {
	sources := slices.Clone(run.sources)
	for i := range sources {
		if sources[i].ID == run.source.ID {
			sources[i] = run.source
		}
	}
	shown := run.Show(run.c, run.zone())
	shown.Connector, shown.Sources = run.connector(), ShowSources(sources, run.zone())
	return shown
}

// finalEvents returns the events that end a run. They omit data that was not read, except after
// a failed update, see reportOf.
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
	e, w := store.EmittedEvent{Name: webhook.AccountCategorized}, run.newPayload(ctx)
	if unwanted, err := run.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return w.attachTo(e, w.Transactions(func(write func(wire.Transaction)) error {
		for _, a := range accounts {
			w.hold(run.c, a.Holding())
			if err := run.changed(ctx, a.StoredAccount)(write); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (run *syncRun) owned(ctx context.Context, accounts []*syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountOwnershipsFound}, run.newPayload(ctx)
	return w.attachTo(e, w.Ownerships(func(write func(wire.Ownership)) error {
		for _, a := range accounts {
			w.hold(run.c, a.Holding())
			write(wire.NewOwnership(a.BankAccount, run.profile.Name, run.source.ConnectorSource))
		}
		return nil
	}))
}

// report contains the accounts and subscriptions in a run's final events: the shared ones that
// were read, have changed or are no longer listed.
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

// reportOf returns the report of a run. After a failed update it contains every enabled account
// and subscription with the error, because a receiver that processes the event account by
// account would otherwise miss the error.
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

// addFailed adds enabled accounts and subscriptions that were not read, and sets the error of
// all.
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
	return run.finish(w, e, w.Connection(run.shownUser(), run.connectionRead(ctx, w)))
}

// connectionRead writes the connection with the report of the run into a body.
func (run *syncRun) connectionRead(ctx context.Context, w *payloadWriter) wire.ConnectionRead {
	return wire.ConnectionRead{
		Connection: run.shown(),
		Accounts: func(write func(wire.AccountRead)) error {
			for _, a := range run.report.accounts {
				one := run.accountRead(ctx, w, a)
				one.MarketOrders = run.changedOrders(ctx, a)
				write(one)
			}
			return nil
		},
		Subscriptions: func(write func(wire.SubscriptionRead)) error {
			for _, s := range run.report.subscriptions {
				write(run.subscriptionRead(ctx, w, s))
			}
			return nil
		},
	}
}
