package store_test

import (
	"slices"
	"testing"

	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestEdgesAreThoseOfTheStateTable(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		got, err := database.Collect(t.Context(), s.db.Rows(), database.ScanString, `SELECT from_state || ' ' || to_state FROM payment_edge`)
		var want []string
		for _, edge := range payment.Edges() {
			want = append(want, string(edge.From+" "+edge.To))
		}
		slices.Sort(want)
		slices.Sort(got)
		wantSame(t, want, got, err)
	})
}

const (
	appendStep = `INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at)
		VALUES ($1, $2, $3, $4, $5, $6, 'by hand', 'hand', '', 0)`
	stand = `UPDATE payment SET seq = $1, state = $2, version = version + 1, expires_from = NULL WHERE id = $3`
)

// TestIllegalHistoryIsRefused executes statements that the program never executes. It uses a
// validating payment (seq 1) and a done payment (seq 3).
func TestIllegalHistoryIsRefused(t *testing.T) {
	type statement struct {
		text string
		args []any
	}
	onEachDatabase(t, func(t *testing.T, s fixture) {
		open, done := s.create(draft(1), now), s.create(draft(1), now)
		s.report(open, payment.Report{Status: payment.Awaiting, Action: payment.Decoupled}, now)
		s.report(done, payment.Report{Status: payment.Settled}, now)
		id, ended, domain := int64(open.ID), int64(done.ID), int64(s.domain)
		step := func(id, seq int64, previous any, from, to any) statement {
			return statement{appendStep, []any{id, seq, domain, previous, from, to}}
		}
		for name, unit := range map[string][]statement{
			"an edge that is not in the table":    {step(id, 2, 1, "validating", "done")},
			"back along an edge":                  {step(id, 2, 1, "validating", "created")},
			"a state that does not exist":         {step(id, 2, 1, "validating", "lost")},
			"from a state it was not in":          {step(id, 2, 1, "pending", "done")},
			"a number left out":                   {step(id, 3, 2, "validating", "pending")},
			"a predecessor further back":          {step(id, 2, 0, "created", "validating")},
			"no predecessor":                      {step(id, 2, nil, nil, "created")},
			"no state before":                     {step(id, 2, 1, nil, "pending")},
			"a predecessor without a number":      {step(id, 2, nil, "validating", "pending")},
			"a negative number":                   {step(id, -1, -2, "validating", "pending")},
			"a final state left":                  {step(ended, 4, 3, "done", "rejected")},
			"a history that begins elsewhere":     {step(999, 0, nil, nil, "pending")},
			"a history of another domain":         {{appendStep, []any{id, 2, int64(s.other), 1, "validating", "pending"}}},
			"a transition rewritten":              {{`UPDATE payment_transition SET to_state = 'rejected' WHERE payment_id = $1 AND seq = 1`, []any{id}}},
			"an actor rewritten":                  {{`UPDATE payment_transition SET actor = 'nobody' WHERE payment_id = $1`, []any{ended}}},
			"a transition removed":                {{`DELETE FROM payment_transition WHERE payment_id = $1 AND seq = 1`, []any{id}}},
			"the beginning removed":               {{`DELETE FROM payment_transition WHERE payment_id = $1 AND seq = 0`, []any{id}}},
			"a used edge removed":                 {{`DELETE FROM payment_edge WHERE from_state = 'created' AND to_state = 'validating'`, nil}},
			"a state without its transition":      {{stand, []any{2, "pending", id}}},
			"another state of the same number":    {{stand, []any{1, "pending", id}}},
			"a state by itself":                   {{`UPDATE payment SET state = 'pending', version = version + 1 WHERE id = $1`, []any{id}}},
			"a step back":                         {{stand, []any{0, "created", id}}},
			"a step back out of a final state":    {{stand, []any{2, "pending", ended}}},
			"a transition, and another state":     {step(id, 2, 1, "validating", "pending"), {stand, []any{2, "done", id}}},
			"a step without a version":            {step(id, 2, 1, "validating", "pending"), {`UPDATE payment SET seq = 2, state = 'pending' WHERE id = $1`, []any{id}}},
			"a version left out":                  {{`UPDATE payment SET version = version + 2 WHERE id = $1`, []any{id}}},
			"a version back":                      {{`UPDATE payment SET version = version - 1 WHERE id = $1`, []any{id}}},
			"another payment's history":           {{`UPDATE payment SET seq = 3, state = 'done', version = version + 1 WHERE id = $1`, []any{id}}},
			"rejected without a code":             {step(id, 2, 1, "validating", "rejected"), {stand, []any{2, "rejected", id}}},
			"a code without rejection":            {{`UPDATE payment SET error_code = 'bug', version = version + 1 WHERE id = $1`, []any{id}}},
			"an action in a final state":          {{`UPDATE payment SET action = 'redirect', version = version + 1 WHERE id = $1`, []any{ended}}},
			"a check of a final state":            {{`UPDATE payment SET next_check = 1 WHERE id = $1`, []any{ended}}},
			"a cancellation of an ended payment":  {{`UPDATE payment SET state_detail = 'cancelling' WHERE id = $1`, []any{ended}}},
			"a detail that does not exist":        {{`UPDATE payment SET state_detail = 'thinking' WHERE id = $1`, []any{id}}},
			"a payment without a history":         {{`UPDATE payment SET id = 999 WHERE id = $1`, []any{id}}},
			"a payment moved to another domain":   {{`UPDATE payment SET domain_id = $1 WHERE id = $2`, []any{int64(s.other), id}}},
			"a client of another domain":          {{`UPDATE payment SET client_id = $1 WHERE id = $2`, []any{int64(s.alien), id}}},
			"a line moved to another domain":      {{`UPDATE instruction SET domain_id = $1 WHERE payment_id = $2`, []any{int64(s.other), id}}},
			"a line in a state that is not known": {{`UPDATE instruction SET state = 'lost' WHERE payment_id = $1`, []any{id}}},
			"an amount of zero":                   {{`UPDATE instruction SET amount = 0 WHERE payment_id = $1`, []any{id}}},
			"a payment removed":                   {{`DELETE FROM payment WHERE id = $1`, []any{id}}},
		} {
			t.Run(name, func(t *testing.T) {
				err := s.try(func(tx *store.Tx) error {
					for _, s := range unit {
						tx.Unit().Exec(s.text, s.args...)
					}
					return nil
				})
				wantError(t, err, store.ErrConstraint)
			})
		}
		wantError(t, s.sql(appendStep, id, 1, domain, 0, "created", "validating"), store.ErrDuplicate)
		wantSame(t, open, s.load(open), nil)
		wantSame(t, done, s.load(done), nil)
	})
}

// TestLegalStepByHand executes a legal step with the statements of TestIllegalHistoryIsRefused. The
// step must succeed, so the refusals in that test are not caused by the direct use of SQL.
func TestLegalStepByHand(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		s.write(func(tx *store.Tx) error {
			tx.Unit().ExecOne(store.ErrConflict, appendStep, int64(p.ID), 1, int64(s.domain), 0, "created", "expired")
			tx.Unit().ExecOne(store.ErrConflict, stand, 1, "expired", int64(p.ID))
			return nil
		})
		if got := s.load(p); got.State != payment.Expired {
			t.Errorf("the payment is %s", got.State)
		}
	})
}
