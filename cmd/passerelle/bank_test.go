package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListOfBankFiles: the list has each complaint on a line of its own, and says that a folder is
// empty.
func TestListOfBankFiles(t *testing.T) {
	folder := t.TempDir()
	list := func() string {
		var out, diagnostics bytes.Buffer
		run(t.Context(), []string{"bank", "list", "--banks", folder}, nil, &out, &diagnostics)
		return out.String()
	}
	if got := list(); got != folder+" has no bank file (*.toml)\n" {
		t.Errorf("the list of an empty folder says %q", got)
	}
	path := filepath.Join(folder, "a.toml")
	if err := os.WriteFile(path, []byte("one = 1\ntwo = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := list(), path+":1:1: one: is no field of a bank file\n                 "+path+":2:1: two: "; !strings.Contains(got, want) {
		t.Errorf("the list says %q, want %q", got, want)
	}
}

// TestTestBanksAreConnected: `passerelle bank check` succeeds with each file of the test banks.
func TestTestBanksAreConnected(t *testing.T) {
	data := t.TempDir()
	_, stop := started(t, "testbank", "run", "--json", "--data", data, "--listen", "127.0.0.1:0", "--pages", "127.0.0.1:0", "--control", "127.0.0.1:0")
	defer stop()
	files, err := filepath.Glob(filepath.Join(data, "banks", "*.toml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d bank files, %v", len(files), err)
	}
	for _, file := range files {
		var out, diagnostics bytes.Buffer
		status := run(t.Context(), []string{"bank", "check", "--json", file}, nil, &out, &diagnostics)
		var found []finding
		if err := json.Unmarshal(out.Bytes(), &found); status != succeeded || err != nil || len(found) < 2 {
			t.Errorf("%s: %d, %v, %s%s", filepath.Base(file), status, err, out.Bytes(), diagnostics.Bytes())
		}
	}
}
