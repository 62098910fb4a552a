package secretfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/internal/secretfile"
)

// The error of a file that cannot be opened names the reason.
func TestFilesThatCannotBeOpened(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(folder, "none"): "--x: the file does not exist: ",
		filepath.Join(file, "below"):  "--x: cannot read the file: open ",
	} {
		_, err := secretfile.Text("--x", name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := secretfile.Text("--x", file); text != "secret" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}
