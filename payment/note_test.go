package payment_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/payment"
)

// wantNotes takes the notes of a payment and compares them with want. Each string has the kind and
// text of one note. Without strings, or with one empty string, the payment must have no notes.
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

// TestWordsOfTheBankAreNoted: each remark of the bank becomes a note. A new status word becomes a
// note unless a change of state shows the word.
func TestWordsOfTheBankAreNoted(t *testing.T) {
	for name, test := range map[string]struct {
		report payment.Report
		want   []string
	}{
		"the same word":          {payment.Report{Status: payment.Processing, Raw: "ACSP"}, nil},
		"another word":           {payment.Report{Status: payment.Processing, Raw: "ACSP", StatusChanged: true}, []string{"bankStatus"}},
		"with a text":            {payment.Report{Status: payment.Processing, Raw: "ACSP", StatusChanged: true, Remark: "On its way"}, []string{"bankStatus On its way"}},
		"a change tells it":      {payment.Report{Status: payment.Settled, Raw: "ACSC", StatusChanged: true}, nil},
		"a change, and a text":   {payment.Report{Status: payment.Settled, Raw: "ACSC", StatusChanged: true, Remark: "Booked"}, []string{"bankStatus Booked"}},
		"a text without bounds":  {payment.Report{Status: payment.Processing, Remark: strings.Repeat("x", payment.MaxDescription+1)}, []string{"bankStatus " + strings.Repeat("x", payment.MaxDescription)}},
		"what nobody may report": {payment.Report{Status: payment.Processing, Raw: "ACSP", Remark: "a\x00b"}, []string{"bankStatus ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := in(t, payment.Pending, 1)
			if _, err := p.Apply(test.report, now); err != nil {
				t.Fatal(err)
			}
			for _, note := range p.Notes {
				if note.Bank != test.report.Raw {
					t.Errorf("the bank's word is %q", note.Bank)
				}
			}
			wantNotes(t, p, test.want...)
		})
	}
}
