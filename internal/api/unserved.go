package api

import (
	"fmt"
	"slices"
	"strings"
)

// family is a group of calls that services of this kind of interface once had, and
// this one does not.
type family struct {
	name string
	// segments are the words of its paths.
	segments []string
	// instead says what serves the purpose here.
	instead string
}

var unserved = []family{
	{"Transfers and recipients", []string{"transfers", "recipients", "transferrecipients"}, "Payments are initiated with `POST /payments`."},
	{"Payment links", []string{"payment_links", "paymentlinks"}, "The page of a payment is at `/webview/payment`."},
	{"Alerts", []string{"alerts"}, "Webhooks tell of everything that happens."},
	{"Forecasts", []string{"forecast", "forecasts"}, "None is computed; `transactionsclusters` finds what comes again."},
	{"Recognised texts", []string{"ocr"}, "Documents are kept as they came."},
	{"Merchants", []string{"merchants"}, "The counterparty of a transaction is in `counterparty`."},
	{"Projects", []string{"projects"}, "There is no other call."},
	{"Profiles", []string{"profiles"}, "The owner of a connection is at `owner_identity`."},
	{"Budgets", []string{"budgets"}, "`balances` sums up periods."},
}

// Unserved is what to tell of a path that nothing is at and that belongs to a family
// of calls which is not served; empty for other paths.
func Unserved(segments []string) string {
	for _, f := range unserved {
		if slices.ContainsFunc(segments, func(word string) bool { return slices.Contains(f.segments, word) }) {
			return fmt.Sprintf("%s are not served here. %s", f.name, strings.ReplaceAll(f.instead, "`", ""))
		}
	}
	return ""
}
