package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/catalogue"
)

const scenariosPage = "../../docs/scenarios.md"

// generated is the line below the title of a page that a test writes.
const generated = "<!-- Generated from the program; make generate updates it. -->\n"

func TestScenariosAreFresh(t *testing.T) {
	var page strings.Builder
	if err := catalogue.Write(&page); err != nil {
		t.Fatal(err)
	}
	title, rest, _ := strings.Cut(page.String(), "\n")
	want := title + "\n\n" + generated + rest
	if *update {
		if err := os.WriteFile(scenariosPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(scenariosPage)
	if err != nil {
		t.Fatalf("read the page, which -update writes: %v", err)
	}
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Errorf("docs/scenarios.md is not what internal/catalogue writes; run make generate: (-want +got)\n%s", diff)
	}
}
