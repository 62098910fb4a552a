package connectortest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
)

// TestDifferentTransactionsHaveDifferentKeys checks that the suite reports a key of two different
// transactions. A page may repeat a transaction of an earlier page.
func TestDifferentTransactionsHaveDifferentKeys(t *testing.T) {
	for wording, want := range map[string]string{"Bread": "", "Milk": `two different transactions of an account have the key "1"`} {
		err := agreedIsRead(t.Context(), customerOf(scripted{readProfile(), func(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if err := out.Accounts([]passerelle.AccountDetails{{Key: "a", Currency: "EUR"}}); err != nil {
				return connector.Outcome{}, err
			}
			day := passerelle.DateOf(time.Now(), time.UTC)
			for _, w := range []string{"Bread", wording} {
				if err := out.Transactions("a", []passerelle.TransactionDetails{{Key: "1", Date: day, Wording: w, Value: decimal.One}}); err != nil {
					return connector.Outcome{}, err
				}
			}
			return connector.Outcome{}, out.AccountRead("a", day)
		}}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", wording, err, want)
		}
	}
}
