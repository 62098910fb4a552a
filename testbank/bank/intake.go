package bank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"passerelle/testbank/ledger"
)

// Taken is an order that the bank has accepted, with the authorisation that the bank started, if
// any.
type Taken struct {
	Order         *Order
	Authorisation *Authorisation
	// Again means that the bank already had the order.
	Again bool
}

// Take accepts or refuses an order. An accepted order is on disk when Take returns.
func (b *Bank) Take(ctx context.Context, c Caller, service, product string, body []byte) (Taken, error) {
	order, err := b.read(c, service, product, body)
	if err != nil {
		return Taken{}, err
	}
	if refusal := order.Lines[0].refusal(MannerOf(order)); refusal != nil {
		return Taken{}, refusal
	}
	var taken Taken
	err = b.book.Update(ctx, func(tx *ledger.Tx) error {
		if b.Profile.Idempotent {
			again, err := sameOrder(tx, order)
			if again.Order != nil || err != nil {
				taken = again
				return err
			}
		}
		if err := b.knowDebtor(tx, c, order); err != nil {
			return err
		}
		taken.Order = order
		if err := tx.Put(order); err != nil {
			return err
		}
		var err error
		taken.Authorisation, err = b.beginImplicitly(tx, c, order.authorisable(OfPayment))
		return err
	})
	return taken, err
}

// sameOrder finds an earlier order with the same request id. It refuses an order with a different
// body than the earlier one.
func sameOrder(tx *ledger.Tx, order *Order) (Taken, error) {
	all, err := ledger.List[Order](tx, orderKind, order.Belongs())
	if err != nil || len(all) == 0 {
		return Taken{}, err
	}
	earlier := all[0]
	if !bytes.Equal(earlier.Body, order.Body) {
		return Taken{}, wrongFormat("X-Request-ID", "another order came with this id")
	}
	begun, err := ledger.List[Authorisation](tx, authorisationKind, OfPayment+" "+earlier.ID)
	if err != nil || len(begun) == 0 {
		return Taken{Order: earlier, Again: true}, err
	}
	return Taken{earlier, begun[0], true}, nil
}

// read makes an order from a body.
func (b *Bank) read(c Caller, service, product string, body []byte) (*Order, error) {
	if !slices.Contains(b.Profile.Products[service], product) {
		return nil, Refuse("PRODUCT_UNKNOWN", "", "the bank does not offer "+product+" as "+service)
	}
	if !c.Attended {
		return nil, wrongFormat("PSU-IP-Address", "an order says where the customer is")
	}
	var parsed paymentBody
	if err := DecodeBody(body, &parsed); err != nil {
		return nil, err
	}
	compact := &bytes.Buffer{}
	if err := json.Compact(compact, body); err != nil {
		return nil, wrongFormat("", "the body is not JSON")
	}
	now := b.Now()
	o := &Order{
		ID: newID(), Service: service, Product: product, Party: c.Party, RequestID: c.RequestID, Body: compact.Bytes(), PSU: c.PSU,
		Status: "RCVD", Return: c.Return, Prefers: b.Profile.Approach(c.Prefers), Notify: c.Notify, Received: now, Next: now.Add(b.Profile.Life),
	}
	if parsed.DebtorAccount != nil {
		o.Debtor = parsed.DebtorAccount.IBAN
	}
	if err := serviceReaders[service](b, o, parsed); err != nil {
		return nil, err
	}
	o.Manner = MannerOf(o).Word
	return o, b.checkDebtorIsWanted(parsed.DebtorAccount)
}

func (b *Bank) checkDebtorIsWanted(debtor *Reference) error {
	switch {
	case debtor == nil && b.Profile.DebtorAccount == Required:
		return wrongFormat("debtorAccount", "the bank requires the debtor account")
	case debtor != nil && b.Profile.DebtorAccount == Refused:
		return wrongFormat("debtorAccount", "the customer chooses the account at the bank")
	case debtor != nil && !validIBAN(debtor.IBAN):
		return wrongFormat("debtorAccount.iban", "the check digits are not those of an IBAN")
	}
	return nil
}

// serviceReaders maps payment services to the functions that read their specific fields.
var serviceReaders = map[string]func(*Bank, *Order, paymentBody) error{
	Single:   (*Bank).readSingle,
	Bulk:     (*Bank).readBulk,
	Periodic: (*Bank).readPeriodic,
}

func (b *Bank) readSingle(o *Order, p paymentBody) error {
	line, err := b.Profile.line(p.transfer, "")
	if err != nil {
		return err
	}
	o.Lines, o.Execution = []Line{line}, p.Execution
	return b.checkExecution(o)
}

