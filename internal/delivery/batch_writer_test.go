package delivery_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// manyWebhooks registers 20 webhooks and stores an event for them. The first batch of results is
// stored after the batches of the 19 other webhooks wait and the function meanwhile has run. The
// argument of the function is the webhook of the first batch. manyWebhooks returns a function that
// returns, for each transaction, the number of its batches.
func (r *fixture) manyWebhooks(url string, meanwhile func(first int64) error) (webhooks []store.Webhook, batches func() []int) {
	for range 20 {
		webhooks = append(webhooks, r.webhook(url, ""))
	}
	r.emit(1, 1)
	var (
		mu    sync.Mutex
		sizes []int
	)
	r.DB.Database.Observe(func(_ context.Context, statements []database.Statement) error {
		var kept []int64
		for _, s := range statements {
			if strings.HasPrefix(s.SQL, "UPDATE webhook SET lease_until = {now} + $1, next_flush") {
				kept = append(kept, s.Args[9].(int64))
			}
		}
		if len(kept) == 0 {
			return nil
		}
		mu.Lock()
		sizes = append(sizes, len(kept))
		first := len(sizes) == 1
		mu.Unlock()
		for end := time.Now().Add(30 * time.Second); first && r.WaitingBatches(r.domain.ID) < len(webhooks)-1; runtime.Gosched() {
			if time.Now().After(end) {
				return errors.New("the other batches do not wait")
			}
		}
		if !first {
			return nil
		}
		return meanwhile(kept[0])
	})
	return webhooks, func() []int { return sizes }
}

func TestWaitingBatchesShareATransaction(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		_, batches := r.manyWebhooks(in.url, func(int64) error { return nil })
		r.run(20, 0)
		in.want(t, slices.Repeat([]string{"1.1"}, 20)...)
		if diff := cmp.Diff([]int{1, 16, 3}, batches()); diff != "" {
			t.Errorf("batches of each transaction (-want +got):\n%s", diff)
		}
		r.wantEachOnce(20)
	})
}

// In TestALapsedLeaseHarmsNoOtherBatch, one of the leases lapses while the batches of 19 webhooks
// wait. Only the delivery to this webhook is sent again.
func TestALapsedLeaseHarmsNoOtherBatch(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		var webhooks []store.Webhook
		var batches func() []int
		webhooks, batches = r.manyWebhooks(in.url, func(first int64) error {
			late := slices.IndexFunc(webhooks, func(w store.Webhook) bool { return int64(w.ID) != first })
			return r.DB.Write(t.Context(), func(tx *store.Tx) error {
				for session := range 40 {
					tx.ReleaseWebhook(webhooks[late], fmt.Sprintf("A/%d", session))
				}
				return nil
			})
		})
		in.answers(always(http.StatusOK))
		r.run(20, 0)
		in.want(t, slices.Repeat([]string{"1.1"}, 21)...)
		if !slices.Contains(batches(), 16) {
			t.Errorf("batches of each transaction: %v", batches())
		}
		r.wantEachOnce(20)
	})
}

// wantEachOnce checks that each delivery was accepted and that one request for it is recorded.
func (r *fixture) wantEachOnce(deliveries int64) {
	r.t.Helper()
	i := storetest.Inspect(r.t, r.url)
	delivered := i.Count(`SELECT count(*) FROM delivery WHERE delivered IS NOT NULL AND attempts = 1`)
	attempts := i.Count(`SELECT count(DISTINCT delivery_id) FROM delivery_attempt`)
	all, counted := i.Count(`SELECT count(*) FROM delivery_attempt`), i.Count(`SELECT sum(requests) FROM webhook_health`)
	if delivered != deliveries || attempts != deliveries || all != deliveries || counted != deliveries {
		r.t.Errorf("%d delivered, %d with a request, %d requests, %d counted; want %d", delivered, attempts, all, counted, deliveries)
	}
}

// In TestALockedWebhookHarmsNoOther, another transaction keeps a webhook locked. The results of all
// other webhooks must be stored in the meantime.
func TestALockedWebhookHarmsNoOther(t *testing.T) {
	url := storetest.Postgres(t)
	r := newFixture(t, url)
	in := newInbox(t)
	var webhooks []store.Webhook
	db, err := sql.Open("pgx", storetest.Direct(t, url))
	must(t, err)
	defer db.Close()
	var lock *sql.Tx
	webhooks, _ = r.manyWebhooks(in.url, func(int64) error {
		if lock, err = db.BeginTx(t.Context(), nil); err != nil {
			return err
		}
		_, err = lock.ExecContext(t.Context(), `SELECT id FROM webhook WHERE id = $1 FOR UPDATE`, int64(webhooks[7].ID))
		return err
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(20, 0)
	}()
	i := storetest.Inspect(t, url)
	for end := time.Now().Add(30 * time.Second); i.Count(`SELECT count(*) FROM delivery WHERE delivered IS NOT NULL`) < 19; {
		if time.Now().After(end) {
			t.Fatal("the results of the other webhooks are not stored")
		}
	}
	must(t, lock.Rollback())
	<-ended
	r.wantEachOnce(20)
}

// TestOnlyUnwrittenBatchesAreWrittenAgain checks that batches whose transaction was written, or may
// have been, are not written again. Batches whose rows were lost are stored.
func TestOnlyUnwrittenBatchesAreWrittenAgain(t *testing.T) {
	for _, test := range []struct {
		err          error
		apart, fails bool
	}{
		{nil, false, false},
		{fmt.Errorf("write: %w", store.ErrUnread), false, false},
		{fmt.Errorf("write: %w", store.ErrUnknown), false, true},
		{fmt.Errorf("write: %w", store.ErrConflict), true, true},
		{fmt.Errorf("write: %w", context.DeadlineExceeded), true, true},
	} {
		if apart, err := delivery.Outcome(test.err); apart != test.apart || (err != nil) != test.fails {
			t.Errorf("%v: %v, %v", test.err, apart, err)
		}
	}
}
