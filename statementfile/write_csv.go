package statementfile

import (
	"encoding/csv"

	"passerelle"
)

// csvHeader lists the columns that are written, with the names that a mapping uses.
var csvHeader = []string{
	accountColumn, currencyColumn, dateColumn, valueDateColumn, amountColumn, balanceColumn, typeColumn, wordingColumn, nameColumn, numberColumn, referenceColumn, endToEndColumn,
}

// writeCSV writes a line for each entry, with the balance after the entry. It writes only columns
// that readCSV finds without a mapping. No spreadsheet interprets a text as a formula, and readCSV
// returns the original text.
func writeCSV(o *output, s *Written) error {
	w := csv.NewWriter(o.w)
	if err := w.Write(csvHeader); err != nil {
		o.err = err
		return nil
	}
	balance := s.Opening.Amount
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		if balance, err = plus(balance, e.Amount); err != nil {
			return err
		}
		err = w.Write([]string{
			passerelle.InertCell(s.Account.number()), string(s.Account.Currency), e.Booked.String(), dayOrNothing(e.Value), s.signed(e.Amount.IsNeg()) + s.digits(e.Amount),
			s.signed(balance.IsNeg()) + s.digits(balance), string(e.Type),
			passerelle.InertCell(e.Wording), passerelle.InertCell(e.Name), passerelle.InertCell(e.Number), passerelle.InertCell(e.Reference), passerelle.InertCell(e.EndToEnd),
		})
		if err != nil {
			o.err = err
			return nil
		}
	}
	w.Flush()
	o.err = w.Error()
	return nil
}

func dayOrNothing(d passerelle.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}
