package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"passerelle"
	"passerelle/internal/blob"
)

// place is a store, with a function that returns the names of the stored files.
type place struct {
	blob.Store
	names func() []string
}

// each runs a test on each kind of store. The bucket is on an S3 server in this process.
func each(t *testing.T, run func(t *testing.T, p place)) {
	t.Run("folder", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "files")
		run(t, place{Store: open(t, folder), names: func() []string { return namesIn(t, folder) }})
	})
	t.Run("bucket", func(t *testing.T) { run(t, bucket(t)) })
	t.Run("sealed folder", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "files")
		run(t, place{Store: sealed(open(t, folder)), names: func() []string { return namesIn(t, folder) }})
	})
	t.Run("sealed bucket", func(t *testing.T) {
		p := bucket(t)
		p.Store = sealed(p.Store)
		run(t, p)
	})
}

// sealed returns a store that encrypts files. The number of a file determines the file's key.
// Number 13 has no key.
func sealed(in blob.Store) blob.Sealed {
	key := func(_ context.Context, id passerelle.FileID) ([]byte, error) {
		if id == 13 {
			return nil, nil
		}
		return bytes.Repeat([]byte{byte(id)}, 32), nil
	}
	return blob.Sealed{Store: in, Key: key, SealingKey: key}
}

func open(t *testing.T, place string) blob.Store {
	t.Helper()
	s, err := blob.New(place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

const accessKey, secretKey = "passerelle", "of the tests"

func bucket(t *testing.T) place {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket(t.Context(), "files"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory, gofakes3.WithV4Auth(map[string]string{accessKey: secretKey})).Server())
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	store := open(t, "s3://"+accessKey+":of%20the%20tests@"+host+"/files/below/here?tls=none&region=eu-west-3")
	return place{Store: store, names: func() []string {
		all, err := memory.ListBucket(t.Context(), "files", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, object := range all.Contents {
			names = append(names, strings.TrimPrefix(object.Key, "below/here/"))
		}
		return names
	}}
}

// content returns n bytes that change with the position.
func content(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = byte(i * 7 / 3)
	}
	return text
}

func put(t *testing.T, s blob.Store, id passerelle.FileID, text []byte) {
	t.Helper()
	// The reader has an unknown length, and returns half of the requested bytes at a time.
	size, err := s.Put(t.Context(), id, iotest.HalfReader(bytes.NewReader(text)))
	if err != nil || size != int64(len(text)) {
		t.Fatalf("put %d: size %d, error %v", len(text), size, err)
	}
}

func get(t *testing.T, s blob.Store, id passerelle.FileID) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStoredFileIsReadBack(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		smallest := 0
		if _, is := p.Store.(blob.Sealed); is {
			smallest = 1 // TestSealedFiles checks that empty content is refused
		}
		for id, n := range map[passerelle.FileID]int{1: smallest, 2: 1, 258: 4096, 9_007_199_254_740_991: 9<<20 + 17} {
			put(t, p, id, content(n))
			if !bytes.Equal(get(t, p, id), content(n)) {
				t.Errorf("file %d of %d bytes came back differently", id, n)
			}
		}
		put(t, p, 2, []byte("another"))
		if got := get(t, p, 2); string(got) != "another" {
			t.Errorf("replaced, it is %q", got)
		}
		want := []string{"01/0000000000000001", "02/0000000000000002", "02/0000000000000102", "ff/001fffffffffffff"}
		names := p.names()
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("it keeps %q, want %q", names, want)
		}
	})
}

func TestAFileIsReadFromAnyPlace(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		text := content(9<<20 + 5)
		put(t, p, 7, text)
		r, err := p.Open(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if end, err := r.Seek(0, io.SeekEnd); err != nil || end != int64(len(text)) {
			t.Fatalf("the end is at %d, error %v", end, err)
		}
		for _, from := range []int64{8 << 20, 3, int64(len(text)) - 10} {
			if _, err := r.Seek(from, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			piece := make([]byte, 10)
			if _, err := io.ReadFull(r, piece); err != nil || !bytes.Equal(piece, text[from:from+10]) {
				t.Errorf("from %d: %x, error %v", from, piece, err)
			}
		}
	})
}

