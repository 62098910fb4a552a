package passerelle_test

import (
	"testing"

	"passerelle"
)

func TestTypeOfBankCode(t *testing.T) {
	for code, want := range map[string]passerelle.TransactionType{
		"PMNT-CCRD-CWDL": "withdrawal", "PMNT-CCRD-POSD": "card", "PMNT-RCDT-ESCT": "transfer", "PMNT-RDDT-ESDD": "order", "PMNT-MCOP-CHRG": "bank", "XTND-NTAV-NTAV": "", "": "",
	} {
		if got := passerelle.TypeOfBankCode(code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
