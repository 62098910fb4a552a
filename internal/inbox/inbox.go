// Package inbox reads files that other programs have put into a place for the service: a folder, or
// a prefix of a bucket of an S3 server.
//
// The package owns the decision when a file is complete, and the folders for processed files. It
// does not process files.
//
// The package fails with Unavailable when a bucket's server cannot be reached or refuses the
// request. Other errors are wrong names or addresses, files that are too large, and errors of the
// disk.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"passerelle"
)

// Inbox is a folder, or a prefix of a bucket.
type Inbox interface {
	// Files returns the complete files, ordered by name. From a bucket, it returns at most
	// maxWaiting files. A file in a folder is complete when it has not changed for some seconds, see
	// [NewFolder]. An empty file, a hidden file, and a file with the name of an incomplete file are
	// never complete, because other programs create such files before they write the content.
	Files(ctx context.Context) ([]WaitingFile, error)
	// Done moves a processed file into the folder "imported". If refused is not empty, it contains
	// the reason for a refusal. Done then moves the file into the folder "refused", and writes the
	// reason into a text file beside it. Done does not replace a file of the same name. When another
	// program has changed or moved the file since Files returned it, Done does nothing: Files returns
	// the new content later.
	Done(ctx context.Context, f WaitingFile, refused string) error
	// Pause returns the time to wait between two calls of Files.
	Pause() time.Duration
}

// These are the folders for processed files, and the suffix for the name of a file that contains
// the reason for a refusal.
const (
	importedFolder = "imported"
	refusedFolder  = "refused"
	reasonEnding   = ".txt"
)

// WaitingFile is a file that waits for processing.
type WaitingFile struct {
	Name string
	// version identifies the content of a file in a bucket.
	version string
	open    func(ctx context.Context) (io.ReadCloser, error)
	// changed reports whether another program has changed the file since Files returned it. It is
	// nil for a file whose content cannot change while it is read.
	changed func() bool
}

// MaxSize is the size of the largest file that Read reads, in bytes.
const MaxSize = 32 << 20

// ErrSize means that a file is larger than MaxSize.
var ErrSize = fmt.Errorf("the file has more than %d MiB", MaxSize>>20)

// ErrChanged means that another program changed a file while Read read it. Files returns the file
// again when it is complete.
var ErrChanged = errors.New("the file changed while it was read")

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
	if err == nil && f.changed != nil && f.changed() {
		err = ErrChanged
	}
	return content, err
}

// incomplete lists endings that programs add to the name of a file until they have written all of it.
var incomplete = []string{".part", ".partial", ".filepart", ".tmp", ".temp", ".crdownload"}

// unfinished reports whether a name is that of a hidden or an incomplete file.
func unfinished(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains(incomplete, strings.ToLower(path.Ext(name)))
}

// freeName returns the name if it is free. Otherwise it returns the name with the first number that
// makes it free. If reason is true, this name followed by reasonEnding must be free too.
func freeName(name string, reason bool, taken func(string) (bool, error)) (string, error) {
	for n, one := 1, name; ; n++ {
		is, err := taken(one)
		if err == nil && !is && reason {
			is, err = taken(one + reasonEnding)
		}
		if err != nil || !is {
			return one, err
		}
		one = fmt.Sprintf("%s.%d", name, n)
	}
}

// Away reports whether an error is Unavailable, as when the server of a bucket does not respond.
func Away(err error) bool { return errors.Is(err, passerelle.Unavailable) }
