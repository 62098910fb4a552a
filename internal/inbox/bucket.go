package inbox

import (
	"context"
	"io"
	"path"
	"time"

	"passerelle/internal/blob"
)

// bucket is an inbox in a bucket. It has the objects with keys that begin with a prefix, except
// objects in folders below the prefix.
type bucket struct{ place blob.ObjectStore }

// NewBucket makes the inbox for an address such as s3://KEY:SECRET@HOST/BUCKET/PREFIX, which
// [blob.ParseAddress] describes. It does not call the server.
func NewBucket(address string) (Inbox, error) {
	place, err := blob.ParseAddress(address)
	return &bucket{place}, err
}

func (*bucket) Pause() time.Duration { return 10 * time.Second }

// maxWaiting is the largest number of files that one call of Files returns.
const maxWaiting = 10_000

func (b *bucket) Files(ctx context.Context) ([]WaitingFile, error) {
	beginning := b.place.Prefix
	if beginning != "" {
		beginning += "/"
	}
	objects, err := b.place.Objects(ctx, beginning, maxWaiting)
	var files []WaitingFile
	for _, object := range objects {
		if object.Size == 0 || unfinished(path.Base(object.Key)) {
			continue
		}
		files = append(files, WaitingFile{Name: object.Key, version: object.ETag, open: func(ctx context.Context) (io.ReadCloser, error) {
			if object.Size > MaxSize {
				return nil, ErrSize
			}
			return b.place.Read(ctx, object.Key)
		}})
	}
	return files, err
}

func (b *bucket) Done(ctx context.Context, file WaitingFile, refused string) error {
	from, to := blob.Object{Key: file.Name, ETag: file.version}, importedFolder
	if refused != "" {
		to = refusedFolder
	}
	name, err := freeName(path.Join(path.Dir(file.Name), to, path.Base(file.Name)), refused != "", func(key string) (bool, error) {
		_, there, err := b.place.Find(ctx, key)
		return there, err
	})
	if err != nil {
		return err
	}
	if copied, err := b.place.Copy(ctx, from, name); err != nil || !copied {
		return err
	}
	if refused != "" {
		if err := b.place.WriteText(ctx, name+reasonEnding, refused+"\n"); err != nil {
			return err
		}
	}
	return b.place.Remove(ctx, from)
}
