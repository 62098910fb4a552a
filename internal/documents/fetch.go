package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/background"
	"passerelle/internal/bankcall"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

const (
	// fetchTime limits the time for fetching a file. fetchLease is the time for which other
	// processes cannot fetch a file after a crash. The removal of a file also waits for this lease.
	fetchTime  = 2 * time.Minute
	fetchLease = 5 * time.Minute
	// maxFetching is the largest number of files in a batch. The process fetches the files of a
	// batch at the same time.
	maxFetching = 4
	// maxFile is the largest size of a file, in bytes.
	maxFile = 64 << 20
	// firstFetch is the pause after the first failure. Each further pause is twice as long.
	// maxFetches failures take about a day and a half. After these failures, the service fetches
	// the file only on request, or when the institution changes its document.
	firstFetch = time.Minute
	maxFetches = 12
)

var (
	errLarge    = fmt.Errorf("the file has more than %d MiB", maxFile>>20)
	errEmpty    = errors.New("the file is empty")
	errWithheld = errors.New("the institution does not provide the file")
	errGone     = errors.New("the file was withdrawn")
	errUnwanted = errors.New("nobody needs the file any more")
)

// awaited is the error for a file that must wait for the next sync. Its connection cannot be read
// now, or the institution does not list the file. This error does not count as a failure.
type awaited struct{ seen bankstore.FileOrigin }

func (a *awaited) Error() string {
	return fmt.Sprintf("connection %d must be read successfully first", a.seen.Connection)
}

// FetchFiles fetches a batch of due files of a connector in a domain, and returns their number.
// Zero means that no file is due and that no fetch of the connector is running in this process. A
// failure with one file does not affect the others.
func (f *Documents) FetchFiles(ctx context.Context, d passerelle.Domain, connector string) (int, error) {
	due, err := f.active.begin(ctx, f.DB, connector, func(tx *store.Tx, into *[]bankstore.LeasedFile) {
		bankstore.In(tx).ClaimFiles(d.ID, connector, fetchLease, maxFetching, into)
	})
	if err != nil {
		return 0, err
	}
	if len(due) == 0 {
		return 0, f.active.awaitAll(ctx, connector)
	}
	failures := make([]error, len(due))
	var fetching sync.WaitGroup
	for i, l := range due {
		fetching.Go(func() { failures[i] = f.fetch(ctx, d, l) })
	}
	fetching.Wait()
	return len(due), errors.Join(failures...)
}

// fetch fetches a file and stores the outcome. It stores a failure of the institution with the
// file, and returns only errors of the database.
func (f *Documents) fetch(ctx context.Context, d passerelle.Domain, l bankstore.LeasedFile) error {
	defer f.active.end(l.ID)
	var (
		mediaType string
		size      int64
	)
	fault := background.Guard(func() error {
		var err error
		mediaType, size, err = f.fetchAndStore(ctx, d, l.ID)
		return err
	})
	stopped := ctx.Err() != nil // if so, the institution is not at fault
	var before *awaited
	waits := errors.As(fault, &before)
	if fault != nil && !stopped && !waits && !errors.Is(fault, errGone) {
		f.Log.Warn("a file was not fetched", "file", l.ID, "failures", l.Failures+1, "error", fault)
	}
	err := f.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		switch {
		case fault == nil:
			bankstore.In(tx).KeepFile(d.ID, l, mediaType, size, f.now(d))
		case stopped:
			bankstore.In(tx).ReleaseFile(d.ID, l)
		case waits:
			bankstore.In(tx).AwaitSync(d.ID, l, before.seen)
		default:
			bankstore.In(tx).PostponeFile(d.ID, l, pauseAfter(l.Failures+1, fault))
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // the user no longer shares the file, the file has changed, or another process leased it after the lease expired
	}
	return err
}

// pauseAfter returns the pause after a number of failures. It returns zero when no further fetch is
// planned.
func pauseAfter(failures int64, err error) time.Duration {
	if failures >= maxFetches || errors.Is(err, errLarge) || errors.Is(err, errWithheld) || errors.Is(err, errGone) {
		return 0
	}
	return firstFetch << (failures - 1)
}

