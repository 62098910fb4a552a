package berlingroup_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestDebitAccounting checks the signs of a card account for each value of debitAccounting, which a
// bank states with the account, its balances or its transactions. The value true means that debits
// are positive.
func TestDebitAccounting(t *testing.T) {
	const positive, negative = `"debitAccounting":true,`, `"debitAccounting":false,`
	for name, test := range map[string]struct {
		account, balances, report string
		balance, value            string
	}{
		"positive, with the account":            {positive, "", "", "-120.00", "-12.50"},
		"positive, with the balances":           {"", positive, "", "-120.00", "-12.50"},
		"positive, with the transactions":       {"", "", positive, "120.00", "-12.50"},
		"negative":                              {negative, negative, negative, "120.00", "12.50"},
		"not stated":                            {"", "", "", "120.00", "12.50"},
		"stated with the account and elsewhere": {positive, positive, positive, "-120.00", "-12.50"},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ncard_accounts = true\ntransaction_ids = true")
			reader := bank.reader()
			bank.answer = func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v1/accounts":
					fmt.Fprint(w, `{"accounts":[]}`)
				case r.URL.Path == "/v1/card-accounts":
					fmt.Fprint(w, `{"cardAccounts":[{`+test.account+`"resourceId":"K","maskedPan":"525412******3241","currency":"EUR"}]}`)
				case strings.HasSuffix(r.URL.Path, "/balances"):
					fmt.Fprint(w, `{`+test.balances+`"balances":[{"balanceType":"interimBooked","balanceAmount":{"currency":"EUR","amount":"120.00"}}]}`)
				default:
					fmt.Fprint(w, `{`+test.report+`"cardTransactions":{"booked":[{"cardTransactionId":"1","bookingDate":"2026-03-01","transactionDetails":"Shoes",
						"transactionAmount":{"currency":"EUR","amount":"12.50"},"originalAmount":{"currency":"USD","amount":"13.70"}}]}}`)
				}
			}
			_, got, err := reader.read(true)
			if err != nil || len(got.accounts) != 1 || got.accounts[0].Balance == nil || got.accounts[0].Balance.String() != test.balance {
				t.Errorf("%+v, %v, want the balance %s", got.accounts, err, test.balance)
			}
			row := got.rows["id/1"]
			if len(got.rows) != 1 || row.Value.String() != test.value || row.OriginalValue.IsNeg() != row.Value.IsNeg() {
				t.Errorf("%+v, want the value %s", got.rows, test.value)
			}
		})
	}
}

// TestBookedCardPurchases checks that a pending purchase keeps its key if the bank books it for the
// same shop with other words, also when debits are positive. The user's own number is in all
// purchases.
func TestBookedCardPurchases(t *testing.T) {
	const purchase = `{"valueDate":"2026-03-02","transactionDetails":%q,"transactionAmount":{"currency":"EUR","amount":"12.50"},
		"debtorAccount":{"maskedPan":"525412******3241"},"creditorAccount":{"iban":%q}%s}`
	for shop, kept := range map[string]bool{"DE1": true, "DE2": false} {
		bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ncard_accounts = true")
		reader := bank.reader()
		report := `"pending":[` + fmt.Sprintf(purchase, "Shoes", "DE1", "") + `]`
		bank.answer = func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/accounts":
				fmt.Fprint(w, `{"accounts":[]}`)
			case "/v1/card-accounts":
				fmt.Fprint(w, `{"cardAccounts":[{"debitAccounting":true,"resourceId":"K","currency":"EUR","balances":[],"_links":{"transactions":{"href":"/v1/card-accounts/K/transactions"}}}]}`)
			default:
				fmt.Fprint(w, `{"cardTransactions":{`+report+`}}`)
			}
		}
		before := reader.reads()
		report = `"booked":[` + fmt.Sprintf(purchase, "Retail 4711", shop, `,"bookingDate":"2026-03-04"`) + `]`
		after := reader.reads()
		if len(before.rows) != 1 || len(after.rows) != 1 || slices.Equal(before.keys(), after.keys()) != kept {
			t.Errorf("%s: the keys are %q before and %q after", shop, before.keys(), after.keys())
		}
	}
}

// TestLateDebitAccounting checks that a read fails if the bank states the signs of transactions
// only after the transactions, and they differ from the stated signs of the account.
func TestLateDebitAccounting(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ncard_accounts = true")
	reader := bank.reader()
	bank.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/accounts":
			fmt.Fprint(w, `{"accounts":[]}`)
		case "/v1/card-accounts":
			fmt.Fprint(w, `{"cardAccounts":[{"resourceId":"K","currency":"EUR","balances":[],"_links":{"transactions":{"href":"/v1/card-accounts/K/transactions"}}}]}`)
		default:
			fmt.Fprint(w, `{"cardTransactions":{"booked":[{"transactionAmount":{"currency":"EUR","amount":"12.50"}}]},"debitAccounting":true}`)
		}
	}
	if _, got, err := reader.read(true); err == nil || !strings.Contains(err.Error(), "debitAccounting") || len(got.rows) > 0 {
		t.Errorf("%+v, %v", got.rows, err)
	}
}
