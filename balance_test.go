package passerelle_test

import (
	"fmt"
	"testing"

	"github.com/govalues/decimal"

	"passerelle"
)

func amount(text string) *decimal.Decimal {
	d := decimal.MustParse(text)
	return &d
}

// The balance at the end of a day is the present balance without the later movements.
func TestDailyBalances(t *testing.T) {
	day := func(n int) passerelle.Date {
		d, _ := passerelle.ParseDate("date", "2026-02-27")
		return d.AddDays(n)
	}
	movements := []passerelle.Movement{
		{Day: day(0), In: amount("100"), Out: amount("-0.5")},
		{Day: day(2), In: amount("0"), Out: amount("-20.25")},
		{Day: day(4), In: amount("7"), Out: amount("0")},
		{Day: day(9), In: amount("3"), Out: amount("0")},
	}
	days := passerelle.DailyBalances(amount("1000.00"), movements, day(0), day(4))
	got := ""
	for _, b := range append(days, passerelle.SumBalances(days)) {
		got += fmt.Sprintln(b.First, b.Last, b.End, b.In, b.Out, b.Net)
	}
	want := `2026-02-27 2026-02-27 1010.25 100 -0.5 99.5
2026-02-28 2026-02-28 1010.25 0 0 0
2026-03-01 2026-03-01 990.00 0 -20.25 -20.25
2026-03-02 2026-03-02 990.00 0 0 0
2026-03-03 2026-03-03 997.00 7 0 7
2026-02-27 2026-03-03 997.00 107 -20.75 86.25
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if none := passerelle.DailyBalances(amount("1"), nil, day(1), day(0)); none != nil {
		t.Errorf("of no days: %v", none)
	}
}

// A sum with too many digits is unknown, and so is every result that needs it.
func TestBalancesThatAreTooLong(t *testing.T) {
	first, _ := passerelle.ParseDate("date", "2026-02-27")
	long := []passerelle.Movement{{Day: first, In: amount("1"), Out: amount("0")}, {Day: first.AddDays(1), Out: amount("0")}}
	days := passerelle.DailyBalances(amount("5"), long, first, first.AddDays(1))
	if days[0].End != nil || days[1].End.String() != "5" || days[1].Net != nil || passerelle.SumBalances(days).In != nil {
		t.Errorf("%+v", days)
	}
	for a, b := range map[string]string{"9999999999999999999": "1", "9000000000000000000": "0.5"} {
		if sum := passerelle.SumAmounts(amount(a), amount(b)); sum != nil {
			t.Errorf("a sum of twenty digits: %s", sum)
		}
	}
}
