// Package uploads sends statement files to a running service, one by one or as they come into a
// folder.
//
// It owns which files are sent and what becomes of them. It does not own how they are read, which
// is the service's.
//
// It fails when the service cannot be reached or refuses the token. What the service says about a
// file is a result.
package uploads

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/statements"
)

var errNoConnection = errors.New("the user has no connection for statement files, so there is nothing to compare with; import once to make one")

// Uploaded is what became of a file as it is printed. Refused says why nothing of it was
// imported.
type Uploaded struct {
	File         string        `json:"file"`
	Format       string        `json:"format,omitempty"`
	Accounts     int           `json:"accounts,omitempty"`
	Transactions int           `json:"transactions,omitempty"`
	New          int           `json:"new"`
	Changed      int           `json:"changed,omitempty"`
	Gaps         []MissingPart `json:"gaps,omitempty"`
	Refused      string        `json:"refused,omitempty"`
}

// MissingPart is what is missing between two balances.
type MissingPart struct {
	After  string      `json:"after"`
	Before string      `json:"before"`
	Amount json.Number `json:"amount"`
}

// String is the gap in words.
func (g MissingPart) String() string {
	return fmt.Sprintf("%s between %s and %s", g.Amount, g.After, g.Before)
}

// fileAnswer is what the command reads of an answer to a file.
type fileAnswer struct {
	Message  string
	Accounts []struct {
		Transactions, New, Changed int
		Gaps                       []MissingPart
	}
}

// Files are the files that are named, and those in the folders that are, in the order of
// their names.
func Files(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		stat, err := os.Stat(name)
		if err != nil {
			return nil, passerelle.InvalidField("file", "%s", err)
		}
		if !stat.IsDir() {
			files = append(files, name)
			continue
		}
		within, err := os.ReadDir(name)
		if err != nil {
			return nil, fmt.Errorf("list the folder: %w", err)
		}
		for _, e := range within {
			if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, passerelle.InvalidField("file", "the folder has no files")
	}
	return files, nil
}

// Uploader sends files to a connection for statement files. Base is the base URL of the API, and
// Token that of the user. Connection is zero before FindConnection.
type Uploader struct {
	Base, Token string
	Connection  int64
	// Mapping is how to read CSV files, empty for the mapping that the connection keeps.
	Mapping string
	// Unbalanced statements are imported all the same.
	Unbalanced bool
}

var client = &http.Client{Timeout: importTime}

const (
	// importTime is how long a file may take.
	importTime = 15 * time.Minute
	// maxImported is how large a file may be, as the API has it.
	maxImported = 32 << 20
	// maxAnswered bounds what is read of an answer.
	maxAnswered = 64 << 20
)

// FindConnection takes the first connection for files, or a new one where it may make one.
func (c *Uploader) FindConnection(ctx context.Context, create bool) error {
	var list struct {
		Connections []struct {
			ID   int64  `json:"id"`
			UUID string `json:"connector_uuid"`
		}
	}
	if err := c.call(ctx, http.MethodGet, "/users/me/connections", "", nil, &list); err != nil {
		return err
	}
	for _, one := range list.Connections {
		if one.UUID == statements.UUID {
			c.Connection = one.ID
			return nil
		}
	}
	if !create {
		return errNoConnection
	}
	var made struct{ ID int64 }
	err := c.call(ctx, http.MethodPost, "/users/me/connections", "application/json", []byte(`{"connector_uuid":"`+statements.UUID+`"}`), &made)
	c.Connection = made.ID
	return err
}

// Send sends a file, to compare it only or to import it. A refusal of the file is part of the
// result.
func (c *Uploader) Send(ctx context.Context, file string, preview bool) (Uploaded, error) {
	view := Uploaded{File: file}
	content, err := bounded(file)
	if err != nil {
		view.Refused = err.Error()
		return view, nil //nolint:nilerr // it is part of the result
	}
	query := url.Values{"name": {cut(filepath.Base(file))}, "preview": {strconv.FormatBool(preview)}, "unbalanced": {strconv.FormatBool(c.Unbalanced)}}
	if c.Mapping != "" {
		query.Set("mapping", c.Mapping)
	}
	var answer fileAnswer
	err = c.call(ctx, http.MethodPost, fmt.Sprintf("/users/me/connections/%d/files?%s", c.Connection, query.Encode()), "application/octet-stream", content, &answer)
	var refused *refusedError
	if errors.As(err, &refused) && refused.ofFile() {
		view.Refused = refused.Error()
		return view, nil
	}
	view.Format, view.Accounts = answer.Message, len(answer.Accounts)
	for _, a := range answer.Accounts {
		view.Transactions, view.New, view.Changed, view.Gaps = view.Transactions+a.Transactions, view.New+a.New, view.Changed+a.Changed, append(view.Gaps, a.Gaps...)
	}
	return view, err
}

