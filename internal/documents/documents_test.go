package documents_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/documents"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// archive is an institution with files.
type archive struct {
	uuid string
	id   int64
	mu   sync.Mutex
	give func(ctx context.Context, of connector.FileName, w io.Writer) (string, error)
}

func (a *archive) Profile() connector.Profile {
	return connector.Profile{UUID: a.uuid, ID: a.id, Name: a.uuid, Data: &connector.DataSettings{}, Sources: []connector.Source{{ID: a.id, Name: "directaccess"}}}
}

func (a *archive) Read(context.Context, connector.DataRequest, connector.Sink) (connector.Outcome, error) {
	return connector.Outcome{}, errors.New("nobody reads here")
}

func (a *archive) File(ctx context.Context, _ connector.DataRequest, of connector.FileName, w io.Writer) (string, error) {
	a.mu.Lock()
	give := a.give
	a.mu.Unlock()
	return give(ctx, of, w)
}

func (a *archive) gives(give func(ctx context.Context, of connector.FileName, w io.Writer) (string, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.give = give
}

func page(_ context.Context, of connector.FileName, w io.Writer) (string, error) {
	_, err := io.WriteString(w, "page of "+of.Document)
	return "text/plain", err
}

type held struct{ asked, free chan struct{} }

func newHeld() held { return held{make(chan struct{}, 100), make(chan struct{})} }

func (h held) page(ctx context.Context, of connector.FileName, w io.Writer) (string, error) {
	h.asked <- struct{}{}
	select {
	case <-h.free:
		return page(ctx, of, w)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// fixture is a domain with a user who has documents at two institutions.
type fixture struct {
	*documents.Documents
	t           *testing.T
	url         string
	eyes        *storetest.Inspection
	domain      passerelle.Domain
	quick, slow *archive
	bills       map[*archive][]passerelle.Document
	of          map[*archive]bankstore.StoredSubscription
	log         *bytes.Buffer
	working     sync.WaitGroup
	stop        context.CancelFunc
}

const bills = 6

func onEach(t *testing.T, run func(t *testing.T, c *fixture)) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
		must(t, err)
		t.Cleanup(func() { db.Close() })
		must(t, db.Database.Migrate(t.Context()))
		kept, err := blob.New(t.TempDir())
		must(t, err)
		c := &fixture{
			t: t, url: url, eyes: storetest.Inspect(t, url), domain: passerelle.Domain{Name: "d", Kind: passerelle.Sandbox, BaseURL: "https://d.example/2.0", Created: noon},
			quick: &archive{uuid: "quick", id: 1, give: page}, slow: &archive{uuid: "slow", id: 2, give: page},
			bills: map[*archive][]passerelle.Document{}, of: map[*archive]bankstore.StoredSubscription{}, log: &bytes.Buffer{},
		}
		registry, err := connector.NewRegistry(c.quick, c.slow)
		must(t, err)
		ctx, stop := context.WithCancel(context.Background())
		c.stop = stop
		t.Cleanup(func() { stop(); c.working.Wait() })
		c.Documents = &documents.Documents{
			DB: db, Files: kept, Connectors: registry, Now: func() time.Time { return noon }, Erase: func() {}, Log: slog.New(slog.NewTextHandler(c.log, nil)),
			Background: func(_ string, work func(context.Context)) bool {
				c.working.Go(func() { work(ctx) })
				return true
			},
		}
		c.populate()
		run(t, c)
	})
}

