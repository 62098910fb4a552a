package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"passerelle"
)

const bucketScheme = "s3://"

const (
	// partSize is the size of the parts of a long upload, in bytes.
	partSize = 8 << 20
	// tries is the number of attempts for a request. The upload of a file below partSize has one
	// attempt, because its content is read only once.
	tries = 3
	// defaultRegion is the region for an address without the parameter region.
	defaultRegion = "us-east-1"
)

// ObjectStore is a bucket of an S3 server, with a prefix for all keys. The prefix does not end with
// a slash.
type ObjectStore struct {
	client *minio.Client
	bucket string
	Prefix string
}

// ParseAddress reads an address s3://KEY:SECRET@HOST/BUCKET. A prefix for all keys may follow the
// bucket. The parameters are region and tls. The default region is us-east-1. With tls=none, the
// service calls a server on this machine over plain HTTP. ParseAddress does not call the server.
func ParseAddress(place string) (ObjectStore, error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme+"://" != bucketScheme || u.Host == "" {
		return ObjectStore{}, errPlace // the error of the parser would contain the secret
	}
	secret, _ := u.User.Password()
	name, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if name == "" || u.User.Username() == "" || secret == "" {
		return ObjectStore{}, errPlace
	}
	region, encrypted, err := manner(u)
	if err != nil {
		return ObjectStore{}, err
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(u.User.Username(), secret, ""), Secure: encrypted, Region: region, BucketLookup: minio.BucketLookupPath, MaxRetries: tries,
	})
	if err != nil {
		return ObjectStore{}, fmt.Errorf("set up the S3 server %s: %w", u.Host, err)
	}
	return ObjectStore{client, name, prefix}, nil
}

// Bucket stores files in an existing bucket of an S3 server.
type Bucket struct{ place ObjectStore }

// NewBucket returns the store for an address in the form that [ParseAddress] describes.
func NewBucket(place string) (*Bucket, error) {
	p, err := ParseAddress(place)
	if err != nil {
		return nil, err
	}
	return &Bucket{p}, nil
}

// manner returns the region of a server, and whether to call the server with TLS.
func manner(u *url.URL) (string, bool, error) {
	region, encrypted := defaultRegion, true
	for key, values := range u.Query() {
		switch {
		case key == "region" && values[0] != "":
			region = values[0]
		case key == "tls" && values[0] == "none":
			if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && !ip.IsLoopback() {
				return "", false, errOpen
			}
			encrypted = false
		default:
			return "", false, errPlace
		}
	}
	return region, encrypted, nil
}

var (
	errPlace = errors.New("a bucket is named s3://KEY:SECRET@HOST/BUCKET[/PREFIX][?region=REGION&tls=none]")
	errOpen  = errors.New("a bucket on another machine is spoken to with TLS: leave tls=none out")
)

func (b *Bucket) key(id passerelle.FileID) string { return path.Join(b.place.Prefix, name(id)) }

// Put uploads a file. The file becomes visible when it is complete. Put sends a file smaller than
// partSize, even an empty file, in one request. Not every server accepts an empty upload in parts.
func (b *Bucket) Put(ctx context.Context, id passerelle.FileID, content io.Reader) (int64, error) {
	content = reading{ctx, content}
	head, err := io.ReadAll(io.LimitReader(content, partSize))
	if err != nil {
		return 0, fmt.Errorf("store file %d: %w", id, err)
	}
	size := int64(len(head))
	if size == partSize {
		size = -1 // the content may need more than one part
	}
	content = io.MultiReader(bytes.NewReader(head), content)
	stored, err := b.place.client.PutObject(ctx, b.place.bucket, b.key(id), content, size,
		minio.PutObjectOptions{PartSize: partSize, ContentType: "application/octet-stream"})
	if err != nil {
		return 0, fmt.Errorf("store file %d: %w", id, err)
	}
	return stored.Size, nil
}

// Open checks that the object exists. It returns a file that reads the requested ranges of the
// object.
func (b *Bucket) Open(ctx context.Context, id passerelle.FileID) (io.ReadSeekCloser, error) {
	object, err := b.place.client.GetObject(ctx, b.place.bucket, b.key(id), minio.GetObjectOptions{})
	if err == nil {
		if _, err = object.Stat(); err == nil {
			return object, nil
		}
		err = errors.Join(err, object.Close())
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		err = ErrNotFound
	}
	return nil, fmt.Errorf("open file %d: %w", id, err)
}

// Remove removes the object, and the parts of an interrupted upload.
func (b *Bucket) Remove(ctx context.Context, id passerelle.FileID) error {
	err := b.place.client.RemoveObject(ctx, b.place.bucket, b.key(id), minio.RemoveObjectOptions{})
	if err == nil {
		err = b.place.client.RemoveIncompleteUpload(ctx, b.place.bucket, b.key(id))
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove file %d: %w", id, err)
	}
	return nil
}

// Each lists one folder after the other.
func (b *Bucket) Each(ctx context.Context, batch int, do func([]passerelle.FileID) error) error {
	for i := range folders {
		if err := b.eachIn(ctx, fmt.Sprintf("%02x/", i), batch, do); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) eachIn(ctx context.Context, folder string, batch int, do func([]passerelle.FileID) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ids []passerelle.FileID
	for one := range b.place.client.ListObjects(ctx, b.place.bucket, minio.ListObjectsOptions{Prefix: path.Join(b.place.Prefix, folder) + "/"}) {
		if one.Err != nil {
			return away("list the bucket", one.Err)
		}
		if id, is := number(folder + path.Base(one.Key)); is {
			ids = append(ids, id)
		}
		if len(ids) == batch {
			if err := do(ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return do(ids)
}