// bounded is the content of a file that is not too large.
func bounded(file string) ([]byte, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxImported+1))
	if len(content) > maxImported {
		err = fmt.Errorf("the file has more than %d MiB", maxImported>>20)
	}
	return content, err
}

// cut is a name of the length that the API takes.
func cut(name string) string {
	const most = 200
	runes := []rune(name)
	return string(runes[max(0, len(runes)-most):])
}

// refusedError is an error that the API answered.
type refusedError struct {
	status            int
	Code, Description string
	Message           *string
}

func (r *refusedError) Error() string {
	if r.Message != nil {
		return *r.Message
	}
	return cmp.Or(r.Description, r.Code, http.StatusText(r.status))
}

// ofFile reports whether the error is about the file, and not about the call or the service.
func (r *refusedError) ofFile() bool {
	return r.status == http.StatusBadRequest || r.Code == "conflict" || r.status == http.StatusRequestEntityTooLarge
}

// call calls the API.
func (c *Uploader) call(ctx context.Context, method, path, contentType string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return passerelle.InvalidField("base_url", "%s", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("call the API: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswered))
	if err != nil {
		return fmt.Errorf("read the answer of the API: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		refused := &refusedError{status: response.StatusCode}
		_ = json.Unmarshal(answer, refused) // what is no error of the API has its status
		return refused
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return errors.New("the answer is none of the API; check --base-url")
	}
	return nil
}

// watchPause is how often a folder is looked at. A file is taken once it stays the same from one
// time to the next.
const watchPause = 2 * time.Second

// The folders for files that are done with.
const (
	importedFolder = "imported"
	refusedFolder  = "refused"
)

// Watch imports the files of a folder as they come, reports what became of each, and moves it to
// a folder in the folder. It ends with the context. While the service is away, files stay where
// they are, and away is called with the error.
func (c *Uploader) Watch(ctx context.Context, folder string, report func(Uploaded) error, away func(error)) error {
	for _, name := range []string{importedFolder, refusedFolder} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			return fmt.Errorf("make a folder for files that are done: %w", err)
		}
	}
	w := watched{Uploader: c, folder: folder, report: report, away: away, seen: map[string]os.FileInfo{}}
	for {
		if err := w.takeFiles(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPause):
		}
	}
}

// watched is a folder that is watched, with the files that were seen in it.
type watched struct {
	*Uploader
	folder string
	report func(Uploaded) error
	away   func(error)
	seen   map[string]os.FileInfo
}

// takeFiles imports the files that did not change since they were seen.
func (w *watched) takeFiles(ctx context.Context) error {
	seen := w.seen
	w.seen = map[string]os.FileInfo{}
	files, err := Files([]string{w.folder})
	if errors.Is(err, passerelle.Invalid) {
		return nil // there are none
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		stat, err := os.Stat(file)
		if err != nil {
			continue // it went away
		}
		w.seen[file] = stat
		if before := seen[file]; before == nil || before.Size() != stat.Size() || !before.ModTime().Equal(stat.ModTime()) {
			continue
		}
		result, err := w.Send(ctx, file, false)
		if err != nil {
			if ctx.Err() == nil {
				w.away(err)
			}
			return nil
		}
		if err := errors.Join(w.move(file, result), w.report(result)); err != nil {
			return err
		}
	}
	return nil
}

// move moves a file that is done. Beside a file that was refused is the reason.
func (w *watched) move(file string, r Uploaded) error {
	to := importedFolder
	if r.Refused != "" {
		to = refusedFolder
		if err := os.WriteFile(free(filepath.Join(w.folder, to, filepath.Base(file)+".txt")), []byte(r.Refused+"\n"), 0o600); err != nil {
			return fmt.Errorf("write why a file was refused: %w", err)
		}
	}
	if err := os.Rename(file, free(filepath.Join(w.folder, to, filepath.Base(file)))); err != nil {
		return fmt.Errorf("move a file that is done: %w", err)
	}
	return nil
}

// free is a name that no file has.
func free(name string) string {
	for n, one := 1, name; ; n++ {
		if _, err := os.Lstat(one); errors.Is(err, os.ErrNotExist) {
			return one
		}
		one = fmt.Sprintf("%s.%d", name, n)
	}
}