func (c *fixture) populate() {
	c.t.Helper()
	c.write(func(tx *store.Tx) error { return tx.CreateDomain(&c.domain, "d.example") })
	user := passerelle.User{Domain: c.domain.ID, Platform: passerelle.SharedAccess, Created: noon, Permanent: &noon, Version: 1}
	c.write(func(tx *store.Tx) error { return tx.CreateUser(&user) })
	for _, a := range []*archive{c.quick, c.slow} {
		connection := bankstore.Connection{Domain: c.domain.ID, User: user.ID, Connector: a.uuid, Created: noon, Active: true}
		c.write(func(tx *store.Tx) error {
			return bankstore.In(tx).CreateConnection(&connection, map[string]string{"login": "anna"}, "nobody", -time.Second)
		})
		c.write(func(tx *store.Tx) error {
			return bankstore.In(tx).CreateSource(c.domain.ID, &bankstore.ConnectionSource{Connection: connection.ID, Name: "directaccess", Created: noon})
		})
		id, err := bankstore.NewSubscriptionID(c.t.Context(), c.DB)
		must(c.t, err)
		s := bankstore.StoredSubscription{Subscription: passerelle.Subscription{ID: id, Connection: connection.ID, User: user.ID, SubscriptionDetails: passerelle.SubscriptionDetails{Key: "s"}}}
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateSubscription(c.domain.ID, &s) })
		c.of[a], c.bills[a] = s, make([]passerelle.Document, bills)
		for i := range bills {
			d := passerelle.Document{Found: noon, LastUpdate: noon, DocumentDetails: billed(i)}
			c.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateDocument(c.domain.ID, s, &d, 1) })
			c.bills[a][i] = d
		}
	}
}

func billed(i int) passerelle.DocumentDetails {
	return passerelle.DocumentDetails{Key: string(rune('a' + i)), Type: "bill", HasFile: true, MediaType: "text/plain"}
}

func (c *fixture) write(fn func(tx *store.Tx) error) {
	c.t.Helper()
	must(c.t, c.DB.Write(c.t.Context(), fn))
}

func (c *fixture) fetch(a *archive, want int) {
	c.t.Helper()
	if n, err := c.FetchFiles(c.t.Context(), c.domain, a.uuid); err != nil || n != want {
		c.t.Errorf("a batch of %d files (%v), want %d", n, err, want)
	}
}

func (c *fixture) read(ctx context.Context, a *archive, bill int) (string, error) {
	d := c.bills[a][bill]
	f, err := c.Open(ctx, c.domain, d.User, d.File)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(f)
	return string(content), errors.Join(err, f.Close())
}

func (c *fixture) rows(a *archive, what string) []string {
	c.t.Helper()
	return c.eyes.Lines(map[string]string{"": `SELECT id, ` + what + ` FROM stored_file WHERE connector = '` + a.uuid + `'`})[""]
}

func (c *fixture) count(a *archive, condition string) int {
	c.t.Helper()
	return int(c.eyes.Count(`SELECT count(*) FROM stored_file WHERE connector = '` + a.uuid + `' AND ` + condition))
}

func (c *fixture) wantUnavailable(err error) {
	c.t.Helper()
	var refused *passerelle.Error
	if !errors.As(err, &refused) || refused.Kind != passerelle.Unavailable || refused.RetryAfter == 0 {
		c.t.Errorf("the answer is %v", err)
	}
}

// TestBatches checks that each call of FetchFiles fetches one limited batch of an institution's
// files, until no file is due.
func TestBatches(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.quick, want)
		}
		if c.count(c.quick, "stored IS NOT NULL AND next_fetch IS NULL AND lease_until = 0") != bills || c.count(c.slow, "stored IS NOT NULL") != 0 {
			t.Errorf("known are %q and %q", c.rows(c.quick, "stored"), c.rows(c.slow, "stored"))
		}
		if text, err := c.read(t.Context(), c.quick, 1); err != nil || text != "page of b" {
			t.Errorf("%q (%v)", text, err)
		}
	})
}

func TestASlowInstitutionDelaysItselfAlone(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		h := newHeld()
		c.slow.gives(h.page)
		c.working.Go(func() { _, _ = c.FetchFiles(t.Context(), c.domain, c.slow.uuid) })
		for range 4 {
			<-h.asked
		}
		if text, err := c.read(t.Context(), c.quick, 5); err != nil || text != "page of f" {
			t.Errorf("read %q (%v)", text, err)
		}
		c.fetch(c.quick, 4)
		close(h.free)
		c.working.Wait()
		c.fetch(c.slow, 2)
	})
}

