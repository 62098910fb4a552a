package aggregation

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// The bounds of what an institution may give.
const (
	maxAccounts  = 1000
	pageSize     = 500
	maxPerVisit  = 2_000_000
	maxKeyLength = 255
	maxWording   = 2048
)

var (
	// errStore marks what is not the connector's fault: it passes through its
	// hands on the way back.
	errStore = errors.New("the store failed")
	// errNonsense marks what no institution can mean.
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

	subscriptions map[string]*subscription
	subscribed    []string
}

// account is an account of the visit. Seen are hashes of the keys handed over:
// eight bytes each, whatever the history.
type account struct {
	store.StoredAccount
	seen map[uint64]struct{}
	// first is the first day of what was handed over.
	first passerelle.Date
	read  bool
}

var seed = maphash.MakeSeed()

func hashed(key string) uint64 { return maphash.String(seed, key) }

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
	a := &account{seen: map[uint64]struct{}{}}
	var err error
	if known == nil {
		a.StoredAccount, err = in.found(details)
	} else {
		a.StoredAccount, err = in.refreshed(*known, details)
	}
	in.accounts[details.Key], in.order = a, append(in.order, details.Key)
	return err
}

// sound reports whether a text can be a key.
func sound(key string) bool { return key != "" && len(key) <= maxKeyLength }

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
	e := store.Event{Name: webhook.AccountFound, Body: body}
	in.stateOf(in.ctx, &e, wire.Encode(wire.NewBankAccount(a.BankAccount, in.zone())))
	return a, in.store(func(tx *store.Tx) error { return tx.CreateAccount(in.domain.ID, &a) }, e)
}

// refreshed stores what changed of a known account.
func (in *intake) refreshed(a store.StoredAccount, details passerelle.AccountDetails) (store.StoredAccount, error) {
	digest, err := store.AccountDigest(details)
	if err != nil {
		return a, fmt.Errorf("%w: %w", errNonsense, err)
	}
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
	return in.store(func(tx *store.Tx) error { return tx.UpdateAccount(in.domain.ID, &a) })
}

// store is write for errors that pass through a connector.
func (in *intake) store(fn func(tx *store.Tx) error, events ...store.Event) error {
	if err := in.write(in.ctx, fn, events...); err != nil {
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
	for chunk := range slices.Chunk(page, pageSize) {
		if err := in.page(a, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) page(a *account, page []passerelle.TransactionDetails) error {
	fresh, keys, err := in.fresh(a, page)
	if err != nil || len(fresh) == 0 {
		return err
	}
	known, err := in.DB.TransactionsByKey(in.ctx, a.StoredAccount, keys)
	if err != nil {
		return fmt.Errorf("%w: find transactions: %w", errStore, err)
	}
	c := changes{sync: in.sync, at: in.instant(), domain: in.domain.ID, account: a.StoredAccount}
	for _, d := range fresh {
		if err := c.note(d, known); err != nil {
			return fmt.Errorf("%w: %w", errNonsense, err)
		}
	}
	if c.none() {
		return nil
	}
	return in.store(c.write)
}

// fresh are those of a page that are sound and did not come before in this
// visit: institutions that turn pages while they book give some twice.
func (in *intake) fresh(a *account, page []passerelle.TransactionDetails) (fresh []passerelle.TransactionDetails, keys []string, err error) {
	for _, d := range page {
		if !sound(d.Key) || d.Date.IsZero() || len(d.Wording) > maxWording || len(a.seen) >= maxPerVisit {
			return nil, nil, fmt.Errorf("%w: a transaction has a key of 1 to %d bytes, a day and a label of at most %d bytes", errNonsense, maxKeyLength, maxWording)
		}
		if _, twice := a.seen[hashed(d.Key)]; twice {
			continue
		}
		a.seen[hashed(d.Key)] = struct{}{}
		if a.first.IsZero() || d.Date.Compare(a.first) < 0 {
			a.first = d.Date
		}
		if !d.Type.Known() {
			d.Type = passerelle.UnknownTransaction
		}
		if d.RDate.IsZero() {
			d.RDate = d.Date
		}
		fresh, keys = append(fresh, d), append(keys, d.Key)
	}
	return fresh, keys, nil
}

// changes are what is to be written of a page.
type changes struct {
	sync    int64
	at      time.Time
	domain  passerelle.DomainID
	account store.StoredAccount

	created []passerelle.Transaction
	updated []update
	// back counts those that were gone.
	back int64
}

type update struct {
	id      passerelle.TransactionID
	details passerelle.TransactionDetails
}

func (c *changes) none() bool { return len(c.created)+len(c.updated) == 0 }

func (c *changes) note(d passerelle.TransactionDetails, known map[string]store.KnownTransaction) error {
	before, isKnown := known[d.Key]
	if !isKnown {
		c.created = append(c.created, passerelle.Transaction{
			TransactionDetails: d, ApplicationDate: d.RDate, Active: true, Scraped: c.at, LastUpdate: c.at, Categories: categorize(d),
		})
		return nil
	}
	digest, err := store.TransactionDigest(d)
	if err != nil || digest == before.Digest && !before.Deleted {
		return err
	}
	if before.Deleted {
		c.back++
	}
	c.updated = append(c.updated, update{before.ID, d})
	return nil
}

func (c *changes) write(tx *store.Tx) error {
	for i := range c.created {
		if err := tx.CreateTransaction(c.domain, c.account, &c.created[i], c.sync); err != nil {
			return err
		}
	}
	for _, u := range c.updated {
		if err := tx.UpdateTransaction(c.domain, c.account, u.id, u.details, c.at, c.sync); err != nil {
			return err
		}
	}
	tx.CountTransactions(c.domain, c.account, int64(len(c.created))+c.back, -c.back)
	return nil
}

// AccountRead ends an account: what is stored from that day on and was not
// handed over is gone at the institution. It tells of what changed.
func (in *intake) AccountRead(key string, from passerelle.Date) error {
	a := in.accounts[key]
	if _, wanted := in.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: the end of an account that was not asked for", errNonsense)
	}
	if err := in.sweep(a, from); err != nil {
		return err
	}
	a.read = true
	now := in.instant()
	a.LastUpdate = &now
	a.cover(from, passerelle.DateOf(in.started, time.UTC))
	event, err := in.accountSynced(in.ctx, a)
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return in.store(func(tx *store.Tx) error {
		tx.TouchAccount(in.domain.ID, a.ID, now, a.CoveredFrom)
		return nil
	}, event)
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

// sweep marks what is gone, in the order of keys, page by page.
func (in *intake) sweep(a *account, from passerelle.Date) error {
	for after := ""; ; {
		page, err := in.DB.KeysFrom(in.ctx, a.StoredAccount, from, after, pageSize)
		if err != nil {
			return fmt.Errorf("%w: list transactions: %w", errStore, err)
		}
		gone := slices.DeleteFunc(slices.Clone(page), func(k store.KnownTransaction) bool {
			_, seen := a.seen[hashed(k.Key)]
			return seen
		})
		if err := in.lose(a, gone); err != nil || len(page) < pageSize {
			return err
		}
		after = page[len(page)-1].Key
	}
}

func (in *intake) lose(a *account, gone []store.KnownTransaction) error {
	if len(gone) == 0 {
		return nil
	}
	return in.store(func(tx *store.Tx) error {
		for _, k := range gone {
			tx.LoseTransaction(in.domain.ID, a.StoredAccount, k.ID, in.instant(), in.sync)
		}
		tx.CountTransactions(in.domain.ID, a.StoredAccount, -int64(len(gone)), int64(len(gone)))
		return nil
	})
}
