package bank

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle/testbank/ledger"
)

// Reading is a third party's request for account data.
type Reading struct {
	Caller
	// Consent is the Consent-ID.
	Consent string
	// Call is the name under which the bank counts the call, separately for each Account. The bank
	// does not count a call with an empty name.
	Call string
	// Kind is the kind of the accounts, cash or card.
	Kind string
	// Account is the id of an account. Empty means the list of accounts.
	Account string
}

// Visible is an account with the parts that a consent covers.
type Visible struct {
	ledger.Account
	Balances, Transactions, Owner bool
}

// List lists the accounts of a consent.
func (b *Bank) List(ctx context.Context, r Reading) ([]Visible, error) {
	var list []Visible
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		c, err := b.access(tx, r)
		if err != nil {
			return err
		}
		for _, id := range c.Shown {
			account, err := tx.AccountByID(id)
			if err != nil {
				return err
			}
			if account.Kind == r.Kind {
				list = append(list, c.visible(account))
			}
		}
		return nil
	})
	return list, err
}

func (c *Consent) visible(a ledger.Account) Visible {
	return Visible{a, slices.Contains(c.Balances, a.ID), slices.Contains(c.Transactions, a.ID), c.owners()}
}

// One reads an account. It refuses a request for parts that the consent does not cover.
func (b *Bank) One(ctx context.Context, r Reading, needs func(Visible) bool) (Visible, error) {
	var v Visible
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		v, err = b.one(tx, r, needs)
		return err
	})
	return v, err
}

func (b *Bank) one(tx *ledger.Tx, r Reading, needs func(Visible) bool) (Visible, error) {
	account, err := tx.AccountByID(r.Account)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && account.Kind != r.Kind {
		return Visible{}, Refuse("RESOURCE_UNKNOWN", "account-id", "there is no such account")
	}
	if err != nil {
		return Visible{}, err
	}
	c, err := b.access(tx, r)
	if err != nil {
		return Visible{}, err
	}
	v := c.visible(account)
	if !slices.Contains(c.Shown, account.ID) || !needs(v) {
		return Visible{}, Refuse("CONSENT_INVALID", "", "the consent is not for this")
	}
	return v, nil
}

// access finds the consent that permits a reading, and counts the reading.
func (b *Bank) access(tx *ledger.Tx, r Reading) (*Consent, error) {
	if r.Consent == "" {
		return nil, wrongFormat("Consent-ID", "account data is read with a consent")
	}
	c, err := b.consent(tx, r.Party, r.Consent)
	if err != nil {
		return nil, err
	}
	switch c.Status {
	case "valid":
	case "expired":
		return nil, Refuse("CONSENT_EXPIRED", "", "the consent has expired")
	default:
		return nil, Refuse("CONSENT_INVALID", "", "the consent is "+c.Status)
	}
	today := b.Now().Format(dayLayout)
	if err := b.count(tx, r, c, today); err != nil {
		return nil, err
	}
	c.LastAction = today
	return c, tx.Put(c)
}

// count counts the unattended calls of a day, and refuses calls beyond the limit. For a consent for
// one access, it counts all calls of all days.
func (b *Bank) count(tx *ledger.Tx, r Reading, c *Consent, today string) error {
	period, limit := today, min(c.Frequency, b.Profile.CallsADay)
	switch {
	case r.Call == "": // a further page of a call that was already counted
		return nil
	case !c.Recurring:
		period, limit = "ever", 1
	case r.Attended:
		return nil
	}
	name := strings.Join([]string{"calls", c.ID, period, r.Call, r.Account}, " ")
	made, err := tx.Counter(name)
	if err != nil {
		return err
	}
	if made >= int64(limit) {
		return Refuse("ACCESS_EXCEEDED", "", fmt.Sprintf("the consent permits this call %d times", limit))
	}
	return tx.SetCounter(name, made+1)
}

