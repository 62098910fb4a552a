// Package blob stores the contents of files in a folder, or in a bucket of an S3 server.
//
// The package owns the location of the bytes. It ensures that a file exists completely or not at
// all. It needs a limited amount of memory for files of any size. Rows of package bankstore say
// which files exist, who owns them and what they contain. Callers write the row before they store a
// file, and remove the row after they have removed the file. A crash may therefore leave a row
// without bytes, but never bytes without a row. Only a restored database may lack the rows of
// files. The name of a file is its number, a FileID. No name that a person chose becomes part of a
// path or a key. The exception is [ObjectStore], which uses the keys of objects that other programs
// have stored.
//
// The package fails with ErrNotFound for a missing file. Otherwise it fails with the error of the
// disk or the server. A failed operation leaves no incomplete file visible, and callers can repeat
// it.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"passerelle"
)

// ErrNotFound means that no file has this number.
var ErrNotFound = errors.New("no such file")

// Store stores files. Callers may call its methods concurrently.
type Store interface {
	// Put stores the content of a reader, and returns its size in bytes. It replaces an existing
	// file with the same number. After an error, no incomplete file is visible.
	Put(ctx context.Context, id passerelle.FileID, content io.Reader) (size int64, err error)
	// Open opens a file. The caller can read it from any position, and must close it. Open fails
	// with ErrNotFound when the file does not exist. The context must last until the caller closes
	// the file.
	Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error)
	// Remove removes a file, and in a bucket also the parts of an interrupted upload. It also succeeds
	// when the file is missing, so callers can repeat it.
	Remove(ctx context.Context, id passerelle.FileID) error
	// Each calls the function `do` with the numbers of all complete files, in any order, at most
	// `batch` numbers at a time. It ignores everything else. The function `do` may remove files.
	// Files that are stored during the call may be missing.
	Each(ctx context.Context, batch int, do func([]passerelle.FileID) error) error
}

// Check fails when New could not make the store, as far as this is known without storing or sending
// anything. It refuses an address other than s3://…: New would otherwise make a folder whose name
// contains the secret of a mistyped address, such as S3://… or https://…, and files would be stored
// there. The error omits such a place.
func Check(place string) error {
	switch {
	case strings.HasPrefix(place, bucketScheme):
		_, err := ParseAddress(place)
		return err
	case addressForm.MatchString(place):
		return fmt.Errorf("this address is neither a folder nor a bucket: %w", errPlace)
	}
	return checkFolder(place)
}

func checkFolder(place string) error {
	about, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !about.IsDir():
		err = &fs.PathError{Op: "open", Path: place, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return fmt.Errorf("open the folder of files: %w", err)
	}
	return nil
}

// addressForm matches the beginning of an address. A scheme has at least two letters, because one
// letter and a colon is a drive on Windows.
var addressForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// New makes the store at a place. The place is the path of a folder, or an address s3://…, which
// ParseAddress describes. New creates a missing folder. It fails when Check fails.
func New(place string) (Store, error) {
	if err := Check(place); err != nil {
		return nil, err
	}
	if strings.HasPrefix(place, bucketScheme) {
		return NewBucket(place)
	}
	return NewFolder(place)
}

// folders is the number of folders that share the files.
const folders = 256

// name returns the path of a file.
func name(id passerelle.FileID) string {
	return fmt.Sprintf("%02x/%016x", uint64(id)%folders, uint64(id))
}

// number returns the number of the file at a path. It returns false if the path is not the name of
// a file.
func number(of string) (passerelle.FileID, bool) {
	n, err := strconv.ParseUint(path.Base(of), 16, 63)
	id := passerelle.FileID(n)
	return id, err == nil && name(id) == of
}
