//go:build torture

package servicetest_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"passerelle/internal/servicetest"
)

// TestReadOnlyFiles makes the files of SQLite immutable while clients pay. Even the process that
// has the files open can then no longer write to them. The test needs a file system with immutable
// files, and the right to make files immutable.
func TestReadOnlyFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	p := servicetest.StartProcessIn(t, folder)
	t.Cleanup(func() { immutable(t, folder, false) })
	fillUp(t, p, func() { immutable(t, folder, true) }, func() { immutable(t, folder, false) })
}

// immutableFlag is FS_IMMUTABLE_FL of linux/fs.h.
const immutableFlag = 0x10

func immutable(t *testing.T, folder string, set bool) {
	names, err := filepath.Glob(filepath.Join(folder, "*.db*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("files of the database in %s: %q, %v", folder, names, err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			t.Fatal(err)
		}
		if flags &^= immutableFlag; set {
			flags |= immutableFlag
		}
		if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
			t.Fatalf("%s immutable: %v", name, err)
		}
		_ = file.Close()
	}
}
