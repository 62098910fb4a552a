package passerelle_test

import (
	"strings"
	"testing"

	"passerelle"
)

func TestCheckText(t *testing.T) {
	tests := []struct {
		name, text string
		max        int
		says       string
	}{
		{"empty", "", 3, ""},
		{"as long as allowed", "éàü", 3, ""},
		{"several lines", "a\nb", 3, ""},
		{"no limit", strings.Repeat("x", 10_000), 0, ""},
		{"too long", "éàüö", 3, "at most 3 characters; it has 4"},
		{"NUL", "a\x00b", 0, "NUL"},
		{"not UTF-8", "a\xc3", 0, "UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := passerelle.CheckText("label", test.text, test.max)
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantField(t, err, "label")
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
		})
	}
}

// CheckLine refuses labels that could mislead the payer.
func TestCheckLine(t *testing.T) {
	for _, good := range []string{"", "Invoice 42", "Café – n°7", "سلام\u200cها", "👩\u200d🚀 travel"} {
		if err := passerelle.CheckLine("label", good, 140); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"two\nlines", "tab\t", "bell\a", "\u202egnp.exe", "no\u200bthing", "\ufeffmark", "line\u2028", "esc\x1b[31m", "\u0085", strings.Repeat("x", 141)} {
		wantField(t, passerelle.CheckLine("label", bad, 140), "label")
	}
}

// A spreadsheet reads no cell as a formula, and ActiveCell returns the text that InertCell got.
func TestCellsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "'=1": "''=1", "''-": "'''-",
		"": "", "Rent = 5": "Rent = 5", "é=": "é=", "12.50": "12.50", " =1": " =1", "'": "'", "'Tea'": "'Tea'",
	} {
		got := passerelle.InertCell(text)
		if got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
		if back := passerelle.ActiveCell(got); back != text {
			t.Errorf("%q is read as %q", text, back)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{"": "", "éàü": "éàü", "éàüö": "éà…"} {
		if got := passerelle.Excerpt(text, 3); got != want {
			t.Errorf("the excerpt of %q is %q, want %q", text, got, want)
		}
	}
}
