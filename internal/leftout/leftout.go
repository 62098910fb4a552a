// Package leftout leaves out the tests that need a program which this machine lacks.
//
// It owns the decision: on the machine of a developer they are skipped, in CI they fail, where
// everything has to run. It does not install anything; scripts/install-tools does.
package leftout

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Without ends a test that needs something the machine lacks.
func Without(t testing.TB, lacks string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: make test installs it where it can", lacks)
	}
	t.Skipf("left out: %s is missing; make test installs it where it can", lacks)
}

// Needs ends a test unless the machine has a program of one of the names.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	if !Has(names...) {
		Without(t, names[0])
	}
}

// Has reports whether the machine has a program of one of the names.
func Has(names ...string) bool {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// Browsers are the names of what drives a browser.
var Browsers = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell", "headless_shell"}

// Summary says in one sentence which tests are left out here, empty for none.
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
