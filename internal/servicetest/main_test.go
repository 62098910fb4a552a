package servicetest_test

import (
	"flag"
	"os"
	"testing"

	"passerelle/internal/servicetest"
)

// Parallel tests mostly wait for leases of killed processes, so they need little processor time.
const atOnce = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", atOnce)
	}
	status := m.Run()
	servicetest.RemovePrograms()
	servicetest.CloseBrowser()
	os.Exit(status)
}
