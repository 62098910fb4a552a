//go:build unix

package keys

import (
	"errors"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of another file, if the process runs as root.
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

// lock locks an open file until the file is closed. It fails with ErrBusy when the file is already
// locked.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}
