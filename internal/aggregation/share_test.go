package aggregation_test

import (
	"errors"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// TestSharingAgainAndAgain checks that an account is read immediately each time that the user
// shares it. These reads must not count towards the reads that an institution allows without the
// user.
func TestSharingAgainAndAgain(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("one", "1234")
		must(t, err)
		account, reads := h.accounts(true)[0], c.Sync
		for range 5 {
			h.share(account, true)
			if h.sync() != 1 || h.transactions() == 0 {
				t.Errorf("shared after %d reads, and not read", reads)
			}
			h.share(account, false)
			reads++
		}
		const allowed = 4 // the limit of the simulated institutions
		for absent := range int64(allowed + 1) {
			read, err := h.Resume(t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{Absent: true})
			if want := reads + min(absent+1, allowed); err != nil || read.Sync != want {
				t.Errorf("without the person, %d times: %d reads (%v), want %d", absent+1, read.Sync, err, want)
			}
		}
	})
}

// TestWaitingForAConnection checks that a change waits while its connection is being read. It must
// wait for at most LeaseTimeout, and must fail if the connection is deleted in the meantime.
func TestWaitingForAConnection(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("anna", "1234")
		must(t, err)
		lease := func(tx *store.Tx) error {
			bankstore.In(tx).LeaseConnection(h.domain.ID, c.ID, "somebody", time.Hour)
			return nil
		}
		must(t, h.DB.Write(t.Context(), lease))
		account := h.accounts(true)[0]
		disabled := false
		share := func() error {
			_, err := h.ChangeAccounts(t.Context(), h.domain, h.user.ID, []passerelle.AccountID{account.ID}, aggregation.AccountChange{Disabled: &disabled, Origin: "api"})
			return err
		}
		var locked *passerelle.Error
		if err := share(); !errors.As(err, &locked) || locked.Code != "connectionLocked" || len(h.accounts(false)) != 0 {
			t.Errorf("without patience: %v", err)
		}
		h.LeaseTimeout = time.Hour
		shared := make(chan error)
		go func() { shared <- share() }()
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
			bankstore.In(tx).ReleaseConnection(h.domain.ID, c.ID, "somebody", false)
			return nil
		}))
		if err := <-shared; err != nil || len(h.accounts(false)) != 1 {
			t.Errorf("with patience: %v", err)
		}
		must(t, h.DB.Write(t.Context(), lease))
		go func() { shared <- share() }()
		must(t, h.Disconnect(t.Context(), h.domain, h.user.ID, c.ID))
		if err := <-shared; !errors.Is(err, passerelle.NotFound) {
			t.Errorf("while it is deleted: %v", err)
		}
	})
}