// TestFailedUploadLeavesNothing checks that a failed upload stores nothing and does not change an
// earlier file.
func TestFailedUploadLeavesNothing(t *testing.T) {
	failure := errors.New("the provider went away")
	each(t, func(t *testing.T, p place) {
		put(t, p, 3, []byte("before"))
		for _, n := range []int{10, 9 << 20} {
			for _, id := range []passerelle.FileID{3, 4} {
				broken := io.MultiReader(bytes.NewReader(content(n)), iotest.ErrReader(failure))
				if _, err := p.Put(t.Context(), id, broken); !errors.Is(err, failure) {
					t.Errorf("after %d bytes: %v, want %v", n, err, failure)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancelling := iotest.DataErrReader(io.MultiReader(bytes.NewReader(content(n)), canceller{cancel}, bytes.NewReader(content(n))))
				if _, err := p.Put(ctx, id, cancelling); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled after %d bytes: %v", n, err)
				}
			}
		}
		if got := get(t, p, 3); string(got) != "before" {
			t.Errorf("what was there before is %q", got)
		}
		if names := p.names(); !slices.Equal(names, []string{"03/0000000000000003"}) {
			t.Errorf("it keeps %q", names)
		}
	})
}

type canceller struct{ cancel func() }

func (c canceller) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}

func TestRemoving(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		put(t, p, 5, []byte("text"))
		for range 2 { // removing a missing file is not an error
			if err := p.Remove(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Open(t.Context(), 5); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("opening what was removed: %v", err)
		}
		if names := p.names(); len(names) > 0 {
			t.Errorf("it keeps %q", names)
		}
	})
}

// TestAbandonedUploadsAreRemoved checks that opening a folder removes incomplete files that are
// older than a day, and keeps newer ones.
func TestAbandonedUploadsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	open(t, folder)
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "new": 0} {
		path := filepath.Join(folder, "incoming", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	open(t, folder)
	if names := namesIn(t, folder); !slices.Equal(names, []string{"incoming/new"}) {
		t.Errorf("it keeps %q", names)
	}
}

// TestSymbolicLinksDoNotLeaveTheFolder checks that a symbolic link in the folder gives no access to
// files outside it.
func TestSymbolicLinksDoNotLeaveTheFolder(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	s := open(t, folder)
	if err := os.Symlink(outside, filepath.Join(folder, "06")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), 6, strings.NewReader("text")); err == nil {
		t.Error("a file was stored through a link")
	}
	if err := os.WriteFile(filepath.Join(outside, "0000000000000006"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), 6); err == nil {
		t.Error("a file was read through a link")
	}
	if names := namesIn(t, outside); len(names) != 1 {
		t.Errorf("outside there is %q", names)
	}
}

func TestPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for place, ok := range map[string]bool{
		"s3://k:s@127.0.0.1:9000/bucket":          true,
		"s3://k:s@s3.example/bucket?region=x":     true,
		"s3://k:s@s3.example/bucket/a/b":          true,
		"s3://k:s@s3.example/bucket?tls=none":     false,
		"s3://k:s@10.0.0.7/bucket?tls=none":       false,
		"s3://k:s@localhost/bucket?tls=none":      true,
		"s3://s3.example/bucket":                  false,
		"s3://k@s3.example/bucket":                false,
		"s3://k:s@s3.example":                     false,
		"s3://k:s@s3.example/":                    false,
		"s3://k:s@/bucket":                        false,
		"s3://k:s@s3.example/bucket?tls=maybe":    false,
		"s3://k:s@s3.example/bucket?regoin=x":     false,
		"s3://k:se%zzcret@s3.example/bucket":      false,
		"s3://k:s@s3.example:port/bucket":         false,
		"S3://k:secret@s3.example/bucket":         false,
		"s3:/k:secret@s3.example/bucket":          false,
		"https://k:secret@s3.example/bucket":      false,
		filepath.Join(t.TempDir(), "a", "folder"): true,
		file:                          false,
		filepath.Join(file, "folder"): false,
	} {
		if err := blob.Check(place); (err == nil) != ok {
			t.Errorf("%s: the check says %v", place, err)
		}
		_, err := blob.New(place)
		if (err == nil) != ok {
			t.Errorf("%s: %v", place, err)
		}
		if err != nil && strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: the error tells the secret: %v", place, err)
		}
	}
	for _, made := range []string{"S3:", "s3:", "https:"} {
		if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a folder %s: %v", made, err)
		}
	}
}

// TestRefusedCredentialsAreNotAMissingFile checks the error when a server does not accept the
// credentials. The error must not say that the file is missing.
func TestRefusedCredentialsAreNotAMissingFile(t *testing.T) {
	p := bucket(t)
	put(t, p, 1, []byte("text"))
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithV4Auth(map[string]string{accessKey: "another"})).Server())
	defer server.Close()
	s := open(t, "s3://"+accessKey+":wrong@"+strings.TrimPrefix(server.URL, "http://")+"/files?tls=none")
	if _, err := s.Open(t.Context(), 1); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Put(t.Context(), 1, strings.NewReader("text")); err == nil {
		t.Error("it stored a file with a wrong secret")
	}
}

