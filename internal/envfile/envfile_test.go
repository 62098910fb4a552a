package envfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/envfile"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"# first\n\n  P_A=1\r\nP_B= 2 \n": "P_A=1|P_B=2",
		"P_A=\"a b\"\nP_B='$c=\"'\nP_C=":  "P_A=a b|P_B=$c=\"|P_C=",
		"P_A=\"\nP_B='a\"":                "P_A=\"|P_B='a\"",
		"P_A=1\nB=2":                      `line 2: "B" is not a variable of this program, which begin with P_`,
		"P_A =1":                          `line 1: "P_A " is not a variable`,
		"export P_A=1":                    `line 1: "export P_A" is not a variable`,
		"P_A=1\n\nP_A=2":                  "line 3: P_A is set above",
		"\nP_A":                           "line 2: must be NAME=VALUE",
		"dGhpc2lzYXZlcnlzZWNyZXRrZXl0aGF0c2hvdWxkbm90bGVhaw==": "line 1: must be NAME=VALUE",
		"MFZWIZLTOQFA====": "line 1: must be NAME=VALUE",
		"secret=1":         "line 1: must be NAME=VALUE",
		"P_A secret=1":     "line 1: must be NAME=VALUE, where NAME begins with P_ and has only capitals, digits and _",
		"B=":               "line 1: must be NAME=VALUE",
		"postgres://u:secret@h/d?sslmode=require":             "line 1: must be NAME=VALUE",
		"fixed 0000secret0000000000000000000000000000000000=": "line 1: must be NAME=VALUE",
	} {
		name := filepath.Join(t.TempDir(), "conf")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pairs, err := envfile.Read(name, "P_")
		if err != nil {
			if !strings.HasPrefix(want, "line ") || !strings.Contains(err.Error(), name+": "+want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: error %v, want %q", text, err, want)
			}
			continue
		}
		if diff := cmp.Diff(want, strings.Join(pairs, "|")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if _, err := envfile.Read(filepath.Join(t.TempDir(), "none"), "P_"); err == nil {
		t.Error("a file that does not exist was read")
	}
}
