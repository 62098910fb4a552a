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

// errands are the files that this process is fetching, so that who wants one of
// them can wait for it.
type errands struct {
	mu    sync.Mutex
	under map[passerelle.FileID]*errand
	// claims are under way, and what they lease will be in under when they are done.
	claims map[*errand]struct{}
	// asked counts by connector what is fetched because a reader waits for it.
	asked map[string]int
}

// errand is a file of a connector that is being fetched, or a claim of some.
type errand struct {
	connector string
	done      chan struct{}
}

// begin leases files of a connector. Whoever misses one of them because of that
// finds this claim, or the file under way.
func (e *errands) begin(ctx context.Context, db *store.DB, connector string, claim func(*store.Tx, *[]store.LeasedFile)) (leased []store.LeasedFile, err error) {
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

func (e *errands) announce(connector string) *errand {
	e.mu.Lock()
	defer e.mu.Unlock()
	this := &errand{connector, make(chan struct{})}
	if e.claims == nil {
		e.claims = map[*errand]struct{}{}
	}
	e.claims[this] = struct{}{}
	return this
}

func (e *errands) register(claim *errand, leased []store.LeasedFile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.under == nil {
		e.under = map[passerelle.FileID]*errand{}
	}
	for _, l := range leased {
		if e.under[l.ID] == nil { // otherwise its lease lapsed while this process was at it
			e.under[l.ID] = &errand{claim.connector, make(chan struct{})}
		}
	}
	delete(e.claims, claim)
	close(claim.done)
}

func (e *errands) end(id passerelle.FileID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if under := e.under[id]; under != nil {
		close(under.done)
		delete(e.under, id)
	}
}

// of is the errand for a file that is under way, or nil.
func (e *errands) of(id passerelle.FileID) *errand {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.under[id]
}

// settle waits for the claims of a connector that are under way, so that what they
// lease is known.
func (e *errands) settle(ctx context.Context, connector string) error {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.claims))
	e.mu.Unlock()
	return waitFor(ctx, all, connector)
}

// rest waits for all that is under way of a connector.
func (e *errands) rest(ctx context.Context, connector string) error {
	if err := e.settle(ctx, connector); err != nil {
		return err
	}
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.under))
	e.mu.Unlock()
	return waitFor(ctx, all, connector)
}

func waitFor(ctx context.Context, all []*errand, connector string) error {
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
func (o *errand) wait(ctx context.Context) error {
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
func (e *errands) enter(connector string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked == nil {
		e.asked = map[string]int{}
	}
	if e.asked[connector] == maxAsked {
		return false
	}
	e.asked[connector]++
	return true
}

func (e *errands) leave(connector string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked[connector]--
}
