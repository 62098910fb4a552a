package statementfile

import (
	"errors"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/cfonb"
)

// readCFONB reads CFONB 120. Package cfonb parses the format and also checks the balances.
func readCFONB(in *input, _ *Mapping, emit func(Record) error) error {
	for s, err := range cfonb.Parse(in) {
		if err != nil {
			return cfonbError(err)
		}
		if err := emitCFONB(&s, emit); err != nil {
			return err
		}
	}
	return nil
}

func cfonbError(err error) error {
	var found *cfonb.LineError
	if errors.As(err, &found) {
		return &FileError{Line: found.Line, Err: found.Err}
	}
	return &FileError{Err: err}
}

func emitCFONB(s *cfonb.Statement, emit func(Record) error) error {
	units := func(n int64) decimal.Decimal { return decimal.MustNew(n, s.Account.Decimals) }
	opening, err := s.Opening()
	if err != nil {
		return &FileError{Line: s.Line, Err: err}
	}
	out := &FileStatement{
		Line: s.Line, Format: CFONB, Message: "CFONB 120", From: s.Opened, To: s.Closed,
		Account: StatementAccount{Bank: s.Account.Bank, Number: s.Account.Bank + s.Account.Branch + s.Account.Number, Currency: s.Account.Currency},
		Opening: &StatementBalance{s.Opened, units(opening)}, Closing: &StatementBalance{s.Closed, units(s.Balance)},
	}
	if err := out.Account.check(s.Line, "01"); err != nil {
		return err
	}
	for _, m := range s.Movements {
		e := &StatementEntry{
			Line: m.Line, Booked: m.Booked, Value: m.Value, Amount: units(m.Amount), Reference: reference(m.Reference), Wording: wordingOf(&m), Name: counterparty(&m),
			Type: cfonb.TypeOf(m.Operation),
		}
		e.setOriginal(&m, out.Account.Currency)
		if err := emit(Record{Statement: out, Entry: e}); err != nil {
			return err
		}
	}
	return emit(Record{Statement: out})
}

// setOriginal sets the amount in another currency than that of the account, with the sign of the
// movement.
func (e *StatementEntry) setOriginal(m *cfonb.Movement, own passerelle.Currency) {
	for _, d := range m.Details {
		currency, decimals, units, is := d.Original()
		if !is || !currency.Known() || currency == own {
			continue
		}
		amount := decimal.MustNew(units, decimals)
		if m.Amount < 0 {
			amount = amount.Neg()
		}
		e.OriginalAmount, e.OriginalCurrency = &amount, currency
	}
}

// remittance lists the qualifiers of the texts that the payer sent. They continue the label.
var remittance = []string{"LCC", "LC2", "LCS"}

// wordingOf returns the label of the bank, and then the text of the payer.
func wordingOf(m *cfonb.Movement) string {
	texts := []string{m.Label}
	for _, d := range m.Details {
		if slices.Contains(remittance, d.Qualifier) {
			texts = append(texts, d.Text)
		}
	}
	return tidy(strings.Join(texts, " "))
}

// party returns the qualifier of the counterparty's name: of outgoing money, the counterparty is
// the payee.
func party(m *cfonb.Movement) string {
	if m.Amount < 0 {
		return cfonb.Payee
	}
	return cfonb.Payer
}

// counterparty returns the name of the counterparty. If only the other party has a name, it returns
// that name, because some banks do not distinguish the parties.
func counterparty(m *cfonb.Movement) string {
	name := ""
	for _, d := range m.Details {
		switch d.Qualifier {
		case party(m):
			return tidy(d.Text)
		case cfonb.Payee, cfonb.Payer:
			name = tidy(d.Text)
		}
	}
	return name
}
