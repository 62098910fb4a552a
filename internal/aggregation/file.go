package aggregation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/store"
)

// A synchronisation stores which files there are and fetches none of them: it
// is over, and tells of the documents, before the first is asked for. A loop
// then fetches them, each on its own, under a lease of its own and without the
// connection's; whoever wants one before that has it fetched. What fails is
// tried again after a while, longer each time.

const (
	// fetchTime bounds the fetching of a file, fetchLease how long a crash
	// keeps others from it; a removal waits for the lease as well.
	fetchTime  = 2 * time.Minute
	fetchLease = 5 * time.Minute
	// maxFetching is how many files of a domain are fetched at once.
	maxFetching = 4
	// maxFile is how large a file may be.
	maxFile = 64 << 20
	// firstFetch is the pause after the first failure, lastFetch the longest;
	// after maxFetches a file is left until somebody asks for it.
	firstFetch = time.Minute
	lastFetch  = 24 * time.Hour
	maxFetches = 12
)

var (
	errLarge    = fmt.Errorf("the file has more than %d MiB", maxFile>>20)
	errEmpty    = errors.New("the file is empty")
	errWithheld = errors.New("the file is not to be had")
	errTurned   = errors.New("nobody takes the file any more")
)

// FetchFiles fetches what files of a domain are to be fetched, until none is
// left that is due or under way. What fails for one leaves the others alone.
func (a *Aggregation) FetchFiles(ctx context.Context, d passerelle.Domain) error {
	for ctx.Err() == nil {
		due, err := a.errands.begin(ctx, a.DB, func(tx *store.Tx, into *[]store.LeasedFile) {
			tx.ClaimFiles(d.ID, fetchLease, maxFetching, into)
		})
		if err != nil {
			return err
		}
		if len(due) == 0 {
			return a.errands.rest(ctx)
		}
		failures := make([]error, len(due))
		var fetching sync.WaitGroup
		for i, l := range due {
			fetching.Go(func() { failures[i] = a.fetch(ctx, d, l) })
		}
		fetching.Wait()
		if err := errors.Join(failures...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// errands are the files that this process is fetching, so that who wants one of
// them can wait for it.
type errands struct {
	mu    sync.Mutex
	under map[passerelle.FileID]chan struct{}
}

// begin leases files, and has them under way before anybody can miss them.
func (e *errands) begin(ctx context.Context, db *store.DB, claim func(*store.Tx, *[]store.LeasedFile)) (leased []store.LeasedFile, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	err = db.Write(ctx, func(tx *store.Tx) error {
		claim(tx, &leased)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lease files: %w", err)
	}
	if e.under == nil {
		e.under = map[passerelle.FileID]chan struct{}{}
	}
	for _, l := range leased {
		if e.under[l.ID] == nil { // otherwise its lease lapsed while this process was at it
			e.under[l.ID] = make(chan struct{})
		}
	}
	return leased, nil
}

func (e *errands) end(id passerelle.FileID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if under := e.under[id]; under != nil {
		close(under)
		delete(e.under, id)
	}
}

// wait waits until this process is not fetching a file.
func (e *errands) wait(ctx context.Context, id passerelle.FileID) error {
	e.mu.Lock()
	under := e.under[id]
	e.mu.Unlock()
	if under == nil {
		return nil
	}
	select {
	case <-under:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rest waits for all that is under way.
func (e *errands) rest(ctx context.Context) error {
	e.mu.Lock()
	under := slices.Collect(maps.Keys(e.under))
	e.mu.Unlock()
	for _, id := range under {
		if err := e.wait(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// fetch has a file brought and says what came of it. An error is one of the
// database; that of an institution is on record with the file.
func (a *Aggregation) fetch(ctx context.Context, d passerelle.Domain, l store.LeasedFile) error {
	defer a.errands.end(l.ID)
	mediaType, size, err := a.bring(ctx, d, l.ID)
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		err := a.DB.Write(ctx, func(tx *store.Tx) error {
			tx.KeepFile(d.ID, l, mediaType, size, a.now(d))
			return nil
		})
		if errors.Is(err, store.ErrConflict) {
			return nil // withdrawn meanwhile, and removed by whoever removes such files
		}
		return err
	}
	a.Log.Warn("a file was not fetched", "file", l.ID, "failures", l.Failures+1, "error", err)
	return a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PostponeFile(d.ID, l, pauseAfter(l.Failures+1, err))
		return nil
	})
}

// pauseAfter is when a file is tried again after so many failures; zero is
// never.
func pauseAfter(failures int64, err error) time.Duration {
	if failures >= maxFetches || errors.Is(err, errLarge) || errors.Is(err, errWithheld) {
		return 0
	}
	return min(firstFetch<<(failures-1), lastFetch)
}

// bring asks the institution for a file and stores it, as it comes. A connector
// that heeds no deadline is left behind; what it writes then goes nowhere.
func (a *Aggregation) bring(ctx context.Context, d passerelle.Domain, id passerelle.FileID) (mediaType string, size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	reader, visit, of, err := a.courier(ctx, d, id)
	if err != nil {
		return "", 0, err
	}
	in, out := io.Pipe()
	defer context.AfterFunc(ctx, func() { out.CloseWithError(context.Cause(ctx)) })()
	said := make(chan fileAnswer, 1)
	go func() {
		f := guardedFile(func() (string, error) { return reader.File(ctx, visit, of, out) })
		said <- f
		out.CloseWithError(f.err)
	}()
	size, err = a.Files.Put(ctx, id, &capped{Reader: in, left: maxFile})
	in.CloseWithError(errTurned)
	if err != nil {
		return "", 0, err
	}
	if size == 0 {
		return "", 0, errEmpty
	}
	return cleanType((<-said).mediaType), size, nil
}

// fileAnswer is what a connector said of a file.
type fileAnswer struct {
	mediaType string
	err       error
}

// capped ends a file that is too large.
type capped struct {
	io.Reader
	left int64
}

func (b *capped) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLarge
	}
	return n, err
}

// guardedFile turns a panic of a connector into an error.
func guardedFile(read func() (string, error)) (f fileAnswer) {
	defer func() {
		if cause := recover(); cause != nil {
			f.err = fmt.Errorf("%w: %v\n%s", errPanicked, cause, debug.Stack())
		}
	}()
	f.mediaType, f.err = read()
	return f
}

// cleanType is a media type without parameters, or that of bytes of which
// nothing is known.
func cleanType(said string) string {
	media, _, err := mime.ParseMediaType(said)
	if err != nil || !strings.Contains(media, "/") || len(media) > 100 {
		return "application/octet-stream"
	}
	return media
}

// courier is who is to be asked for a file, and as whom.
func (a *Aggregation) courier(ctx context.Context, d passerelle.Domain, id passerelle.FileID) (reader connector.FileReader, v connector.Visit, of connector.FileName, err error) {
	from, err := a.DB.FileOrigin(ctx, d.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, v, of, errWithheld
	}
	if err != nil {
		return nil, v, of, fmt.Errorf("find where file %d comes from: %w", id, err)
	}
	c, err := a.DB.Connection(ctx, d.ID, from.User, from.Connection)
	if err != nil {
		return nil, v, of, fmt.Errorf("load connection %d: %w", from.Connection, err)
	}
	known, _ := a.Connectors.DataReader(c.Connector)
	reader, able := known.(connector.FileReader)
	if !able {
		return nil, v, of, errWithheld
	}
	if c.State != "" {
		// Another try with a password that was refused could lock the person out.
		return nil, v, of, fmt.Errorf("the connection is in state %s", c.State)
	}
	v, err = a.errand(ctx, d, c)
	return reader, v, connector.FileName(from.Name), err
}

// errand is a visit for a file alone.
func (a *Aggregation) errand(ctx context.Context, d passerelle.Domain, c store.Connection) (connector.Visit, error) {
	values, memory, err := a.DB.ConnectionSecrets(ctx, d.ID, c.ID)
	if err != nil {
		return connector.Visit{}, fmt.Errorf("load the secrets of connection %d: %w", c.ID, err)
	}
	sources, err := a.DB.SourcesOf(ctx, d.ID, c.ID)
	if err != nil || len(sources) == 0 {
		return connector.Visit{}, fmt.Errorf("list the sources of connection %d: %w", c.ID, err)
	}
	return connector.Visit{Domain: d.ID, Connection: c.ID, Source: sources[0].Name, Values: values, Memory: memory, Now: a.now(d)}, nil
}

// File is a file of a user that is being read, and what is known of it.
type File struct {
	store.StoredFile
	io.ReadSeekCloser
}

// OpenFile opens a file of a user, who is known to have it. One that was not
// fetched yet is fetched, unless that is under way, or the institution does not
// give it now.
func (a *Aggregation) OpenFile(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.FileID) (File, error) {
	f, err := a.file(ctx, d, user, id)
	if err == nil && f.Stored == nil {
		if err = a.fetchNow(ctx, d, id); err == nil {
			f, err = a.file(ctx, d, user, id)
		}
	}
	if err != nil {
		return File{}, err
	}
	if f.Stored == nil {
		return File{}, unfetched()
	}
	body, err := a.Files.Open(ctx, id)
	return File{f, body}, err
}

func (a *Aggregation) file(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.FileID) (store.StoredFile, error) {
	f, err := a.DB.File(ctx, d.ID, user, id)
	if errors.Is(err, store.ErrNotFound) {
		return f, passerelle.Missing()
	}
	if err != nil {
		return f, fmt.Errorf("load file %d: %w", id, err)
	}
	return f, nil
}

// fetchNow fetches a file, or waits for whoever does. A file that did not come is
// no error.
func (a *Aggregation) fetchNow(ctx context.Context, d passerelle.Domain, id passerelle.FileID) error {
	leased, err := a.errands.begin(ctx, a.DB, func(tx *store.Tx, into *[]store.LeasedFile) {
		tx.ClaimFile(d.ID, id, fetchLease, into)
	})
	if err != nil {
		return err
	}
	if len(leased) == 0 {
		return a.errands.wait(ctx, id)
	}
	return a.fetch(ctx, d, leased[0])
}

// unfetched is the answer when a file cannot be had now.
func unfetched() error {
	return &passerelle.Error{
		Kind: passerelle.Unavailable, Code: "unavailable", Message: "The file has not come from the institution yet; try again later.", RetryAfter: int(firstFetch.Seconds()),
	}
}

// removeBatch is how many files are removed at a time, and removeLease how long
// a crash in between delays the next try.
const (
	removeBatch = 100
	removeLease = 10 * time.Minute
)

// RemoveFiles removes the bytes of files that nobody has any more, and then what
// is known of them: a crash in between leaves what is known, and the files are
// removed by the next pass.
//
// One pass at a time is enough for a process, and who comes second knows after
// it that nothing is left.
func (a *Aggregation) RemoveFiles(ctx context.Context) error {
	a.removing.Lock()
	defer a.removing.Unlock()
	for ctx.Err() == nil {
		var over []int64
		err := a.DB.Write(ctx, func(tx *store.Tx) error {
			tx.ClaimForgotten(removeLease, removeBatch, &over)
			return nil
		})
		if err != nil || len(over) == 0 {
			return err
		}
		for _, id := range over {
			if err := a.Files.Remove(ctx, passerelle.FileID(id)); err != nil {
				return err
			}
		}
		err = a.DB.Write(ctx, func(tx *store.Tx) error {
			tx.ForgetFiles(over)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
