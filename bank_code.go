package passerelle

import "strings"

// bankCodes maps prefixes of the bank transaction codes of ISO 20022 to types, longer prefixes
// first.
var bankCodes = []struct {
	code string
	kind TransactionType
}{
	{"PMNT-CCRD-CWDL", "withdrawal"},
	{"PMNT-CNTR-CWDL", "withdrawal"},
	{"PMNT-CNTR-CDPT", "deposit"},
	{"PMNT-CCRD", "card"},
	{"PMNT-MCRD", "card"},
	{"PMNT-ICDT", "transfer"},
	{"PMNT-RCDT", "transfer"},
	{"PMNT-IRCT", "transfer"},
	{"PMNT-RRCT", "transfer"},
	{"PMNT-RDDT", "order"},
	{"PMNT-IDDT", "order"},
	{"PMNT-ICHQ", "check"},
	{"PMNT-RCHQ", "check"},
	{"LDAS", "loan_repayment"},
	{"ACMT", "bank"},
}

// TypeOfBankCode returns the type of a transaction by its bank transaction code of ISO 20022, such
// as PMNT-RCDT-ESCT. A code without a prefix in bankCodes has the type bank if it ends in -FEES or
// -CHRG, and otherwise "".
func TypeOfBankCode(code string) TransactionType {
	for _, one := range bankCodes {
		if strings.HasPrefix(code, one.code) {
			return one.kind
		}
	}
	if strings.HasSuffix(code, "-FEES") || strings.HasSuffix(code, "-CHRG") {
		return "bank"
	}
	return ""
}
