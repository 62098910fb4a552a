// Package uploads sends statement files to a running service, one by one or when they arrive in a
// folder or a bucket.
//
// The package decides what happens to files after it has sent them. Package inbox owns the place
// where they wait. The service reads the files.
//
// Send fails when the service cannot be reached or refuses the token. Watch ends when the service
// refuses the token or no longer has the connection, and when the inbox or the report fails. It
// passes other failures of the service or of the inbox's server to its caller, and continues. The
// refusal of a file is a result and not an error.
package uploads

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/statements"
	"passerelle/internal/inbox"
)

var errNoConnection = errors.New("the user has no connection for statement files, so there is nothing to compare with; import once to make one")

// Uploaded is the printed result for a file. Imported is false after a preview. Refused is the reason
// why the service did not import the file.
type Uploaded struct {
	File         string        `json:"file"`
	Imported     bool          `json:"imported"`
	Format       string        `json:"format,omitempty"`
	Accounts     int           `json:"accounts,omitempty"`
	Transactions int           `json:"transactions,omitempty"`
	New          int           `json:"new"`
	Changed      int           `json:"changed,omitempty"`
	Removed      int           `json:"removed,omitempty"`
	Gaps         []MissingPart `json:"gaps,omitempty"`
	Refused      string        `json:"refused,omitempty"`
	// unread is the error from reading the file on this machine.
	unread error
}

// MissingPart is the sum of the entries that are missing between the balances of two days.
type MissingPart struct {
	After  string      `json:"after"`
	Before string      `json:"before"`
	Amount json.Number `json:"amount"`
}

// String describes the gap in words.
func (g MissingPart) String() string {
	return fmt.Sprintf("%s between %s and %s", g.Amount, g.After, g.Before)
}

// fileAnswer is the service's response about a file, with only the members that this package uses.
type fileAnswer struct {
	Message  string
	Accounts []struct {
		Transactions, New, Changed, Removed int
		Gaps                                []MissingPart
		Unbalanced                          []int
		Imbalance                           string
	}
}

// Uploader sends files to a connection for statement files. Base is the base URL of the API, and
// Token is the user's token. The caller or FindConnection sets Connection.
type Uploader struct {
	Base, Token string
	Connection  int64
	// Mapping says how to read CSV files. Without it, the connection uses its stored mapping. The
	// caller must check it: the service refuses each file with a wrong mapping.
	Mapping string
	// Unbalanced is set to import statements whose entries do not match their balances.
	Unbalanced bool
}

var client = &http.Client{Timeout: importTime}

const (
	// importTime is the longest time that the service may take for a file.
	importTime = 15 * time.Minute
	// maxAnswered is the largest number of bytes that the package reads from a response.
	maxAnswered = 64 << 20
)

// FindConnection sets Connection to the first connection for files. Without such a connection, it
// creates one if create is set.
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

// Send sends a file. The service imports the file. With preview, the service only compares the file
// with stored data. When the service refuses the file, or would refuse to import it, the result
// contains the reason.
func (c *Uploader) Send(ctx context.Context, file inbox.WaitingFile, preview bool) (Uploaded, error) {
	view := Uploaded{File: file.Name}
	content, err := file.Read(ctx)
	if inbox.Away(err) {
		return view, err
	}
	if err != nil {
		view.Refused, view.unread = err.Error(), err
		return view, nil //nolint:nilerr // the error is part of the result
	}
	if len(bytes.TrimSpace(content)) == 0 {
		view.Refused = "the file is empty"
		return view, nil
	}
	query := url.Values{"name": {cut(path.Base(filepath.ToSlash(file.Name)))}, "preview": {strconv.FormatBool(preview)}, "unbalanced": {strconv.FormatBool(c.Unbalanced)}}
	if c.Mapping != "" {
		query.Set("mapping", c.Mapping)
	}
	var answer fileAnswer
	err = c.call(ctx, http.MethodPost, fmt.Sprintf("/users/me/connections/%d/files?%s", c.Connection, query.Encode()), "application/octet-stream", content, &answer)
	var refused *refusedError
	if errors.As(err, &refused) && refused.ofFile() {
		view.Refused = options.Replace(refused.Error())
		return view, nil
	}
	view.Imported = err == nil && !preview
	c.describe(&view, answer, preview)
	return view, err
}

