package speech_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var verb = regexp.MustCompile(`%[a-z]`)

// TestTranslationsAreComplete checks that every language translates the same texts, that no
// translation is empty, and that each one takes the arguments of the English text.
func TestTranslationsAreComplete(t *testing.T) {
	files, err := filepath.Glob("words/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d languages, %v", len(files), err)
	}
	var first []string
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]string
		if err := json.Unmarshal(raw, &texts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		keys := slices.Sorted(maps.Keys(texts))
		if first == nil {
			first = keys
		}
		if diff := cmp.Diff(first, keys); diff != "" {
			t.Errorf("%s has other texts than %s: %s", name, files[0], diff)
		}
		for english, text := range texts {
			if strings.TrimSpace(text) == "" || !slices.Equal(verb.FindAllString(english, -1), verb.FindAllString(text, -1)) {
				t.Errorf("%s: %q is translated as %q", name, english, text)
			}
		}
	}
}
