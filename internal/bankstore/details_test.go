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

// TestDetails: empty values are not stored, all other values are, and the digest is that of the
// full encoding, so that rows of earlier versions do not count as changed.
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
