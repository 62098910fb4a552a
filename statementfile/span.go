package statementfile

import (
	"cmp"
	"errors"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
)

// BalanceSpan is a period that statements of an account cover, from one balance to another.
type BalanceSpan struct{ Opening, Closing StatementBalance }

// Gap is a period in which entries of an account are missing. It lies between two spans, when the
// closing balance of the first span differs from the opening balance of the second.
type Gap struct {
	After, Before passerelle.Date
	// Missing is the sum of the missing entries.
	Missing decimal.Decimal
}

// Gaps returns the gaps between spans, and the spans in order. Spans with no gap between them are
// joined. Nothing can be missing between overlapping spans. Gaps fails when balances have too many
// digits to compare.
func Gaps(spans []BalanceSpan) ([]Gap, []BalanceSpan, error) {
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(x, y BalanceSpan) int {
		return cmp.Or(x.Opening.Date.Compare(y.Opening.Date), x.Closing.Date.Compare(y.Closing.Date))
	})
	var gaps []Gap
	var joined []BalanceSpan
	for i := range sorted {
		if len(joined) == 0 {
			joined = append(joined, sorted[i])
			continue
		}
		last := &joined[len(joined)-1]
		advance(sorted[i:], last.Closing)
		missing, err := plus(sorted[i].Opening.Amount, last.Closing.Amount.Neg())
		if err != nil {
			return nil, nil, err
		}
		if missing.IsZero() || sorted[i].Opening.Date.Compare(last.Closing.Date) < 0 {
			last.extend(sorted[i].Closing)
			continue
		}
		gaps = append(gaps, Gap{last.Closing.Date, sorted[i].Opening.Date, missing})
		joined = append(joined, sorted[i])
	}
	return gaps, joined, nil
}

// advance moves the span that continues a balance before the other spans that begin on the same
// day.
func advance(spans []BalanceSpan, from StatementBalance) {
	for i := 0; i < len(spans) && spans[i].Opening.Date == spans[0].Opening.Date; i++ {
		if spans[i].Opening.Amount.Equal(from.Amount) {
			spans[0], spans[i] = spans[i], spans[0]
			return
		}
	}
}

// extend moves the end of a span to a balance, unless the balance is older.
func (s *BalanceSpan) extend(to StatementBalance) {
	if s.Closing.Date.Compare(to.Date) <= 0 {
		s.Closing = to
	}
}

var errSum = errors.New("the sum of amounts has too many digits")

// plus adds two amounts. It fails when the sum would have to be rounded.
func plus(a, b decimal.Decimal) (decimal.Decimal, error) {
	sum, err := a.AddExact(b, max(a.Scale(), b.Scale()))
	if err != nil {
		return sum, errSum
	}
	return sum, nil
}
