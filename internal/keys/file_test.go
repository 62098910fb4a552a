package keys_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"passerelle/internal/keys"
)

const (
	keyA = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
	keyB = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI="
)

func writeFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // the umask may have removed bits
		t.Fatal(err)
	}
	return path
}

func TestLoadReadsKeysInOrder(t *testing.T) {
	first, err := keys.Load(writeFile(t, "fixed "+keyA+"\n2025 "+keyA+"\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	both, err := keys.Load(writeFile(t, "# ours\n\n2025 "+keyA+"\nfixed   "+keyA+"\r\n2026 "+keyB, 0o400))
	if err != nil {
		t.Fatal(err)
	}
	mustOpen(t, both, seal(t, first, "a secret"), "a secret")
	if _, err := first.Open(place, seal(t, both, "x")); err == nil || !strings.Contains(err.Error(), `"2026"`) {
		t.Errorf("error %v, want one that names the missing key 2026", err)
	}
}

func TestLoadRefusesOpenModes(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660, 0o620, 0o601} {
		path := writeFile(t, "fixed "+keyA+"\na "+keyB, mode)
		_, err := keys.Load(path)
		if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: error %v, want the chmod to run", mode, err)
		}
		if _, err := keys.LoadOrCreate(path); err != nil {
			t.Errorf("mode %04o: development refused it: %v", mode, err)
		}
	}
}

func TestLoadRefusesBrokenFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":         {"", "no master key"},
		"no master":     {"fixed " + keyA, "no master key"},
		"no fixed key":  {"a " + keyA, `no line "fixed"`},
		"no key":        {"a", "line 1"},
		"not base64":    {"fixed " + keyA + "\na !" + keyA[1:], "line 2"},
		"short key":     {"a QUFB", "32 bytes"},
		"odd id":        {"a/b " + keyA, "line 1"},
		"long id":       {strings.Repeat("a", 65) + " " + keyA, "line 1"},
		"twice":         {"a " + keyA + "\na " + keyB, `line 2: "a" comes twice`},
		"fixed twice":   {"fixed " + keyA + "\nfixed " + keyB, `"fixed" comes twice`},
		"trailing word": {"a " + keyA + " current", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keys.Load(writeFile(t, test.text, 0o600))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q in it", err, test.want)
			}
			if strings.Contains(err.Error(), keyA[1:20]) {
				t.Errorf("the error repeats a key: %v", err)
			}
		})
	}
}

func TestLoadNeedsAFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "keys")
	if _, err := keys.Load(missing); err == nil {
		t.Error("loaded a file that is not there")
	}
	if _, err := keys.LoadOrCreate(missing); err == nil {
		t.Error("created a file in a directory that is not there")
	}
	if _, err := keys.Load(t.TempDir()); err == nil {
		t.Error("loaded a directory")
	}
}

func TestLoadOrCreateMakesAPrivateFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	rings := make([]*keys.Ring, 8)
	var started sync.WaitGroup
	for i := range rings {
		started.Go(func() {
			ring, err := keys.LoadOrCreate(path)
			if err != nil {
				t.Error(err)
				return
			}
			rings[i] = ring
		})
	}
	started.Wait()
	if t.Failed() {
		return
	}
	sealed := seal(t, rings[0], "a secret")
	for _, ring := range rings {
		mustOpen(t, ring, sealed, "a secret")
	}
	afterRestart, err := keys.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	mustOpen(t, afterRestart, sealed, "a secret")
	wantOnly(t, path)
}

func wantOnly(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory holds %v", entries)
	}
}

func TestSaveReplacesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	ring, err := keys.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := seal(t, ring, "a secret")
	if err := ring.Rotated().Save(path); err != nil {
		t.Fatal(err)
	}
	rotated, err := keys.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	mustOpen(t, rotated, sealed, "a secret")
	if _, err := ring.Open(place, seal(t, rotated, "x")); err == nil {
		t.Error("the saved ring still seals with the old key")
	}
	wantOnly(t, path)
}

// TestReplaceKeepsAddedKeys adds a master key after a ring was loaded. The ring must no longer
// replace the file, because values may be encrypted with the added key.
func TestReplaceKeepsAddedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	ring, err := keys.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	rotated := ring.Rotated()
	if err := ring.Replace(path, rotated); err != nil {
		t.Fatal(err)
	}
	if err := ring.Replace(path, ring.Retired()); !errors.Is(err, keys.ErrChanged) {
		t.Errorf("replaced a file with an added key: %v", err)
	}
	left, err := keys.Load(path)
	if err != nil || !slices.Equal(left.MasterKeys(), rotated.MasterKeys()) {
		t.Errorf("the file has %v, %v, want %v", left.MasterKeys(), err, rotated.MasterKeys())
	}
	wantOnly(t, path)
}

func TestOneChangeAtATime(t *testing.T) {
	path := writeFile(t, "fixed "+keyA+"\n2025 "+keyA+"\n", 0o600)
	for range 2 {
		release, err := keys.Lock(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Lock(path); !errors.Is(err, keys.ErrBusy) {
			t.Errorf("locked twice: %v", err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := keys.Lock(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked a missing file: %v", err)
	}
}

// TestSaveKeepsOwnerAndMode checks that Save keeps the mode of a key file. As root, it must also
// keep the owner and the group.
func TestSaveKeepsOwnerAndMode(t *testing.T) {
	path := writeFile(t, "fixed "+keyA+"\n2025 "+keyA+"\n", 0o400)
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 { // only root can give a file away
		uid, gid = 12345, 12346
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := keys.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Rotated().Save(path); err != nil {
		t.Fatal(err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if of := stat.Sys().(*syscall.Stat_t); int(of.Uid) != uid || int(of.Gid) != gid || stat.Mode().Perm() != 0o400 {
		t.Errorf("the file belongs to %d:%d with mode %v, want %d:%d with 0400", of.Uid, of.Gid, stat.Mode(), uid, gid)
	}
	wantOnly(t, path)
}
