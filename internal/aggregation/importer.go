package aggregation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// These are the limits of an institution's data.
const (
	maxAccounts = 1000
	maxWording  = 2048
)

// noReadingNumber replaces the field Readings of an account or subscription when events leave out
// its rows. No stored Readings has this value. NextReading then returns zero, the number of no row.
const noReadingNumber = -1

var (
	// errStore marks a failure of the store. The connector returns it, but did not cause it.
	errStore = errors.New("the store failed")
	// errInvalidData marks invalid data. The log contains this error, so its text contains no
	// personal data.
	errInvalidData = errors.New("the connector gave invalid data")
)

// importer stores the data of a run page by page. It keeps the accounts and subscriptions in
// memory, and of all other rows only ids and hashes. It writes only new, changed and deleted rows.
type importer struct {
	ctx     context.Context
	lease   *lease
	events  *reporter
	profile connector.Profile
	started time.Time

	accounts    map[string]*syncedAccount
	accountKeys []string
	// goneAccounts and goneSubscriptions contain the accounts and subscriptions that this run
	// marked as deleted.
	goneAccounts      []bankstore.StoredAccount
	goneSubscriptions []bankstore.StoredSubscription

	subscriptions    map[string]*syncedSubscription
	subscriptionKeys []string

	// lostRows counts the rows that were left out because a different row had the same key.
	lostRows int
}

func newImporter(ctx context.Context, run *syncRun) *importer {
	return &importer{ctx: ctx, lease: run.lease, events: run.events, profile: run.profile, started: run.started}
}

type syncedAccount struct {
	bankstore.StoredAccount
	transactions reconciler[passerelle.TransactionDetails]
	// changedTransactions is set when a transaction is new, changed or deleted.
	changedTransactions bool
	investments         reconciler[bankstore.NewAsset]
	// first is the first day of the transactions that the connector reported.
	first passerelle.Date
	read  bool
}

// reported returns the account for events. It leaves out the transactions unless the account was
// read completely.
func (a *syncedAccount) reported() bankstore.StoredAccount {
	shown := a.StoredAccount
	if !a.read {
		shown.Readings = noReadingNumber
	}
	return shown
}

// Accounts stores the complete list of accounts. New accounts are disabled until the user shares
// them, unless the user uploads their statements. Accounts that the institution no longer lists are
// marked as deleted.
func (im *importer) Accounts(all []passerelle.AccountDetails) error {
	if im.accounts != nil || len(all) > maxAccounts {
		return fmt.Errorf("%w: accounts come once, at most %d", errInvalidData, maxAccounts)
	}
	stored, err := bankstore.From(im.lease.db).AccountsOf(im.ctx, im.lease.domain.ID, im.lease.c.ID)
	if err != nil {
		return fmt.Errorf("%w: list accounts: %w", errStore, err)
	}
	known := map[string]*bankstore.StoredAccount{}
	for i := range stored {
		known[stored[i].Key] = &stored[i]
	}
	im.accounts = map[string]*syncedAccount{}
	for _, details := range all {
		if err := im.account(known[details.Key], known[details.Key].WithBalances(details)); err != nil {
			return err
		}
		delete(known, details.Key)
	}
	for _, a := range stored {
		if known[a.Key] == nil {
			continue
		}
		if err := im.lost(a); err != nil {
			return err
		}
	}
	if err := errors.Join(im.linkParents(), im.checkEmpty()); err != nil {
		return err
	}
	return im.fetched()
}

// linkParents stores the account from which each card is paid. An institution may list a card
// before its account, or add the account later.
func (im *importer) linkParents() error {
	for _, key := range im.accountKeys {
		a := im.accounts[key]
		parent := im.accounts[a.Parent]
		if parent == nil || parent == a || parent.ID == a.ParentID {
			continue
		}
		a.ParentID, a.Changed = parent.ID, im.lease.sync
		if err := im.store(func(tx *store.Tx) error { return bankstore.In(tx).UpdateAccount(im.lease.domain.ID, &a.StoredAccount) }); err != nil {
			return err
		}
	}
	return nil
}

