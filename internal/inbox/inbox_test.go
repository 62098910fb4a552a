package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"passerelle/internal/inbox"
)

type place struct {
	inbox.Inbox
	put func(name, text string)
	all func() map[string]string
	// before holds functions to call before the server of a bucket answers, by method and name.
	before map[string]func()
}

func folder(t *testing.T) place {
	t.Helper()
	root := t.TempDir()
	in, err := inbox.NewFolder(root, 0, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700), os.WriteFile(filepath.Join(root, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return place{Inbox: in, put: put, all: func() map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, root+"/")] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}}
}

func bucket(t *testing.T) place {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket(t.Context(), "files"); err != nil {
		t.Fatal(err)
	}
	p := place{before: map[string]func(){}}
	answer := gofakes3.New(memory, gofakes3.WithV4Auth(map[string]string{"someone": "secret"})).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change := p.before[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/files/from/banks/")]; change != nil {
			change()
		}
		answer.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	in, err := inbox.NewBucket("s3://someone:secret@" + strings.TrimPrefix(server.URL, "http://") + "/files/from/banks?tls=none")
	if err != nil {
		t.Fatal(err)
	}
	p.Inbox, p.put = in, func(name, text string) {
		if _, err := memory.PutObject(t.Context(), "files", path.Join("from/banks", name), map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	}
	p.all = func() map[string]string {
		all := map[string]string{}
		list, err := memory.ListBucket(t.Context(), "files", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Contents {
			object, err := memory.GetObject(t.Context(), "files", one.Key, nil)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			_, err = text.ReadFrom(object.Contents)
			if err = errors.Join(err, object.Contents.Close()); err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(one.Key, "from/banks/")] = text.String()
		}
		return all
	}
	return p
}

// TestInbox checks that the inbox returns complete files in the order of their names, and moves
// processed files. It must not replace an existing file with the same name.
func TestInbox(t *testing.T) {
	for name, open := range map[string]func(*testing.T) place{"folder": folder, "bucket": bucket} {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			p.put("b.csv", "second")
			p.put("a.csv", "first")
			p.put("below/c.csv", "not here")
			p.put("imported/a.csv", "an earlier one")
			read := func() []string {
				t.Helper()
				var texts []string
				for range 2 { // a file in a folder must stay unchanged between two calls
					texts = nil
					files, err := p.Files(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for n, f := range files {
						content, err := f.Read(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						if texts = append(texts, path.Base(f.Name)+" "+string(content)); len(files) < 2 {
							continue
						}
						if err := p.Done(t.Context(), f, []string{"", "it is damaged"}[n]); err != nil {
							t.Fatal(err)
						}
					}
					if len(texts) > 1 {
						break
					}
				}
				return texts
			}
			if diff := cmp.Diff([]string{"a.csv first", "b.csv second"}, read()); diff != "" {
				t.Error(diff)
			}
			want := map[string]string{"imported/a.csv": "an earlier one", "imported/a.csv.1": "first", "refused/b.csv": "second", "refused/b.csv.txt": "it is damaged\n", "below/c.csv": "not here"}
			if diff := cmp.Diff(want, p.all()); diff != "" {
				t.Error(diff)
			}
			if left := read(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// TestReasonsReplaceNoFile checks that the reason for a refusal does not replace a refused file.
func TestReasonsReplaceNoFile(t *testing.T) {
	for name, open := range map[string]func(*testing.T) place{"folder": folder, "bucket": bucket} {
		p := open(t)
		p.put("refused/a.txt", "a statement")
		p.put("a", "another one")
		var files []inbox.WaitingFile
		for range 2 { // a file in a folder must stay unchanged between two calls
			var err error
			if files, err = p.Files(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Done(t.Context(), files[0], "it is damaged"); err != nil {
			t.Error(err)
		}
		want := map[string]string{"refused/a.txt": "a statement", "refused/a.1": "another one", "refused/a.1.txt": "it is damaged\n"}
		if diff := cmp.Diff(want, p.all()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFilesThatChange checks that a file which another program replaces or moves during its
// processing is neither lost nor an error.
func TestFilesThatChange(t *testing.T) {
	for name, open := range map[string]func(*testing.T) place{"folder": folder, "bucket": bucket} {
		p := open(t)
		list := func() []inbox.WaitingFile {
			t.Helper()
			var files []inbox.WaitingFile
			for range 2 { // a file in a folder must stay unchanged between two calls
				var err error
				if files, err = p.Files(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return files
		}
		p.put("a.csv", "of Monday")
		p.put("b.csv", "moved")
		files := list()
		p.put("a.csv", "of Tuesday, in a longer text")
		if err := p.Done(t.Context(), files[0], ""); err != nil {
			t.Errorf("%s, a changed file: %v", name, err)
		}
		for range 2 {
			if err := p.Done(t.Context(), files[1], ""); err != nil {
				t.Errorf("%s, a moved file: %v", name, err)
			}
		}
		want := map[string]string{"a.csv": "of Tuesday, in a longer text", "imported/b.csv": "moved"}
		if diff := cmp.Diff(want, p.all()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again := list()
		if len(again) != 1 {
			t.Fatalf("%s: %d files wait", name, len(again))
		}
		if content, err := again[0].Read(t.Context()); err != nil || string(content) != want["a.csv"] {
			t.Errorf("%s: %q (%v)", name, content, err)
		}
	}
}

// TestFilesThatChangeDuringTheMove checks that new content waits in a bucket when it arrives after
// the service has chosen the name of a processed file, or after it has copied the file.
func TestFilesThatChangeDuringTheMove(t *testing.T) {
	for at, want := range map[string]map[string]string{
		"PUT imported/a.csv":    {"a.csv": "of Tuesday"},
		"HEAD a.csv":            {"a.csv": "of Tuesday", "imported/a.csv": "of Monday"},
		"PUT refused/a.csv":     {"a.csv": "of Tuesday"},
		"PUT refused/a.csv.txt": {"a.csv": "of Tuesday", "refused/a.csv": "of Monday", "refused/a.csv.txt": "damaged\n"},
	} {
		p, refused := bucket(t), ""
		if strings.Contains(at, "refused") {
			refused = "damaged"
		}
		p.put("a.csv", "of Monday")
		files, err := p.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.before[at] = func() { p.put("a.csv", "of Tuesday") }
		if err := p.Done(t.Context(), files[0], refused); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if diff := cmp.Diff(want, p.all()); diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
}

// TestSlowFiles checks that the inbox of a folder returns a file only when the file has not changed
// for the time to settle. A program may pause while it writes a file.
func TestSlowFiles(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	in, err := inbox.NewFolder(root, 10*time.Second, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "slow.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(after time.Duration) []inbox.WaitingFile {
		t.Helper()
		now = now.Add(after)
		files, err := in.Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	write("")
	for range 3 {
		if files := list(10 * time.Second); len(files) > 0 {
			t.Errorf("an empty file does not wait: %v", files)
		}
	}
	write("half of ")
	list(time.Second)
	if files := list(8 * time.Second); len(files) > 0 {
		t.Errorf("half of a file does not wait: %v", files)
	}
	write("half of it and the other half")
	list(time.Second)
	if files := list(9 * time.Second); len(files) > 0 {
		t.Errorf("a file that was just completed does not wait: %v", files)
	}
	files := list(time.Second)
	if len(files) != 1 {
		t.Fatalf("a complete file still waits: %v", files)
	}
	if text, err := files[0].Read(t.Context()); err != nil || string(text) != "half of it and the other half" {
		t.Errorf("%q (%v)", text, err)
	}
	write("half of it and the other half, and more")
	if _, err := files[0].Read(t.Context()); !errors.Is(err, inbox.ErrChanged) {
		t.Errorf("a file that has changed since it was listed: %v", err)
	}
}

// TestIncompleteFiles checks that the inbox ignores empty files, hidden files, and files whose name
// says that a program still writes them.
func TestIncompleteFiles(t *testing.T) {
	for name, open := range map[string]func(*testing.T) place{"folder": folder, "bucket": bucket} {
		p := open(t)
		left := map[string]string{"empty.csv": "", ".hidden.csv": "text", "a.csv.part": "text", "a.csv.filepart": "text", "b.TMP": "text", "c.csv.tmp": "text"}
		for file, text := range left {
			p.put(file, text)
		}
		p.put("part.csv", "text")
		for range 2 { // a file in a folder must stay unchanged between two calls
			files, err := p.Files(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := p.Done(t.Context(), f, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		left["imported/part.csv"] = "text"
		if diff := cmp.Diff(left, p.all()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestInboxRefuses checks that a file larger than MaxSize fails with ErrSize. For an unreachable
// server, Away must return true.
func TestInboxRefuses(t *testing.T) {
	for name, open := range map[string]func(*testing.T) place{"folder": folder, "bucket": bucket} {
		p := open(t)
		p.put("large", strings.Repeat("x", inbox.MaxSize+1))
		var files []inbox.WaitingFile
		for range 2 {
			var err error
			if files, err = p.Files(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := files[0].Read(t.Context()); !errors.Is(err, inbox.ErrSize) || inbox.Away(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	in, err := inbox.NewBucket("s3://someone:secret@127.0.0.1:1/files?tls=none")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := in.Files(ctx); !inbox.Away(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a server that is away: %v", err)
	}
	for _, address := range []string{"", "s3://host/bucket", "s3://a:b@example.org/bucket?tls=none", "folder"} {
		if _, err := inbox.NewBucket(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
	if _, err := inbox.Named([]string{t.TempDir()}); err == nil {
		t.Error("an empty folder is taken")
	}
}
