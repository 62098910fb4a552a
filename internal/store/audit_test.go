package store_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

func (s fixture) acts(n int) []store.Audit {
	s.t.Helper()
	all := make([]store.Audit, n)
	for i := range all {
		all[i] = store.Audit{Domain: s.domain, At: now.Add(time.Duration(i) * time.Second), Operator: 7, Act: "act", Subject: "payment", SubjectID: int64(i + 1)}
		if i%3 == 2 {
			all[i].Domain, all[i].Operator = s.other, 8
		}
	}
	s.write(func(tx *store.Tx) error { return tx.Audit(all...) })
	return all
}

func TestActsAreFound(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.acts(9)
		s.write(func(tx *store.Tx) error {
			return tx.Audit(store.Audit{At: now, Act: "sign in", Operator: 7, Refused: true})
		})
		for _, c := range []struct {
			filter operatorstore.AuditFilter
			want   []int64
		}{
			{operatorstore.AuditFilter{Domain: s.domain}, []int64{8, 7, 5, 4, 2, 1}},
			{operatorstore.AuditFilter{Domain: s.other, Operator: 8}, []int64{9, 6, 3}},
			{operatorstore.AuditFilter{Domain: s.other, Operator: 7}, nil},
			{operatorstore.AuditFilter{NoDomain: true}, []int64{0}},
			{operatorstore.AuditFilter{Act: "sign in"}, []int64{0}},
			{operatorstore.AuditFilter{Refused: true}, []int64{0}},
			{operatorstore.AuditFilter{Subject: "payment", SubjectID: 4}, []int64{4}},
			{operatorstore.AuditFilter{Subject: "user", SubjectID: 4}, nil},
			{operatorstore.AuditFilter{From: now.Add(6 * time.Second), Until: now.Add(8 * time.Second)}, []int64{8, 7}},
		} {
			var got []int64
			w := store.Window{Limit: 2}
			for {
				page, err := operatorstore.From(s.db).Audits(t.Context(), c.filter, w)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range page {
					got = append(got, a.SubjectID)
				}
				if len(page) < w.Limit {
					break
				}
				w.From = page[len(page)-1].Place()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%+v: %s", c.filter, diff)
			}
		}
	})
}

// TestHashCoversEveryColumnOfAnAct checks that the content for the hash has every column except the
// columns of the chain. A letter that moves from one text to the next must change the content.
func TestHashCoversEveryColumnOfAnAct(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		variants := []store.Audit{
			{At: now, Request: "r", Act: "a"},
			{At: now, Request: "r", Act: "a"}, // the id differs
			{Domain: s.domain, At: now, Request: "r", Act: "a"},
			{At: now.Add(time.Microsecond), Request: "r", Act: "a"},
			{At: now, Operator: 1, Request: "r", Act: "a"},
			{At: now, Session: 1, Request: "r", Act: "a"},
			{At: now, Request: "ra", Act: ""},
			{At: now, Request: "", Act: "ra"},
			{At: now, Request: "r", Act: "a", Subject: "s"},
			{At: now, Request: "r", Act: "a", Subject: "s", SubjectID: 1},
			{At: now, Request: "r", Act: "a", Refused: true},
		}
		s.write(func(tx *store.Tx) error { return tx.Audit(variants...) })
		all, err := operatorstore.From(s.db).Audits(t.Context(), operatorstore.AuditFilter{}, store.Window{Limit: 100})
		if err != nil || len(all) != len(variants) {
			t.Fatalf("%d acts, %v", len(all), err)
		}
		seen := map[string]int64{}
		for _, a := range all {
			rest := string(a.Content[9:]) // without the id
			if other, twice := seen[rest]; twice && a.Request+a.Act != "ra" {
				t.Errorf("acts %d and %d have the same content", other, a.ID)
			}
			seen[rest] = a.ID
		}
		if len(seen) != len(variants)-1 {
			t.Errorf("%d contents without ids, want those of two to be the same", len(seen))
		}
	})
}

func TestOneProcessAtATimeExtendsChains(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.acts(2)
		take := func(holder string) error {
			return s.try(func(tx *store.Tx) error { operatorstore.In(tx).LeaseAuditChains(holder, time.Hour); return nil })
		}
		chain := func(holder string, from, number int64, act operatorstore.AuditLink) error {
			act.Number, act.Previous, act.Hash = number, bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
			return s.try(func(tx *store.Tx) error {
				operatorstore.In(tx).Chain(operatorstore.AuditEnd{Chain: s.domain, Number: from}, []operatorstore.AuditLink{act}, holder, time.Hour)
				return nil
			})
		}
		acts, err := operatorstore.From(s.db).UnchainedAudit(t.Context(), s.domain, 10)
		if err != nil || len(acts) != 2 {
			t.Fatalf("%+v, %v", acts, err)
		}
		wantError(t, chain("a", 0, 1, acts[0]), operatorstore.ErrNoLease)
		wantError(t, take("a"), nil)
		wantError(t, take("b"), operatorstore.ErrNoLease)
		wantError(t, take("a"), nil)
		wantError(t, chain("b", 0, 1, acts[0]), operatorstore.ErrNoLease)
		wantError(t, chain("a", 0, 1, acts[0]), nil)
		wantError(t, chain("a", 0, 1, acts[1]), store.ErrConflict)
		wantError(t, chain("a", 1, 2, acts[0]), store.ErrConflict)
		if n := s.count(`SELECT number FROM audit_end WHERE chain = $1`, int64(s.domain)); n != 1 {
			t.Errorf("the chain ends at %d after a unit that was undone", n)
		}
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ReleaseAuditChains("b"); return nil })
		wantError(t, take("b"), operatorstore.ErrNoLease)
		s.write(func(tx *store.Tx) error { operatorstore.In(tx).ReleaseAuditChains("a"); return nil })
		wantError(t, take("b"), nil)
		wantError(t, chain("a", 1, 2, acts[1]), operatorstore.ErrNoLease)
		wantError(t, chain("b", 1, 2, acts[1]), nil)
	})
}

func TestEndOfAChainOnlyAdvances(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.acts(1)
		number := `INSERT INTO audit (id, at, request_id, act, refused, number, previous, hash) VALUES (900, 1, '', 'x', FALSE, 1, $1, $1)`
		wantError(t, s.sql(number, []byte("x")), store.ErrConstraint)
		wantError(t, s.sql(`INSERT INTO audit_end (chain, number, hash) VALUES (1, 5, $1)`, []byte("x")), nil)
		refused := []string{
			`UPDATE audit_end SET number = 4`, `UPDATE audit_end SET number = 5`, `UPDATE audit_end SET chain = 2, number = 6`,
			`DELETE FROM audit_end`, `INSERT INTO audit_end (chain, number, hash) VALUES (2, 0, 'x')`,
		}
		if s.db.Rows().Dialect().Name == "postgres" {
			refused = append(refused, `TRUNCATE audit`, `TRUNCATE audit_end`)
		}
		for _, sql := range refused {
			if err := s.sql(sql); err == nil {
				t.Errorf("%s is done", sql)
			} else {
				wantError(t, fmt.Errorf("%s: %w", sql, err), store.ErrConstraint)
			}
		}
	})
}
