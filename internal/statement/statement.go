// Package statement makes statements in the format CFONB 120 from the payloads of events. Domains
// use this format when their receivers request statements instead of JSON.
//
// The package decides which accounts and transactions of a payload a statement contains, and from
// which members of the payload it takes each value. Package cfonb owns the format. Callers decide
// which events are sent as statements. The package does no I/O.
//
// The package fails with an Invalid *passerelle.Error when the payload is not JSON. It also fails
// when a member has a wrong type, an invalid date, or another value that a statement cannot
// contain. The error then names the member or the account.
package statement

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/cfonb"
)

// MediaType is the media type of a statement.
const MediaType = "text/plain; charset=us-ascii"

// payload contains those members of an event that a statement needs. The payload is an account, a
// connection with accounts, or several connections.
type payload struct {
	account
	Connection  *connection  `json:"connection"`
	Connections []connection `json:"connections"`
}

type connection struct {
	Accounts []account `json:"accounts"`
}

type account struct {
	ID       int64   `json:"id"`
	IBAN     *string `json:"iban"`
	Currency *struct {
		ID passerelle.Currency `json:"id"`
	} `json:"currency"`
	Balance      *json.Number  `json:"balance"`
	LastUpdate   *string       `json:"last_update"`
	Disabled     *string       `json:"disabled"`
	Deleted      *string       `json:"deleted"`
	Transactions []transaction `json:"transactions"`
}

type transaction struct {
	ID              int64                      `json:"id"`
	Value           json.Number                `json:"value"`
	Date            string                     `json:"date"`
	VDate           *string                    `json:"vdate"`
	Type            passerelle.TransactionType `json:"type"`
	Wording         string                     `json:"wording"`
	OriginalWording string                     `json:"original_wording"`
	Coming          bool                       `json:"coming"`
	Deleted         *string                    `json:"deleted"`
}

// Of returns one statement for each account of a payload, in order. The statement of a newly found
// account has no movements. unstated lists the ids of transactions that the statements omit, although
// the payload contains them: those that are movements of earlier statements, and those that the
// institution did not book. The second result is the number of omitted accounts: deleted accounts,
// disabled accounts except a newly found one, and accounts without a French IBAN. Accounts whose
// balance, currency or update is not in the payload are also omitted. All amounts of a statement
// have as many decimals as its currency, or more if an amount needs more.
func Of(body []byte, unstated ...int64) ([]byte, int, error) {
	var (
		text    []byte
		omitted int
	)
	accounts, err := read(body)
	if err != nil {
		return nil, 0, err
	}
	text = []byte{}
	earlier := map[int64]bool{}
	for _, id := range unstated {
		earlier[id] = true
	}
	for i := range accounts {
		if !accounts[i].carried() {
			omitted++
			continue
		}
		lines, err := accounts[i].write(earlier)
		if err != nil {
			return nil, 0, passerelle.InvalidField("data", "account %d cannot be written as a statement: %s", accounts[i].ID, err)
		}
		text = append(text, lines...)
	}
	return text, omitted, nil
}

// read returns the accounts in a payload.
func read(body []byte) ([]account, error) {
	var p payload
	decoder := json.NewDecoder(bytes.NewReader(body))
	err := decoder.Decode(&p)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return nil, passerelle.InvalidField("data", "%s must not be a %s", cmp.Or(mistyped.Field, "the payload"), mistyped.Value)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, passerelle.InvalidField("data", "must be the payload of an event: %s", err)
	}
	if p.Connection == nil && p.Connections == nil {
		p.Disabled, p.Transactions = nil, nil // a found account is disabled, but gets a statement without movements
		return []account{p.account}, nil
	}
	var accounts []account
	if p.Connection != nil {
		accounts = p.Connection.Accounts
	}
	for _, c := range p.Connections {
		accounts = append(accounts, c.Accounts...)
	}
	return accounts, nil
}

func (a *account) carried() bool {
	if a.IBAN == nil || a.Currency == nil || a.Balance == nil || a.LastUpdate == nil || a.Disabled != nil || a.Deleted != nil {
		return false
	}
	_, _, _, french := cfonb.Split(*a.IBAN)
	return french
}