// checkEmpty finds out which of the accounts to read already have stored rows.
func (im *importer) checkEmpty() error {
	var checks []func(*store.Reader) error
	for _, key := range im.accountKeys {
		if from, wanted := im.Wanted(key); wanted {
			a := im.accounts[key]
			a.transactions.from = from
			checks = append(checks,
				func(r *store.Reader) error { return a.transactions.checkEmpty(im.ctx, r) },
				func(r *store.Reader) error { return a.investments.checkEmpty(im.ctx, r) })
		}
	}
	if err := im.lease.db.Together(im.ctx, checks...); err != nil {
		return fmt.Errorf("%w: look for rows: %w", errStore, err)
	}
	return nil
}

func (im *importer) account(known *bankstore.StoredAccount, details passerelle.AccountDetails) error {
	if _, twice := im.accounts[details.Key]; twice || !validKey(details.Key) {
		return fmt.Errorf("%w: accounts have distinct keys of %s", errInvalidData, keyForm)
	}
	details.Type = details.Type.Details().Type
	stored, err := encoded(details)
	if err = errors.Join(err, checkCurrencies(details.Currency)); err != nil {
		return err
	}
	a := &syncedAccount{}
	if known == nil {
		a.StoredAccount, err = im.found(details)
	} else {
		a.StoredAccount, err = im.refreshed(*known, details, stored.Digest)
	}
	a.transactions, a.investments = im.transactionsReconciler(a), im.investmentsReconciler(a)
	im.accounts[details.Key], im.accountKeys = a, append(im.accountKeys, details.Key)
	return err
}

// found stores a new account and emits ACCOUNT_FOUND.
func (im *importer) found(details passerelle.AccountDetails) (bankstore.StoredAccount, error) {
	now := im.lease.now()
	a := bankstore.StoredAccount{Changed: im.lease.sync, BankAccount: passerelle.BankAccount{
		Connection: im.lease.c.ID, User: im.lease.user.ID, Source: im.lease.source.ID, AccountDetails: details, Display: true, Disabled: &now, LastUpdate: &now,
	}}
	if parent := im.accounts[details.Parent]; parent != nil {
		a.ParentID = parent.ID // linkParents links a card that is listed before its account
	}
	var err error
	if a.ID, err = bankstore.NewAccountID(im.ctx, im.lease.db); err != nil {
		return a, fmt.Errorf("%w: number an account: %w", errStore, err)
	}
	body := wire.Encode(wire.FoundAccount{
		ID: int64(a.ID), IDUser: int64(a.User), IDConnection: int64(a.Connection), Disabled: passerelle.FormatDateTime(now, im.events.zone()), Type: details.Type,
	})
	e := store.EmittedEvent{Name: webhook.AccountFound, Body: body, Account: a.ID}
	im.events.makeStatement(im.ctx, &e, wire.Encode(wire.NewBankAccount(a.BankAccount, im.events.zone())))
	if len(e.Body) > 0 && e.MediaType != "" { // a statement contains the balance, which is erased with the connection
		e.Holds = []store.Holding{im.lease.c.Holding()}
	}
	if im.profile.Data.TakesFiles {
		return im.foundInFile(a, e)
	}
	err = im.store(func(tx *store.Tx) error { return bankstore.In(tx).CreateAccount(im.lease.domain.ID, &a) }, e)
	return a, err
}

// foundInFile stores an account whose statements the user uploads, and shares it.
func (im *importer) foundInFile(a bankstore.StoredAccount, found store.EmittedEvent) (bankstore.StoredAccount, error) {
	shared := a
	shared.Disabled = nil
	err := im.store(func(tx *store.Tx) error {
		return errors.Join(bankstore.In(tx).CreateAccount(im.lease.domain.ID, &a), im.lease.enableAccount(tx, a, "file", *a.Disabled))
	}, found, im.events.enabled(shared))
	shared.Digest = a.Digest
	return shared, err
}

// refreshed stores new details of an account. LastUpdate stays, because [importer.Wanted] needs the
// time of the last complete read.
func (im *importer) refreshed(a bankstore.StoredAccount, details passerelle.AccountDetails, digest int64) (bankstore.StoredAccount, error) {
	if digest == a.Digest && a.Deleted == nil && a.Changed != bankstore.Unreported {
		return a, nil
	}
	a.AccountDetails, a.Deleted, a.Changed, a.Source = details, nil, im.lease.sync, im.lease.source.ID
	err := im.store(func(tx *store.Tx) error { return bankstore.In(tx).UpdateAccount(im.lease.domain.ID, &a) })
	return a, err
}

