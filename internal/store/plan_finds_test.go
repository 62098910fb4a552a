package store_test

import (
	"slices"
	"strings"
	"testing"

	"passerelle/internal/store/storetest"
)

// TestTheCheckOfPlansFinds plans statements like those that earlier versions of the program
// executed. Their cost grows with a table. TestEveryStatement would report each of them.
func TestTheCheckOfPlansFinds(t *testing.T) {
	const both, sqlite, postgres = "", "sqlite", "postgres"
	cases := []struct {
		name, on  string
		before    string
		empty     bool
		statement string
	}{
		{name: "the lines of a payment", on: sqlite, statement: `UPDATE instruction SET state = $1 WHERE domain_id = $2 AND payment_id = $3`},
		{name: "the lines of a page", on: both, statement: `SELECT id FROM instruction WHERE domain_id = $1 AND payment_id IN ($2, $3, $4) ORDER BY payment_id, position`},
		{name: "payments by label, joined by domain alone", on: both, statement: `SELECT count(*) FROM (SELECT payment_id AS line_payment FROM instruction WHERE domain_id = $1 AND label_folded >= $2 AND label_folded < $3) AS line
			JOIN payment ON payment.id + 0 = line_payment WHERE domain_id = $1`},
		{
			name: "a reference to a payment of a young database", on: postgres, empty: true,
			before: `CREATE INDEX payment_newest ON payment (domain_id, client_id, id)`, statement: `SELECT 1 FROM payment x WHERE x.domain_id = $1 AND x.id = $2 FOR KEY SHARE OF x`,
		},
		{name: "what waits for the payer's return", on: sqlite, statement: `UPDATE delivery SET dropped = $1 WHERE domain_id = $2 AND subject = $3 AND subject_id = $4 AND version <= $5 AND delivered IS NULL AND dropped IS NULL AND not_before > $1`},
		{name: "retention", on: sqlite, statement: `DELETE FROM event WHERE domain_id = $1 AND id IN ($2` + strings.Repeat(`, $2`, 99) + `)`},
		{
			name: "earlier deliveries for each delivery", on: postgres, before: `DROP INDEX delivery_order`,
			statement: `SELECT d.id FROM delivery d WHERE d.domain_id = $1 AND d.webhook_id = $2 AND d.id > $3 AND (SELECT p.id FROM delivery p
				WHERE p.webhook_id = d.webhook_id AND p.delivered IS NULL AND p.dropped IS NULL AND p.subject = d.subject AND p.subject_id = d.subject_id AND p.version < d.version
				ORDER BY p.version LIMIT 1) IS NULL ORDER BY d.id LIMIT 64`,
		},
		{
			name: "pending deliveries of a webhook by the expressions of delivery_earlier", on: postgres,
			statement: `SELECT (SELECT n.id FROM event e CROSS JOIN delivery n WHERE e.domain_id = x.domain_id AND e.version > x.version AND n.event_id = e.id
				AND n.webhook_id + 0 = x.webhook_id AND COALESCE(n.dropped, n.delivered) IS NULL ORDER BY e.version LIMIT 1) FROM delivery x WHERE x.id IN ($1, $2)`,
		},
		{name: "the keys of a user", on: sqlite, statement: `SELECT i.id FROM token t JOIN idempotency i ON i.domain_id = t.domain_id AND i.token_id = t.id WHERE t.domain_id = $1 AND t.user_id = $2`},
	}
	storetest.EachEmpty(t, func(t *testing.T, address string) {
		s := newFixture(t, address)
		p := newPlanned(t, address)
		for _, filled := range []bool{false, true} {
			if filled {
				askEverything(t, s) // creates the rows that the other statements refer to
				s.crowdEvery(p)
				p.forgetStatistics()
			}
			for _, c := range cases {
				if c.on != both && c.on != p.words.Name || c.empty == filled {
					continue
				}
				if c.before != "" {
					p.do(c.before)
				}
				if steps := p.steps(c.statement); !slices.ContainsFunc(steps, step.grows) {
					t.Errorf("%s: nothing grows in %+v", c.name, steps)
				}
			}
		}
	})
}
