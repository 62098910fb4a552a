// Package exports makes account statements, which package statementfile writes.
//
// The package chooses the transactions of a statement: those that the institution booked, but not
// those that clients created. It also owns the period and its balances, and the names of the
// formats. It owns neither the formats nor the decision who may see an account.
//
// The package fails with a *passerelle.Error when there are too many transactions or no balance, or
// when the period is impossible, or when the format cannot represent the account, the days or the
// balances. When the transactions change during the writing, the last entry is an error. The package
// only reads.
//
// All exports of the service take turns at the database, also those that other packages make. When
// too many exports wait, further exports fail with Unavailable.
package exports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/statementfile"
)

const (
	// maxEntries is the largest number of transactions in a statement. The limit exists because a
	// statement in CFONB 120 must fit into memory.
	maxEntries = 100_000
	// pageSize is the number of transactions that one query reads.
	pageSize = 1000
)

// Wish describes a requested statement: its format, and its first and last day. Without a first
// day, the statement begins with the first transaction. The statement ends on the day of the
// account's last update if this day is before the last day, or if there is no last day: the balance
// of a later day is not known. A first day after the last update, but not after today, makes a
// statement without transactions, which has the balance of the last update.
type Wish struct {
	Format      string
	First, Last passerelle.Date
	// Now is the time at which the file is made. Its location determines the day of the update.
	Now time.Time
}

// StatementExport is a statement for a file. Write reads the transactions while it writes them.
type StatementExport struct {
	MediaType, Name string
	Write           func(w io.Writer) error
}

// formats contains the formats by the names that clients use.
var formats = map[string]struct {
	format            statementfile.Format
	mediaType, ending string
}{
	"camt.053": {statementfile.CAMT, "application/xml", "xml"}, "mt940": {statementfile.MT940, "text/plain; charset=us-ascii", "sta"},
	"cfonb120": {statementfile.CFONB, "text/plain; charset=us-ascii", "txt"}, "ofx": {statementfile.OFX, "application/x-ofx", "ofx"},
	"csv": {statementfile.CSV, "text/csv; charset=utf-8", "csv"},
}