// TestReadersAreBounded checks that an institution has a limited number of fetches for readers.
// Readers of the same file share one fetch.
func TestReadersAreBounded(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		h := newHeld()
		c.slow.gives(h.page)
		texts := make(chan string, bills)
		reading := func(bill int) {
			c.working.Go(func() {
				text, err := c.read(t.Context(), c.slow, bill)
				if err != nil {
					text = err.Error()
				}
				texts <- text
			})
		}
		for bill := range 4 {
			reading(bill)
			<-h.asked
		}
		_, err := c.read(t.Context(), c.slow, 4)
		c.wantUnavailable(err)
		reading(3)
		if text, err := c.read(t.Context(), c.quick, 0); err != nil || text != "page of a" {
			t.Errorf("at another institution: %q (%v)", text, err)
		}
		close(h.free)
		got := map[string]int{}
		for range 5 {
			got[<-texts]++
		}
		if diff := cmp.Diff(map[string]int{"page of a": 1, "page of b": 1, "page of c": 1, "page of d": 2}, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if text, err := c.read(t.Context(), c.slow, 4); err != nil || text != "page of e" {
			t.Errorf("afterwards: %q (%v)", text, err)
		}
	})
}

func TestFetchContinuesWithoutItsReader(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		h := newHeld()
		c.slow.gives(h.page)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.read(ctx, c.slow, 0)
			left <- err
		}()
		<-h.asked
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the reader who left got %v", err)
		}
		close(h.free)
		c.working.Wait()
		if c.count(c.slow, "stored IS NOT NULL AND failures = 0") != 1 {
			t.Errorf("known are %q", c.rows(c.slow, "stored, failures"))
		}
	})
}

func TestStopDuringAFetchKeepsTheFileDue(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		h := newHeld()
		c.slow.gives(h.page)
		before := c.rows(c.slow, "stored, failures, next_fetch, lease_until")
		c.working.Go(func() {
			_, err := c.read(t.Context(), c.slow, 0)
			c.wantUnavailable(err)
		})
		<-h.asked
		c.stop()
		c.working.Wait()
		if diff := cmp.Diff(before, c.rows(c.slow, "stored, failures, next_fetch, lease_until")); diff != "" {
			t.Errorf("known (-before +after):\n%s", diff)
		}
	})
}

// TestBackOff checks that a file is not due immediately after a failed fetch. A reader's request
// must fetch it anyway.
func TestBackOff(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		c.quick.gives(func(ctx context.Context, of connector.FileName, w io.Writer) (string, error) {
			if of.Document == "a" || of.Document == "b" {
				_, _ = io.WriteString(w, "half a page")
				return "", errors.New("the line broke")
			}
			return page(ctx, of, w)
		})
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.quick, want)
		}
		if c.count(c.quick, "stored IS NULL AND failures = 1 AND next_fetch > 0 AND lease_until = 0") != 2 || c.count(c.quick, "stored IS NOT NULL") != 4 {
			t.Errorf("known are %q", c.rows(c.quick, "stored, failures, next_fetch, lease_until"))
		}
		_, err := c.read(t.Context(), c.quick, 0)
		c.wantUnavailable(err)
		if c.count(c.quick, "failures = 2") != 1 {
			t.Errorf("known are %q", c.rows(c.quick, "failures"))
		}
		c.quick.gives(page)
		if text, err := c.read(t.Context(), c.quick, 0); err != nil || text != "page of a" || c.count(c.quick, "stored IS NOT NULL AND failures = 0") != 5 {
			t.Errorf("%q (%v), known are %q", text, err, c.rows(c.quick, "stored, failures"))
		}
	})
}

