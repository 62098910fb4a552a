package chooser

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// TestCountriesSortByLettersFromAToZ checks the names of all countries in every language with Latin
// letters. A letter outside a to z would put a country after all others, and a search without
// accents would not find the country.
func TestCountriesSortByLettersFromAToZ(t *testing.T) {
	regions, names := regions(), 0
	for _, tag := range display.Supported.Tags() {
		namer := display.Regions(tag)
		for _, region := range regions {
			if namer != nil {
				names++
				wantPlain(t, tag.String(), namer.Name(region))
			}
		}
	}
	if names < 1000 {
		t.Errorf("only %d names", names)
	}
}

// regions returns the known regions whose code has two capitals.
func regions() (all []language.Region) {
	for n := range 26 * 26 {
		if region, err := language.ParseRegion(string([]byte{byte('A' + n/26), byte('A' + n%26)})); err == nil {
			all = append(all, region)
		}
	}
	return all
}

func wantPlain(t *testing.T, language, name string) {
	t.Helper()
	key := folded(name)
	outside := func(character rune) bool {
		return unicode.Is(unicode.Latin, character) && (character < 'a' || character > 'z')
	}
	if at := strings.IndexFunc(key, outside); at >= 0 {
		t.Errorf("%s: %s has the key %s", language, name, key)
	}
}

// TestScriptFoldsTheSameLetters checks that filter.mjs and the variable named whole replace the
// same letters.
func TestScriptFoldsTheSameLetters(t *testing.T) {
	script, err := os.ReadFile("../../web/static/filter.mjs")
	if err != nil {
		t.Fatal(err)
	}
	pairs := regexp.MustCompile(`([^\x00-\x7f]): "([a-z]*)"`).FindAllStringSubmatch(string(script), -1)
	if len(pairs) != len(whole)/2 {
		t.Errorf("the script has %d letters, and the package %d", len(pairs), len(whole)/2)
	}
	for _, pair := range pairs {
		if got := folded(pair[1]); got != pair[2] {
			t.Errorf("%s becomes %s, and %s in the script", pair[1], got, pair[2])
		}
	}
}
