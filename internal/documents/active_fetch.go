package documents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// activeFetches contains the running fetches of files in this process. Readers can wait for these
// fetches.
type activeFetches struct {
	mu     sync.Mutex
	byFile map[passerelle.FileID]*activeFetch
	// claims has the running claims, each of which leases files in a transaction. byFile does not
	// yet contain these files.
	claims map[*activeFetch]struct{}
	// waiting counts the fetches for which readers wait, by connector.
	waiting map[string]int
}

// activeFetch is the fetch of one file of a connector, or the claim of several files.
type activeFetch struct {
	connector string
	done      chan struct{}
}

// begin leases files of a connector. It registers a fetch for each leased file. awaitClaims waits
// until begin has registered these fetches.
func (e *activeFetches) begin(ctx context.Context, db *store.DB, connector string, claim func(*store.Tx, *[]bankstore.LeasedFile)) (leased []bankstore.LeasedFile, err error) {
	this := e.announce(connector)
	defer func() { e.register(this, leased) }()
	err = db.Write(ctx, func(tx *store.Tx) error {
		claim(tx, &leased)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lease files: %w", err)
	}
	return leased, nil
}

func (e *activeFetches) announce(connector string) *activeFetch {
	e.mu.Lock()
	defer e.mu.Unlock()
	this := &activeFetch{connector, make(chan struct{})}
	if e.claims == nil {
		e.claims = map[*activeFetch]struct{}{}
	}
	e.claims[this] = struct{}{}
	return this
}

func (e *activeFetches) register(claim *activeFetch, leased []bankstore.LeasedFile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byFile == nil {
		e.byFile = map[passerelle.FileID]*activeFetch{}
	}
	for _, l := range leased {
		if e.byFile[l.ID] == nil { // otherwise this process is still fetching the file under an expired lease
			e.byFile[l.ID] = &activeFetch{claim.connector, make(chan struct{})}
		}
	}
	delete(e.claims, claim)
	close(claim.done)
}

func (e *activeFetches) end(id passerelle.FileID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if under := e.byFile[id]; under != nil {
		close(under.done)
		delete(e.byFile, id)
	}
}

// running returns the running fetch of a file, or nil.
func (e *activeFetches) running(id passerelle.FileID) *activeFetch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byFile[id]
}

// awaitClaims waits until the running claims of a connector have ended. The files that they lease
// are then known.
func (e *activeFetches) awaitClaims(ctx context.Context, connector string) error {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.claims))
	e.mu.Unlock()
	return waitFor(ctx, all, connector)
}

// awaitAll waits for all claims and fetches of a connector.
func (e *activeFetches) awaitAll(ctx context.Context, connector string) error {
	if err := e.awaitClaims(ctx, connector); err != nil {
		return err
	}
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.byFile))
	e.mu.Unlock()
	return waitFor(ctx, all, connector)
}

func waitFor(ctx context.Context, all []*activeFetch, connector string) error {
	for _, one := range all {
		if one.connector != connector {
			continue
		}
		if err := one.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until the fetch or the claim has ended. For a nil fetch, it returns immediately.
func (o *activeFetch) wait(ctx context.Context) error {
	if o == nil {
		return nil
	}
	select {
	case <-o.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter counts a fetch for which a reader waits. It returns false when the connector already has
// maxAsked such fetches.
func (e *activeFetches) enter(connector string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting == nil {
		e.waiting = map[string]int{}
	}
	if e.waiting[connector] == maxAsked {
		return false
	}
	e.waiting[connector]++
	return true
}

func (e *activeFetches) leave(connector string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[connector]--
}
