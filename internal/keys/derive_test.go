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
	if !bytes.Equal(rotated.MAC("cursor", []byte("page 2")), ring.MAC("cursor", []byte("page 2"))) {
		t.Error("the MAC changed with the master key")
	}
}

func TestCodesDiffer(t *testing.T) {
	ring := keys.Generate()
	mac := ring.MAC("cursor", []byte("page 2"))
	if len(mac) != 32 || !bytes.Equal(mac, ring.MAC("cursor", []byte("page 2"))) {
		t.Error("the code changes")
	}
	for name, other := range map[string][]byte{"other purpose": ring.MAC("return", []byte("page 2")), "other data": ring.MAC("cursor", []byte("page 3"))} {
		if bytes.Equal(mac, other) {
			t.Errorf("%s: the code is the same", name)
		}
	}
}
