package keys_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/internal/keys"
)

var place = keys.Place{Domain: 1, Table: "webhook_auth", Column: "secret", Row: 42}

func seal(t *testing.T, ring *keys.Ring, plain string) []byte {
	t.Helper()
	sealed, err := ring.Seal(place, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func mustOpen(t *testing.T, ring *keys.Ring, sealed []byte, want string) {
	t.Helper()
	plain, err := ring.Open(place, sealed)
	if err != nil {
		t.Fatal(err)
	}
	if string(plain) != want {
		t.Errorf("opened to %q, want %q", plain, want)
	}
}

func TestSealedValueOpensWhereItWasSealed(t *testing.T) {
	ring := keys.Generate()
	for _, plain := range []string{"", "x", "a secret", strings.Repeat("long ", 10_000)} {
		sealed := seal(t, ring, plain)
		mustOpen(t, ring, sealed, plain)
		if len(plain) > 1 && bytes.Contains(sealed, []byte(plain)) {
			t.Errorf("%d bytes are readable in the sealed value", len(plain))
		}
	}
}

func TestSealingTwiceGivesDifferentBytes(t *testing.T) {
	ring := keys.Generate()
	if bytes.Equal(seal(t, ring, "same"), seal(t, ring, "same")) {
		t.Error("equal values are recognisable when sealed")
	}
}

func TestMovedValueDoesNotOpen(t *testing.T) {
	elsewhere := map[string]keys.Place{
		"row":          {Domain: 1, Table: "webhook_auth", Column: "secret", Row: 43},
		"column":       {Domain: 1, Table: "webhook_auth", Column: "token", Row: 42},
		"table":        {Domain: 1, Table: "client", Column: "secret", Row: 42},
		"domain":       {Domain: 2, Table: "webhook_auth", Column: "secret", Row: 42},
		"shifted name": {Domain: 1, Table: "webhook_auths", Column: "ecret", Row: 42},
		"swapped ids":  {Domain: 42, Table: "webhook_auth", Column: "secret", Row: 1},
	}
	ring := keys.Generate()
	sealed := seal(t, ring, "a secret")
	for name, other := range elsewhere {
		t.Run(name, func(t *testing.T) {
			if plain, err := ring.Open(other, sealed); err == nil {
				t.Errorf("opened to %q at another place", plain)
			}
			if _, err := ring.Rotated().Rewrap(other, sealed); err == nil {
				t.Error("was rewrapped for another place")
			}
		})
	}
}

func TestAlteredValueDoesNotOpen(t *testing.T) {
	ring := keys.Generate()
	sealed := seal(t, ring, "a secret")
	for i := range len(sealed) * 8 {
		altered := bytes.Clone(sealed)
		altered[i/8] ^= 1 << (i % 8)
		if _, err := ring.Open(place, altered); err == nil {
			t.Fatalf("opened with bit %d flipped", i)
		}
	}
	for length := range len(sealed) {
		if _, err := ring.Open(place, sealed[:length]); err == nil {
			t.Fatalf("opened when cut to %d bytes", length)
		}
	}
}

func TestIncompletePlaceIsRefused(t *testing.T) {
	for _, p := range []keys.Place{{}, {Table: "t", Column: "c"}, {Table: "t", Row: 1}, {Column: "c", Row: 1}} {
		if _, err := keys.Generate().Seal(p, []byte("x")); err == nil {
			t.Errorf("sealed for the place %+v", p)
		}
	}
}

func TestRotation(t *testing.T) {
	old := keys.Generate()
	sealed := seal(t, old, "a secret")
	rotated := old.Rotated()
	mustOpen(t, rotated, sealed, "a secret")

	rewrapped, err := rotated.Rewrap(place, sealed)
	if err != nil {
		t.Fatal(err)
	}
	mustOpen(t, rotated, rewrapped, "a secret")
	if _, err := old.Open(place, rewrapped); err == nil {
		t.Error("the old ring opens a value wrapped by the new key")
	}
	tail := len("a secret") + 28
	if !bytes.Equal(sealed[len(sealed)-tail:], rewrapped[len(rewrapped)-tail:]) {
		t.Error("rewrapping changed the ciphertext")
	}
	again, err := rotated.Rewrap(place, rewrapped)
	if err != nil || !bytes.Equal(again, rewrapped) {
		t.Errorf("rewrapping a current value changed it (error %v)", err)
	}
}

func TestAnotherDeploymentCannotOpen(t *testing.T) {
	_, err := keys.Generate().Open(place, seal(t, keys.Generate(), "a secret"))
	if err == nil || !strings.Contains(err.Error(), "webhook_auth.secret row 42 of domain 1") {
		t.Errorf("error %v, want one that names the place", err)
	}
}

func TestPrintingARingShowsNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	ring, err := keys.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if printed := fmt.Sprintf(verb, ring); len(printed) > 60 || !strings.Contains(printed, "1 master keys") {
			t.Errorf("%s prints %s", verb, printed)
		}
	}
}

func FuzzOpen(f *testing.F) {
	ring := keys.Generate()
	sealed, err := ring.Seal(place, []byte("a secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte{})
	f.Add([]byte{1, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		plain, err := ring.Open(place, data)
		if bytes.Equal(data, sealed) {
			return
		}
		if err == nil || plain != nil {
			t.Errorf("a value that was never sealed opened to %q", plain)
		}
	})
}
