package api

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unservedPage() string {
	var b strings.Builder
	b.WriteString(`# Calls that are not served

This page lists older calls of this API family that Passerelle does not have, with their replacements. The paths of
these calls return 404 with an explanation. Tests generate this page from the table that contains these explanations.

| Calls | Paths with | Instead |
|---|---|---|
`)
	for _, f := range unserved {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", f.name, strings.Join(f.segments, "`, `"), f.instead)
	}
	b.WriteString("\n[Moving in](moving-in.md) shows how a program moves here.\n")
	return b.String()
}

func TestTheUnservedPageIsFresh(t *testing.T) {
	const path = "../../docs/not-served.md"
	want := unservedPage()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("docs/not-served.md is not what the table says; run make generate: %v (-want +got):\n%s", err, diff)
	}
}

func TestUnservedFamilies(t *testing.T) {
	words := map[string]bool{}
	for _, f := range unserved {
		for _, word := range f.segments {
			if words[word] || !strings.HasPrefix(Unserved([]string{"users", "me", word, "1"}), f.name+" are not served here. ") {
				t.Errorf("%s: %q", word, Unserved([]string{word}))
			}
			words[word] = true
		}
	}
	for _, path := range []string{
		"transfers", "users/me/accounts/1/recipients", "payment-links/1", "users/me/alerts", "users/me/forecast", "users/me/documents/1/ocr",
		"merchants", "users/me/projects", "users/me/profiles", "auth/register", "auth/confirm", "auth/cookie",
	} {
		if Unserved(strings.Split(path, "/")) == "" {
			t.Errorf("nothing is told of %s", path)
		}
	}
	if reported := Unserved([]string{"users", "me", "nothing"}); reported != "" {
		t.Errorf("nothing is told of as %q", reported)
	}
}
