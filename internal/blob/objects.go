package blob

import (
	"bytes"
	"context"
	"io"

	"github.com/minio/minio-go/v7"

	"passerelle"
)

// Object is an object in a bucket. Another program may have stored it. The ETag differs between
// contents.
type Object struct {
	Key  string
	Size int64
	ETag string
}

// Objects lists the objects whose keys begin with the text `beginning`. The argument `most` limits
// their number. Objects omits keys with a slash after that text. Like the other methods, it fails
// with Unavailable when the server does not respond or responds with an error.
func (p ObjectStore) Objects(ctx context.Context, beginning string, most int) ([]Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all []Object
	for one := range p.client.ListObjects(ctx, p.bucket, minio.ListObjectsOptions{Prefix: beginning}) {
		if one.Err != nil {
			return nil, away("list the bucket", one.Err)
		}
		if len(all) == most {
			break
		}
		if one.Key != beginning && one.Key[len(one.Key)-1] != '/' {
			all = append(all, Object{one.Key, one.Size, one.ETag})
		}
	}
	return all, nil
}

// Read opens an object. The caller must close it.
func (p ObjectStore) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	object, err := p.client.GetObject(ctx, p.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, away("open an object", err)
	}
	return reachable{object}, nil
}

// reachable is an object that is being read. Errors of its reads are Unavailable.
type reachable struct{ *minio.Object }

// Read implements io.Reader.
func (r reachable) Read(p []byte) (int, error) {
	n, err := r.Object.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // the unwrapped error is the end of the object
		err = away("read an object", err)
	}
	return n, err
}

// Find returns an object, and whether it exists.
func (p ObjectStore) Find(ctx context.Context, key string) (Object, bool, error) {
	found, err := p.client.StatObject(ctx, p.bucket, key, minio.StatObjectOptions{})
	switch {
	case minio.ToErrorResponse(err).Code == minio.NoSuchKey:
		return Object{}, false, nil
	case err != nil:
		return Object{}, false, away("find an object", err)
	}
	return Object{key, found.Size, found.ETag}, true, nil
}

// WriteText stores a text as an object.
func (p ObjectStore) WriteText(ctx context.Context, key, text string) error {
	_, err := p.client.PutObject(ctx, p.bucket, key, bytes.NewReader([]byte(text)), int64(len(text)), minio.PutObjectOptions{ContentType: "text/plain; charset=utf-8"})
	if err != nil {
		return away("store an object", err)
	}
	return nil
}

// Copy stores an object under another key too. It returns false, and stores nothing, if another
// program has replaced or removed the object since it was found.
func (p ObjectStore) Copy(ctx context.Context, from Object, to string) (bool, error) {
	_, err := p.client.CopyObject(ctx, minio.CopyDestOptions{Bucket: p.bucket, Object: to}, minio.CopySrcOptions{Bucket: p.bucket, Object: from.Key, MatchETag: from.ETag})
	switch code := minio.ToErrorResponse(err).Code; {
	case code == minio.PreconditionFailed || code == minio.NoSuchKey:
		return false, nil
	case err != nil:
		return false, away("copy an object", err)
	}
	return true, nil
}

// Remove removes an object unless another program has replaced it since it was found. S3 servers
// have no common condition for a removal, so content is lost that arrives between the question and
// the removal.
func (p ObjectStore) Remove(ctx context.Context, one Object) error {
	if now, there, err := p.Find(ctx, one.Key); err != nil || !there || now.ETag != one.ETag {
		return err
	}
	if err := p.client.RemoveObject(ctx, p.bucket, one.Key, minio.RemoveObjectOptions{}); err != nil {
		return away("remove an object", err)
	}
	return nil
}

// away returns an Unavailable error, because the server may respond differently later.
func away(what string, err error) error {
	why := "the S3 server does not respond"
	if answer := minio.ToErrorResponse(err); answer.Code != "" {
		why = "the S3 server says " + answer.Code + " " + answer.Message
	}
	return &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: what + ": " + why, Cause: err}
}
