package store_test

import (
	"testing"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store/storetest"
)

// TestMigrationSetsStatesOfInstructions migrates instructions without a state.
func TestMigrationSetsStatesOfInstructions(t *testing.T) {
	const before = 34
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		run, renew := outdated(t, url, before, keys.Generate())
		run(`INSERT INTO domain (id, name, kind, base_url, host, created) VALUES (1, 'first', 'sandbox', 'https://first.example/2.0', 'first.example', 0)`)
		run(`INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created) VALUES (1, 1, 'shop', $1, '[]', 0)`, []byte{1})
		lines := []struct {
			state     string
			validated *int64
			line      *string
			want      string
		}{
			{"created", nil, nil, "/"},
			{"validating", new(int64(5)), nil, "pending/"},
			{"pending", new(int64(5)), new("pending"), "pending/"},
			{"expired", nil, nil, "/"},
			{"expired", new(int64(5)), nil, "rejected/noAnswerFromCustomer"},
			{"expired", new(int64(5)), new("pending"), "pending/"},
			{"done", new(int64(5)), new("done"), "done/"},
		}
		for i, l := range lines {
			id := int64(i + 1)
			run(`INSERT INTO payment_transition (payment_id, seq, domain_id, to_state, cause, actor, bank_status, at) VALUES ($1, 0, 1, 'created', '', 'client', '', 0)`, id)
			path := map[string][]string{"validating": {"validating"}, "pending": {"validating", "pending"}, "done": {"validating", "pending", "done"}, "expired": {"expired"}}[l.state]
			if l.state == "expired" && l.validated != nil {
				path = []string{"validating", "expired"}
			}
			from, seq := "created", int64(len(path))
			for n, to := range path {
				run(`INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at)
					VALUES ($1, $2, 1, $3, $4, $5, 'x', 'bank', '', 0)`, id, int64(n+1), int64(n), from, to)
				from = to
			}
			run(`INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, client_redirect_uri, client_state, currency, amount, instruction_count, date_type, validated)
				VALUES ($1, 1, 1, 1, $2, $3, 0, 'https://client.example/', '', 'EUR', 100, 1, 'instant', $4)`, id, seq, l.state, l.validated)
			run(`INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, beneficiary_scheme, beneficiary_identification, beneficiary_label,
				registered, new_beneficiary, new_reference, label_folded, state) VALUES ($1, $1, 0, 1, 'R', 100, 'l', 'iban', 'N', 'B', 0, TRUE, TRUE, 'l', $2)`, id, l.line)
		}
		db := renew()
		got, err := database.Collect(t.Context(), db.Rows(), database.ScanString, `SELECT COALESCE(state, '') || '/' || COALESCE(error_code, '') FROM instruction ORDER BY payment_id`)
		if err != nil || len(got) != len(lines) {
			t.Fatalf("%v, %v", got, err)
		}
		for i, l := range lines {
			if got[i] != l.want {
				t.Errorf("the line of a payment that was %s, validated %v, is %q, want %q", l.state, l.validated != nil, got[i], l.want)
			}
		}
	})
}
