package passerelle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"passerelle"
)

// booked returns one transaction for each text. A text contains the month and day, the value and,
// for a coming transaction, a third word. The wording is the label and a number.
func booked(label string, list ...string) (all []passerelle.Transaction) {
	for i, one := range list {
		words := strings.Fields(one)
		day, _ := passerelle.ParseDate("date", "2026-"+words[0])
		d := passerelle.TransactionDetails{Date: day, Value: decimal.MustParse(words[1]), Wording: fmt.Sprintf("%s %d", label, i), Coming: len(words) > 2}
		all = append(all, passerelle.Transaction{ID: passerelle.TransactionID(i + 1), Account: 7, TransactionDetails: d, Categories: []string{"home.rent"}})
	}
	return all
}

// Recurrences finds series with the same letters in the label and with similar amounts and
// intervals.
func TestRecurrences(t *testing.T) {
	for name, test := range map[string]struct {
		before []passerelle.Transaction
		want   string
	}{
		"every month":      {booked("Prlv, LOYER n°", "03-05 -800", "01-05 -780.00", "02-04 -780"), "-PRLV LOYER N -786.67 30 2026-04-05 11 [2 3 1]"},
		"every week":       {booked("Cours", "01-05 20", "01-12 20", "01-19 20", "01-27 20"), "+COURS 20 7 2026-02-03 11 [1 2 3 4]"},
		"twice":            {booked("Loyer", "01-05 -780", "02-05 -780"), ""},
		"one to come":      {booked("Loyer", "01-05 -780", "02-05 -780", "03-05 -780 coming"), ""},
		"in and out":       {booked("Loyer", "01-05 -780", "02-05 780", "03-05 -780"), ""},
		"now and then":     {booked("Cafe", "01-05 -3", "01-06 -3", "01-20 -3", "03-20 -3"), ""},
		"every day":        {booked("Cafe", "01-05 -3", "01-06 -3", "01-07 -3"), ""},
		"a month missed":   {booked("Loyer", "01-05 -780", "02-05 -780", "04-05 -780"), ""},
		"of other amounts": {booked("Loyer", "01-05 -780", "02-05 -780", "03-05 -2000"), ""},
		"numbers alone":    {booked("1234", "01-05 -780", "02-05 -780", "03-05 -780"), ""},
		"of nothing":       {booked("Loyer", "01-05 0", "02-05 0", "03-05 0"), "+LOYER 0 31 2026-04-05 11 [1 2 3]"},
	} {
		got := ""
		for _, r := range passerelle.Recurrences(test.before) {
			got += fmt.Sprint(r.Key, " ", r.Mean, " ", r.Increment, " ", r.Next, " ", int64(r.Category), " ", r.Transactions)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
