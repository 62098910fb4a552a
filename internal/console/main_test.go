package console_test

import (
	"os"
	"testing"

	"passerelle/internal/servicetest"
)

func TestMain(m *testing.M) {
	status := m.Run()
	servicetest.CloseBrowser()
	os.Exit(status)
}
