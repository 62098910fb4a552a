// Package statements is the connector of people who have statement files and no access to a
// bank: what they hand over becomes accounts, balances and transactions.
//
// It owns which account and which transaction of the service an account and an entry of a file
// are, so that files may overlap, come in any order, and come twice. It does not own the
// formats (package statementfile) or how files come to it.
//
// It fails with a *statementfile.FileError when a file cannot be read, and with the error of the
// sink. A file that cannot be read hands nothing over: the connector reads it to its end before it
// calls the sink. Nothing is ever missed because a file does not have it.
package statements

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/identity"
	"passerelle/statementfile"
)

// UUID identifies the connector.
const UUID = "5b7f3c7e-6a1d-4c55-9c0e-2f1f3f0f8d21"

// Connector reads statement files. It has no state.
type Connector struct{}

var _ connector.DataReader = Connector{}

// Profile describes the connector.
func (Connector) Profile() connector.Profile {
	return connector.Profile{
		UUID: UUID, ID: 30, Name: "Statement files", Countries: []string{"FR", "AT", "BE", "CH", "DE", "ES", "IT", "LU", "NL", "PL", "PT"}, Hidden: true,
		Sources: []connector.Source{{ID: 301, Name: "files", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}}},
		Data: &connector.DataSettings{
			Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking", "savings", "card", "loan"},
			Usages: []passerelle.Usage{passerelle.Private, passerelle.Organisation}, ConsentDays: consentDays, TakesFiles: true,
		},
		Mechanism: passerelle.ByCredentials,
		Labels:    connector.Labels{Slug: "FILES", Color: "455a64"},
	}
}

const (
	// consentDays is ten years: nothing is read without the person.
	consentDays = 3650
	// farDays is more than any entry is ahead: from then on nothing is missed that was not
	// handed over.
	farDays = 100 * 366
	// pageSize is how many transactions are handed over at once.
	pageSize = 500
	// maxAccounts is how many accounts a connection may have.
	maxAccounts = 500
)

// account is an account as it is remembered between files.
type account struct {
	Key, IBAN, Number, BIC, Name string
	Type                         passerelle.AccountType
	Currency                     passerelle.Currency
	Balance                      *decimal.Decimal
	// Day is that of the balance.
	Day passerelle.Date `json:",omitzero"`
}

// KeyOf returns the key of an account. An account in two currencies is two accounts.
func KeyOf(a statementfile.StatementAccount) string {
	return cmp.Or(a.IBAN, a.Number) + "/" + string(a.Currency)
}

// Read hands the file over. Without a file it finds nothing.
func (Connector) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	if req.File == nil {
		return connector.Outcome{}, ctx.Err()
	}
	known := map[string]*account{}
	_ = json.Unmarshal(req.Memory, &known) // a memory that is none is like the first read
	inFile, err := survey(ctx, req.File, known)
	if err != nil {
		return connector.Outcome{}, err
	}
	var all []passerelle.AccountDetails
	for _, key := range slices.Sorted(maps.Keys(known)) {
		all = append(all, known[key].details())
	}
	if err := out.Accounts(all); err != nil {
		return connector.Outcome{}, err
	}
	if err := handOver(ctx, req.File, out); err != nil {
		return connector.Outcome{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(inFile)) {
		if _, wanted := out.Wanted(key); !wanted {
			continue
		}
		if err := out.AccountRead(key, passerelle.DateOf(req.Now, req.Now.Location()).AddDays(farDays)); err != nil {
			return connector.Outcome{}, err
		}
	}
	memory, err := json.Marshal(known)
	return connector.Outcome{Memory: memory}, err
}

// records reads the file from its beginning.
func records(ctx context.Context, file io.ReadSeeker, do func(statementfile.Record) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the file again: %w", err)
	}
	for record, err := range statementfile.Read(file) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := do(record); err != nil {
			return err
		}
	}
	return nil
}

