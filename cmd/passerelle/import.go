package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/domains"
	"passerelle/internal/inbox"
	"passerelle/internal/secretfile"
	"passerelle/internal/uploads"
	"passerelle/statementfile"
)

type importCommand struct {
	BaseURL    string        `required:"" placeholder:"URL" help:"Base URL of the API with its version, such as http://127.0.0.1:8080/2.0."`
	TokenFile  string        `required:"" placeholder:"FILE|-" help:"File with the token of the user, or - for standard input."`
	Connection int64         `placeholder:"ID" help:"Connection for statement files. By default, the user's first connection for files, or a new connection."`
	Mapping    string        `placeholder:"FILE" help:"File with a JSON object that says how to read CSV files. The connection stores this mapping."`
	Unbalanced bool          `help:"Also import statements with transactions that do not add up from the opening to the closing balance."`
	DryRun     bool          `help:"Only report what an import would change."`
	Watch      bool          `help:"Keep importing files that arrive in the folder or bucket, and move them to its subfolder imported or refused."`
	Settle     time.Duration `default:"10s" least:"0s" help:"With --watch, the time for which a file in the folder must not change before the command imports it."`
	BucketFile string        `placeholder:"FILE" help:"File with the address of a bucket, s3://KEY:SECRET@HOST/BUCKET/PREFIX, readable only by its owner. The command imports the objects of this bucket."`

	Files []string `arg:"" optional:"" name:"file" help:"Statement files, or folders of statement files."`
}

// These errors mean that the service refused files, which the command has already printed.
var (
	errRefused       = errors.New("some files were refused, so the command imported no file")
	errRefusedLately = errors.New("some files were refused; the command imported the other files")
)

// Run previews all files, and imports them only if the service refuses no file. With --watch, it
// instead imports files as they arrive.
func (i *importCommand) Run(c *console) error {
	to, err := i.open(c.ctx)
	if err != nil {
		return err
	}
	if i.Watch {
		return i.watch(c, to)
	}
	files, err := i.files(c.ctx)
	if err != nil {
		return err
	}
	results, refused, err := sendAll(c, to, files, true)
	if err != nil {
		return err
	}
	if !refused && !i.DryRun {
		return importAll(c, to, files)
	}
	if err := c.show(results); err != nil {
		return err
	}
	if refused {
		return errRefused
	}
	return nil
}

// importAll imports files. It prints what it has imported even if it fails.
func importAll(c *console, to *uploads.Uploader, files []inbox.WaitingFile) error {
	results, refused, err := sendAll(c, to, files, false)
	if unshown := c.show(results); unshown != nil {
		return unshown
	}
	if err == nil && refused {
		return errRefusedLately
	}
	return err
}

// open returns an uploader. Without --connection, it finds the connection, or makes one unless
// --dry-run is set.
func (i *importCommand) open(ctx context.Context) (*uploads.Uploader, error) {
	if _, err := domains.HostOf(passerelle.Sandbox, strings.TrimSuffix(i.BaseURL, "/")); err != nil {
		return nil, err
	}
	token, err := contentOf(i.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the file of --token-file: %w", err)
	}
	to := &uploads.Uploader{Base: i.BaseURL, Token: *token, Connection: i.Connection, Unbalanced: i.Unbalanced}
	mapping, err := contentOf(i.Mapping)
	if err != nil {
		return nil, fmt.Errorf("read the file of --mapping: %w", err)
	}
	if mapping != nil {
		to.Mapping, err = *mapping, checkMapping(*mapping)
	}
	if err != nil {
		return nil, err
	}
	if to.Connection == 0 {
		err = to.FindConnection(ctx, !i.DryRun)
	}
	return to, err
}

// maxMapping is the largest number of characters of a mapping that the service accepts.
const maxMapping = 4096

// checkMapping refuses a mapping that the service would refuse with each file.
func checkMapping(text string) error {
	if utf8.RuneCountInString(text) > maxMapping {
		return passerelle.InvalidField("mapping", "can have at most %d characters", maxMapping)
	}
	if _, err := statementfile.ParseMapping(text); err != nil {
		return passerelle.InvalidField("mapping", "%s", err)
	}
	return nil
}

// sendAll sends files one after the other. It reports whether the service refused any file.
func sendAll(c *console, to *uploads.Uploader, files []inbox.WaitingFile, preview bool) ([]uploads.Uploaded, bool, error) {
	meter := c.meter(map[bool]string{true: "preview", false: "import"}[preview])
	defer meter.End()
	meter.Expect(int64(len(files)), "files")
	all := make([]uploads.Uploaded, 0, len(files)) // never nil, because --json prints it
	refused := false
	for n, file := range files {
		meter.At(int64(n))
		one, err := to.Send(c.ctx, file, preview)
		if err != nil {
			return all, refused, err
		}
		all, refused = append(all, one), refused || one.Refused != ""
	}
	return all, refused, nil
}

// files returns the named files or, when a bucket is set, the files in the bucket.
func (i *importCommand) files(ctx context.Context) ([]inbox.WaitingFile, error) {
	if i.BucketFile == "" {
		return inbox.Named(i.Files)
	}
	in, err := i.inbox()
	if err != nil {
		return nil, err
	}
	return in.Files(ctx)
}

// inbox returns the folder or the bucket.
func (i *importCommand) inbox() (inbox.Inbox, error) {
	switch {
	case i.BucketFile != "" && len(i.Files) > 0:
		return nil, passerelle.InvalidField("bucket-file", "cannot be combined with files")
	case i.BucketFile == "" && len(i.Files) != 1:
		return nil, passerelle.InvalidField("watch", "needs one folder, or --bucket-file")
	case i.BucketFile == "":
		return inbox.NewFolder(i.Files[0], i.Settle, time.Now)
	}
	address, err := secretfile.Text("bucket-file", i.BucketFile)
	if err != nil {
		return nil, err
	}
	in, err := inbox.NewBucket(address)
	if err != nil {
		return nil, passerelle.InvalidField("bucket-file", "%s", err)
	}
	return in, nil
}

// watch imports the files of the inbox until it is interrupted or Uploader.Watch fails.
func (i *importCommand) watch(c *console, to *uploads.Uploader) error {
	in, err := i.inbox()
	if err != nil {
		return err
	}
	return to.Watch(c.ctx, in, func(r uploads.Uploaded) error { return c.show([]uploads.Uploaded{r}) }, func(err error) {
		c.log.Warn("files are waiting", "error", err)
	})
}
