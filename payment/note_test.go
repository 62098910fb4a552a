package payment_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/payment"
)

// wantNotes takes the notes of a payment and holds them to their kinds and
// texts, one string for each. An empty string stands for none.
func wantNotes(t *testing.T, p *payment.Payment, want ...string) {
	t.Helper()
	var got []string
	for _, note := range p.TakeNotes() {
		if !note.At.Equal(now) || note.Actor == "" {
			t.Errorf("note %+v", note)
		}
		got = append(got, strings.TrimSpace(note.Kind+" "+note.Text))
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("notes: %s", diff)
	}
	if p.Notes != nil {
		t.Error("notes that were taken are still there")
	}
}
