package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestTestBanksAreConnected: the connector reads the files that the test banks write. Each bank
// runs in another process and accepts our certificates and signatures.
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
