package passerelle

import (
	"slices"

	"github.com/govalues/decimal"
)

// SumAmounts adds two amounts of one currency. The sum is nil when an amount is unknown, or when
// the sum has more digits than a decimal allows.
func SumAmounts(a, b *decimal.Decimal) *decimal.Decimal {
	if a == nil || b == nil {
		return nil
	}
	sum, err := a.AddExact(*b, max(a.Scale(), b.Scale())) // Add would round
	if err != nil {
		return nil
	}
	return &sum
}

// Movement holds the money that accounts of one currency received and paid on a day. Out is zero or
// less. A sum that has too many digits is nil.
type Movement struct {
	Day     Date
	In, Out *decimal.Decimal
}

// Balance is the balance of the accounts in one currency at the end of a day or period, with the
// movements in that time. In is the total income. Out is the total expense, as a negative number or
// zero. Net is In plus Out.
type Balance struct {
	First, Last       Date
	End, In, Out, Net *decimal.Decimal
}

// DailyBalances returns the balance at the end of each day from first to last. present is the
// balance after all movements. The movements must be in the order of their days, at most one for
// each day. Movements after last are allowed.
func DailyBalances(present *decimal.Decimal, movements []Movement, first, last Date) []Balance {
	var days []Balance
	end := present
	for day := last; day.Compare(first) >= 0; day = day.AddDays(-1) {
		one := Balance{First: day, Last: day, In: &decimal.Zero, Out: &decimal.Zero}
		for len(movements) > 0 && movements[len(movements)-1].Day.Compare(day) > 0 {
			last := movements[len(movements)-1]
			end, movements = difference(end, SumAmounts(last.In, last.Out)), movements[:len(movements)-1]
		}
		one.End = end
		if n := len(movements); n > 0 && movements[n-1].Day == day {
			one.In, one.Out = movements[n-1].In, movements[n-1].Out
		}
		one.Net = SumAmounts(one.In, one.Out)
		days = append(days, one)
	}
	slices.Reverse(days)
	return days
}

// SumBalances combines the balances of consecutive days. It needs at least one day. The result
// contains the balance at the end of the last day and the sums of all movements.
func SumBalances(days []Balance) Balance {
	sum := days[len(days)-1]
	sum.First = days[0].First
	for _, day := range days[:len(days)-1] {
		sum.In, sum.Out = SumAmounts(sum.In, day.In), SumAmounts(sum.Out, day.Out)
	}
	sum.Net = SumAmounts(sum.In, sum.Out)
	return sum
}
