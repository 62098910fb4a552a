package berlingroup_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
)

// TestRefusedAccounts checks that the service reads the other accounts when the bank refuses the
// transactions or the balance of one account. The read then ends with the state of the refusal. An
// account without its balance must be marked, because otherwise no balance would replace the stored
// one. When a refusal concerns all accounts, the read ends at once.
func TestRefusedAccounts(t *testing.T) {
	const (
		accounts = `{"accounts":[{"resourceId":"A1","iban":"DE03999010010000000001","currency":"EUR"},{"resourceId":"A2","iban":"DE03999010010000000002","currency":"EUR"},{"resourceId":"A3","iban":"DE03999010010000000003","currency":"EUR"}]}`
		balances = `{"balances":[{"balanceType":"closingBooked","balanceAmount":{"currency":"EUR","amount":"1.00"}}]}`
		all      = "1 2 3"
		unread   = "1 2? 3"
	)
	refusal := func(code string) string {
		return `{"tppMessages":[{"category":"ERROR","code":"` + code + `","text":"Blocked"}]}`
	}
	for name, test := range map[string]struct {
		path, body string
		status     int
		state      passerelle.ConnectionState
		fails      bool
		// known and read are the last digits of the accounts that the sink gets and of those that are
		// read completely. A question mark follows an account whose balance was not read.
		known, read string
	}{
		"a blocked account":              {"A2/transactions", refusal("RESOURCE_BLOCKED"), 403, passerelle.ActionNeeded, false, all, "1 3"},
		"an account without a list":      {"A2/transactions", refusal("SERVICE_INVALID"), 405, passerelle.Bug, true, all, "1 3"},
		"an account that is gone":        {"A2/transactions", "", 404, passerelle.Bug, true, all, "1 3"},
		"a list that cannot be read":     {"A2/transactions", `{"transactions":{"booked":[{}]}}`, 200, "", true, all, "1 3"},
		"a blocked customer":             {"A2/transactions", refusal("SERVICE_BLOCKED"), 403, passerelle.ActionNeeded, false, all, "1"},
		"a blocked account, earlier":     {"A2/balances", refusal("RESOURCE_BLOCKED"), 403, passerelle.ActionNeeded, false, unread, "1 3"},
		"an account without balances":    {"A2/balances", refusal("RESOURCE_UNKNOWN"), 404, passerelle.Bug, true, unread, "1 3"},
		"balances that cannot be read":   {"A2/balances", "[]", 200, "", true, unread, "1 3"},
		"a blocked customer, earlier":    {"A2/balances", refusal("SERVICE_BLOCKED"), 403, passerelle.ActionNeeded, false, "", ""},
		"a refused certificate":          {"A2/transactions", refusal("CERTIFICATE_INVALID"), 401, passerelle.Bug, true, all, "1"},
		"a limit":                        {"A2/transactions", refusal("ACCESS_EXCEEDED"), 429, passerelle.RateLimiting, false, all, "1"},
		"a bank that is closed":          {"A2/transactions", "", 503, passerelle.WebsiteUnavailable, false, all, "1"},
		"a refused certificate, earlier": {"A2/balances", refusal("CERTIFICATE_INVALID"), 401, passerelle.Bug, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newReadable(t)
			reader := bank.reader()
			bank.answer = func(w http.ResponseWriter, r *http.Request) {
				switch path := strings.TrimPrefix(r.URL.Path, "/v1/accounts"); {
				case path == "":
					answers(http.StatusOK, accounts)(w, r)
				case path == "/"+test.path:
					answers(test.status, test.body)(w, r)
				case strings.HasSuffix(path, "/balances"):
					answers(http.StatusOK, balances)(w, r)
				default:
					answers(http.StatusOK, page([]string{line("2026-03-01", "2026-03-01", "-2.50", "Coffee")}, nil, ""))(w, r)
				}
			}
			o, got, err := reader.read(true)
			var known, read []string
			for _, a := range got.accounts {
				mark := ""
				if a.BalanceUnread {
					mark = "?"
				}
				known = append(known, a.IBAN[21:]+mark)
			}
			for _, key := range slices.Sorted(maps.Keys(got.ended)) {
				read = append(read, key[21:22])
			}
			if o.State != test.state || (err != nil) != test.fails || strings.Join(known, " ") != test.known || strings.Join(read, " ") != test.read {
				t.Errorf("the read ends with %+v, %v; the accounts are %q, and %q were read", o, err, known, read)
			}
			if o.State == passerelle.ActionNeeded && o.Message != "Blocked" {
				t.Errorf("the message is %q", o.Message)
			}
		})
	}
}

// TestBlockedAccountsDelayNoOthers checks that a connection is read again after a day when the bank
// blocks one account. When the bank blocks the customer, only the customer can act.
func TestBlockedAccountsDelayNoOthers(t *testing.T) {
	for code, wait := range map[string]time.Duration{"RESOURCE_BLOCKED": 24 * time.Hour, "SERVICE_BLOCKED": 0} {
		for _, refused := range []string{"/balances", "/transactions"} {
			bank := newReadable(t)
			reader := bank.reader()
			bank.answer = func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, refused) {
					answers(http.StatusForbidden, `{"tppMessages":[{"category":"ERROR","code":"`+code+`"}]}`)(w, r)
					return
				}
				answers(http.StatusOK, `{"accounts":[{"resourceId":"A1","iban":"DE03999010010000000001","currency":"EUR"}],"balances":[]}`)(w, r)
			}
			if o, _, err := reader.read(true); err != nil || o.State != passerelle.ActionNeeded || o.RetryAfter != wait {
				t.Errorf("%s for %s: the read ends with %+v, %v, want a wait of %s", code, refused, o, err, wait)
			}
		}
	}
}
