package statementfile

import (
	"errors"

	"github.com/govalues/decimal"

	"passerelle/cfonb"
)

// payer is the qualifier of a detail with the payer's name.
const payer = "NPY"

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
		e := &StatementEntry{Line: m.Line, Booked: m.Booked, Value: m.Value, Amount: units(m.Amount), Reference: reference(m.Reference), Wording: tidy(m.Label)}
		for _, d := range m.Details {
			if d.Qualifier == cfonb.Payee || d.Qualifier == payer {
				e.Name = tidy(d.Text)
			}
		}
		if err := emit(Record{Statement: out, Entry: e}); err != nil {
			return err
		}
	}
	return emit(Record{Statement: out})
}
