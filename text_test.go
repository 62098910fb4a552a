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