// describe completes a result with the service's response about the file.
func (c *Uploader) describe(view *Uploaded, answer fileAnswer, preview bool) {
	view.Format, view.Accounts = answer.Message, len(answer.Accounts)
	for _, a := range answer.Accounts {
		view.Transactions, view.New, view.Changed, view.Removed = view.Transactions+a.Transactions, view.New+a.New, view.Changed+a.Changed, view.Removed+a.Removed
		view.Gaps = append(view.Gaps, a.Gaps...)
		if preview && !c.Unbalanced && len(a.Unbalanced) > 0 && view.Refused == "" {
			view.Refused = fmt.Sprintf("line %d: %s; use --unbalanced to import it all the same", a.Unbalanced[0], a.Imbalance)
		}
	}
}

// options replaces parameters of the API, which the service's messages name, with options of the
// command.
var options = strings.NewReplacer("send unbalanced=true", "use --unbalanced", "send a mapping with", "use --mapping with")

// cut shortens a name to the length that the API accepts.
func cut(name string) string {
	const most = 200
	runes := []rune(name)
	return string(runes[max(0, len(runes)-most):])
}

// refusedError is an error that the API returned.
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

// ofFile reports whether the error is about the file. Other errors are about the call or the
// service. A 400 is about the file, because the caller has checked the mapping.
func (r *refusedError) ofFile() bool {
	return r.status == http.StatusBadRequest || r.Code == "conflict" || r.status == http.StatusRequestEntityTooLarge
}

// final reports whether every later call will fail too, because the token or the connection is no
// longer valid. A response without a code comes from a proxy in front of the service.
func (r *refusedError) final() bool {
	return r.Code != "" && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, r.status)
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
		return fmt.Errorf("read the response of the API: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		refused := &refusedError{status: response.StatusCode}
		_ = json.Unmarshal(answer, refused) // with any other body, only the status is known
		return refused
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return errors.New("the response does not come from the API; check --base-url")
	}
	return nil
}

// Watch imports the files of an inbox when they arrive. It reports the result for each file, and
// moves the file to a folder in the inbox. It runs until the context ends, or until the inbox or
// the report fails, or until the service refuses the token or no longer has the connection. Watch
// passes other errors to the function `away`: a failed call of the service, an inbox whose server
// cannot be reached, or an unreadable file. Watch then leaves the files in their place and tries
// again after the inbox's pause.
func (c *Uploader) Watch(ctx context.Context, in inbox.Inbox, report func(Uploaded) error, away func(error)) error {
	for {
		err := c.takeFiles(ctx, in, report)
		gone := errors.Is(err, errAway)
		if err != nil && !gone && ctx.Err() == nil {
			return err
		}
		if gone && ctx.Err() == nil {
			away(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(in.Pause()):
		}
	}
}

// errAway means that a call of the service failed, that the server of the inbox cannot be reached,
// or that a file cannot be read.
var errAway = errors.New("something is away")

// takeFiles imports the waiting files. A file that cannot be read now stays in its place, and does
// not hold up the files after it. A file that is too large is refused. A file that has disappeared,
// or that changed while it was read, has no result.
func (c *Uploader) takeFiles(ctx context.Context, in inbox.Inbox, report func(Uploaded) error) error {
	files, err := in.Files(ctx)
	if err != nil {
		return later(err)
	}
	var waiting error
	for _, file := range files {
		result, err := c.Send(ctx, file, false)
		var refused *refusedError
		if errors.As(err, &refused) && refused.final() {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errAway, err)
		}
		if result.unread != nil && !errors.Is(result.unread, inbox.ErrSize) {
			if !errors.Is(result.unread, fs.ErrNotExist) && !errors.Is(result.unread, inbox.ErrChanged) {
				waiting = fmt.Errorf("%w: %w", errAway, result.unread)
			}
			continue
		}
		if err := in.Done(ctx, file, result.Refused); err != nil {
			return later(err)
		}
		if err := report(result); err != nil {
			return err
		}
	}
	return waiting
}

// later wraps errAway around an error if the server of the inbox cannot be reached now.
func later(err error) error {
	if inbox.Away(err) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}
