package bank

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"passerelle/testbank/ledger"
)

// Bank is one test bank.
type Bank struct {
	Profile Profile
	// Faults contains the faults that the tester injected.
	Faults Faults

	book    *ledger.Book
	planned planned
	clock   func() time.Time
	// ahead is how far the bank's time is ahead of the machine's time, in milliseconds.
	ahead atomic.Int64
	// skew is the simulated error of the machine's clock, in nanoseconds.
	skew atomic.Int64
	// settlement is [Options.Settlement].
	settlement time.Duration
	// passwords is the key that decrypts passwords from third parties.
	passwords *rsa.PrivateKey
	// notes receives the notifications to third parties about committed changes.
	notes chan<- Note
}

// Options are settings that differ between the program and tests.
type Options struct {
	// Clock is the machine's clock. Nil means the real clock.
	Clock func() time.Time
	// Settlement is how long a transfer stays pending. Instant and periodic transfers are booked at
	// once.
	Settlement time.Duration
	// Passwords is the key that decrypts passwords from third parties. It may be nil for profiles
	// without encrypted passwords.
	Passwords *rsa.PrivateKey
	// Notes receives the notifications that third parties asked for. It may be nil. When the
	// channel is full, the bank drops notifications, because it does not guarantee their delivery.
	Notes chan<- Note
}

// aheadCounter names the counter in the bank's file that contains the value of Bank.ahead.
const aheadCounter = "clock ahead, in milliseconds"

// Open opens a bank on its file, and creates the file if it does not exist.
func Open(ctx context.Context, p Profile, path string, o Options) (*Bank, error) {
	book, err := ledger.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	b := &Bank{Profile: p, book: book, clock: o.Clock, settlement: o.Settlement, passwords: o.Passwords, notes: o.Notes}
	if b.clock == nil {
		b.clock = time.Now
	}
	if err := b.found(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open bank %s: %w", p.Name, err), book.Close())
	}
	return b, nil
}

func (b *Bank) found(ctx context.Context) error {
	return b.book.Update(ctx, func(tx *ledger.Tx) error {
		ahead, err := tx.Counter(aheadCounter)
		if err != nil {
			return err
		}
		b.ahead.Store(ahead)
		_, err = tx.AccountByID(capital)
		if errors.Is(err, ledger.ErrNotFound) {
			return b.openAccounts(tx, b.Now())
		}
		return err
	})
}

// Close closes the bank's file.
func (b *Bank) Close() error { return b.book.Close() }

// Now returns the bank's time, in UTC.
func (b *Bank) Now() time.Time {
	return b.clock().Add(time.Duration(b.ahead.Load()) * time.Millisecond).UTC()
}

// Machine returns the machine's time. The bank checks certificates and signatures against this
// time.
func (b *Bank) Machine() time.Time { return b.clock().Add(time.Duration(b.skew.Load())).UTC() }

// SetMachine sets the simulated error of the machine's clock until the program ends.
func (b *Bank) SetMachine(wrong time.Duration) { b.skew.Store(int64(wrong)) }

// Advance moves the bank's time forward and does everything that falls due in that time.
func (b *Bank) Advance(ctx context.Context, by time.Duration) error {
	if by < 0 {
		return wrongFormat("advance", "time goes forward only")
	}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		ahead, err := tx.Counter(aheadCounter) // b.ahead may not yet include a concurrent advance
		if err != nil {
			return err
		}
		return tx.SetCounter(aheadCounter, ahead+by.Milliseconds())
	})
	if err != nil {
		return err
	}
	b.ahead.Add(by.Milliseconds())
	return b.Run(ctx)
}

// Accounts lists the accounts of a customer, or all accounts when customer is empty.
func (b *Bank) Accounts(ctx context.Context, customer string) ([]ledger.Account, error) {
	var all []ledger.Account
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		all, err = tx.Accounts(customer)
		return err
	})
	return all, err
}

// Check checks the books and returns a sentence for each error.
func (b *Bank) Check(ctx context.Context) ([]string, error) {
	var wrong []string
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if wrong, err = tx.Check(); err != nil {
			return err
		}
		also, err := checkOrders(tx)
		wrong = append(wrong, also...)
		return err
	})
	return wrong, err
}

// newID makes an id that cannot be guessed.
func newID() string { return rand.Text() }

// day returns the date of an instant, at midnight UTC.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

const dayLayout = time.DateOnly
