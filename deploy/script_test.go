package deploy_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleaseKeepsOtherFiles: scripts/release removes the release in a folder before it makes a new
// one. It refuses a folder with other files.
func TestReleaseKeepsOtherFiles(t *testing.T) {
	for _, name := range []string{"notes.txt", "passerelle-data/keys"} {
		folder := t.TempDir()
		other := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(other), 0o700), os.WriteFile(other, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "../scripts/release", folder, "none/none").CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 2 || !strings.Contains(string(out), "is not from a release") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
	}
}
