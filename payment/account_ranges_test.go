package payment_test

import (
	"testing"

	"passerelle"
	"passerelle/payment"
)

// TestAccountRanges: prefixes of account numbers decide whether an account is at a bank. BICs
// decide only if there are no prefixes.
func TestAccountRanges(t *testing.T) {
	iban := func(number, bic string) passerelle.Account {
		return passerelle.Account{Scheme: passerelle.IBAN, Identification: number, Issuer: bic}
	}
	german := payment.AccountRanges{IBANs: []string{"DE..50010517", "DE..5001060"}, BICs: []string{"EXBKDEFFXXX"}}
	byBIC := payment.AccountRanges{BICs: []string{"EXBKDEFF", "EXBKATWWXXX"}}
	for name, test := range map[string]struct {
		ranges    payment.AccountRanges
		account   passerelle.Account
		at, known bool
	}{
		"the first prefix":       {german, iban("DE81500105170000000001", ""), true, true},
		"the second prefix":      {german, iban("DE81500106090000000001", ""), true, true},
		"another bank code":      {german, iban("DE81500105180000000001", "EXBKDEFF"), false, true},
		"another country":        {german, iban("AT811234500105170001", ""), false, true},
		"letters for digits":     {german, iban("DEXX500105170000000001", ""), false, true},
		"a number that is short": {german, iban("DE81", ""), false, true},
		"no account number":      {german, passerelle.Account{Scheme: passerelle.SortCode, Identification: "20000055779911"}, false, false},
		"a BIC":                  {byBIC, iban("DE81", "EXBKDEFFXXX"), true, true},
		"a BIC of a branch":      {byBIC, iban("AT81", "EXBKATWW123"), true, true},
		"another BIC":            {byBIC, iban("DE81", "OTHRDEFF"), false, true},
		"no BIC":                 {byBIC, iban("DE81", ""), false, false},
		"no ranges":              {payment.AccountRanges{}, iban("DE81", "EXBKDEFF"), false, false},
	} {
		at, known := test.ranges.Contain(test.account)
		if at != test.at || known != test.known || test.ranges.Exclude(test.account) != (known && !at) {
			t.Errorf("%s: at the bank is %t, known is %t", name, at, known)
		}
	}
}
