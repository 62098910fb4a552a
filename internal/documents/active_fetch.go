package documents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"passerelle"
	"passerelle/internal/store"
)

// activeFetches are the files that this process is fetching, so that who wants one of
// them can wait for it.
type activeFetches struct {
	mu     sync.Mutex
	byFile map[passerelle.FileID]*activeFetch
	// claims are under way, and what they lease will be in under when they are done.
	claims map[*activeFetch]struct{}
	// waiting counts by connector what is fetched because a reader waits for it.
	waiting map[string]int
}

// activeFetch is a file of a connector that is being fetched, or a claim of some.
type activeFetch struct {
	connector string
	done      chan struct{}
}

// begin leases files of a connector. Whoever misses one of them because of that
// finds this claim, or the file under way.
func (e *activeFetches) begin(ctx context.Context, db *store.DB, connector string, claim func(*store.Tx, *[]store.LeasedFile)) (leased []store.LeasedFile, err error) {
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

func (e *activeFetches) register(claim *activeFetch, leased []store.LeasedFile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byFile == nil {
		e.byFile = map[passerelle.FileID]*activeFetch{}
	}
	for _, l := range leased {
		if e.byFile[l.ID] == nil { // otherwise its lease lapsed while this process was at it
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

// of is the errand for a file that is under way, or nil.
func (e *activeFetches) of(id passerelle.FileID) *activeFetch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byFile[id]
}

// awaitClaims waits for the claims of a connector that are under way, so that what they
// lease is known.
func (e *activeFetches) awaitClaims(ctx context.Context, connector string) error {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.claims))
	e.mu.Unlock()
	return waitFor(ctx, all, connector)
}

// awaitAll waits for all that is under way of a connector.
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

// wait waits until this process is not fetching the file any more; nil is one
// that it does not fetch.
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

// enter takes one of the places of a connector, if there is one left.
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
