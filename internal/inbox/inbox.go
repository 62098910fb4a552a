// Package inbox reads files that other programs put into a place for the service: a folder, or a
// prefix of a bucket of an S3 server.
//
// It owns when a file is complete, and where processed files are moved. It does not own the
// result of processing them.
//
// It fails with Unavailable when the server of a bucket cannot be reached or refuses the request,
// and otherwise with the error of the disk.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"passerelle"
)

// Inbox is a folder, or a prefix of a bucket.
type Inbox interface {
	// Files returns the files that are complete, in the order of their names. A file in a
	// folder is complete once it stays the same from one call to the next.
	Files(ctx context.Context) ([]WaitingFile, error)
	// Done moves a file into a folder of the inbox: to imported or, with the reason in a text
	// beside it, to refused. It does not replace a file of the same name in that folder.
	Done(ctx context.Context, f WaitingFile, refused string) error
	// Pause is how long to wait between two calls of Files.
	Pause() time.Duration
}

// These are the folders for processed files.
const (
	importedFolder = "imported"
	refusedFolder  = "refused"
	reasonEnding   = ".txt"
)

// WaitingFile is a file that waits to be processed.
type WaitingFile struct {
	Name string
	open func(ctx context.Context) (io.ReadCloser, error)
}

// MaxSize is the largest size in bytes of a file that can be read.
const MaxSize = 32 << 20

// ErrSize reports a file that is larger than MaxSize.
var ErrSize = fmt.Errorf("the file has more than %d MiB", MaxSize>>20)

// Read returns the content of the file.
func (f WaitingFile) Read(ctx context.Context) ([]byte, error) {
	opened, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, MaxSize+1))
	if err == nil && len(content) > MaxSize {
		err = ErrSize
	}
	return content, err
}

// freeName returns the name or, if it is taken, the name with the first number that makes it
// free.
func freeName(name string, taken func(string) (bool, error)) (string, error) {
	for n, one := 1, name; ; n++ {
		if is, err := taken(one); err != nil || !is {
			return one, err
		}
		one = fmt.Sprintf("%s.%d", name, n)
	}
}

// Away reports whether an error means that a server cannot be reached now.
func Away(err error) bool { return errors.Is(err, passerelle.Unavailable) }
