package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

const (
	// maxTogether limits the webhooks whose batches are stored in one transaction.
	maxTogether = 16
	// togetherTime limits the wait for such a transaction, and the transaction itself. After this
	// time, a batch gets its own transaction, which has the rest of recordTime. A webhook with a
	// locked row therefore does not delay other webhooks for long. When the connection is lost, a
	// batch in the transaction also waits until the outcome is known.
	togetherTime = 2 * time.Second
)

// unrecorded is a batch that waits to be stored.
type unrecorded struct {
	store.Batch
	// unwanted means that the webhook has been deleted or disabled since it was loaded.
	unwanted bool
	// turn receives true when the session of the batch must write, and false when another session
	// has tried to write the batch. The result is then in err. If apart is set, nothing was written,
	// and the session must write the batch alone.
	turn  chan bool
	apart bool
	err   error
}

// batchWriter stores the results of a domain's webhooks. While one session writes, the batches of
// other sessions wait. One of these sessions then writes all waiting batches in one transaction.
// With a transaction for each batch, a hundred webhooks would cost PostgreSQL much more.
type batchWriter struct {
	domain  passerelle.DomainID
	mu      sync.Mutex
	waiting []*unrecorded
	writing bool
}

// write stores a batch, together with other batches if there are any.
func (w *batchWriter) write(ctx context.Context, db *store.DB, u *unrecorded) error {
	if w.enter(u) {
		w.lead(ctx, db)
	}
	if u.apart {
		_, u.err = outcome(w.store(ctx, db, []*unrecorded{u}))
	}
	return u.err
}

// enter waits until the batch is the first that waits, until it was handled, or for togetherTime. It
// reports whether the caller must write the waiting batches.
func (w *batchWriter) enter(u *unrecorded) bool {
	w.mu.Lock()
	w.waiting = append(w.waiting, u)
	leads := !w.writing
	w.writing = true
	w.mu.Unlock()
	if leads {
		return true
	}
	timer := time.NewTimer(togetherTime)
	defer timer.Stop()
	select {
	case leads = <-u.turn:
		return leads
	case <-timer.C:
	}
	if w.withdraw(u) {
		u.apart = true
		return false
	}
	return <-u.turn
}

// withdraw removes a waiting batch. It returns false when the batch is being written or has got its
// turn.
func (w *batchWriter) withdraw(u *unrecorded) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	place := slices.Index(w.waiting, u)
	if place < 0 || len(u.turn) > 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, place, place+1)
	return true
}

// lead writes the waiting batches, and passes the task on to the session of the next batch.
func (w *batchWriter) lead(ctx context.Context, db *store.DB) {
	w.mu.Lock()
	n := min(len(w.waiting), maxTogether)
	group := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	w.mu.Unlock()
	w.writeTogether(ctx, db, group)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = len(w.waiting) > 0
	if w.writing {
		w.waiting[0].turn <- true
	}
	for _, u := range group[1:] {
		u.turn <- false
	}
}

// writeTogether stores batches in one transaction. When nothing was written, each session writes its
// batch alone.
func (w *batchWriter) writeTogether(ctx context.Context, db *store.DB, group []*unrecorded) {
	ctx, cancel := context.WithTimeout(ctx, togetherTime)
	defer cancel()
	apart, err := outcome(w.store(ctx, db, group))
	for _, u := range group {
		u.apart, u.err = apart, err
	}
}

// outcome returns the error of the batches in a transaction, and whether the transaction has certainly
// written nothing. After ErrUnread, the batches are stored. The next page then shows which webhooks are
// unwanted.
func outcome(err error) (bool, error) {
	if errors.Is(err, store.ErrUnread) {
		return false, nil
	}
	return err != nil && !errors.Is(err, store.ErrUnknown), err
}

// store stores batches in one transaction.
func (w *batchWriter) store(ctx context.Context, db *store.DB, group []*unrecorded) (err error) {
	defer guard(&err)
	var unwanted []int64
	batches, webhooks := make([]store.Batch, len(group)), make([]passerelle.WebhookID, len(group))
	for i, u := range group {
		batches[i], webhooks[i] = u.Batch, u.Webhook
	}
	err = db.Write(ctx, func(tx *store.Tx) error {
		err := tx.RecordBatches(w.domain, batches...)
		tx.Unwanted(w.domain, webhooks, &unwanted)
		return err
	})
	for _, u := range group {
		u.unwanted = slices.Contains(unwanted, int64(u.Webhook))
	}
	return err
}

// batchWriters contains the batchWriter of each domain.
type batchWriters struct{ by sync.Map }

func (w *batchWriters) of(domain passerelle.DomainID) *batchWriter {
	found, _ := w.by.LoadOrStore(domain, &batchWriter{domain: domain})
	return found.(*batchWriter) //nolint:errcheck,forcetypeassert // the map has no other values
}