func TestLargeAndEmptyFilesAreNotStored(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		large := bytes.Repeat([]byte{'x'}, 1<<20)
		c.quick.gives(func(_ context.Context, of connector.FileName, w io.Writer) (string, error) {
			for of.Document == "a" {
				if _, err := w.Write(large); err != nil {
					return "", err
				}
			}
			return "text/plain", nil
		})
		c.fetch(c.quick, 4)
		if c.count(c.quick, "failures = 1 AND next_fetch IS NULL") != 1 || c.count(c.quick, "failures = 1 AND next_fetch IS NOT NULL") != 3 || c.count(c.quick, "stored IS NOT NULL") != 0 {
			t.Errorf("known are %q", c.rows(c.quick, "stored, failures, next_fetch"))
		}
	})
}

func TestAnEmptyFileReplacesNoContent(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		for _, want := range []int{4, 2} {
			c.fetch(c.quick, want)
		}
		changed := billed(0)
		changed.Name = "Corrected"
		c.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateDocument(c.domain.ID, c.of[c.quick], c.bills[c.quick][0].ID, changed, noon, 2)
		})
		c.quick.gives(func(context.Context, connector.FileName, io.Writer) (string, error) { return "text/plain", nil })
		c.fetch(c.quick, 1)
		if c.count(c.quick, "failures = 1") != 1 {
			t.Errorf("known are %q", c.rows(c.quick, "stored, failures, next_fetch"))
		}
		if content, err := c.read(t.Context(), c.quick, 0); err != nil || content != "page of a" {
			t.Errorf("the file contains %q (%v)", content, err)
		}
	})
}

// TestWithdrawnFilesAreNotRequested checks that the service does not request the files of a
// disabled subscription.
func TestWithdrawnFilesAreNotRequested(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		c.quick.gives(func(context.Context, connector.FileName, io.Writer) (string, error) {
			t.Error("the institution is asked for a file")
			return "", errors.New("no page")
		})
		s := c.of[c.quick]
		c.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableSubscriptions(c.domain.ID, s.User, noon, s)
			return nil
		})
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.quick, want)
		}
		if c.count(c.quick, "stored IS NULL AND next_fetch IS NULL AND lease_until = 0") != bills {
			t.Errorf("known are %q", c.rows(c.quick, "stored, next_fetch, lease_until"))
		}
		if c.log.Len() > 0 {
			t.Errorf("the log says %s", c.log)
		}
	})
}

// synced stores the result of an archive's sync, like a real sync at its end.
func (c *fixture) synced(a *archive, state passerelle.ConnectionState) {
	c.t.Helper()
	s := c.of[a]
	now, err := bankstore.From(c.DB).Connection(c.t.Context(), c.domain.ID, s.User, s.Connection)
	must(c.t, err)
	now.State, now.Sync = state, now.Sync+1
	c.write(func(tx *store.Tx) error {
		bankstore.In(tx).SaveConnection(now, now.Version)
		if state == "" {
			bankstore.In(tx).ResumeFiles(now)
		}
		return nil
	})
}

// When a connection cannot be read, the files of the connection wait for the next successful sync
// of this connection.
func TestAConnectionThatCannotBeRead(t *testing.T) {
	for _, state := range []passerelle.ConnectionState{passerelle.Wrongpass, passerelle.ActionNeeded, passerelle.WebsiteUnavailable, passerelle.Validating} {
		t.Run(string(state), func(t *testing.T) {
			onEach(t, func(t *testing.T, c *fixture) {
				c.synced(c.slow, state)
				c.slow.gives(func(context.Context, connector.FileName, io.Writer) (string, error) {
					t.Error("the institution is asked for a file")
					return "", errors.New("no page")
				})
				for _, want := range []int{4, 2, 0, 0} {
					c.fetch(c.slow, want)
				}
				_, err := c.read(t.Context(), c.slow, 0)
				c.wantUnavailable(err)
				c.synced(c.slow, state) // this sync does not make the files due
				c.fetch(c.slow, 0)
				c.fetch(c.quick, 4)
				if c.count(c.slow, "stored IS NULL AND failures = 0 AND lease_until = 0") != bills || c.log.Len() > 0 {
					t.Errorf("known are %q, and the log says %s", c.rows(c.slow, "stored, failures, next_fetch, lease_until"), c.log)
				}
				c.slow.gives(page)
				c.synced(c.quick, "")
				c.fetch(c.slow, 0)
				c.synced(c.slow, "")
				for _, want := range []int{4, 2, 0} {
					c.fetch(c.slow, want)
				}
				if text, err := c.read(t.Context(), c.slow, 0); err != nil || text != "page of a" {
					t.Errorf("read %q (%v)", text, err)
				}
			})
		})
	}
}