func (b *Bank) readBulk(o *Order, p paymentBody) error {
	if len(p.Payments) == 0 || len(p.Payments) > b.Profile.MaxBulk {
		return wrongFormat("payments", fmt.Sprintf("a bulk has 1 to %d payments", b.Profile.MaxBulk))
	}
	for i, one := range p.Payments {
		line, err := b.Profile.line(one, fmt.Sprintf("payments[%d].", i))
		if err != nil {
			return err
		}
		o.Lines = append(o.Lines, line)
	}
	o.Execution = p.Execution
	return b.checkExecution(o)
}

// checkExecution checks that the bank can execute an order on the requested day.
func (b *Bank) checkExecution(o *Order) error {
	if o.Execution == "" {
		return nil
	}
	const path = "requestedExecutionDate"
	asked, err := time.Parse(dayLayout, o.Execution)
	if err != nil {
		return wrongFormat(path, "a date is YYYY-MM-DD")
	}
	today := day(b.Now())
	switch {
	case !b.Profile.FutureDates || o.Product == Instant && asked.After(today):
		return Refuse("EXECUTION_DATE_INVALID", path, "the bank executes this at once only")
	case asked.Before(today):
		return Refuse("EXECUTION_DATE_INVALID", path, "the day is over")
	case asked.After(today.AddDate(0, 0, b.Profile.MaxDays)):
		return Refuse("EXECUTION_DATE_INVALID", path, fmt.Sprintf("the bank keeps orders for %d days", b.Profile.MaxDays))
	}
	return nil
}

func (b *Bank) readPeriodic(o *Order, p paymentBody) error {
	line, err := b.Profile.line(p.transfer, "")
	if err != nil {
		return err
	}
	o.Lines = []Line{line}
	o.Schedule, err = b.schedule(p)
	return err
}

func (b *Bank) schedule(p paymentBody) (*Schedule, error) {
	s := &Schedule{Start: p.Start, End: p.End, Frequency: p.Frequency, Rule: p.Rule, Months: p.Months}
	start, err := time.Parse(dayLayout, p.Start)
	if err != nil {
		return nil, wrongFormat("startDate", "a periodic order begins on a day, YYYY-MM-DD")
	}
	end, err := time.Parse(dayLayout, p.End)
	if p.Day != "" {
		s.Day, _ = strconv.Atoi(p.Day)
	}
	variable := p.Frequency == "MonthlyVariable"
	return s, firstBroken(
		rule{p.End != "" && err != nil, wrongFormat("endDate", "a date is YYYY-MM-DD")},
		rule{start.Before(day(b.Now())), Refuse("EXECUTION_DATE_INVALID", "startDate", "the day is over")},
		rule{p.End != "" && end.Before(start), Refuse("PERIOD_INVALID", "endDate", "the end is before the beginning")},
		rule{!slices.Contains(b.Profile.Frequencies, p.Frequency), wrongFormat("frequency", "the bank does not have this frequency")},
		rule{!slices.Contains([]string{"", "following", "preceding"}, p.Rule), wrongFormat("executionRule", "a rule is following or preceding")},
		rule{p.Day != "" && (s.Day < 1 || s.Day > 31 || strconv.Itoa(s.Day) != p.Day), wrongFormat("dayOfExecution", "a day is 1 to 31")},
		rule{
			variable != (len(p.Months) > 0) || !validMonths(p.Months),
			wrongFormat("monthsOfExecution", "MonthlyVariable, and nothing else, has 1 to 11 different months from 1 to 12"),
		},
	)
}

// validMonths reports whether a schedule can have these months. A month has no sign and no leading
// zero, because Schedule.plain compares the texts.
func validMonths(months []string) bool {
	seen := map[int]bool{}
	for _, text := range months {
		month, _ := strconv.Atoi(text)
		if strconv.Itoa(month) != text || month < 1 || month > 12 || seen[month] {
			return false
		}
		seen[month] = true
	}
	return len(months) <= 11
}

// knowDebtor checks the customer of an order and the customer's paying account.
func (b *Bank) knowDebtor(tx *ledger.Tx, c Caller, o *Order) error {
	if c.PSU == "" && b.Profile.WantsPSU {
		return wrongFormat("PSU-ID", "the bank requires its customer's user name")
	}
	if err := b.checkCustomer(c); err != nil || o.Debtor == "" {
		return err
	}
	account, err := ownAccount(tx, "debtorAccount", o.Debtor, c.PSU)
	if err != nil {
		return err
	}
	if account.Kind != ledger.Cash {
		return notTheirs("debtorAccount")
	}
	if b.Profile.Signatories == 1 {
		o.PSU = account.Customer
	}
	return nil
}

// ownAccount finds an account of a customer, or of any customer when psu is empty.
func ownAccount(tx *ledger.Tx, path, number, psu string) (ledger.Account, error) {
	account, err := tx.AccountByNumber(number)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (account.Kind == ledger.Own || psu != "" && account.Customer != psu) {
		return account, notTheirs(path)
	}
	return account, err
}

func notTheirs(path string) *Refusal {
	return &Refusal{Status: 400, Code: "RESOURCE_UNKNOWN", Path: path, Text: "the customer has no such account at the bank"}
}
