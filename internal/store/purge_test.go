package store_test

import (
	"fmt"
	"testing"
	"time"

	"passerelle/internal/store"
)

func TestPurgeGoesOnUntilNothingIsLeft(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for i := range 7 {
			expires := now.Add(time.Duration(i) * time.Hour)
			token := store.Token{Domain: s.domain, Kind: "config", Hash: fmt.Append(nil, i), Created: now, Expires: &expires}
			s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
			s.claimExpired(fmt.Append(nil, "key", i))
		}
		for _, want := range []struct {
			runs, tokens, answers int64
		}{{1, 5, 5}, {0, 5, 5}, {100, 1, 0}, {100, 1, 0}} {
			before := now.Add(6 * time.Hour) // one token expires at that time
			if err := s.db.PurgeExpired(t.Context(), before, 2, int(want.runs)); err != nil {
				t.Fatal(err)
			}
			tokens, answers := s.count(`SELECT count(*) FROM token`), s.count(`SELECT count(*) FROM idempotency`)
			if tokens != want.tokens || answers != want.answers {
				t.Errorf("after %d runs: %d tokens and %d answers, want %d and %d", want.runs, tokens, answers, want.tokens, want.answers)
			}
		}
	})
}

// claimExpired inserts an expired row for a request whose execution began but has no response.
func (s fixture) claimExpired(key []byte) {
	s.t.Helper()
	if _, err := s.db.ClaimKey(s.t.Context(), store.RepeatKey{Domain: s.domain, Token: 1, Key: key, Request: key}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.sql(`UPDATE idempotency SET expires = 0`); err != nil {
		s.t.Fatal(err)
	}
}