// lost marks an account as deleted when the institution no longer lists it. It marks the account
// again if the report was dropped, or an interrupted run with the same number marked the account.
func (im *importer) lost(a bankstore.StoredAccount) error {
	if a.Deleted != nil && a.Changed != im.lease.sync && a.Changed != bankstore.Unreported {
		return nil
	}
	now := im.lease.now()
	a.Deleted, a.Changed = cmp.Or(a.Deleted, &now), im.lease.sync
	im.goneAccounts = append(im.goneAccounts, (&syncedAccount{StoredAccount: a}).reported())
	return im.store(func(tx *store.Tx) error { return bankstore.In(tx).UpdateAccount(im.lease.domain.ID, &a) })
}

// store does the same as lease.write, but wraps a failure in errStore. The connector then passes
// this error on.
func (im *importer) store(fn func(tx *store.Tx) error, events ...store.EmittedEvent) error {
	if err := im.lease.write(im.ctx, fn, events...); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// storeWithEvent does the same as writeWithEvents for one event, but wraps a failure in errStore.
func (im *importer) storeWithEvent(event func() (store.EmittedEvent, error), fn func(tx *store.Tx) error) error {
	err := im.events.writeWithEvents(im.ctx, func() ([]store.EmittedEvent, error) {
		e, err := event()
		return []store.EmittedEvent{e}, err
	}, fn)
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// Wanted reports whether an account is shared, and the first day to read. The first read begins at
// the horizon. Later reads include the days since the last complete read, and earlier days that may
// still change.
func (im *importer) Wanted(key string) (passerelle.Date, bool) {
	a := im.accounts[key]
	if a == nil || a.Disabled != nil || a.Deleted != nil {
		return passerelle.Date{}, false
	}
	if a.CoveredFrom.IsZero() || a.LastUpdate == nil {
		return im.horizon(), true
	}
	return passerelle.DateOf(*a.LastUpdate, time.UTC).AddDays(-rereadDays), true
}

// rereadDays is the number of past days whose booked transactions institutions may still change.
const rereadDays = 30

// horizon returns the first day that a first read requests. The zero day means no limit.
func (im *importer) horizon() passerelle.Date {
	months := im.profile.Data.MonthsToFetch
	if months == 0 {
		return passerelle.Date{}
	}
	return passerelle.DateOf(im.started, time.UTC).AddMonths(-months)
}

// Transactions stores a page of an account's transactions.
func (im *importer) Transactions(key string, page []passerelle.TransactionDetails) error {
	a := im.accounts[key]
	if _, wanted := im.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: transactions of an account that was not requested", errInvalidData)
	}
	booked, err := a.booked(page)
	if err != nil {
		return err
	}
	return a.transactions.reconcile(im, booked)
}

// Gone marks transactions of an account as deleted if a call of matches with their key returns
// true. It leaves out transactions before the argument from.
func (im *importer) Gone(key string, from passerelle.Date, matches func(key string) bool) error {
	a := im.accounts[key]
	if _, wanted := im.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: corrections of an account that was not requested", errInvalidData)
	}
	rows := &a.transactions
	err := bankstore.From(im.lease.db).EachKey(im.ctx, rows.rows, from, func(id int64, key string) {
		if matches(key) {
			rows.missing = append(rows.missing, id)
		}
	})
	if err != nil {
		return fmt.Errorf("%w: list rows by their keys: %w", errStore, err)
	}
	return rows.markMissing(im)
}