// Of returns the statement of an account.
func Of(ctx context.Context, db bankstore.Reader, domain passerelle.DomainID, account bankstore.StoredAccount, wish Wish) (StatementExport, error) {
	to, known := formats[wish.Format]
	if !known {
		return StatementExport{}, passerelle.InvalidField("format", "must be one of %s", strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	e := export{db: db, account: account, filter: bankstore.TransactionFilter{
		Domain: domain, User: account.User, Account: account.ID, Epoch: account.Epoch, ByDate: true, Institution: true, From: wish.First, Until: wish.Last,
	}}
	if account.Disabled != nil || account.Deleted != nil {
		return StatementExport{}, passerelle.Conflicting("account %d is not enabled, so its transactions are not stored; enable it first", account.ID)
	}
	if err := e.bound(ctx, wish.Now); err != nil {
		return StatementExport{}, err
	}
	written, err := e.statement(ctx)
	written.Created = wish.Now
	if err == nil {
		err = fits(written, to.format)
	}
	name := fmt.Sprintf("account-%d-%s-%s.%s", account.ID, cmp.Or(written.From, e.filter.Until), e.filter.Until, to.ending)
	return StatementExport{to.mediaType, name, func(w io.Writer) error { return statementfile.Write(w, to.format, written) }}, err
}

// fits fails when a format cannot represent the account, the days or the balances of a statement.
// Write would fail too, but only after the response has begun. The balance before the period has
// the day before it, so the period must begin one day after the first day of the format.
func fits(w statementfile.Written, format statementfile.Format) error {
	w.Entries = func(func(statementfile.StatementEntry, error) bool) {}
	err := statementfile.Write(io.Discard, format, w)
	unfit, is := errors.AsType[*statementfile.UnfitError](err)
	switch {
	case !is:
		return err
	case unfit.First.IsZero():
		return passerelle.InvalidField("format", "%s", unfit)
	case w.Opening.Date.Compare(unfit.First) < 0:
		return passerelle.InvalidField("min_date", "must not be before %s, because %s, and the file has the balance of the day before", unfit.First.AddDays(1), unfit)
	}
	return passerelle.InvalidField("max_date", "must not be after %s, because %s", unfit.Last, unfit)
}

// export is a statement of an account for the period in filter.
type export struct {
	db      bankstore.Reader
	account bankstore.StoredAccount
	filter  bankstore.TransactionFilter
}

// bound sets the days of the period. It fails when the period ends before it begins, begins after
// today, or contains too many transactions.
func (e *export) bound(ctx context.Context, now time.Time) error {
	f, zone := &e.filter, now.Location()
	if e.account.LastUpdate == nil {
		return e.unknown()
	}
	if today := passerelle.DateOf(now, zone); f.From.Compare(today) > 0 {
		return passerelle.InvalidField("min_date", "must not be after %s, the current day", today)
	}
	if err := e.setDays(ctx, passerelle.DateOf(*e.account.LastUpdate, zone)); err != nil {
		return err
	}
	n, err := Begin(ctx, func() (int64, error) { return e.db.CountTransactions(ctx, *f) })
	if err != nil {
		return fmt.Errorf("count the transactions of account %d: %w", e.account.ID, err)
	}
	if n > maxEntries {
		return passerelle.InvalidField("min_date", "must be later: the period has %d transactions, and a statement can have at most %d", n, maxEntries)
	}
	return nil
}

// setDays sets the first and the last day of the period. When the client wants only days after the
// last update, which are not known, the period becomes empty: it begins on the day after its end.
func (e *export) setDays(ctx context.Context, updated passerelle.Date) error {
	f, first := &e.filter, e.filter.From
	if first.IsZero() {
		var err error
		if first, err = e.oldest(ctx); err != nil {
			return err
		}
	}
	if !f.Until.IsZero() && first.Compare(f.Until) > 0 {
		return passerelle.InvalidField("max_date", "must not be before min_date or the first transaction, %s", first)
	}
	if f.Until.IsZero() || f.Until.Compare(updated) > 0 {
		f.Until = updated
	}
	switch after := first.Compare(f.Until) > 0; {
	case after && !f.From.IsZero():
		f.From = f.Until.AddDays(1)
	case after || first.IsZero():
		f.From = f.Until
	default:
		f.From = first
	}
	return nil
}

// oldest returns the day of the first transaction. It returns the zero date when there is none.
func (e *export) oldest(ctx context.Context) (passerelle.Date, error) {
	all := e.filter
	all.Until = passerelle.Date{}
	oldest, err := e.db.Transactions(ctx, all, store.Window{Limit: 1, Descending: true})
	if err != nil {
		return passerelle.Date{}, fmt.Errorf("find the first transaction of account %d: %w", e.account.ID, err)
	}
	if len(oldest) == 0 {
		return passerelle.Date{}, nil
	}
	return all.DayOf(oldest[0]), nil
}

// unknown returns the error for an account whose balance or currency is not known.
func (e *export) unknown() error {
	return passerelle.Conflicting("a statement needs the balance and currency of account %d, which the institution did not give", e.account.ID)
}

// statement returns the statement with the balances of the period. The closing balance is the
// current balance without the bookings after the period.
func (e *export) statement(ctx context.Context) (statementfile.Written, error) {
	a, f := e.account, e.filter
	w := statementfile.Written{FileStatement: statementfile.FileStatement{
		ID:      strconv.FormatInt(int64(a.ID), 10) + "-" + f.Until.String(),
		Account: statementfile.StatementAccount{IBAN: a.IBAN, Number: cmp.Or(a.Number, strconv.FormatInt(int64(a.ID), 10)), Bank: a.BIC, Name: cmp.Or(a.CustomName, a.Name), Currency: a.Currency, Type: a.Type},
	}}
	if a.Balance == nil || !a.Currency.Known() {
		return w, e.unknown()
	}
	if f.From.Compare(f.Until) <= 0 {
		w.From, w.To = f.From, f.Until // an empty period has only balances
	}
	movements, err := InTurn(ctx, func() ([]passerelle.Movement, error) {
		return e.db.InstitutionMovements(ctx, []bankstore.StoredAccount{a}, f.From, f.Until)
	})
	if err != nil {
		return w, fmt.Errorf("sum the transactions of account %d: %w", a.ID, err)
	}
	within, later := new(decimal.Decimal), new(decimal.Decimal)
	for _, m := range movements {
		sum := &within
		if m.Day.Compare(f.Until) > 0 {
			sum = &later
		}
		*sum = passerelle.SumAmounts(*sum, passerelle.SumAmounts(m.In, m.Out))
	}
	closing := without(a.Balance, later)
	opening := without(closing, within)
	if opening == nil {
		return w, passerelle.Conflicting("the totals of account %d have too many digits for a statement", a.ID)
	}
	w.Opening = &statementfile.StatementBalance{Date: f.From.AddDays(-1), Amount: *opening}
	w.Closing = &statementfile.StatementBalance{Date: f.Until, Amount: *closing}
	w.Entries = func(yield func(statementfile.StatementEntry, error) bool) { e.entries(ctx, *opening, *closing, yield) }
	return w, nil
}

// without returns an amount minus another amount. It returns nil when either amount is nil, or when
// the result has too many digits.
func without(amount, less *decimal.Decimal) *decimal.Decimal {
	if less == nil {
		return nil
	}
	negative := less.Neg()
	return passerelle.SumAmounts(amount, &negative)
}

var errMoved = errors.New("the transactions changed while the statement was written")

// entries reads the booked transactions page by page, oldest first. Their sum must be the
// difference between the opening balance and the closing balance.
func (e *export) entries(ctx context.Context, opening, closing decimal.Decimal, yield func(statementfile.StatementEntry, error) bool) {
	balance := &opening
	w := store.Window{Limit: pageSize, Descending: true}
	for {
		page, err := InTurn(ctx, func() ([]passerelle.Transaction, error) { return e.db.Transactions(ctx, e.filter, w) })
		if err != nil {
			yield(statementfile.StatementEntry{}, fmt.Errorf("list the transactions of account %d: %w", e.account.ID, err))
			return
		}
		for _, t := range page {
			if w.From = []any{e.filter.DayOf(t).String(), int64(t.ID)}; t.Coming {
				continue
			}
			balance = passerelle.SumAmounts(balance, &t.Value)
			if !yield(exported(t), nil) {
				return
			}
		}
		if len(page) < w.Limit {
			break
		}
	}
	if balance == nil || !balance.Equal(closing) {
		yield(statementfile.StatementEntry{}, errMoved)
	}
}

func exported(t passerelle.Transaction) statementfile.StatementEntry {
	e := statementfile.StatementEntry{
		Booked: t.Date, Value: t.VDate, Amount: t.Value, Type: t.Type, Wording: t.TransactionDetails.Wording, Reference: strconv.FormatInt(int64(t.ID), 10),
		OriginalAmount: t.OriginalValue, OriginalCurrency: t.OriginalCurrency,
	}
	if t.Counterparty != nil {
		e.Name, e.Number = t.Counterparty.Label, t.Counterparty.Identification
	}
	return e
}
