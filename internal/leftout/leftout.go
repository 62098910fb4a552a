// Package leftout skips tests that need a program which this machine lacks.
//
// It owns the decision whether to skip. On a developer's machine such tests are skipped, and in CI
// they fail, because CI must run all tests. It does not install anything. scripts/install-tools
// does that.
package leftout

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Without skips a test that needs something which the machine lacks. In CI it fails the test.
func Without(t testing.TB, lacks string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: make test installs it where it can", lacks)
	}
	t.Skipf("left out: %s is missing; make test installs it where it can", lacks)
}

// Needs skips a test unless the machine has a program with one of the names. In CI it fails the
// test.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	if !Has(names...) {
		Without(t, names[0])
	}
}

// Has reports whether the machine has a program with one of the names.
func Has(names ...string) bool {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// Browsers are the names of programs that can be automated as browsers.
var Browsers = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell", "headless_shell"}

// Summary describes in one sentence which tests are skipped here. It returns an empty text when all
// run.
func Summary() string {
	var lacks []string
	if os.Getenv("PASSERELLE_TEST_POSTGRES") == "" {
		lacks = append(lacks, "a PostgreSQL server (scripts/with-postgres)")
	}
	for name, names := range map[string][]string{"Chromium": Browsers, "promtool": {"promtool"}, "python3": {"python3"}, "node": {"node"}, "socat": {"socat"}} {
		if !Has(names...) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	slices.Sort(lacks)
	return "tests are left out that need " + strings.Join(lacks, ", ") + "; make test runs all"
}