// booked returns the transactions of a page. It fills in values that institutions omit.
func (a *syncedAccount) booked(page []passerelle.TransactionDetails) ([]passerelle.TransactionDetails, error) {
	booked := slices.Clone(page)
	for i := range booked {
		d := &booked[i]
		if d.Date.IsZero() || len(d.Wording) > maxWording {
			return nil, fmt.Errorf("%w: a transaction has a day and a label of at most %d bytes", errInvalidData, maxWording)
		}
		attachments, err := validAttachments(d.Attachments)
		if err = errors.Join(err, checkAmount(&d.Value), checkCurrencies(d.OriginalCurrency, d.CommissionCurrency)); err != nil {
			return nil, err
		}
		d.Attachments = attachments
		d.Wording = storable(d.Wording)
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

// checkAmount refuses amounts that database queries cannot compare exactly. Nil is allowed.
func checkAmount(d *decimal.Decimal) error {
	if d != nil && (d.Coef() > math.MaxInt64 || d.Scale() > bankstore.ValueDigits) {
		return fmt.Errorf("%w: an amount has more digits than any", errInvalidData)
	}
	return nil
}

// checkCurrencies refuses unknown codes. An empty code is allowed.
func checkCurrencies(codes ...passerelle.Currency) error {
	for _, code := range codes {
		if code != "" && !code.Known() {
			return fmt.Errorf("%w: a currency is none of ISO 4217", errInvalidData)
		}
	}
	return nil
}

func (im *importer) transactionsReconciler(a *syncedAccount) reconciler[passerelle.TransactionDetails] {
	return reconciler[passerelle.TransactionDetails]{
		seen:    map[uint64]int64{},
		key:     func(d passerelle.TransactionDetails) string { return d.Key },
		details: func(d passerelle.TransactionDetails) any { return d },
		rows:    bankstore.SyncedTransactions(a.StoredAccount),
		create: func(tx *store.Tx, all []newRow[passerelle.TransactionDetails], at time.Time) error {
			return bankstore.In(tx).CreateTransactions(im.lease.domain.ID, a.StoredAccount, a.NextReading(), newTransactions(all, at)...)
		},
		update: func(tx *store.Tx, id int64, d passerelle.TransactionDetails, at time.Time) error {
			return bankstore.In(tx).UpdateTransaction(im.lease.domain.ID, a.StoredAccount, passerelle.TransactionID(id), d, at, a.NextReading())
		},
		markDeleted: func(tx *store.Tx, id int64, at time.Time) {
			bankstore.In(tx).LoseTransaction(im.lease.domain.ID, a.StoredAccount, passerelle.TransactionID(id), at, a.NextReading())
		},
		count: func(tx *store.Tx, there, gone int64) {
			a.changedTransactions = true
			bankstore.In(tx).CountTransactions(im.lease.domain.ID, a.StoredAccount, there, gone)
		},
	}
}

// newTransactions converts transactions to stored form.
func newTransactions(all []newRow[passerelle.TransactionDetails], at time.Time) []bankstore.NewTransaction {
	stored := make([]bankstore.NewTransaction, len(all))
	for i, one := range all {
		d := one.row
		stored[i] = bankstore.NewTransaction{Details: one.details, Transaction: &passerelle.Transaction{
			TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: at, LastUpdate: at, Categories: passerelle.Categorize(d.Wording, d.Type),
		}}
	}
	return stored
}

// AccountRead ends the read of an account, and emits an event with the changes. It marks unreported
// assets as deleted, and unreported transactions unless they are before the argument from.
func (im *importer) AccountRead(key string, from passerelle.Date) error {
	a := im.accounts[key]
	if _, wanted := im.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: the end of an account that was not requested", errInvalidData)
	}
	missing := []func(*store.Reader) error{
		func(r *store.Reader) error { return a.transactions.findMissing(im.ctx, r, from) },
		func(r *store.Reader) error { return a.investments.findMissing(im.ctx, r, passerelle.Date{}) },
	}
	for _, end := range []func() error{
		func() error { return im.lease.db.Together(im.ctx, missing...) },
		func() error { return a.transactions.markMissing(im) },
		func() error { return im.cluster(a) },
		func() error { return a.investments.markMissing(im) },
		func() error { return im.value(a) },
	} {
		if err := end(); err != nil {
			return err
		}
	}
	a.read = true
	now := im.lease.now()
	a.LastUpdate, a.Error = &now, ""
	a.cover(from, passerelle.DateOf(im.started, time.UTC))
	return im.storeWithEvent(func() (store.EmittedEvent, error) { return im.events.accountSynced(im.ctx, a) }, func(tx *store.Tx) error {
		bankstore.In(tx).TouchAccount(im.lease.domain.ID, a.ID, now, a.CoveredFrom)
		return nil
	})
}

// cover sets CoveredFrom to the argument from, if CoveredFrom is zero or a later day. If from is
// zero, or after today in a first read, cover uses the earliest day of a reported transaction. If
// the connector reported no transaction, cover uses today.
func (a *syncedAccount) cover(from, today passerelle.Date) {
	if from.IsZero() || a.CoveredFrom.IsZero() && from.Compare(today) > 0 {
		from = cmp.Or(a.first, today)
	}
	if a.CoveredFrom.IsZero() || from.Compare(a.CoveredFrom) < 0 {
		a.CoveredFrom = from
	}
}
