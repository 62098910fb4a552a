package uploads_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/inbox"
	"passerelle/internal/uploads"
)

// changing is an inbox in a folder. The test changes the folder after Files has listed the files.
type changing struct {
	inbox.Inbox
	folder string
	change func()
}

func (c changing) Files(context.Context) ([]inbox.WaitingFile, error) {
	files, err := inbox.Named([]string{c.folder})
	c.change()
	return files, err
}

// TestFilesThatCannotBeRead checks that Watch imports the other files when a file disappears after
// it was listed, or cannot be read now. Watch must refuse neither file.
func TestFilesThatCannotBeRead(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"message":"CSV","accounts":[{"transactions":1,"new":1}]}`)
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	in, err := inbox.NewFolder(folder, 0, time.Now)
	must(err)
	for _, name := range []string{"a disappears", "b is locked", "c"} {
		must(os.WriteFile(filepath.Join(folder, name), []byte("text"), 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var imported []string
	err = (&uploads.Uploader{Base: server.URL}).Watch(ctx, changing{in, folder, func() {
		must(os.Remove(filepath.Join(folder, "a disappears")))
		must(os.Remove(filepath.Join(folder, "b is locked")))
		must(os.Mkdir(filepath.Join(folder, "b is locked"), 0o700)) // even root cannot read a folder as a file
	}}, func(r uploads.Uploaded) error {
		imported = append(imported, filepath.Base(r.File)+r.Refused)
		return nil
	}, func(error) { cancel() })
	must(err)
	if diff := cmp.Diff([]string{"c"}, imported); diff != "" {
		t.Error(diff)
	}
	if refused, err := os.ReadDir(filepath.Join(folder, "refused")); err != nil || len(refused) > 0 {
		t.Errorf("refused: %v (%v)", refused, err)
	}
}

// slow is an inbox in a folder. When Files has listed a file first, a program continues to write the
// file. It completes the file before the next call.
type slow struct {
	inbox.Inbox
	parts *[]func()
}

func (s slow) Files(ctx context.Context) ([]inbox.WaitingFile, error) {
	if len(*s.parts) == 1 {
		s.write()
	}
	files, err := s.Inbox.Files(ctx)
	if len(files) > 0 && len(*s.parts) > 0 {
		s.write()
	}
	return files, err
}

func (s slow) write() {
	(*s.parts)[0]()
	*s.parts = (*s.parts)[1:]
}

func (slow) Pause() time.Duration { return time.Millisecond }

// TestFilesThatGrow checks that Watch does not send a part of a file that another program writes
// while Watch reads it. Watch sends the complete file later, and reports no failure before.
func TestFilesThatGrow(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, string(body))
		_, _ = io.WriteString(w, `{"message":"CSV","accounts":[{"transactions":1,"new":1}]}`)
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	in, err := inbox.NewFolder(folder, 0, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "a.csv"), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("a third")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	parts := []func(){func() { put("two thirds of it") }, func() { put("the complete file") }}
	var reported []uploads.Uploaded
	err = (&uploads.Uploader{Base: server.URL}).Watch(ctx, slow{in, &parts}, func(r uploads.Uploaded) error {
		reported = append(reported, r)
		cancel()
		return nil
	}, func(err error) { t.Error(err) })
	if err != nil || len(reported) != 1 || !reported[0].Imported || reported[0].Refused != "" {
		t.Errorf("%v %+v", err, reported)
	}
	if diff := cmp.Diff([]string{"the complete file"}, sent); diff != "" {
		t.Error(diff)
	}
}

// The reason for a refusal names the options of the command instead of parameters of the API.
func TestReasonsNameOptions(t *testing.T) {
	for answer, want := range map[string]string{
		"file: line 3: it does not add up; send unbalanced=true to import it all the same":            "file: line 3: it does not add up; use --unbalanced to import it all the same",
		"file: line 2, date: must be a valid date; for another form, send a mapping with date_format": "file: line 2, date: must be a valid date; for another form, use --mapping with date_format",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalidValue","message":"`+answer+`"}`)
		}))
		t.Cleanup(server.Close)
		name := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := inbox.Named([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&uploads.Uploader{Base: server.URL}).Send(t.Context(), files[0], false)
		if err != nil || got.Refused != want {
			t.Errorf("%q, %v, want %q", got.Refused, err, want)
		}
	}
}
