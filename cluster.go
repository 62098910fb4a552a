package passerelle

import (
	"slices"
	"strings"
	"unicode"

	"github.com/govalues/decimal"
)

// ClusterID identifies a cluster.
type ClusterID int64

// Cluster is a series of recurring transactions of an account. In a series that Recurrences finds,
// the labels have the same letters, and the amounts and intervals are about the same.
type Cluster struct {
	ID      ClusterID
	Account AccountID
	// Key is the common result of clusterKey for the transactions, empty for a cluster that a
	// client created.
	Key, Wording string
	Mean         decimal.Decimal
	// Increment is the median number of days between transactions. Zero means unknown. Next is the
	// expected day of the next transaction.
	Increment int
	Next      Date
	Category  CategoryID
	Enabled   bool
}

// Recurrence is a cluster that Recurrences found, with the ids of its transactions.
type Recurrence struct {
	Cluster
	Transactions []TransactionID
}

// A series has at least minOccurrences transactions, and its median interval is minIncrement to
// maxIncrement days. No amount differs from the mean by more than 1/slackParts of the mean. No
// interval differs from the median by more than 1/slackParts of the median or leastSlack days,
// whichever is greater.
const (
	minOccurrences = 3
	minIncrement   = 6
	maxIncrement   = 366
	leastSlack     = 3
	slackParts     = 4
)

// Recurrences finds the series among transactions of one account, and sorts the series by key. It
// ignores coming transactions.
func Recurrences(all []Transaction) []Recurrence {
	alike := map[string][]Transaction{}
	for _, t := range all {
		if key := clusterKey(t); key != "" && !t.Coming {
			alike[key] = append(alike[key], t)
		}
	}
	var found []Recurrence
	for key, list := range alike {
		slices.SortFunc(list, func(a, b Transaction) int { return a.Date.Compare(b.Date) })
		if r, comesBack := recurrence(key, list); comesBack {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Recurrence) int { return strings.Compare(a.Key, b.Key) })
	return found
}

// maxClusterKey limits the length of a key, in bytes.
const maxClusterKey = 200

// clusterKey returns the sign of the value, and the words of the label in capitals without digits
// and punctuation. It returns "" when the label has no letters, or too many for a key.
func clusterKey(t Transaction) string {
	letters := strings.Join(strings.FieldsFunc(strings.ToUpper(t.TransactionDetails.Wording), func(r rune) bool { return !unicode.IsLetter(r) }), " ")
	if letters == "" || len(letters) > maxClusterKey {
		return ""
	}
	if t.Value.IsNeg() {
		return "-" + letters
	}
	return "+" + letters
}

func recurrence(key string, list []Transaction) (Recurrence, bool) {
	increment, regular := interval(list)
	mean, even := meanValue(list)
	if !regular || !even {
		return Recurrence{}, false
	}
	last := list[len(list)-1]
	r := Recurrence{Cluster: Cluster{
		Account: last.Account, Key: key, Wording: last.TransactionDetails.Wording, Mean: mean, Increment: increment, Next: last.Date.AddDays(increment),
		Category: CategoryNumber(last.Categories), Enabled: true,
	}}
	if increment >= 28 && increment <= 31 {
		r.Next = last.Date.AddMonths(1)
	}
	for _, t := range list {
		r.Transactions = append(r.Transactions, t.ID)
	}
	return r, true
}

// interval returns the median number of days between ordered transactions. It also reports whether
// the number of transactions and their intervals fit a series.
func interval(list []Transaction) (int, bool) {
	var median int
	if len(list) < minOccurrences {
		return 0, false
	}
	var days []int
	for i, t := range list[1:] {
		days = append(days, daysBetween(list[i].Date, t.Date))
	}
	slices.Sort(days)
	median = days[len(days)/2]
	slack := max(leastSlack, median/slackParts)
	return median, median >= minIncrement && median <= maxIncrement && days[0] >= median-slack && days[len(days)-1] <= median+slack
}

func daysBetween(a, b Date) int { return int(b.utc().Sub(a.utc()).Hours() / 24) }

// meanValue returns the mean of the values, and whether all values are close to it.
func meanValue(list []Transaction) (decimal.Decimal, bool) {
	var mean decimal.Decimal
	sum := &decimal.Zero
	for _, t := range list {
		sum = SumAmounts(sum, &t.Value)
	}
	if sum == nil {
		return mean, false
	}
	mean, err := sum.Quo(decimal.MustNew(int64(len(list)), 0))
	if err != nil {
		return mean, false
	}
	for _, t := range list {
		distance, err := t.Value.Sub(mean)
		if err != nil {
			return mean, false
		}
		if parts, err := distance.Abs().Mul(decimal.MustNew(slackParts, 0)); err != nil || parts.Cmp(mean.Abs()) > 0 {
			return mean, false
		}
	}
	return mean.Round(centDigits), true
}
