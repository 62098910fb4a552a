package keys_test

import (
	"bytes"
	"testing"

	"passerelle/internal/keys"
)

func TestIndexDependsOnItsWholeScope(t *testing.T) {
	ring := keys.Generate()
	seen := map[string]string{}
	for name, index := range map[string][]byte{
		"base":         ring.Index(1, "payments.payer", "FR76"),
		"other domain": ring.Index(2, "payments.payer", "FR76"),
		"other column": ring.Index(1, "payments.beneficiary", "FR76"),
		"other value":  ring.Index(1, "payments.payer", "FR77"),
		"other ring":   keys.Generate().Index(1, "payments.payer", "FR76"),
		"mac":          ring.MAC("payments.payer", []byte("FR76")),
	} {
		if len(index) != 32 {
			t.Errorf("%s: %d bytes, want 32", name, len(index))
		}
		if twin, found := seen[string(index)]; found {
			t.Errorf("%s and %s are equal", name, twin)
		}
		seen[string(index)] = name
	}
}

func TestDerivedKeysOutliveRotation(t *testing.T) {
	ring := keys.Generate()
	rotated := ring.Rotated()
	if !bytes.Equal(ring.Index(1, "c", "v"), rotated.Index(1, "c", "v")) {
		t.Error("the blind index changed with the master key")
	}
	if !rotated.Authentic("cursor", []byte("page 2"), ring.MAC("cursor", []byte("page 2"))) {
		t.Error("the MAC changed with the master key")
	}
}

func TestAuthentic(t *testing.T) {
	ring := keys.Generate()
	mac := ring.MAC("cursor", []byte("page 2"))
	for _, test := range []struct {
		name, purpose, data string
		mac                 []byte
		want                bool
	}{
		{"as made", "cursor", "page 2", mac, true},
		{"other purpose", "return", "page 2", mac, false},
		{"other data", "cursor", "page 3", mac, false},
		{"cut short", "cursor", "page 2", mac[:16], false},
		{"none", "cursor", "page 2", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ring.Authentic(test.purpose, []byte(test.data), test.mac); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
