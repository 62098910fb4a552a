//go:build unix

package keys

import (
	"os"
	"syscall"
)

func ownedByRoot(stat os.FileInfo) bool {
	of, known := stat.Sys().(*syscall.Stat_t)
	return known && of.Uid == 0 && os.Getuid() != 0
}
