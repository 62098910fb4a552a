package passerelle_test

import (
	"fmt"
	"testing"

	"passerelle"
)

func position(quantity, price, value string, previous *passerelle.InvestmentDetails) passerelle.Asset[passerelle.InvestmentDetails] {
	d := passerelle.InvestmentDetails{Key: "k", Quantity: amount(quantity), UnitPrice: amount(price), UnitValue: amount(value)}
	return passerelle.Asset[passerelle.InvestmentDetails]{Details: d, Previous: previous}
}

func text(w passerelle.Worth) string {
	return fmt.Sprint(w.Valuation, w.Diff, w.DiffPercent, w.PrevDiff, w.PrevDiffPercent, w.Calculated)
}

// TestWorth checks reported and calculated values, and which values Calculated lists.
func TestWorth(t *testing.T) {
	before := position("10", "8", "9", nil).Details
	first, second := position("10", "8", "10", &before), position("3", "100.005", "50", nil)
	supplied := first
	supplied.Details.Valuation, supplied.Details.Diff, supplied.Details.DiffPercent = amount("101"), amount("1"), amount("0.5")
	unknown := position("1", "1", "1", nil)
	unknown.Details.UnitValue = nil
	nothing, large := position("1", "0", "0", nil).Details, position("1", "0", "9999999999999999999", nil)
	large.Previous = &nothing
	for name, test := range map[string]struct {
		got  passerelle.Worth
		want string
	}{
		"calculated":       {passerelle.WorthOf(first), "100 20 0.25 10 0.1111 [valuation diff prev_diff diff_percent prev_diff_percent]"},
		"the first time":   {passerelle.WorthOf(second), "150 -150.02 -0.5000 <nil> <nil> [valuation diff diff_percent]"},
		"given":            {passerelle.WorthOf(supplied), "101 1 0.5 11 0.1222 [prev_diff prev_diff_percent]"},
		"unknown":          {passerelle.WorthOf(unknown), "<nil> <nil> <nil> <nil> <nil> []"},
		"together":         {passerelle.TotalWorth([]passerelle.Asset[passerelle.InvestmentDetails]{first, second}), "250 -130.02 -0.3421 10 0.0417 [valuation diff prev_diff diff_percent prev_diff_percent]"},
		"with one unknown": {passerelle.TotalWorth([]passerelle.Asset[passerelle.InvestmentDetails]{first, unknown}), "<nil> <nil> <nil> 10 <nil> [prev_diff]"},
		"too many digits":  {passerelle.TotalWorth([]passerelle.Asset[passerelle.InvestmentDetails]{large, large, first}), "<nil> <nil> <nil> <nil> <nil> []"},
		"of nothing":       {passerelle.TotalWorth(nil), "0 0 <nil> <nil> <nil> [valuation diff]"},
	} {
		if got := text(test.got); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if w := passerelle.WorthOf(first); !w.Equal(passerelle.WorthOf(first)) || w.Equal(passerelle.WorthOf(second)) {
		t.Error("equal worths")
	}
	if passerelle.Share(amount("1"), amount("0")) != nil || passerelle.Share(amount("1"), amount("3")).String() != "0.3333" {
		t.Error("shares")
	}
}
