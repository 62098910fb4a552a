package console

import (
	"testing"

	"passerelle"
	"passerelle/internal/console/page"
)

// In a live domain, names are masked unless they are revealed, and Certain returns false for an
// operator who signed in with a password alone.
func TestAPasswordAloneInLiveDomains(t *testing.T) {
	for kind, want := range map[passerelle.DomainKind]string{passerelle.Live: "Š…", passerelle.Sandbox: "Šárka <b>"} {
		pc := &page.Context{Domain: passerelle.Domain{Kind: kind}}
		if got := nameText(pc, "Šárka <b>", false); got != want {
			t.Errorf("in a domain of kind %s a name is shown as %q, want %q", kind, got, want)
		}
		if nameText(pc, "", false) != "" || nameText(pc, "Šárka", true) != "Šárka" {
			t.Errorf("in a domain of kind %s: no name, or one that was asked for", kind)
		}
		if pc.Certain() != (kind == passerelle.Sandbox) {
			t.Errorf("in a domain of kind %s a password alone is enough: %t", kind, pc.Certain())
		}
	}
}
