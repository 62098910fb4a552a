package bank

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"passerelle/testbank/ledger"
)

// Summary describes an order to a tester.
type Summary struct {
	ID        string `json:"id"`
	Service   string `json:"service"`
	Product   string `json:"product"`
	RequestID string `json:"request_id"`
	EndToEnd  string `json:"end_to_end,omitempty"`
	Creditor  string `json:"creditor"`
	Amount    string `json:"amount"`
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	// Booked is the number of movements, one for each line and execution. It includes pending
	// movements. Moved is the sum of all these movements in euros.
	Booked int64  `json:"booked"`
	Moved  string `json:"moved"`
}

// Orders lists all orders with their movements in the books.
func (b *Bank) Orders(ctx context.Context) ([]Summary, error) {
	list := []Summary{}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		orders, err := ledger.List[Order](tx, orderKind, "")
		if err != nil {
			return err
		}
		for _, o := range orders {
			count, moved, err := tx.Booked(o.causes())
			if err != nil {
				return err
			}
			list = append(list, Summary{
				o.ID, o.Service, o.Product, o.RequestID, o.Lines[0].EndToEnd, o.Lines[0].Creditor, Decimal(o.Total()), o.Status, o.Reason, count, Decimal(moved),
			})
		}
		return nil
	})
	return list, err
}

// Consents lists all consents.
func (b *Bank) Consents(ctx context.Context) ([]*Consent, error) {
	list := []*Consent{}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		all, err := ledger.List[Consent](tx, consentKind, "")
		list = append(list, all...)
		return err
	})
	return list, err
}

// OpenAuthorisations lists the authorisations that wait for a customer.
func (b *Bank) OpenAuthorisations(ctx context.Context) ([]*Authorisation, error) {
	list := []*Authorisation{}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		all, err := ledger.ListDue[Authorisation](tx, authorisationKind)
		for _, a := range all {
			if a.Open() {
				list = append(list, a)
			}
		}
		return err
	})
	return list, err
}

// TicketOf returns the ticket that opens the page of an authorisation.
func (b *Bank) TicketOf(ctx context.Context, id string) (string, error) {
	var a Authorisation
	err := b.book.Update(ctx, func(tx *ledger.Tx) error { return tx.Get(authorisationKind, id, &a) })
	return a.Ticket(), err
}

// Filling describes bookings that a tester wants to make on an account.
type Filling struct {
	// Count is the number of bookings. Amount is the amount of each in euros. If Amount has a minus
	// sign, the money leaves the account.
	Count  int    `json:"count"`
	Amount string `json:"amount"`
	// Text is the text of each booking. With Number, the text ends with the number of the booking.
	Text    string `json:"text"`
	Number  bool   `json:"number"`
	Pending bool   `json:"pending"`
	// DaysAgo is how many days before today the bookings are dated.
	DaysAgo int `json:"days_ago"`
	// AfterPages delays the bookings until this many more pages of the account's transactions have
	// been requested. The next requested page already shows the bookings.
	AfterPages int `json:"after_pages"`
}

const maxFilling = 100_000

// fillCause is the prefix of Movement.Cause in a tester's bookings.
const fillCause = "fill:"

// planned are the bookings that wait for requests, by account.
type planned struct {
	mu       sync.Mutex
	fillings map[string][]Filling
}

// plan delays bookings until pages are requested.
func (p *planned) plan(account string, f Filling) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fillings == nil {
		p.fillings = map[string][]Filling{}
	}
	p.fillings[account] = append(p.fillings[account], f)
}

// due counts a request for a page. It returns the bookings that are made before the page is read.
func (p *planned) due(account string) []Filling {
	p.mu.Lock()
	defer p.mu.Unlock()
	var due, later []Filling
	for _, f := range p.fillings[account] {
		if f.AfterPages--; f.AfterPages < 0 {
			f.AfterPages = 0
			due = append(due, f)
			continue
		}
		later = append(later, f)
	}
	if len(p.fillings[account]) > 0 {
		p.fillings[account] = later
	}
	return due
}

// fillPlanned makes the planned bookings on an account before a page is read.
func (b *Bank) fillPlanned(ctx context.Context, account string) error {
	for _, f := range b.planned.due(account) {
		if err := b.Fill(ctx, account, f); err != nil {
			return err
		}
	}
	return nil
}

// Fill makes or plans bookings between an account and the clearing account.
func (b *Bank) Fill(ctx context.Context, account string, f Filling) error {
	amount, err := parseAmount(Amount{currency, strings.TrimPrefix(f.Amount, "-")}, "amount")
	if err != nil {
		return err
	}
	if f.Count < 1 || f.Count > maxFilling || f.DaysAgo < 0 || f.AfterPages < 0 {
		return wrongFormat("count", fmt.Sprintf("count is 1 to %d, days_ago and after_pages not below zero", maxFilling))
	}
	if f.AfterPages > 0 {
		b.planned.plan(account, f)
		return nil
	}
	return b.book.Update(ctx, func(tx *ledger.Tx) error {
		to, err := tx.AccountByID(account)
		if err != nil {
			return err
		}
		first, err := tx.Changes()
		if err != nil {
			return err
		}
		for i := range f.Count {
			if err := b.fillOne(tx, to, f, amount, first, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Bank) fillOne(tx *ledger.Tx, account ledger.Account, f Filling, amount, first int64, i int) error {
	text := f.Text
	if f.Number {
		text = fmt.Sprintf("%s %d", f.Text, i+1)
	}
	m := ledger.Movement{
		Cause: fmt.Sprintf("%s%d:%d", fillCause, first, i), From: clearing, To: account.ID, Amount: amount,
		FromName: "Other Party", ToName: account.Owner, ToNumber: account.Number, Text: text, Day: b.Now().AddDate(0, 0, -f.DaysAgo),
	}
	if strings.HasPrefix(f.Amount, "-") {
		m.From, m.To, m.FromName, m.FromNumber, m.ToName, m.ToNumber = account.ID, clearing, account.Owner, account.Number, "Other Party", ""
	}
	if err := tx.Enter(m); err != nil || f.Pending {
		return err
	}
	return tx.Post(m.Cause, m.Day)
}

// BookPending books the pending entries that a tester made on an account, and returns their number.
// Pending entries of orders are booked when the orders settle.
func (b *Bank) BookPending(ctx context.Context, account string) (int, error) {
	var causes []string
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		var err error
		if causes, err = tx.Pending(account, fillCause); err != nil {
			return err
		}
		for _, cause := range causes {
			if err := tx.Post(cause, b.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	return len(causes), err
}
