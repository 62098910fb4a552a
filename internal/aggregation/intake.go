package aggregation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// The bounds of what an institution may give.
const (
	maxAccounts = 1000
	maxWording  = 2048
)

// noReading is the number before any: nothing carries the next.
const noReading = -1

var (
	// errStore marks what is not the connector's fault: it passes through its
	// hands on the way back.
	errStore = errors.New("the store failed")
	// errNonsense marks what no institution can mean. It is logged: what is said
	// with it repeats nothing that was given.
	errNonsense = errors.New("the connector gave nonsense")
)

// intake takes what a visit reads into the store, page by page, so that memory
// is bounded however long the history. It notices what is new, what changed and
// what is gone, and writes nothing else.
type intake struct {
	*visit
	ctx      context.Context
	accounts map[string]*account
	order    []string
	// gone are accounts that are no longer listed, lapsed subscriptions.
	gone   []store.StoredAccount
	lapsed []store.StoredSubscription

	subscriptions map[string]*subscription
	subscribed    []string
}

// account is an account of the visit.
type account struct {
	store.StoredAccount
	transactions shelf[passerelle.TransactionDetails]
	// moved says that a transaction came, changed or went.
	moved  bool
	assets shelf[store.NewAsset]
	// first is the first day of what was handed over.
	first passerelle.Date
	read  bool
}

// told is the account as it is told of: without transactions unless it was read
// to its end.
func (a *account) told() store.StoredAccount {
	told := a.StoredAccount
	if !a.read {
		told.Readings = noReading
	}
	return told
}

// Accounts takes the list of accounts there are. New ones are disabled until
// the person shares them; those that are no longer listed are deleted.
func (in *intake) Accounts(all []passerelle.AccountDetails) error {
	if in.accounts != nil || len(all) > maxAccounts {
		return fmt.Errorf("%w: accounts come once, at most %d", errNonsense, maxAccounts)
	}
	stored, err := in.DB.AccountsOf(in.ctx, in.domain.ID, in.c.ID)
	if err != nil {
		return fmt.Errorf("%w: list accounts: %w", errStore, err)
	}
	known := map[string]*store.StoredAccount{}
	for i := range stored {
		known[stored[i].Key] = &stored[i]
	}
	in.accounts = map[string]*account{}
	for _, details := range all {
		if err := in.account(known[details.Key], details); err != nil {
			return err
		}
		delete(known, details.Key)
	}
	for _, gone := range known {
		if err := in.lost(*gone); err != nil {
			return err
		}
	}
	return in.fetched()
}

func (in *intake) account(known *store.StoredAccount, details passerelle.AccountDetails) error {
	if _, twice := in.accounts[details.Key]; twice || !sound(details.Key) {
		return fmt.Errorf("%w: accounts have distinct keys of 1 to %d bytes", errNonsense, maxKeyLength)
	}
	details.Type = details.Type.Details().Type
	encoded, err := store.EncodeDetails(details)
	if err = errors.Join(err, checkCurrencies(details.Currency)); err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	a := &account{}
	if known == nil {
		a.StoredAccount, err = in.found(details)
	} else {
		a.StoredAccount, err = in.refreshed(*known, details, encoded.Digest)
	}
	a.transactions, a.assets = in.transactionsOf(a), in.assetsOf(a)
	in.accounts[details.Key], in.order = a, append(in.order, details.Key)
	return err
}

// found stores a new account and tells of it.
func (in *intake) found(details passerelle.AccountDetails) (store.StoredAccount, error) {
	now := in.instant()
	a := store.StoredAccount{Changed: in.sync, BankAccount: passerelle.BankAccount{
		Connection: in.c.ID, User: in.user.ID, Source: in.source.ID, AccountDetails: details, Display: true, Disabled: &now, LastUpdate: &now,
	}}
	if parent := in.accounts[details.Parent]; parent != nil {
		a.ParentID = parent.ID
	}
	var err error
	if a.ID, err = in.DB.NewAccountID(in.ctx); err != nil {
		return a, fmt.Errorf("%w: number an account: %w", errStore, err)
	}
	body := wire.Encode(wire.FoundAccount{
		ID: int64(a.ID), IDUser: int64(a.User), IDConnection: int64(a.Connection), Disabled: passerelle.FormatDateTime(now, in.zone()), Type: details.Type,
	})
	e := store.Event{Name: webhook.AccountFound, Body: body, Account: a.ID}
	in.stateOf(in.ctx, &e, wire.Encode(wire.NewBankAccount(a.BankAccount, in.zone())))
	if len(e.Body) > 0 && e.MediaType != "" { // the balance that a statement has goes with the connection
		e.Holds = []store.Holding{in.c.Holding()}
	}
	return a, in.store(func(tx *store.Tx) error { return tx.CreateAccount(in.domain.ID, &a) }, e)
}

