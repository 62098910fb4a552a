package wire_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/wire"
)

// Each of the three label fields has a text, even when the institution reports only one label.
func TestWordings(t *testing.T) {
	for _, test := range []struct {
		original, simplified, custom string
		wantSimplified, want         string
	}{
		{"CB CARREFOUR 12/11", "", "", "CB CARREFOUR 12/11", "CB CARREFOUR 12/11"},
		{"CB CARREFOUR 12/11", "Carrefour", "", "Carrefour", "Carrefour"},
		{"CB CARREFOUR 12/11", "Carrefour", "Food", "Carrefour", "Food"},
		{"CB CARREFOUR 12/11", "", "Food", "CB CARREFOUR 12/11", "Food"},
	} {
		of := passerelle.Transaction{CustomWording: test.custom, TransactionDetails: passerelle.TransactionDetails{Wording: test.original, SimplifiedWording: test.simplified}}
		got := wire.NewTransaction(of, "EUR", time.UTC)
		if got.OriginalWording != test.original || got.SimplifiedWording != test.wantSimplified || got.Wording != test.want {
			t.Errorf("%+v: got %q, %q and %q", test, got.OriginalWording, got.SimplifiedWording, got.Wording)
		}
	}
}
