package statementfile

import (
	"fmt"
	"slices"

	"github.com/govalues/decimal"

	"passerelle/cfonb"
)

// frenchNumber is the total length of bank code, branch code and account number in France.
const frenchNumber = 21

// french returns the parts of a French account number. It takes them from the IBAN, or from a
// number in the form that readCFONB returns.
func french(a StatementAccount) (cfonb.Account, bool) {
	out := cfonb.Account{Currency: a.Currency}
	var is bool
	out.Bank, out.Branch, out.Number, is = cfonb.Split(a.IBAN)
	if n := a.Number; a.IBAN == "" && len(n) == frenchNumber {
		out.Bank, out.Branch, out.Number, is = n[:5], n[5:10], n[10:], true
	}
	return out, is
}

func writeCFONB(o *output, s *Written) error {
	out := cfonb.Statement{Opened: s.Opening.Date, Closed: s.Closing.Date}
	var is bool
	if out.Account, is = french(s.Account); !is {
		return ErrFrench
	}
	var entries []StatementEntry
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	scale := max(s.Account.Currency.Digits(), needed(s.Opening.Amount), needed(s.Closing.Amount))
	for i := range entries {
		scale = max(scale, needed(entries[i].Amount))
	}
	out.Account.Decimals = scale
	var err error
	if out.Balance, err = units(s.Closing.Amount, scale); err != nil {
		return err
	}
	for i := range entries {
		m, err := movement(&entries[i], i+1, scale)
		if err != nil {
			return err
		}
		out.Movements = append(out.Movements, m)
	}
	return cfonb.Write(o.w, slices.Values([]cfonb.Statement{out}))
}

// needed returns the number of decimals of an amount, without trailing zeros.
func needed(d decimal.Decimal) int { return d.Trim(0).Scale() }

// units returns an amount times ten to the power of scale, as an integer. For example, 1.5 with
// scale 2 is 150.
func units(d decimal.Decimal, scale int) (int64, error) {
	whole, rest, fits := d.Int64(scale)
	unit := int64(1)
	for range scale {
		unit *= 10
	}
	if !fits || whole > cfonb.MaxAmount/unit || whole < -cfonb.MaxAmount/unit {
		return 0, fmt.Errorf("write a statement: %w", errAmount)
	}
	return whole*unit + rest, nil
}

func movement(e *StatementEntry, n, scale int) (cfonb.Movement, error) {
	amount, err := units(e.Amount, scale)
	m := cfonb.Movement{
		Operation: cfonb.Operation(e.Type, amount), Booked: e.Booked, Value: e.Value, Amount: amount, Label: e.Wording, Entry: n % 10_000_000, Reference: e.Reference,
	}
	if e.Name != "" {
		m.Details = append(m.Details, cfonb.Detail{Qualifier: party(&m), Text: e.Name})
	}
	return m, err
}
