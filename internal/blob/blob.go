// Package blob stores the contents of files in a folder or in a bucket of an S3 server.
//
// It owns the place of the bytes, and ensures that a file exists completely or not at all. Files
// of any size need bounded memory. It does not own which files exist, whose they are or what
// they contain: rows of package store say that. Callers write the row before they store a file
// and after they remove it, so that a crash leaves a row that says what to do, and never bytes
// without a row. A file is named by its number from package store; no name that a person chose
// reaches a path or a key. Only an [ObjectStore] reaches objects that others have put into a
// bucket, by their keys.
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

// ErrNotFound means that no file has the number.
var ErrNotFound = errors.New("no such file")

// Store keeps files. Its methods may be called concurrently.
type Store interface {
	// Put stores a reader's content, and returns its size in bytes. It replaces an existing file
	// with the number. After an error of the reader, the context or the store, nothing of it is
	// visible.
	Put(ctx context.Context, id passerelle.FileID, content io.Reader) (size int64, err error)
	// Open reads a file from any place in it, or fails with ErrNotFound. The context applies to
	// all reading. The caller closes it.
	Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error)
	// Remove removes a file, and the remains of an attempt to store it. A missing file is no
	// error, so that Remove can be repeated.
	Remove(ctx context.Context, id passerelle.FileID) error
}

// New makes the store for a place: s3://… (see NewBucket), or the path of a folder, which is
// created when it is missing.
func New(place string) (Store, error) {
	if strings.HasPrefix(place, bucketScheme) {
		return NewBucket(place)
	}
	return NewFolder(place)
}

// name returns the name of a file in one of 256 folders, so that no folder becomes large.
func name(id passerelle.FileID) string { return fmt.Sprintf("%02x/%016x", uint64(id)%256, uint64(id)) }