// TestUnreachableServer checks the message about a server that does not respond.
func TestUnreachableServer(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	p, err := blob.ParseAddress("s3://key:secret@" + strings.TrimPrefix(server.URL, "http://") + "/files?tls=none")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Objects(t.Context(), "", 1)
	var refused *passerelle.Error
	if want := "list the bucket: the S3 server does not respond"; !errors.As(err, &refused) || refused.Kind != passerelle.Unavailable || refused.Message != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// TestSealedFiles checks that an encrypted file reveals nothing of its content, and that readers
// can read any part of it. Reading must fail after someone has altered the file, cut it, or stored
// it as another file. A file without a key must be readable, and must not be stored again.
func TestSealedFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "files")
	clear := open(t, folder)
	s := sealed(clear)
	text := bytes.Repeat([]byte("an invoice of Erika Mustermann; "), 10_000)
	for _, length := range []int{1, 65_535, 65_536, 65_537, len(text)} {
		size, err := s.Put(t.Context(), 7, bytes.NewReader(text[:length]))
		if err != nil || size != int64(length) {
			t.Fatalf("%d bytes stored as %d, %v", length, size, err)
		}
		f, err := s.Open(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		end, err := f.Seek(0, io.SeekEnd)
		if err != nil || end != int64(length) {
			t.Errorf("%d bytes end at %d, %v", length, end, err)
		}
		for _, from := range []int64{0, int64(length) / 2, int64(length) - 1} {
			_, err := f.Seek(from, io.SeekStart)
			got, failure := io.ReadAll(f)
			if err != nil || failure != nil || !bytes.Equal(got, text[from:length]) {
				t.Errorf("%d bytes from %d: %d read, %v, %v", length, from, len(got), err, failure)
			}
		}
		f.Close()
	}
	raw := readAll(t, clear, 7)
	if bytes.Contains(raw, []byte("Erika")) {
		t.Error("the folder has the file in the clear")
	}
	for name, spoiled := range map[string][]byte{
		"altered": append(append([]byte{}, raw[:1000]...), append([]byte{raw[1000] ^ 1}, raw[1001:]...)...), "cut off": raw[:len(raw)-70_000], "another's": raw,
		"cut after a piece": raw[:64<<10+32], "cut to nothing": nil, "cut after two pieces": raw[:2*(64<<10+32)],
	} {
		id := passerelle.FileID(7)
		if name == "another's" {
			id = 8
		}
		if _, err := clear.Put(t.Context(), id, bytes.NewReader(spoiled)); err != nil {
			t.Fatal(err)
		}
		f, err := s.Open(t.Context(), id)
		if err == nil {
			_, err = io.ReadAll(f)
			f.Close()
		}
		if err == nil {
			t.Errorf("what was %s is read", name)
		}
	}
	if _, err := s.Put(t.Context(), 9, strings.NewReader("")); err == nil {
		t.Error("empty content, which looks like a file that was cut, is stored")
	}
	put(t, clear, 13, text)
	if _, err := s.Put(t.Context(), 13, strings.NewReader("new")); err == nil || !bytes.Equal(readAll(t, s, 13), text) {
		t.Errorf("a file without a key: %v", err)
	}
}

func readAll(t *testing.T, s blob.Store, id passerelle.FileID) []byte {
	t.Helper()
	f, err := s.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEachListsCompleteFiles lists files in batches, and then lists them again and removes each
// batch.
func TestEachListsCompleteFiles(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		var want []passerelle.FileID
		for id := passerelle.FileID(1); id <= 700; id += 7 {
			if id != 13 { // file 13 has no key
				put(t, p.Store, id, []byte("x"))
				want = append(want, id)
			}
		}
		large := passerelle.FileID(1 << 40)
		put(t, p.Store, large, []byte("x"))
		want = append(want, large)
		for _, remove := range []bool{false, true} {
			var got []passerelle.FileID
			err := p.Each(t.Context(), 10, func(ids []passerelle.FileID) error {
				if len(ids) > 10 {
					t.Errorf("%d files at a time", len(ids))
				}
				got = append(got, ids...)
				for _, id := range ids {
					if remove {
						if err := p.Remove(t.Context(), id); err != nil {
							return err
						}
					}
				}
				return nil
			})
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("listed %v, %v, want %v", got, err, want)
			}
		}
		if left := p.names(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		stop := errors.New("stop")
		put(t, p.Store, 1, []byte("x"))
		if err := p.Each(t.Context(), 10, func([]passerelle.FileID) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("ended with %v", err)
		}
	})
}
