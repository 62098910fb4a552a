package aggregation

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

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
	// key is the institution's name of a row, digest tells a change of it.
	key    func(d D) string
	digest func(d D) (int64, error)
	// known finds the rows that have one of the keys; listed are those that
	// should have been handed over, in the order of keys and after one of them.
	known  func(keys []string) (map[string]store.Known, error)
	listed func(after string) ([]store.Known, error)
	// A row that is handed over is created, or updated, which brings it back
	// when it was gone; one that is not is lost. Count moves the numbers of those
	// that are there and of those that are gone.
	create func(tx *store.Tx, d D, at time.Time) error
	update func(tx *store.Tx, id int64, d D, at time.Time) error
	lose   func(tx *store.Tx, id int64, at time.Time)
	count  func(tx *store.Tx, there, gone int64)
	// seen are hashes of the keys handed over: eight bytes each, whatever the
	// history.
	seen map[uint64]struct{}
}

var seed = maphash.MakeSeed()

func hashed(key string) uint64 { return maphash.String(seed, key) }

// sound reports whether a text can be a key.
func sound(key string) bool { return key != "" && len(key) <= maxKeyLength && legible(key) == key }

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
	known, err := s.known(keys)
	if err != nil {
		return fmt.Errorf("%w: find rows by their keys: %w", errStore, err)
	}
	news, err := s.compare(fresh, known)
	if err != nil {
		return fmt.Errorf("%w: %w", errNonsense, err)
	}
	return s.write(in, news)
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
	created []D
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
		digest, err := s.digest(d)
		if err != nil {
			return n, err
		}
		before, isKnown := known[s.key(d)]
		switch {
		case !isKnown:
			n.created = append(n.created, d)
		case before.Deleted:
			n.back++
			n.updated = append(n.updated, changed[D]{before.ID, d})
		case digest != before.Digest:
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
		for _, d := range n.created {
			if err := s.create(tx, d, now); err != nil {
				return err
			}
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

// sweep marks what was not handed over as gone.
func (s *shelf[D]) sweep(in *intake) error {
	for after := ""; ; {
		page, err := s.listed(after)
		if err != nil {
			return fmt.Errorf("%w: list rows by their keys: %w", errStore, err)
		}
		gone := slices.DeleteFunc(slices.Clone(page), func(k store.Known) bool {
			_, seen := s.seen[hashed(k.Key)]
			return seen
		})
		if err := s.remove(in, gone); err != nil || len(page) < pageSize {
			return err
		}
		after = page[len(page)-1].Key
	}
}

func (s *shelf[D]) remove(in *intake, gone []store.Known) error {
	if len(gone) == 0 {
		return nil
	}
	now := in.instant()
	return in.store(func(tx *store.Tx) error {
		for _, k := range gone {
			s.lose(tx, k.ID, now)
		}
		s.count(tx, -int64(len(gone)), int64(len(gone)))
		return nil
	})
}
