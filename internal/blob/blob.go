// Package blob stores the contents of files in a folder or in a bucket of an S3 server.
//
// It owns the place of the bytes, and ensures that a file exists completely or not at all. It
// needs a limited amount of memory for files of any size. It does not own which files exist,
// whose they are or what they contain: rows of package store have this information. Callers
// write the row before they store a file, and remove it after they have removed the file. So a
// crash may leave a row without bytes, but never bytes without a row. A file is named by its
// number from package store; no name that a person chose becomes part of a path or a key. Only
// an [ObjectStore] accesses objects that others have put into a bucket, by their keys.
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

// Store stores files. Its methods may be called concurrently.
type Store interface {
	// Put stores the content of a reader, and returns its size in bytes. It replaces an existing
	// file with the number. After an error of the reader, the context or the store, nothing of
	// the new content is visible.
	Put(ctx context.Context, id passerelle.FileID, content io.Reader) (size int64, err error)
	// Open opens a file, which can be read from any position. It fails with ErrNotFound when
	// there is none. The context applies to all reads. The caller must close the file.
	Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error)
	// Remove removes a file, and what is left of an attempt to store it. It succeeds when the
	// file is missing, so that it can be repeated.
	Remove(ctx context.Context, id passerelle.FileID) error
}

// New makes the store for a place. This is an address s3://…, which NewBucket describes, or the
// path of a folder, which New creates if it is missing.
func New(place string) (Store, error) {
	if strings.HasPrefix(place, bucketScheme) {
		return NewBucket(place)
	}
	return NewFolder(place)
}

// name returns the name of a file in one of 256 folders, so that no folder becomes large.
func name(id passerelle.FileID) string { return fmt.Sprintf("%02x/%016x", uint64(id)%256, uint64(id)) }
