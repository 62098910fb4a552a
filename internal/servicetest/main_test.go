package servicetest_test

import (
	"flag"
	"os"
	"testing"

	"passerelle/internal/servicetest"
)

// atOnce is how many of the tests run at once that say that they may: they wait for
// leases of the dead, and not for a processor.
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
	os.Exit(status)
}
