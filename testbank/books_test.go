package testbank_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"passerelle/testbank/bank"
)

// TestBooksAddUp checks that the books are correct after each step of a random sequence of actions
// by customers and third parties.
func TestBooksAddUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMoney(t, r)
		defer m.bank.Close()
		r.Repeat(map[string]func(*rapid.T){
			"order": m.order, "decide": m.decide, "cancel": m.cancel, "wait": m.wait, "fill": m.fill, "": m.right,
		})
	})
}

type money struct {
	t      *testing.T
	bank   *bank.Bank
	caller bank.Caller
	open   []string
	orders []*bank.Order
	clock  time.Time
}

func newMoney(t *testing.T, r *rapid.T) *money {
	m := &money{t: t, clock: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)}
	names := []string{"redirect", "multilevel", "idempotent", "all"}
	p, _ := bank.ProfileNamed(rapid.SampledFrom(names).Draw(r, "profile"))
	p.Explicit, p.Signatories = false, 1
	path := filepath.Join(t.TempDir(), "books.db")
	b, err := bank.Open(t.Context(), p, path, bank.Options{
		Clock: func() time.Time { return m.clock }, Settlement: time.Duration(rapid.IntRange(0, 3).Draw(r, "settlement")) * time.Hour,
	})
	if err != nil {
		r.Fatal(err)
	}
	m.bank, m.caller = b, bank.Caller{Party: "PSDDE-TEST-1", Attended: true, Return: bank.Return{OK: "https://third.example/"}}
	return m
}

// line returns a random transfer. It avoids amounts from 13.00 to 16.99 euros, because some of them
// select a manner in which the bank fails.
func (m *money) line(r *rapid.T) string {
	accounts, err := m.bank.Accounts(m.t.Context(), "")
	if err != nil {
		r.Fatal(err)
	}
	to := rapid.SampledFrom([]string{iban, accounts[1].Number, accounts[3].Number, accounts[4].Number}).Draw(r, "to")
	name := rapid.SampledFrom([]string{"Shop", "Shop", "Fault AC04", "Fault ACSP"}).Draw(r, "name")
	return fmt.Sprintf(`"instructedAmount":{"currency":"EUR","amount":"%s"},"creditorAccount":{"iban":"%s"},"creditorName":"%s"`,
		bank.Decimal(int64(rapid.IntRange(1, 1_500_000).Filter(func(n int) bool { return n/100 < 13 || n/100 > 16 }).Draw(r, "amount"))), to, name)
}

func (m *money) order(r *rapid.T) {
	today := m.bank.Now().Format(time.DateOnly)
	later := m.bank.Now().AddDate(0, 0, rapid.IntRange(0, 40).Draw(r, "days")).Format(time.DateOnly)
	service := rapid.SampledFrom([]string{bank.Single, bank.Bulk, bank.Periodic}).Draw(r, "service")
	body := map[string]string{
		bank.Single:   fmt.Sprintf(`{%s,"requestedExecutionDate":"%s"}`, m.line(r), later),
		bank.Bulk:     fmt.Sprintf(`{"payments":[{%s},{%s}]}`, m.line(r), m.line(r)),
		bank.Periodic: fmt.Sprintf(`{%s,"startDate":"%s","endDate":"%s","frequency":"Weekly"}`, m.line(r), today, later),
	}[service]
	m.caller.RequestID = rapid.StringMatching("[0-9]{12}").Draw(r, "id")
	taken, err := m.bank.Take(m.t.Context(), m.caller, service, bank.SEPA, []byte(body))
	if err != nil {
		r.Fatalf("%s %s: %v", service, body, err)
	}
	m.orders = append(m.orders, taken.Order)
	m.open = append(m.open, taken.Authorisation.Ticket())
}

func (m *money) decide(r *rapid.T) {
	if len(m.open) == 0 {
		r.Skip("nothing is open")
	}
	who := rapid.SampledFrom(bank.Customers()).Draw(r, "who")
	ticket := rapid.SampledFrom(m.open).Draw(r, "ticket")
	// A late or repeated decision is refused and changes nothing.
	m.bank.Decide(m.t.Context(), ticket, bank.Decision{Approve: rapid.Bool().Draw(r, "approve"), PSU: who.ID})
}

func (m *money) cancel(r *rapid.T) {
	if len(m.orders) == 0 {
		r.Skip("there are no orders")
	}
	o := rapid.SampledFrom(m.orders).Draw(r, "order")
	_, needs, err := m.bank.Cancel(m.t.Context(), m.caller, o.ID)
	if err != nil || !needs {
		return // the bank may refuse
	}
	a, err := m.bank.Begin(m.t.Context(), m.caller, bank.Subject{Kind: bank.OfCancellation, ID: o.ID}, nil)
	if err != nil {
		r.Fatal(err)
	}
	m.open = append(m.open, a.Ticket())
}

func (m *money) wait(r *rapid.T) {
	m.clock = m.clock.Add(time.Duration(rapid.IntRange(1, 24*20).Draw(r, "hours")) * time.Hour)
	if err := m.bank.Run(m.t.Context()); err != nil {
		r.Fatal(err)
	}
}

func (m *money) fill(r *rapid.T) {
	amount := rapid.SampledFrom([]string{"12.34", "999.99"}).Draw(r, "amount")
	err := m.bank.Fill(m.t.Context(), "bert-current", bank.Filling{Count: rapid.IntRange(1, 3).Draw(r, "count"), Amount: amount, Text: "x", Pending: rapid.Bool().Draw(r, "pending")})
	if err != nil {
		r.Fatal(err)
	}
}

func (m *money) right(r *rapid.T) {
	wrong, err := m.bank.Check(m.t.Context())
	if err != nil || len(wrong) > 0 {
		r.Fatalf("the books: %v %v", wrong, err)
	}
}
