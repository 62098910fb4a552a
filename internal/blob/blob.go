// Package blob stores the contents of files in a folder or in a bucket of an S3 server.
//
// It owns where the bytes are, and that a file exists completely or not at all. Files of any
// size need bounded memory. It does not own which files exist, whose they are or what they
// contain: rows of package store say that. Callers write the row before they store a file
// and after they remove it, so that a crash leaves a row that says what to do, and never
// bytes without a row. A file is named by its number from package store; no name that a
// person chose reaches a path or a key.
//
// It fails with ErrNotFound for a missing file, and otherwise with the error of the disk or
// the server. A failed operation leaves nothing visible and can be repeated.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"passerelle"
)

// ErrNotFound says that there is no file of that number.
var ErrNotFound = errors.New("no such file")

// Store keeps files. Its methods may be called concurrently.
type Store interface {
	// Put stores what it reads up to the end, and returns how many bytes that
	// was. A file of that number that is there is replaced. After an error of
	// the reader, of the context or of the store nothing of it is visible.
	Put(ctx context.Context, id passerelle.FileID, content io.Reader) (size int64, err error)
	// Open reads a file from any place in it, or fails with ErrNotFound. The
	// context is that of all reading. The caller closes it.
	Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error)
	// Remove does away with a file, and with what was left of an attempt to
	// store it. None is no error, so that it can be repeated.
	Remove(ctx context.Context, id passerelle.FileID) error
}

// New makes the store that a place names: s3://… (see NewBucket), or the path
// of a folder, which is made when it is not there.
func New(place string) (Store, error) {
	if strings.HasPrefix(place, bucketScheme) {
		return NewBucket(place)
	}
	return NewFolder(place)
}

// name is that of a file, spread over 256 folders so that none grows long.
func name(id passerelle.FileID) string { return fmt.Sprintf("%02x/%016x", uint64(id)%256, uint64(id)) }
