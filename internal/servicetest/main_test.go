package servicetest_test

import (
	"flag"
	"os"
	"testing"

	"passerelle/internal/servicetest"
)

// atOnce is how many parallel tests run at the same time: they wait for leases of dead
// processes, and not for a processor.
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
