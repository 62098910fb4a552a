//go:build !unix

package keys

import "os"

func keepOwner(string, os.FileInfo) error { return nil }

func ownedByRoot(os.FileInfo) bool { return false }

func lock(*os.File) error { return nil }
