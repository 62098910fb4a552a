package aggregation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// payloadPage is the number of rows that are read at a time for a body.
const payloadPage = 500

// The service writes the body of an event page by page, from rows that it stored before. The first
// read of a long history therefore needs little memory.

// changed returns an account's changed transactions, for an event body.
func (r *reporter) changed(ctx context.Context, w *payloadWriter, a bankstore.StoredAccount) wire.Each[wire.Transaction] {
	return func(write func(wire.Transaction)) error {
		for after := passerelle.TransactionID(0); ; {
			page, err := bankstore.From(r.lease.db).ChangedTransactions(ctx, a, after, payloadPage)
			if err != nil {
				return fmt.Errorf("list the changes in account %d: %w", a.ID, err)
			}
			for _, t := range page {
				if t.Unstated && w.parts == nil {
					w.unstated = append(w.unstated, int64(t.ID))
				}
				write(wire.NewTransaction(t.Transaction, a.Currency, r.zone()))
				after = t.ID
			}
			if len(page) < payloadPage {
				return nil
			}
		}
	}
}

// accountRead returns an account and its changed rows, for an event body.
func (r *reporter) accountRead(ctx context.Context, w *payloadWriter, a bankstore.StoredAccount) wire.AccountRead {
	w.hold(r.lease.c, a.Reported(r.lease.sync)...)
	return wire.AccountRead{BankAccount: wire.NewBankAccount(a.BankAccount, r.zone()), Investments: r.changedInvestments(ctx, a), Transactions: r.changed(ctx, w, a)}
}

func (r *reporter) accountSynced(ctx context.Context, a *syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountSynced}, r.newPayload(ctx)
	if unwanted, err := r.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return w.attachTo(e, w.payload.Account(r.accountRead(ctx, w, a.StoredAccount)))
}

