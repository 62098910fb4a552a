package internal_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLongTestsExist checks that each line of scripts/long-tests names a test of its package, and
// that no other package has a test with this name. `make test` leaves out tests by their names only,
// so it would also leave out the other test.
func TestLongTestsExist(t *testing.T) {
	places := map[string][]string{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, match := range function.FindAllStringSubmatch(read(t, name), -1) {
			places[match[1]] = append(places[match[1]], path.Dir(name))
		}
	}
	for line := range strings.Lines(read(t, "scripts/long-tests")) {
		if folder, test, is := strings.Cut(strings.TrimSpace(line), " "); is && folder != "#" && !slices.Equal(places[test], []string{folder}) {
			t.Errorf("scripts/long-tests has %s in %s, but packages with this test are %q", test, folder, places[test])
		}
	}
}