// fetchAndStore fetches a file from the institution, and stores it while it arrives. It drops what
// the connector writes after the deadline.
func (f *Documents) fetchAndStore(ctx context.Context, d passerelle.Domain, id passerelle.FileID) (string, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	reader, req, of, err := f.source(ctx, d, id)
	if err != nil {
		return "", 0, err
	}
	in, out := io.Pipe()
	defer in.CloseWithError(errUnwanted)
	mediaTypes := make(chan string, 1)
	go func() {
		mediaType, err := bankcall.Do(ctx, bankcall.Limits{Deadline: fetchTime}, func(ctx context.Context) (string, error) { return reader.File(ctx, req, of, out) })
		mediaTypes <- mediaType
		out.CloseWithError(err)
	}()
	size, err := f.Files.Put(ctx, id, &bounded{Reader: in, left: maxFile})
	if err != nil {
		return "", 0, err
	}
	return cleanType(<-mediaTypes), size, nil
}

// bounded is a reader that fails when a file is empty or becomes too large. The store then keeps
// the previous content, if any.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	switch b.left -= int64(n); {
	case b.left < 0:
		return 0, errLarge
	case b.left == maxFile && err == io.EOF:
		return 0, errEmpty
	}
	return n, err
}

// cleanType returns a media type without its parameters. It returns application/octet-stream for a
// text that is not a media type.
func cleanType(mediaTypes string) string {
	media, _, err := mime.ParseMediaType(mediaTypes)
	if err != nil || !strings.Contains(media, "/") || len(media) > 100 {
		return "application/octet-stream"
	}
	return media
}

// source finds the connector for a file, and makes the request for the file.
func (f *Documents) source(ctx context.Context, d passerelle.Domain, id passerelle.FileID) (connector.FileReader, connector.DataRequest, connector.FileName, error) {
	var (
		req connector.DataRequest
		of  connector.FileName
	)
	from, err := bankstore.From(f.DB).FileOrigin(ctx, d.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, req, of, errGone
	}
	if err != nil {
		return nil, req, of, fmt.Errorf("find the origin of file %d: %w", id, err)
	}
	c, err := bankstore.From(f.DB).Connection(ctx, d.ID, from.User, from.Connection)
	if errors.Is(err, store.ErrNotFound) {
		return nil, req, of, errGone
	}
	if err != nil {
		return nil, req, of, fmt.Errorf("load connection %d: %w", from.Connection, err)
	}
	known, _ := f.Connectors.DataReader(c.Connector)
	reader, able := known.(connector.FileReader)
	if !able {
		return nil, req, of, errWithheld
	}
	if c.State != "" || from.Gone {
		// Another attempt with a refused password could lock the user out at the institution.
		return nil, req, of, &awaited{from}
	}
	if req, err = f.dataRequest(ctx, d, c); err != nil {
		f.Log.Error("no request can be made for a file", "connection", c.ID, "error", err)
		return nil, req, of, &awaited{from}
	}
	return reader, req, connector.FileName(from.Name), nil
}

// dataRequest makes a request for a file.
func (f *Documents) dataRequest(ctx context.Context, d passerelle.Domain, c bankstore.Connection) (connector.DataRequest, error) {
	values, memory, err := bankstore.From(f.DB).ConnectionSecrets(ctx, d.ID, c.ID)
	if err != nil {
		return connector.DataRequest{}, fmt.Errorf("load the secrets of connection %d: %w", c.ID, err)
	}
	sources, err := bankstore.From(f.DB).SourcesOf(ctx, d.ID, c.ID)
	if err == nil && len(sources) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return connector.DataRequest{}, fmt.Errorf("find a source of connection %d: %w", c.ID, err)
	}
	return connector.DataRequest{Domain: d.ID, Connection: c.ID, Source: sources[0].Name, Values: values, Memory: memory, Now: f.now(d)}, nil
}