// survey adds the accounts of the file to those that are known, with the balance of the latest
// day, and returns the keys of those in the file.
func survey(ctx context.Context, file io.ReadSeeker, known map[string]*account) (map[string]bool, error) {
	inFile := map[string]bool{}
	err := records(ctx, file, func(r statementfile.Record) error {
		if r.Entry != nil {
			return nil
		}
		key := KeyOf(r.Statement.Account)
		if known[key] == nil {
			known[key] = &account{}
		}
		if len(known) > maxAccounts {
			return &statementfile.FileError{Line: r.Statement.Line, Err: fmt.Errorf("a connection has at most %d accounts", maxAccounts)}
		}
		known[key].update(key, r.Statement)
		inFile[key] = true
		return nil
	})
	return inFile, err
}

// update takes what a statement says of its account.
func (a *account) update(key string, s *statementfile.FileStatement) {
	from := s.Account
	a.Key, a.IBAN, a.Number, a.Currency = key, from.IBAN, cmp.Or(from.Number, from.IBAN), from.Currency
	a.Name = cmp.Or(from.Name, a.Name, from.Owner, a.Number)
	a.Type = cmp.Or(from.Type, a.Type, "checking")
	a.BIC = cmp.Or(from.Bank, a.BIC)
	if s.Closing != nil && a.Day.Compare(s.Closing.Date) <= 0 {
		a.Balance, a.Day = &s.Closing.Amount, s.Closing.Date
	}
}

func (a *account) details() passerelle.AccountDetails {
	return passerelle.AccountDetails{Key: a.Key, Number: a.Number, IBAN: a.IBAN, BIC: a.BIC, Name: a.Name, Type: a.Type, Currency: a.Currency, Balance: a.Balance}
}

// page collects transactions of one account.
type page struct {
	key     string
	entries []passerelle.TransactionDetails
}

func (p *page) flush(out connector.Sink) error {
	if len(p.entries) == 0 {
		return nil
	}
	err := out.Transactions(p.key, p.entries)
	p.entries = nil
	return err
}

// handOver hands the entries of wanted accounts over, page by page.
func handOver(ctx context.Context, file io.ReadSeeker, out connector.Sink) error {
	ids, wanted := map[string]identity.Alike{}, map[string]bool{}
	var p page
	err := records(ctx, file, func(r statementfile.Record) error {
		if r.Entry == nil {
			return nil
		}
		key := KeyOf(r.Statement.Account)
		if ids[key] == nil {
			ids[key] = identity.Alike{}
			_, wanted[key] = out.Wanted(key)
		}
		if !wanted[key] {
			return nil
		}
		if key != p.key || len(p.entries) >= pageSize {
			if err := p.flush(out); err != nil {
				return err
			}
		}
		p.key, p.entries = key, append(p.entries, transaction(r, ids[key]))
		return nil
	})
	if err != nil {
		return err
	}
	return p.flush(out)
}

// transaction is an entry in the words of the service.
func transaction(r statementfile.Record, ids identity.Alike) passerelle.TransactionDetails {
	e := r.Entry
	d := passerelle.TransactionDetails{
		Key: keyOf(r, ids), Date: e.Booked, BDate: e.Booked, VDate: e.Value, Value: e.Amount, Type: e.Type, Wording: e.Wording,
		OriginalValue: e.OriginalAmount, OriginalCurrency: e.OriginalCurrency,
	}
	if e.Name != "" || e.Number != "" {
		d.Counterparty = counterparty(e)
	}
	return d
}

// keyOf is the identity of an entry: its day, its amount, and the bank's reference or else its
// texts. Banks repeat references, so the day and the amount count in any case. It begins with
// the format, since formats write other texts.
func keyOf(r statementfile.Record, ids identity.Alike) string {
	e := r.Entry
	content := []string{e.Booked.String(), e.Amount.Trim(0).String(), e.Reference}
	if e.Reference == "" {
		content = append(content, e.EndToEnd, e.Name, e.Number, e.Wording)
	}
	return ids.Next(identity.OfContent(string(r.Statement.Format), content...))
}

func counterparty(e *statementfile.StatementEntry) *passerelle.Counterparty {
	c := &passerelle.Counterparty{Label: e.Name, Type: "debtor"}
	if e.Amount.IsNeg() {
		c.Type = "creditor"
	}
	if e.Number == "" {
		return c
	}
	one := passerelle.Account{Scheme: passerelle.IBAN, Identification: e.Number, Label: "account"}
	if c.Scheme, c.Identification = "bban", e.Number; one.Check("") == nil {
		c.Scheme = "iban"
	}
	return c
}
