package passerelle_test

import (
	"net/mail"
	"strings"
	"testing"

	"passerelle"
)

func TestEmail(t *testing.T) {
	label := strings.Repeat("d", 63)
	long := strings.Join([]string{label, label, label}, ".")
	for address, want := range map[string]bool{
		"ops@bank.example": true, "o.p-s+alerts@mail.bank.example": true, "root@localhost": true, "o'hara@x.example": true,
		strings.Repeat("a", 64) + "@bank.example": true, strings.Repeat("a", 65) + "@bank.example": false,
		"ops@" + label + ".example": true, "ops@d" + label + ".example": false,
		strings.Repeat("a", 62) + "@" + long: true, strings.Repeat("a", 63) + "@" + long: false,
		"": false, "ops": false, "@bank.example": false, "ops@": false, "ops@@bank.example": false, "a@b@bank.example": false,
		"Ops <ops@bank.example>": false, "<ops@bank.example>": false, "ops@bank.example,x@bank.example": false,
		`"ops"@bank.example`: false, `"ops@evil.example"@bank.example`: false, "ops(x)@bank.example": false, "ops@[10.0.0.1]": false,
		" ops@bank.example": false, "ops@bank.example ": false, "o ps@bank.example": false, "ops@bank.example\n": false,
		"ops@bank.example\r\nBcc: x@evil.example": false, "ops\x00@bank.example": false, "öps@bank.example": false, "ops@bänk.example": false,
		".ops@bank.example": false, "ops.@bank.example": false, "o..ps@bank.example": false,
		"ops@-bank.example": false, "ops@bank-.example": false, "ops@bank..example": false, "ops@bank.example.": false, "ops@.example": false,
	} {
		if got := passerelle.IsEmail(address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

// The mail parser of the standard library also accepts every address that IsEmail accepts, and
// returns it unchanged.
func FuzzEmail(f *testing.F) {
	f.Add("ops@bank.example")
	f.Add("\"a b\"@bank.example")
	f.Fuzz(func(t *testing.T, s string) {
		if !passerelle.IsEmail(s) {
			return
		}
		parsed, err := mail.ParseAddress(s)
		if err != nil || parsed.Address != s || parsed.Name != "" {
			t.Errorf("%q is read as %v, %v", s, parsed, err)
		}
	})
}