// write returns the statement of an account. The caller must have checked the account with
// a.carried.
func (a *account) write(earlier map[int64]bool) ([]byte, error) {
	booked := a.booked(earlier)
	decimals := a.decimals(booked)
	s := cfonb.Statement{Account: cfonb.Account{Currency: a.Currency.ID, Decimals: decimals}}
	s.Account.Bank, s.Account.Branch, s.Account.Number, _ = cfonb.Split(*a.IBAN)
	var err error
	if s.Balance, err = units(*a.Balance, decimals); err != nil {
		return nil, fmt.Errorf("balance: %w", err)
	}
	for i := range booked {
		m, err := booked[i].movement(i+1, decimals)
		if err != nil {
			return nil, fmt.Errorf("transaction %d: %w", booked[i].ID, err)
		}
		s.Movements = append(s.Movements, m)
	}
	if err := a.days(&s); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = cfonb.Write(&out, slices.Values([]cfonb.Statement{s}))
	return out.Bytes(), err
}

// booked returns the transactions that are part of the balance, oldest first. It leaves out
// movements of earlier statements.
func (a *account) booked(earlier map[int64]bool) []transaction {
	kept := slices.DeleteFunc(slices.Clone(a.Transactions), func(t transaction) bool { return t.Coming || t.Deleted != nil || earlier[t.ID] })
	slices.SortStableFunc(kept, func(a, b transaction) int { return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID)) })
	return kept
}

// days sets the days of the balances. The day of the opening balance is the day before the first
// movement, or the day of the last update if that day is earlier. The day of the closing balance is
// the day of the last update, or the day of the last movement if that day is later.
func (a *account) days(s *cfonb.Statement) error {
	var err error
	day, _, _ := strings.Cut(*a.LastUpdate, " ")
	if s.Closed, err = passerelle.ParseDate("last_update", day); err != nil {
		return err
	}
	s.Opened = s.Closed
	for i := range s.Movements {
		booked := s.Movements[i].Booked
		if s.Closed.Compare(booked) < 0 {
			s.Closed = booked
		}
		if before := booked.AddDays(-1); before.Compare(s.Opened) < 0 {
			s.Opened = before
		}
	}
	return nil
}

func (t *transaction) movement(entry, decimals int) (cfonb.Movement, error) {
	var (
		m   cfonb.Movement
		err error
	)
	if m.Amount, err = units(t.Value, decimals); err != nil {
		return m, fmt.Errorf("value: %w", err)
	}
	if m.Booked, err = passerelle.ParseDate("date", t.Date); err != nil {
		return m, err
	}
	if t.VDate != nil {
		if m.Value, err = passerelle.ParseDate("vdate", *t.VDate); err != nil {
			return m, err
		}
	}
	m.Operation, m.Label = cfonb.Operation(t.Type, m.Amount), cmp.Or(t.OriginalWording, t.Wording)
	m.Entry, m.Reference = entry, strconv.FormatInt(t.ID, 10)
	return m, nil
}

// decimals returns the number of decimals that the amounts need.
func (a *account) decimals(booked []transaction) int {
	needed := max(a.Currency.ID.Digits(), fraction(*a.Balance))
	for i := range booked {
		needed = max(needed, fraction(booked[i].Value))
	}
	return needed
}

// fraction returns the number of digits in a number's fraction. It does not count zeros at the end.
func fraction(n json.Number) int {
	_, digits, _ := strings.Cut(string(n), ".")
	return len(strings.TrimRight(digits, "0"))
}

var errAmount = errors.New("must be a number without exponent, of at most 14 digits")

// units moves the decimal point of a number to the right. The argument `decimals` is the number of
// places. For example, 1.5 with two decimals is 150.
func units(n json.Number, decimals int) (int64, error) {
	whole, digits, _ := strings.Cut(string(n), ".")
	digits = strings.TrimRight(digits, "0")
	if n == "" || decimals > cfonb.MaxDecimals || len(digits) > decimals {
		return 0, errAmount
	}
	value, err := strconv.ParseInt(whole+digits+strings.Repeat("0", decimals-len(digits)), 10, 64)
	if err != nil || value > cfonb.MaxAmount || value < -cfonb.MaxAmount {
		return 0, errAmount
	}
	return value, nil
}
