package api

import (
	"fmt"
	"slices"
	"strings"
)

// family is a group of calls that similar services have and this service does not have.
type family struct {
	name string
	// segments are the path segments by which Unserved recognises the family.
	segments []string
	// instead names the replacement of these calls in this API.
	instead string
}

var unserved = []family{
	{"Transfers and recipients", []string{"transfers", "recipients", "transferrecipients"}, "Initiate payments with `POST /payments`."},
	{"Payment links", []string{"payment-links", "payment_links", "paymentlinks"}, "Send payers to `/webview/payment`."},
	{"Alerts", []string{"alerts"}, "Webhooks report every change."},
	{"Forecasts", []string{"forecast", "forecasts"}, "`transactionsclusters` finds recurring transactions."},
	{"Recognised texts", []string{"ocr"}, "Documents are stored as received."},
	{"Merchants", []string{"merchants"}, "The member `counterparty` of a transaction names the other party."},
	{"Projects", []string{"projects"}, "Nothing replaces them."},
	{"Profiles", []string{"profiles"}, "`owner_identity` has the owner of a connection."},
	{"Users with passwords", []string{"register", "confirm", "cookie"}, "`POST /auth/init` creates a user and its token."},
	{"Budgets", []string{"budgets"}, "`balances` sums up periods."},
}

// Unserved returns the message for the root of the address, or for an unknown path that belongs to
// a family. It returns an empty text for other paths.
func Unserved(segments []string) string {
	if len(segments) == 0 {
		return "The service is running. The calls of the API are below /2.0, and /docs describes them."
	}
	for _, f := range unserved {
		if slices.ContainsFunc(segments, func(word string) bool { return slices.Contains(f.segments, word) }) {
			return fmt.Sprintf("%s are not served here. %s", f.name, strings.ReplaceAll(f.instead, "`", ""))
		}
	}
	return ""
}
