// Package leftout skips tests that need a program which this machine does not have.
//
// The package owns the decision whether to skip. On a developer's machine it skips such tests. In
// CI it fails them, because CI must run all tests. The package installs nothing:
// scripts/install-tools does that.
package leftout

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Without skips a test because the machine lacks a program. In CI it fails the test.
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

// Browsers lists the names of browsers that tests can automate.
var Browsers = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell", "headless_shell"}

// Summary returns one sentence about the tests that are skipped here. It returns an empty text when
// all tests run.
func Summary() string {
	var lacks []string
	if os.Getenv("PASSERELLE_TEST_POSTGRES") == "" {
		lacks = append(lacks, "a PostgreSQL server (scripts/with-postgres)")
	}
	for name, names := range map[string][]string{"Chromium": Browsers, "promtool": {"promtool"}, "python3": {"python3"}, "node": {"node"}, "socat": {"socat"}, "jq": {"jq"}, "openssl": {"openssl"}} {
		if !Has(names...) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	slices.Sort(lacks)
	return "tests are left out that need " + strings.Join(lacks, ", ") + "; make verify runs all"
}
