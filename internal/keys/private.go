package keys

import (
	"fmt"
	"os"
)

// CheckPrivate fails when others can read or write an open file with a secret. It checks the open
// file, because another file may have taken the name since. If root owns the file and the process
// does not run as root, the file's group may read it, because Kubernetes and systemd pass secrets
// to services in this way.
func CheckPrivate(file *os.File) error {
	stat, err := file.Stat()
	if err != nil {
		return fmt.Errorf("check who may read %s: %w", file.Name(), err)
	}
	forbidden := os.FileMode(0o077)
	if ownedByRoot(stat) {
		forbidden = 0o037
	}
	if mode := stat.Mode().Perm(); mode&forbidden != 0 {
		return fmt.Errorf("%s has mode %04o, which lets others at its secrets: run chmod 600 %s", file.Name(), mode, file.Name())
	}
	return nil
}