// A sync can end between two steps of a fetch: the fetch finds that the institution does not list
// the file, and the fetch stores that the file waits for a sync. The file must not wait for a
// further sync.
func TestASyncThatEndsMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		s := c.of[c.slow]
		lost := s
		lost.Deleted = &noon
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(c.domain.ID, &lost) })
		var leased []bankstore.LeasedFile
		c.write(func(tx *store.Tx) error {
			bankstore.In(tx).ClaimFiles(c.domain.ID, c.slow.uuid, time.Hour, bills, &leased)
			return nil
		})
		seen := map[passerelle.FileID]bankstore.FileOrigin{}
		for _, l := range leased {
			from, err := bankstore.From(c.DB).FileOrigin(t.Context(), c.domain.ID, l.ID)
			must(t, err)
			if seen[l.ID] = from; !from.Gone {
				t.Errorf("file %d is there", l.ID)
			}
		}
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(c.domain.ID, &s) })
		c.synced(c.slow, "")
		for _, l := range leased {
			c.write(func(tx *store.Tx) error { bankstore.In(tx).AwaitSync(c.domain.ID, l, seen[l.ID]); return nil })
		}
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.slow, want)
		}
	})
}

// TestSecretsThatCannotBeOpened checks that the column "failures" of a file stays zero while the
// secrets of the file's connection cannot be decrypted.
func TestSecretsThatCannotBeOpened(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		storetest.Break(t, c.url, fmt.Sprintf(`UPDATE connection SET credentials = (SELECT x.credentials FROM connection x WHERE x.id = %d) WHERE id = %d`,
			c.of[c.quick].Connection, c.of[c.slow].Connection))
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.slow, want)
		}
		if c.count(c.slow, "stored IS NULL AND failures = 0") != bills || !strings.Contains(c.log.String(), "no request can be made") {
			t.Errorf("known are %q, and the log says %s", c.rows(c.slow, "stored, failures"), c.log)
		}
	})
}

func TestUnlistedFilesAreNotRequested(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		s := c.of[c.quick]
		lost := s
		lost.Deleted = &noon
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(c.domain.ID, &lost) })
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.quick, want)
		}
		if c.count(c.quick, "stored IS NULL AND failures = 0") != bills || c.log.Len() > 0 {
			t.Errorf("known are %q, and the log says %s", c.rows(c.quick, "stored, failures"), c.log)
		}
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).UpdateSubscription(c.domain.ID, &s) })
		c.write(func(tx *store.Tx) error {
			bankstore.In(tx).LoseDocument(c.domain.ID, s, c.bills[c.quick][0].ID, noon, 2)
			return nil
		})
		c.synced(c.quick, "")
		for _, want := range []int{4, 2, 0} {
			c.fetch(c.quick, want)
		}
		if c.count(c.quick, "stored IS NOT NULL") != bills-1 {
			t.Errorf("known are %q", c.rows(c.quick, "stored, failures"))
		}
		c.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateDocument(c.domain.ID, s, c.bills[c.quick][0].ID, billed(0), noon, 3)
		})
		c.fetch(c.quick, 1)
		if text, err := c.read(t.Context(), c.quick, 0); err != nil || text != "page of a" {
			t.Errorf("read %q (%v)", text, err)
		}
	})
}

// lapsed claims an archive's files with an expired lease, and returns the files.
func (c *fixture) lapsed(a *archive) (leased []bankstore.LeasedFile) {
	c.t.Helper()
	c.write(func(tx *store.Tx) error {
		bankstore.In(tx).ClaimFiles(c.domain.ID, a.uuid, -time.Minute, bills, &leased)
		return nil
	})
	return leased
}

