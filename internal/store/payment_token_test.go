package store_test

import (
	"testing"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

// TestTokensEndWithTheirPayment ends a payment and makes a token for it, in both orders, one after
// the other and at the same time. The token must never outlive the payment by more than an hour. A
// token for a payment that has ended is not made.
func TestTokensEndWithTheirPayment(t *testing.T) {
	inTurn := func(s fixture, first, second func(*store.Tx) error) error { s.write(first); return s.try(second) }
	for name, run := range map[string]func(s fixture, first, second func(*store.Tx) error) error{"in turn": inTurn, "at once": overlapping} {
		for _, endFirst := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", payment first", false: ", token first"}[endFirst], func(t *testing.T) {
				onEachDatabase(t, func(t *testing.T, s fixture) {
					p := s.create(draft(1), now)
					token := store.Token{
						Domain: s.domain, Client: s.client, Kind: "payment", Hash: []byte("hash"), Payment: p.ID,
						Created: now, Expires: new(time.Now().Add(7 * 24 * time.Hour)),
					}
					makeToken := func(tx *store.Tx) error { return tx.CreateToken(&token) }
					end := func(tx *store.Tx) error {
						steps, err := p.Apply(payment.Report{Status: payment.Settled}, now)
						if err != nil {
							return err
						}
						if err := tx.UpdatePayment(p, transitions(steps), nil); err != nil {
							return err
						}
						tx.EndPaymentTokens(s.domain, p.ID)
						return nil
					}
					if endFirst {
						wantError(t, run(s, end, makeToken), store.ErrNoClient)
						_, err := s.db.TokenByHash(t.Context(), s.domain, token.Hash)
						wantError(t, err, store.ErrNotFound)
						return
					}
					if err := run(s, makeToken, end); err != nil {
						t.Fatal(err)
					}
					stored, err := s.db.TokenByHash(t.Context(), s.domain, token.Hash)
					if err != nil {
						t.Fatal(err)
					}
					if left := time.Until(*stored.Expires); left > time.Hour || left < 50*time.Minute {
						t.Errorf("the token is valid for %v", left)
					}
				})
			})
		}
	}
}

// overlapping writes two units, and returns the error of the second one. On PostgreSQL, the second
// unit begins before the first one commits. SQLite executes one unit after the other.
func overlapping(s fixture, first, second func(*store.Tx) error) error {
	ended := make(chan error, 1)
	s.write(func(tx *store.Tx) error {
		if err := first(tx); err != nil {
			return err
		}
		tx.Unit().Query(func(database.Row) error {
			go func() { ended <- s.try(second) }()
			return s.awaitLock(ended)
		}, `SELECT 1`)
		return nil
	})
	return <-ended
}

// awaitLock returns when a unit waits for a lock, or when the unit that reports to `ended` has
// ended.
func (s fixture) awaitLock(ended chan error) error {
	for s.db.Rows().Dialect().Name != "sqlite" && len(ended) == 0 {
		n, err := database.One(s.t.Context(), s.db.Rows(), database.ScanInt, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		if err != nil || n > 0 {
			return err
		}
	}
	return nil
}
