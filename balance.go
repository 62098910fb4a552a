package passerelle

import (
	"slices"

	"github.com/govalues/decimal"
)

// SumAmounts adds two amounts of one currency. The sum is nil when one of them is
// not known, or when it has more digits than a decimal holds.
func SumAmounts(a, b *decimal.Decimal) *decimal.Decimal {
	if a == nil || b == nil {
		return nil
	}
	sum, err := a.AddExact(*b, max(a.Scale(), b.Scale())) // Add rounds
	if err != nil {
		return nil
	}
	return &sum
}

// Movement is what came into accounts of one currency on a day, and what went
// out of them, which is zero or less. Nil is a sum that is too long.
type Movement struct {
	Day     Date
	In, Out *decimal.Decimal
}

// Balance is what accounts of one currency had at the end of a day or of some
// days, and what moved in that time. In, Out and Net are their incomes, their
// expenses, which are zero or less, and both together.
type Balance struct {
	First, Last       Date
	End, In, Out, Net *decimal.Decimal
}

// DailyBalances are those of the days from first to last, of accounts that have
// present after all of the movements. The movements are in the order of their
// days, from the first day on; those after the last day are taken off.
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

// SumBalances returns the balance over several days, at least one: the last sum, and all
// movements.
func SumBalances(days []Balance) Balance {
	sum := days[len(days)-1]
	sum.First = days[0].First
	for _, day := range days[:len(days)-1] {
		sum.In, sum.Out = SumAmounts(sum.In, day.In), SumAmounts(sum.Out, day.Out)
	}
	sum.Net = SumAmounts(sum.In, sum.Out)
	return sum
}