// A process can crash after it has stored the content of a file, and before the database says that
// the content is stored. Readers must not get this content.
func TestACrashBeforeAFileIsKept(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		for _, l := range c.lapsed(c.quick) {
			_, err := c.Files.Put(t.Context(), l.ID, strings.NewReader("put by who died"))
			must(t, err)
		}
		if text, err := c.read(t.Context(), c.quick, 0); err != nil || text != "page of a" {
			t.Errorf("a reader got %q (%v)", text, err)
		}
		for _, want := range []int{4, 1, 0} {
			c.fetch(c.quick, want)
		}
		for bill := range bills {
			if text, err := c.read(t.Context(), c.quick, bill); err != nil || text != "page of "+billed(bill).Key {
				t.Errorf("bill %d is %q (%v)", bill, text, err)
			}
		}
	})
}

// TestALapsedLease checks that a process with an expired lease does not change the results of
// another process.
func TestALapsedLease(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		late := c.lapsed(c.quick)
		for _, want := range []int{4, 2} {
			c.fetch(c.quick, want)
		}
		const all = "media_type, size, stored, failures, next_fetch, lease_until"
		before := c.rows(c.quick, all)
		for _, l := range late {
			err := c.DB.Write(t.Context(), func(tx *store.Tx) error {
				bankstore.In(tx).KeepFile(c.domain.ID, l, "text/html", 1, noon)
				return nil
			})
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("file %d is kept too late: %v", l.ID, err)
			}
			c.write(func(tx *store.Tx) error {
				bankstore.In(tx).PostponeFile(c.domain.ID, l, time.Minute)
				bankstore.In(tx).ReleaseFile(c.domain.ID, l)
				return nil
			})
		}
		if diff := cmp.Diff(before, c.rows(c.quick, all)); diff != "" {
			t.Errorf("known (-before +after):\n%s", diff)
		}
	})
}

// TestADocumentThatChangesMeanwhile checks that the service does not store content that it
// requested before the document changed.
func TestADocumentThatChangesMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, c *fixture) {
		h := newHeld()
		c.slow.gives(h.page)
		c.working.Go(func() { _, _ = c.FetchFiles(t.Context(), c.domain, c.slow.uuid) })
		for range 4 {
			<-h.asked
		}
		changed := billed(0)
		changed.Name = "Corrected"
		c.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateDocument(c.domain.ID, c.of[c.slow], c.bills[c.slow][0].ID, changed, noon, 2)
		})
		close(h.free)
		c.working.Wait()
		c.fetch(c.slow, 2) // the service fetches the changed file only after its earlier lease has ended
		if c.count(c.slow, "stored IS NULL AND failures = 0 AND next_fetch = 0 AND lease_until > 0") != 1 || c.count(c.slow, "stored IS NOT NULL") != bills-1 {
			t.Errorf("known are %q", c.rows(c.slow, "stored, failures, next_fetch, lease_until"))
		}
	})
}

func TestLogsHoldNothingPersonal(t *testing.T) {
	const name, iban = "Zyzzyva Martin", "FR7630006000011234567890189"
	onEach(t, func(t *testing.T, c *fixture) {
		c.quick.gives(func(_ context.Context, of connector.FileName, w io.Writer) (string, error) {
			switch of.Document {
			case "a":
				panic("no bill for " + name + ", " + iban)
			case "b":
				panic(errors.New(name + iban))
			case "c":
				_, _ = io.WriteString(w, name)
				return iban, context.DeadlineExceeded
			}
			return name, errors.New("no bill for " + name + ", " + iban)
		})
		c.fetch(c.quick, 4)
		c.fetch(c.quick, 2)
		log := c.log.String()
		if strings.Contains(log, "Zyzzyva") || strings.Contains(log, "Martin") || strings.Contains(log, iban) {
			t.Errorf("the log says whose bill it is: %s", log)
		}
		for _, want := range []string{"the connector panicked", "deadline", "an error of the connector"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log does not say %q: %s", want, log)
			}
		}
	})
}
