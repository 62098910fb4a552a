package delivery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// conflict demands one whose message has the words.
func conflict(t *testing.T, err error, words string) {
	t.Helper()
	if !errors.Is(err, passerelle.Conflict) || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want a conflict with %q", err, words)
	}
}

// TestResendKeepsTheOrderOfASubject has three deliveries about one payment and
// one about another: only the first of each may be sent before its turn, and
// what was accepted at any time.
func TestResendKeepsTheOrderOfASubject(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for version := range int64(3) {
			r.emit(7, version+1)
		}
		r.emit(8, 1)
		r.run(0, 2)
		in.seen()
		in.answers(always(http.StatusOK))
		resend := func(id passerelle.DeliveryID) error { return r.Resend(t.Context(), r.domain, w, id) }
		for _, behind := range []passerelle.DeliveryID{2, 3} {
			conflict(t, resend(behind), "id_webhook_data 1 comes before it, is about the same thing")
		}
		in.want(t)
		must(t, resend(4))
		must(t, resend(1))
		conflict(t, resend(3), "id_webhook_data 2 comes before it, is about the same thing")
		must(t, resend(2))
		must(t, resend(1))
		in.want(t, "8.1", "7.1", "7.2", "7.1")
	})
}

// TestWhatIsHeldBackIsNotResent leaves it where it is until its time has come.
func TestWhatIsHeldBackIsNotResent(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.emitHeldBack(7, 1, r.clock.Now().Add(time.Minute))
		r.emit(7, 2)
		conflict(t, r.Resend(t.Context(), r.domain, w, 1), "id_webhook_data 1 is held back")
		conflict(t, r.Resend(t.Context(), r.domain, w, 2), "id_webhook_data 1 comes before it, is about the same thing")
		in.want(t)
	})
}

// TestARefusedTestLeavesNothing disables a webhook after a caller has looked at
// it.
func TestARefusedTestLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		in := newInbox(t)
		w := r.webhook(in.url, "")
		r.able(w, false)
		_, err := r.Test(t.Context(), r.domain, w, nil)
		conflict(t, err, "not in use any more")
		left, err := r.DB.CountWebhookData(t.Context(), store.WebhookDataFilter{Domain: r.domain.ID, Webhook: w.ID})
		must(t, err)
		if left != 0 {
			t.Errorf("%d deliveries are left", left)
		}
	})
}