// Query selects transactions, with the parameters of the standard. An empty member means that the
// request lacks the parameter.
type Query struct {
	BookingStatus      string
	From, To           string
	EntryReferenceFrom string
	Delta              bool
	// Cursor selects the next page of a report. The cursor contains the rest of the query.
	Cursor string
	// Whole asks for the selected page and all later ones as one page.
	Whole bool
}

// Report is a page of transactions.
type Report struct {
	Account Visible
	// Booked means that booked entries were requested, even if the account has none. Pending means
	// the same for pending entries.
	Booked, Pending bool
	Entries         []ledger.Entry
	// Until is the last day of the report, or empty. Closing is the booked balance at the end of
	// that day, or after the newest entry. Only a whole report has these values.
	Until   string
	Closing int64
	// Next is the cursor of the next page, or empty.
	Next string
	// All is the cursor of this page, for a query with Whole. It is empty when Next is empty.
	All string
}

// BookingStatus returns the booking status that was requested for the report.
func (r Report) BookingStatus() string {
	switch {
	case !r.Pending:
		return "booked"
	case !r.Booked:
		return "pending"
	}
	return "both"
}

// Transactions reads a page. All pages of a report show the account at the time of the first page,
// even if the bank books entries in between. With ByOffset, each page shows the account as it is.
func (b *Bank) Transactions(ctx context.Context, r Reading, q Query) (Report, error) {
	window, err := b.window(q, r)
	if err != nil {
		return Report{}, err
	}
	if q.Cursor != "" {
		r.Call = ""
	}
	if err := b.fillPlanned(ctx, r.Account); err != nil {
		return Report{}, err
	}
	report := Report{Booked: window.Booked, Pending: window.Pending}
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if report.Account, err = b.one(tx, r, func(v Visible) bool { return v.Transactions }); err != nil {
			return err
		}
		if err := b.fix(tx, r, q, &window); err != nil {
			return err
		}
		size := b.Profile.PageSize
		if q.Whole {
			size, report.Until = wholeReport, window.To
			report.Closing, err = tx.BookedUntil(window.Account, window.AsOf, window.To)
		}
		if err != nil {
			return err
		}
		return report.fill(tx, window, size, b.Profile.ByOffset)
	})
	return report, err
}

// wholeReport is a page size that exceeds the number of entries of any account.
const wholeReport = 10_000_000

// fill reads a page and one more entry, to find out whether another page follows.
func (r *Report) fill(tx *ledger.Tx, w ledger.Window, size int, byOffset bool) error {
	w.Limit = size + 1
	var err error
	if r.Entries, err = tx.Entries(w); err != nil || len(r.Entries) <= size {
		return err
	}
	r.Entries = r.Entries[:size]
	if r.All, err = cursor(w); err != nil {
		return err
	}
	if byOffset {
		w.Offset += size
	} else {
		w.Before = r.Entries[size-1].ID
	}
	r.Next, err = cursor(w)
	return err
}

func cursor(w ledger.Window) (string, error) {
	encoded, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(encoded), nil
}

// Transaction reads one entry of an account.
func (b *Bank) Transaction(ctx context.Context, r Reading, id string) (ledger.Entry, error) {
	unknown := Refuse("RESOURCE_UNKNOWN", "transactionId", "there is no such transaction")
	number, err := strconv.ParseInt(strings.TrimPrefix(id, "T"), 10, 64)
	if err != nil || !b.Profile.TransactionIDs {
		return ledger.Entry{}, unknown
	}
	var found []ledger.Entry
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		if _, err := b.one(tx, r, func(v Visible) bool { return v.Transactions }); err != nil {
			return err
		}
		now, err := tx.Changes()
		if err != nil {
			return err
		}
		found, err = tx.Entries(ledger.Window{Account: r.Account, AsOf: now, Booked: true, Pending: true, Before: number + 1, Limit: 1})
		return err
	})
	switch {
	case err != nil:
		return ledger.Entry{}, err
	case len(found) == 0 || found[0].ID != number:
		return ledger.Entry{}, unknown
	}
	return found[0], nil
}

