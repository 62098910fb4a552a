//go:build unix

package keys

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of another one, if the process may do so.
func keepOwner(path string, like os.FileInfo) error {
	of, known := like.Sys().(*syscall.Stat_t)
	if !known || os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, int(of.Uid), int(of.Gid))
}

func ownedByRoot(stat os.FileInfo) bool {
	of, known := stat.Sys().(*syscall.Stat_t)
	return known && of.Uid == 0 && os.Getuid() != 0
}
