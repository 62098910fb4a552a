package main

import (
	"os"
	"strings"
	"testing"

	"passerelle/internal/catalogue"
)

const scenariosPage = "../../docs/scenarios.md"

// TestScenariosAreFresh compares the page with the catalogue.
func TestScenariosAreFresh(t *testing.T) {
	var page strings.Builder
	if err := catalogue.Write(&page); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(scenariosPage, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(scenariosPage)
	if err != nil {
		t.Fatalf("read the page, which -update writes: %v", err)
	}
	if string(written) != page.String() {
		t.Errorf("%s is not what `passerelle scenarios` prints; write it anew with -update", scenariosPage)
	}
}
