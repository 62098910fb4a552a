package aggregation

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// The bounds of what an institution may give below an account or a subscription.
const (
	pageSize     = 500
	maxPerVisit  = 2_000_000
	maxKeyLength = 255
)

// shelf is what an institution keeps below an account or a subscription: rows
// that have keys. Of what a visit hands over it notices what is new, what
// changed and what is gone, page by page, and writes nothing else.
type shelf[D any] struct {
	// key is the institution's name of a row, details what is stored of it, and
	// stored where.
	key     func(d D) string
	details func(d D) any
	stored  store.Shelf
	// Rows that are handed over are created, or updated, which brings them back
	// when they were gone; one that is not is lost. Count moves the numbers of those
	// that are there and of those that are gone.
	create func(tx *store.Tx, found []found[D], at time.Time) error
	update func(tx *store.Tx, id int64, d D, at time.Time) error
	lose   func(tx *store.Tx, id int64, at time.Time)
	count  func(tx *store.Tx, there, gone int64)
	// seen are hashes of the keys handed over: eight bytes each, whatever the
	// history.
	seen map[uint64]struct{}
	// bare says that nothing was stored before the visit, once looked is true:
	// then nothing that is handed over is known, and nothing missed.
	bare, looked bool
}

// found is a row that is not stored yet, with its details as they will be.
type found[D any] struct {
	given   D
	details store.Details
}

var seed = maphash.MakeSeed()

func hashed(key string) uint64 { return maphash.String(seed, key) }

// sound reports whether a text can be a key.
func sound(key string) bool { return key != "" && len(key) <= maxKeyLength && legible(key) == key }

// each has rows created one by one.
func each[D any](create func(tx *store.Tx, d D, at time.Time) error) func(*store.Tx, []found[D], time.Time) error {
	return func(tx *store.Tx, all []found[D], at time.Time) error {
		for _, one := range all {
			if err := create(tx, one.given, at); err != nil {
				return err
			}
		}
		return nil
	}
}

// take brings a page into the store.
func (s *shelf[D]) take(in *intake, page []D) error {
	for chunk := range slices.Chunk(page, pageSize) {
		if err := s.takeSome(in, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf[D]) takeSome(in *intake, page []D) error {
	fresh, keys, err := s.fresh(page)
	if err != nil || len(fresh) == 0 {
		return err
	}
	known, err := s.known(in, keys)
	if err != nil {
		return err
	}
	news, err := s.compare(fresh, known)
	if err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	return s.write(in, news)
}

// known are the rows of the keys that were stored before.
func (s *shelf[D]) known(in *intake, keys []string) (known map[string]store.Known, err error) {
	if err = s.look(in); err == nil && !s.bare {
		known, err = in.DB.KnownByKey(in.ctx, s.stored, keys)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: find rows by their keys: %w", errStore, err)
	}
	return known, nil
}

// look finds out, once, whether anything was stored before.
func (s *shelf[D]) look(in *intake) (err error) {
	if !s.looked {
		s.bare, err = in.DB.Bare(in.ctx, s.stored)
		s.looked = err == nil
	}
	return err
}

// fresh are those of a page that did not come before in this visit:
// institutions that turn pages while they book give some twice.
func (s *shelf[D]) fresh(page []D) (fresh []D, keys []string, err error) {
	for _, d := range page {
		key := s.key(d)
		if !sound(key) || len(s.seen) >= maxPerVisit {
			return nil, nil, fmt.Errorf("%w: a row has a key of 1 to %d bytes, and there are at most %d", errNonsense, maxKeyLength, maxPerVisit)
		}
		if _, twice := s.seen[hashed(key)]; !twice {
			s.seen[hashed(key)] = struct{}{}
			fresh, keys = append(fresh, d), append(keys, key)
		}
	}
	return fresh, keys, nil
}

// news are what is to be written of a page.
type news[D any] struct {
	created []found[D]
	updated []changed[D]
	// back counts those that were gone.
	back int64
}

type changed[D any] struct {
	id      int64
	details D
}

func (s *shelf[D]) compare(fresh []D, known map[string]store.Known) (n news[D], err error) {
	for _, d := range fresh {
		details, err := store.EncodeDetails(s.details(d))
		if err != nil {
			return n, err
		}
		before, isKnown := known[s.key(d)]
		switch {
		case !isKnown:
			n.created = append(n.created, found[D]{d, details})
		case before.Deleted:
			n.back++
			n.updated = append(n.updated, changed[D]{before.ID, d})
		case details.Digest != before.Digest:
			n.updated = append(n.updated, changed[D]{before.ID, d})
		}
	}
	return n, nil
}

func (s *shelf[D]) write(in *intake, n news[D]) error {
	if len(n.created)+len(n.updated) == 0 {
		return nil
	}
	now := in.instant()
	return in.store(func(tx *store.Tx) error {
		if err := s.create(tx, n.created, now); err != nil {
			return err
		}
		for _, c := range n.updated {
			if err := s.update(tx, c.id, c.details, now); err != nil {
				return err
			}
		}
		s.count(tx, int64(len(n.created))+n.back, -n.back)
		return nil
	})
}

// sweep marks what was not handed over as gone, from a day on when there is one:
// what is older is never missed.
func (s *shelf[D]) sweep(in *intake, from passerelle.Date) error {
	if err := s.look(in); err != nil {
		return fmt.Errorf("%w: look for rows: %w", errStore, err)
	}
	if s.bare {
		return nil
	}
	var gone []int64
	err := in.DB.EachKey(in.ctx, s.stored, from, func(id int64, key string) {
		if _, seen := s.seen[hashed(key)]; !seen {
			gone = append(gone, id)
		}
	})
	if err != nil {
		return fmt.Errorf("%w: list rows by their keys: %w", errStore, err)
	}
	for some := range slices.Chunk(gone, pageSize) {
		if err := s.remove(in, some); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf[D]) remove(in *intake, gone []int64) error {
	now := in.instant()
	return in.store(func(tx *store.Tx) error {
		for _, id := range gone {
			s.lose(tx, id, now)
		}
		s.count(tx, -int64(len(gone)), int64(len(gone)))
		return nil
	})
}
