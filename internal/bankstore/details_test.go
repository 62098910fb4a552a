package bankstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
)

// TestDigestsStay checks that stored rows keep their digest when a later version adds a field.
// Otherwise the next sync would write and report all rows. A field that fails this test needs the
// JSON option omitzero.
func TestDigestsStay(t *testing.T) {
	for _, c := range []struct {
		details any
		want    int64
	}{
		{passerelle.AccountDetails{Loan: &passerelle.Loan{}, Parties: []passerelle.Party{{}}}, 8890671389849867676},
		{passerelle.TransactionDetails{Counterparty: &passerelle.Counterparty{}, Attachments: []passerelle.AttachmentDetails{{}}, Origin: &passerelle.Origin{}}, 1777514224178080302},
		{passerelle.SubscriptionDetails{}, 2306804979077478166},
		{passerelle.DocumentDetails{}, 2996768709851108528},
		{passerelle.InvestmentDetails{}, 380129582447492999},
		{passerelle.MarketOrderDetails{}, -4045761514314412078},
		{passerelle.PocketDetails{}, 7434192600353543260},
		{passerelle.AmortizationDetails{}, -7169196080593285388},
	} {
		got, err := EncodeDetails(c.details)
		if err != nil {
			t.Fatal(err)
		}
		if got.Digest != c.want {
			t.Errorf("%T: the digest is %d, want %d: a new field needs the JSON option omitzero", c.details, got.Digest, c.want)
		}
	}
}

// TestDetails checks that null and an empty country are not stored, and that stored details decode
// to the same value. The digest must be the digest of the full encoding, so that rows of earlier
// versions do not count as changed.
func TestDetails(t *testing.T) {
	nothing := decimal.MustParse("0.00")
	for name, d := range map[string]passerelle.TransactionDetails{
		"empty":         {},
		"little":        {Key: "k", Value: decimal.MustParse("-12.50"), Wording: `said "Key":"" and null`, GrossValue: &nothing},
		"nested":        {Counterparty: &passerelle.Counterparty{Label: "shop"}, Attachments: []passerelle.AttachmentDetails{{Key: "a"}}},
		"empty, nested": {Counterparty: &passerelle.Counterparty{}, Attachments: []passerelle.AttachmentDetails{}},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := EncodeDetails(d)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(stored.text, ":null") || strings.Contains(stored.text, `"Country":`) {
				t.Errorf("stored: %s", stored.text)
			}
			if sum := sha256.Sum256(whole); uint64(stored.Digest) != binary.BigEndian.Uint64(sum[:8]) {
				t.Error("the digest is not that of the whole")
			}
			for _, text := range []string{stored.text, string(whole)} {
				var read passerelle.TransactionDetails
				if err := decodeDetails(text, &read); err != nil {
					t.Fatal(err)
				}
				again, err := json.Marshal(read)
				if err != nil || string(again) != string(whole) {
					t.Errorf("%s is read back as\n%s (%v)\n%s", text, again, err, cmp.Diff(string(whole), string(again)))
				}
			}
		})
	}
}
