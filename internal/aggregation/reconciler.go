package aggregation

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// pageSize is the number of rows that are compared at a time. maxPerRun limits the rows of an
// account or a subscription in a run. keyForm says which texts can be keys, for the log.
const (
	pageSize     = 500
	maxPerRun    = 2_000_000
	maxKeyLength = 255
	keyForm      = "1 to 255 bytes of valid UTF-8 without NUL"
)

// reconciler compares an institution's rows with the stored rows of an account or subscription, by
// their keys and page by page. It writes only new, changed and missing rows.
type reconciler[D any] struct {
	// key returns the institution's key of a row. details returns the content to store. rows
	// selects the stored rows.
	key     func(d D) string
	details func(d D) any
	rows    bankstore.SyncedRows
	// create and update store reported rows. An update also restores a deleted row. markDeleted
	// marks rows that were not reported. count changes the stored numbers of existing and deleted
	// rows.
	create      func(tx *store.Tx, found []newRow[D], at time.Time) error
	update      func(tx *store.Tx, id int64, d D, at time.Time) error
	markDeleted func(tx *store.Tx, id int64, at time.Time)
	count       func(tx *store.Tx, there, gone int64)
	// seen contains the digests of the rows that were reported in the run, by the hashes of their keys.
	seen map[uint64]int64
	// empty means that no row was stored before the run, so no row is known or missing. own means
	// that some rows have the number bankstore.Unreported. Both are valid once checked is true.
	empty, own, checked bool
	// from is the day from which a row that was not reported counts as missing. A zero date means
	// all days. Once listed is true, stored contains the stored rows from that day on.
	from   passerelle.Date
	stored []storedRow
	listed bool
	// missing contains the ids of the rows that markMissing must mark as deleted.
	missing []int64
}

// newRow is a reported row, with the content to store.
type newRow[D any] struct {
	row     D
	details bankstore.Details
}

// storedRow is the id of a stored row, with the hash of its key.
type storedRow struct {
	id  int64
	key uint64
}

var seed = maphash.MakeSeed()

func hashed(key string) uint64 { return maphash.String(seed, key) }

// validKey reports whether a text can be a key.
func validKey(key string) bool { return key != "" && len(key) <= maxKeyLength && storable(key) == key }

// each returns a function that creates rows one by one with create.
func each[D any](create func(tx *store.Tx, d D, at time.Time) error) func(*store.Tx, []newRow[D], time.Time) error {
	return func(tx *store.Tx, all []newRow[D], at time.Time) error {
		for _, one := range all {
			if err := create(tx, one.row, at); err != nil {
				return err
			}
		}
		return nil
	}
}

