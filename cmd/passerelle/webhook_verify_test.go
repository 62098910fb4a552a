package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVerifyRefusesALongBody checks that "webhook auth verify" names the reason when a body is too
// long.
func TestVerifyRefusesALongBody(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(body, maxVerifiedBody+1); err != nil {
		t.Fatal(err)
	}
	args := []string{"webhook", "auth", "verify", "mine", "--url", "/hook", "--date", "x", "--signature", "x", "--body-file", body, "--database", "sqlite:" + filepath.Join(t.TempDir(), "x.db")}
	refuses(t, args, "the body has more than")
}
