package statementfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
		out.Bank, out.Branch, out.Number, is = n[:5], n[5:10], n[10:], strings.Trim(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
	}
	return out, is
}

var (
	cfonbYears = formatYears{"CFONB 120", cfonb.FirstYear, cfonb.LastYear}
	errFrench  = &UnfitError{Text: "CFONB 120 has accounts in France only, with an IBAN that begins with FR"}
	errDigits  = &UnfitError{Text: fmt.Sprintf("CFONB 120 has amounts of at most 14 digits and %d decimals only", cfonb.MaxDecimals)}
)

func writeCFONB(o *output, s *Written) error {
	out := cfonb.Statement{Opened: s.Opening.Date, Closed: s.Closing.Date}
	var is bool
	if out.Account, is = french(s.Account); !is {
		return errFrench
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
	for _, b := range []*StatementBalance{s.Opening, s.Closing} {
		amount, err := units(b.Amount, scale)
		if err = cmp.Or(err, cfonbYears.check(b.Date)); err != nil {
			return err
		}
		out.Balance = amount
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
	if scale > cfonb.MaxDecimals || !fits || whole > cfonb.MaxAmount/unit || whole < -cfonb.MaxAmount/unit {
		return 0, errDigits
	}
	return whole*unit + rest, nil
}

func movement(e *StatementEntry, n, scale int) (cfonb.Movement, error) {
	amount, err := units(e.Amount, scale)
	err = cmp.Or(err, cfonbYears.check(e.Booked))
	if !e.Value.IsZero() {
		err = cmp.Or(err, cfonbYears.check(e.Value))
	}
	m := cfonb.Movement{
		Operation: cfonb.Operation(e.Type, amount), Booked: e.Booked, Value: e.Value, Amount: amount, Label: e.Wording, Entry: n % 10_000_000, Reference: e.Reference,
	}
	if e.Name != "" {
		m.Details = append(m.Details, cfonb.Detail{Qualifier: party(&m), Text: e.Name})
	}
	return m, err
}