func (rc *reconciler[D]) reconcile(im *importer, page []D) error {
	for chunk := range slices.Chunk(page, pageSize) {
		if err := rc.reconcilePage(im, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (rc *reconciler[D]) reconcilePage(im *importer, page []D) error {
	fresh, keys, err := rc.unseen(im, page)
	if err != nil || len(fresh) == 0 {
		return err
	}
	known, err := rc.known(im, keys)
	if err != nil {
		return err
	}
	return rc.write(im, rc.compare(fresh, known))
}

// encoded returns details in the form to store.
func encoded(details any) (bankstore.Details, error) {
	d, err := bankstore.EncodeDetails(details)
	if err != nil {
		err = fmt.Errorf("%w: %w", errInvalidData, err)
	}
	return d, err
}

// known returns the stored rows with these keys.
func (rc *reconciler[D]) known(im *importer, keys []string) (map[string]bankstore.Known, error) {
	var known map[string]bankstore.Known
	err := rc.checkEmpty(im.ctx, &im.lease.db.Reader)
	if err == nil && !rc.empty {
		err = im.lease.db.Together(im.ctx,
			store.Into(&known, func(r *store.Reader) (map[string]bankstore.Known, error) {
				return bankstore.From(r).KnownByKey(im.ctx, rc.rows, keys)
			}),
			func(r *store.Reader) error { return rc.list(im.ctx, r) })
	}
	if err != nil {
		return nil, fmt.Errorf("%w: find rows by their keys: %w", errStore, err)
	}
	return known, nil
}

// checkEmpty sets rc.empty and rc.own, once in a run.
func (rc *reconciler[D]) checkEmpty(ctx context.Context, r *store.Reader) error {
	var err error
	if !rc.checked {
		rc.empty, rc.own, err = bankstore.From(r).NoRows(ctx, rc.rows)
		rc.checked = err == nil
	}
	return err
}

// unseen returns the rows of a page that were not reported earlier in the run. Institutions book
// transactions while pages are read, so some rows are reported twice. Different rows are lost rows.
func (rc *reconciler[D]) unseen(im *importer, page []D) ([]newRow[D], []string, error) {
	fresh, keys := []newRow[D]{}, []string{}
	for _, d := range page {
		key := rc.key(d)
		if !validKey(key) || len(rc.seen) >= maxPerRun {
			return nil, nil, fmt.Errorf("%w: a row has a key of %s, and there are at most %d", errInvalidData, keyForm, maxPerRun)
		}
		details, err := encoded(rc.details(d))
		if err != nil {
			return nil, nil, err
		}
		before, twice := rc.seen[hashed(key)]
		switch {
		case !twice:
			rc.seen[hashed(key)] = details.Digest
			fresh, keys = append(fresh, newRow[D]{d, details}), append(keys, key)
		case before != details.Digest:
			im.lostRows++
		}
	}
	return fresh, keys, nil
}

// pageChanges contains the changes that a page causes.
type pageChanges[D any] struct {
	created []newRow[D]
	updated []changedRow[D]
	// restored is the number of rows that were marked as deleted before.
	restored int64
}

type changedRow[D any] struct {
	id      int64
	details D
}

func (rc *reconciler[D]) compare(fresh []newRow[D], known map[string]bankstore.Known) pageChanges[D] {
	var n pageChanges[D]
	for _, one := range fresh {
		before, isKnown := known[rc.key(one.row)]
		switch {
		case !isKnown:
			n.created = append(n.created, one)
		case before.Deleted:
			n.restored++
			n.updated = append(n.updated, changedRow[D]{before.ID, one.row})
		case one.details.Digest != before.Digest:
			n.updated = append(n.updated, changedRow[D]{before.ID, one.row})
		}
	}
	return n
}

func (rc *reconciler[D]) write(im *importer, n pageChanges[D]) error {
	if len(n.created)+len(n.updated) == 0 {
		return nil
	}
	now := im.lease.now()
	return im.store(func(tx *store.Tx) error {
		if err := rc.create(tx, n.created, now); err != nil {
			return err
		}
		for _, c := range n.updated {
			if err := rc.update(tx, c.id, c.details, now); err != nil {
				return err
			}
		}
		rc.count(tx, int64(len(n.created))+n.restored, -n.restored)
		return nil
	})
}

// findMissing finds the rows that markMissing must mark. It leaves out rows before the day from.
func (rc *reconciler[D]) findMissing(ctx context.Context, r *store.Reader, from passerelle.Date) error {
	if err := rc.checkEmpty(ctx, r); err != nil {
		return fmt.Errorf("%w: look for rows: %w", errStore, err)
	}
	if rc.empty {
		return nil
	}
	if from != rc.from {
		rc.from, rc.listed = from, false
	}
	if err := rc.list(ctx, r); err != nil {
		return fmt.Errorf("%w: list rows by their keys: %w", errStore, err)
	}
	for _, row := range rc.stored {
		if _, seen := rc.seen[row.key]; !seen {
			rc.missing = append(rc.missing, row.id)
		}
	}
	return nil
}

// list reads the stored rows from the day rc.from on, unless they are already listed.
func (rc *reconciler[D]) list(ctx context.Context, r *store.Reader) error {
	if rc.listed {
		return nil
	}
	rc.stored = rc.stored[:0]
	err := bankstore.From(r).EachKey(ctx, rc.rows, rc.from, func(id int64, key string) { rc.stored = append(rc.stored, storedRow{id, hashed(key)}) })
	rc.listed = err == nil
	return err
}

// markMissing marks the rows in rc.missing as deleted. It also gives the number of this read to the
// rows with the number bankstore.Unreported, which clients have created or deleted.
func (rc *reconciler[D]) markMissing(im *importer) error {
	for rc.own || len(rc.missing) > 0 {
		some := rc.missing[:min(pageSize, len(rc.missing))]
		if err := rc.markGone(im, some); err != nil {
			return err
		}
		rc.missing, rc.own = rc.missing[len(some):], false
	}
	return nil
}

func (rc *reconciler[D]) markGone(im *importer, gone []int64) error {
	now := im.lease.now()
	return im.store(func(tx *store.Tx) error {
		for _, id := range gone {
			rc.markDeleted(tx, id, now)
		}
		if rc.own {
			bankstore.In(tx).ReportOwnChanges(rc.rows)
		}
		rc.count(tx, -int64(len(gone)), int64(len(gone)))
		return nil
	})
}