// window converts a query to a window of the ledger, or refuses it.
func (b *Bank) window(q Query, r Reading) (ledger.Window, error) {
	if q.Cursor != "" {
		var w ledger.Window
		decoded, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err != nil || json.Unmarshal(decoded, &w) != nil || w.Account != r.Account {
			return w, wrongFormat("cursor", "this is not the address of a page")
		}
		return w, nil
	}
	if err := b.checkQuery(q); err != nil {
		return ledger.Window{}, err
	}
	return ledger.Window{Account: r.Account, Booked: q.BookingStatus != "pending", Pending: q.BookingStatus != "booked", From: q.From, To: q.To}, nil
}

func (b *Bank) checkQuery(q Query) error {
	known := []string{"booked", "pending", "both", "information", "all"}
	err := firstBroken(
		rule{!slices.Contains(known, q.BookingStatus), wrongFormat("bookingStatus", "it is missing, or there is none of this name")},
		rule{!slices.Contains(b.Profile.BookingStatuses, q.BookingStatus), Refuse("PARAMETER_NOT_SUPPORTED", "bookingStatus", "the bank does not report it")},
		rule{q.Delta && !b.Profile.DeltaList, Refuse("PARAMETER_NOT_SUPPORTED", "deltaList", "the bank does not have it")},
		rule{q.EntryReferenceFrom != "" && !b.Profile.EntryReference, Refuse("PARAMETER_NOT_SUPPORTED", "entryReferenceFrom", "the bank does not have it")},
		rule{q.Delta && q.EntryReferenceFrom != "", Refuse("PARAMETER_NOT_CONSISTENT", "deltaList", "it does not go with entryReferenceFrom")},
	)
	if err != nil || q.Delta || q.EntryReferenceFrom != "" {
		return err
	}
	return b.checkPeriod(q)
}

func (b *Bank) checkPeriod(q Query) error {
	from, wrongFrom := time.Parse(dayLayout, q.From)
	to, wrongTo := time.Parse(dayLayout, q.To)
	earliest := day(b.Now()).AddDate(0, 0, -b.Profile.HistoryDays)
	return firstBroken(
		rule{wrongFrom != nil, wrongFormat("dateFrom", "a report begins on a day, YYYY-MM-DD")},
		rule{q.To != "" && wrongTo != nil, wrongFormat("dateTo", "a date is YYYY-MM-DD")},
		rule{q.To != "" && to.Before(from), Refuse("PERIOD_INVALID", "dateTo", "the end is before the beginning")},
		rule{from.Before(earliest), Refuse("PERIOD_INVALID", "dateFrom", fmt.Sprintf("the bank reports %d days", b.Profile.HistoryDays))},
	)
}

// fix decides which state of the account a page shows.
func (b *Bank) fix(tx *ledger.Tx, r Reading, q Query, w *ledger.Window) error {
	if q.Cursor == "" {
		return b.begins(tx, r, q, w)
	}
	if !b.Profile.ByOffset {
		return nil
	}
	var err error
	w.AsOf, err = tx.Changes()
	return err
}

// begins determines the content of a report, and stores the point from which a later delta report
// continues.
func (b *Bank) begins(tx *ledger.Tx, r Reading, q Query, w *ledger.Window) error {
	var err error
	if w.AsOf, err = tx.Changes(); err != nil {
		return err
	}
	seen := "reported " + r.Consent + " " + r.Account
	switch {
	case q.Delta:
		w.From, w.To = "", ""
		if w.After, err = tx.Counter(seen); err != nil {
			return err
		}
	case q.EntryReferenceFrom != "":
		w.From, w.To = "", ""
		id, _ := strconv.ParseInt(strings.TrimPrefix(q.EntryReferenceFrom, "E"), 10, 64)
		w.After, err = tx.ChangeOf(r.Account, id)
		if errors.Is(err, ledger.ErrNotFound) {
			return &Refusal{Status: 400, Code: "RESOURCE_UNKNOWN", Path: "entryReferenceFrom", Text: "there is no such entry"}
		}
		if err != nil {
			return err
		}
	}
	return tx.SetCounter(seen, w.AsOf)
}