// fetched emits ACCOUNTS_FETCHED. This happens before any transaction is read.
func (im *importer) fetched() error {
	e, w := store.EmittedEvent{Name: webhook.AccountsFetched}, im.events.newPayload(im.ctx)
	e, err := w.attachTo(e, w.payload.Fetched(im.events.shownUser(), im.events.shown(), func(write func(wire.BankAccount)) error {
		for _, key := range im.accountKeys {
			if a := im.accounts[key]; a.Disabled == nil {
				w.hold(im.lease.c, a.Holding())
				write(wire.NewBankAccount(a.BankAccount, im.events.zone()))
			}
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return im.store(func(*store.Tx) error { return nil }, e)
}

// shown returns the connection and its sources in the state that is stored together with the event.
func (r *reporter) shown() wire.Connection {
	sources := slices.Clone(r.lease.sources)
	for i := range sources {
		if sources[i].ID == r.lease.source.ID {
			sources[i] = r.lease.source
		}
	}
	shown := showConnection(r.connectors, r.lease.c, r.zone())
	shown.Connector, shown.Sources = r.connector(), ShowSources(sources, r.zone())
	return shown
}

// finalEvents returns the events that end a run. These events contain the data that the run read or
// changed. After a failed run, they also contain other accounts and subscriptions (see
// reportOf). If one unit cannot store all events, finalEvents stores the first events itself.
func (r *reporter) finalEvents(ctx context.Context, im *importer, first bool) ([]store.EmittedEvent, error) {
	var events []store.EmittedEvent
	r.listed = 0
	shared := im.shared()
	if len(shared) > 0 {
		for _, write := range []func(context.Context, []*syncedAccount) (store.EmittedEvent, error){r.categorized, r.owned} {
			e, err := write(ctx, shared)
			if err != nil {
				return nil, err
			}
			if events, err = r.add(ctx, events, e); err != nil {
				return nil, err
			}
		}
	}
	events, err := r.attached(ctx, events, shared)
	if err != nil {
		return nil, err
	}
	if r.report, err = r.reportOf(ctx, im); err != nil {
		return nil, err
	}
	synced, err := r.connectionSynced(ctx)
	if err != nil {
		return nil, err
	}
	events = append(events, synced)
	if first && r.settings.On(settings.OwnerCertificate) && im.certifiable() {
		body := wire.Encode(struct {
			IDConnection int64 `json:"id_connection"`
			IDUser       int64 `json:"id_user"`
		}{int64(r.lease.c.ID), int64(r.lease.user.ID)})
		events = append(events, store.EmittedEvent{Name: webhook.ConnectionCertificateAvailable, Body: body})
	}
	return events, nil
}

// certifiable reports whether the institution reported a payment account. Certificates list only
// such accounts.
func (im *importer) certifiable() bool {
	return slices.ContainsFunc(im.accountKeys, func(key string) bool { return im.accounts[key].Type.Payment() })
}

// shared returns the accounts that were read, in the institution's order.
func (im *importer) shared() []*syncedAccount {
	var read []*syncedAccount
	for _, key := range im.accountKeys {
		if im.accounts[key].read {
			read = append(read, im.accounts[key])
		}
	}
	return read
}

func (r *reporter) categorized(ctx context.Context, accounts []*syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountCategorized}, r.newPayload(ctx)
	if unwanted, err := r.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return w.attachTo(e, w.payload.Transactions(func(write func(wire.Transaction)) error {
		for _, a := range accounts {
			w.hold(r.lease.c, a.Holding(), a.Read())
			if err := r.changed(ctx, w, a.StoredAccount)(write); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (r *reporter) owned(ctx context.Context, accounts []*syncedAccount) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.AccountOwnershipsFound}, r.newPayload(ctx)
	return w.attachTo(e, w.payload.Ownerships(func(write func(wire.Ownership)) error {
		for _, a := range accounts {
			w.hold(r.lease.c, a.Holding())
			write(wire.NewOwnership(a.BankAccount, r.profile.Name, r.lease.source.ConnectorSource))
		}
		return nil
	}))
}

// report contains the accounts and subscriptions in a run's final events. It includes those that
// are not disabled, and that were read, have changed, or were marked as deleted in the run.
type report struct {
	accounts      []bankstore.StoredAccount
	subscriptions []bankstore.StoredSubscription
}

func (im *importer) report() report {
	var t report
	for _, key := range im.accountKeys {
		if a := im.accounts[key]; a.Disabled == nil && (a.read || a.Changed == im.lease.sync) {
			t.accounts = append(t.accounts, a.reported())
		}
	}
	for _, key := range im.subscriptionKeys {
		if s := im.subscriptions[key]; s.read || s.Disabled == nil && s.Changed == im.lease.sync {
			t.subscriptions = append(t.subscriptions, s.reported())
		}
	}
	t.accounts = append(t.accounts, slices.DeleteFunc(im.goneAccounts, func(a bankstore.StoredAccount) bool { return a.Disabled != nil })...)
	t.subscriptions = append(t.subscriptions, slices.DeleteFunc(im.goneSubscriptions, func(s bankstore.StoredSubscription) bool { return s.Disabled != nil })...)
	return t
}

// reportOf returns the report of a run. After a failed run, the report contains every enabled
// account and subscription that is not deleted, with the error: a receiver may process the event
// account by account. It also contains those that an interrupted run with the same number marked as
// deleted, because later runs do not report them.
func (r *reporter) reportOf(ctx context.Context, im *importer) (report, error) {
	t := im.report()
	if r.lease.c.State == "" {
		return t, nil
	}
	accounts, err := bankstore.From(r.lease.db).AccountsOf(ctx, r.lease.domain.ID, r.lease.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the accounts of connection %d: %w", r.lease.c.ID, err)
	}
	subscriptions, err := bankstore.From(r.lease.db).SubscriptionsOf(ctx, r.lease.domain.ID, r.lease.c.ID)
	if err != nil {
		return t, fmt.Errorf("list the subscriptions of connection %d: %w", r.lease.c.ID, err)
	}
	t.addFailed(r.lease.c.State, r.lease.sync, accounts, subscriptions)
	return t, nil
}

// addFailed adds the enabled accounts and subscriptions that the report lacks, except those that
// another sync marked as deleted. It then sets the error of everything in the report.
func (t *report) addFailed(state passerelle.ConnectionState, sync int64, accounts []bankstore.StoredAccount, subscriptions []bankstore.StoredSubscription) {
	failed := func(disabled, deleted *time.Time, changed int64) bool {
		return disabled == nil && (deleted == nil || changed == sync)
	}
	for _, a := range accounts {
		same := func(other bankstore.StoredAccount) bool { return other.ID == a.ID }
		if a.Readings = noReadingNumber; failed(a.Disabled, a.Deleted, a.Changed) && !slices.ContainsFunc(t.accounts, same) {
			t.accounts = append(t.accounts, a)
		}
	}
	for _, s := range subscriptions {
		same := func(other bankstore.StoredSubscription) bool { return other.ID == s.ID }
		if s.Readings = noReadingNumber; failed(s.Disabled, s.Deleted, s.Changed) && !slices.ContainsFunc(t.subscriptions, same) {
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

func (r *reporter) connectionSynced(ctx context.Context) (store.EmittedEvent, error) {
	e, w := store.EmittedEvent{Name: webhook.ConnectionSynced}, r.newStatementPayload(ctx)
	if unwanted, err := r.unwanted(ctx, &e); unwanted || err != nil {
		return e, err
	}
	return r.finish(w, e, w.payload.Connection(r.shownUser(), r.connectionRead(ctx, w)))
}

// connectionRead returns the connection and the report of the run, for an event body.
func (r *reporter) connectionRead(ctx context.Context, w *payloadWriter) wire.ConnectionRead {
	return wire.ConnectionRead{
		Connection: r.shown(),
		Accounts: func(write func(wire.AccountRead)) error {
			for _, a := range r.report.accounts {
				one := r.accountRead(ctx, w, a)
				one.MarketOrders = r.changedOrders(ctx, a)
				write(one)
			}
			return nil
		},
		Subscriptions: func(write func(wire.SubscriptionRead)) error {
			for _, s := range r.report.subscriptions {
				write(r.subscriptionRead(ctx, w, s))
			}
			return nil
		},
	}
}