// refreshed stores what changed of a known account.
func (in *intake) refreshed(a store.StoredAccount, details passerelle.AccountDetails, digest int64) (store.StoredAccount, error) {
	if digest == a.Digest && a.Deleted == nil {
		return a, nil
	}
	now := in.instant()
	a.AccountDetails, a.Deleted, a.LastUpdate, a.Changed, a.Source = details, nil, &now, in.sync, in.source.ID
	return a, in.store(func(tx *store.Tx) error { return tx.UpdateAccount(in.domain.ID, &a) })
}

// lost marks an account that the institution no longer lists.
func (in *intake) lost(a store.StoredAccount) error {
	if a.Deleted != nil {
		return nil
	}
	now := in.instant()
	a.Deleted, a.Changed = &now, in.sync
	in.gone = append(in.gone, (&account{StoredAccount: a}).told())
	return in.store(func(tx *store.Tx) error { return tx.UpdateAccount(in.domain.ID, &a) })
}

// store is write for errors that pass through a connector.
func (in *intake) store(fn func(tx *store.Tx) error, events ...store.Event) error {
	if err := in.write(in.ctx, fn, events...); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// storeNews is telling of one event for errors that pass through a connector.
func (in *intake) storeNews(event func() (store.Event, error), fn func(tx *store.Tx) error) error {
	err := in.telling(in.ctx, func() ([]store.Event, error) {
		e, err := event()
		return []store.Event{e}, err
	}, fn)
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// Wanted says whether an account is shared, and from which day on it is to be
// read: all there is at first, then what may still change.
func (in *intake) Wanted(key string) (from passerelle.Date, wanted bool) {
	a := in.accounts[key]
	if a == nil || a.Disabled != nil || a.Deleted != nil {
		return passerelle.Date{}, false
	}
	if a.CoveredFrom.IsZero() || a.LastUpdate == nil {
		return in.horizon(), true
	}
	return passerelle.DateOf(*a.LastUpdate, time.UTC).AddDays(-rereadDays), true
}

// rereadDays is how far back institutions still change what they have booked.
const rereadDays = 30

// horizon is the first day that a first read wants.
func (in *intake) horizon() passerelle.Date {
	months := in.profile.Data.MonthsToFetch
	if months == 0 {
		return passerelle.Date{}
	}
	return passerelle.DateOf(in.started, time.UTC).AddMonths(-months)
}

// Transactions takes a page of an account.
func (in *intake) Transactions(key string, page []passerelle.TransactionDetails) error {
	a := in.accounts[key]
	if _, wanted := in.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: transactions of an account that was not asked for", errNonsense)
	}
	booked, err := a.booked(page)
	if err != nil {
		return err
	}
	return a.transactions.take(in, booked)
}

// booked are the transactions of a page with what institutions leave out.
func (a *account) booked(page []passerelle.TransactionDetails) ([]passerelle.TransactionDetails, error) {
	booked := slices.Clone(page)
	for i := range booked {
		d := &booked[i]
		if d.Date.IsZero() || len(d.Wording) > maxWording {
			return nil, fmt.Errorf("%w: a transaction has a day and a label of at most %d bytes", errNonsense, maxWording)
		}
		attachments, err := keepable(d.Attachments)
		if err = errors.Join(err, checkAmount(d.Value), checkCurrencies(d.OriginalCurrency, d.CommissionCurrency)); err != nil {
			return nil, err
		}
		d.Attachments = attachments
		d.Wording = legible(d.Wording)
		if a.first.IsZero() || d.Date.Compare(a.first) < 0 {
			a.first = d.Date
		}
		if !d.Type.Known() {
			d.Type = passerelle.UnknownTransaction
		}
		if d.RDate.IsZero() {
			d.RDate = d.Date
		}
	}
	return booked, nil
}

// checkAmount refuses what lists could not compare exactly.
func checkAmount(d decimal.Decimal) error {
	if d.Coef() > math.MaxInt64 || d.Scale() > store.ValueDigits {
		return fmt.Errorf("%w: an amount has more digits than any", errNonsense)
	}
	return nil
}

// checkCurrencies refuses codes that are none; nothing is said by no code.
func checkCurrencies(codes ...passerelle.Currency) error {
	for _, code := range codes {
		if code != "" && !code.Known() {
			return fmt.Errorf("%w: a currency is none of ISO 4217", errNonsense)
		}
	}
	return nil
}

// transactionsOf are the transactions of an account.
func (in *intake) transactionsOf(a *account) shelf[passerelle.TransactionDetails] {
	return shelf[passerelle.TransactionDetails]{
		seen:    map[uint64]struct{}{},
		key:     func(d passerelle.TransactionDetails) string { return d.Key },
		details: func(d passerelle.TransactionDetails) any { return d },
		stored:  store.TransactionShelf(a.StoredAccount),
		create: func(tx *store.Tx, all []found[passerelle.TransactionDetails], at time.Time) error {
			return tx.CreateTransactions(in.domain.ID, a.StoredAccount, a.NextReading(), newTransactions(all, at)...)
		},
		update: func(tx *store.Tx, id int64, d passerelle.TransactionDetails, at time.Time) error {
			return tx.UpdateTransaction(in.domain.ID, a.StoredAccount, passerelle.TransactionID(id), d, at, a.NextReading())
		},
		lose: func(tx *store.Tx, id int64, at time.Time) {
			tx.LoseTransaction(in.domain.ID, a.StoredAccount, passerelle.TransactionID(id), at, a.NextReading())
		},
		count: func(tx *store.Tx, there, gone int64) {
			a.moved = true
			tx.CountTransactions(in.domain.ID, a.StoredAccount, there, gone)
		},
	}
}

// newTransactions are transactions as they are stored when they were found.
func newTransactions(all []found[passerelle.TransactionDetails], at time.Time) []store.NewTransaction {
	stored := make([]store.NewTransaction, len(all))
	for i, one := range all {
		d := one.given
		stored[i] = store.NewTransaction{Details: one.details, Transaction: &passerelle.Transaction{
			TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: at, LastUpdate: at, Categories: passerelle.Categorize(d.Wording, d.Type),
		}}
	}
	return stored
}

// AccountRead ends an account: what is stored from that day on and was not
// handed over is gone at the institution. It tells of what changed.
func (in *intake) AccountRead(key string, from passerelle.Date) error {
	a := in.accounts[key]
	if _, wanted := in.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: the end of an account that was not asked for", errNonsense)
	}
	for _, end := range []func() error{
		func() error { return a.transactions.sweep(in, from) },
		func() error { return in.cluster(a) },
		func() error { return a.assets.sweep(in, passerelle.Date{}) },
		func() error { return in.value(a) },
	} {
		if err := end(); err != nil {
			return err
		}
	}
	a.read = true
	now := in.instant()
	a.LastUpdate, a.Error = &now, ""
	a.cover(from, passerelle.DateOf(in.started, time.UTC))
	return in.storeNews(func() (store.Event, error) { return in.accountSynced(in.ctx, a) }, func(tx *store.Tx) error {
		tx.TouchAccount(in.domain.ID, a.ID, now, a.CoveredFrom)
		return nil
	})
}

// cover moves the first day of which everything is known. A read without a
// bound covers what it gave, and today when that is nothing.
func (a *account) cover(from, today passerelle.Date) {
	if from.IsZero() {
		if from = a.first; from.IsZero() {
			from = today
		}
	}
	if a.CoveredFrom.IsZero() || from.Compare(a.CoveredFrom) < 0 {
		a.CoveredFrom = from
	}
}
