package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Invariant is a condition that must hold for every database at every moment, under any load and
// after any fault. The schema prevents most violations. Incomplete copies, faulty disks and manual
// changes can cause the others.
type Invariant struct {
	// Name is a short name, and Rule states the condition.
	Name, Rule string
	// broken selects the violations of the rule in domain $1. Each row is one text.
	broken string
	// recent is set when the rule applies only to rows from the instant $2 on, because older rows
	// may have been removed.
	recent bool
}

// maxBroken limits the number of reported violations of a rule, because one violation is already a
// reason to act.
const maxBroken = 20

// Requests must not execute these queries, because a query may read whole tables.
var invariants = []Invariant{
	{
		Name: "edges", Rule: "each step of a payment's history is an edge of the state table, from where the step before it led",
		broken: `SELECT 'payment ' || t.payment_id || ' at step ' || t.seq FROM payment_transition t
			LEFT JOIN payment_edge e ON e.from_state = t.from_state AND e.to_state = t.to_state
			LEFT JOIN payment_transition b ON b.payment_id = t.payment_id AND b.seq = t.seq - 1
			WHERE t.domain_id = $1 AND NOT CASE WHEN t.seq = 0 THEN t.to_state = 'created'
				ELSE e.to_state IS NOT NULL AND b.to_state IS NOT NULL AND b.to_state = t.from_state END`,
	},
	{
		Name: "state", Rule: "a payment is where the last step of its history led, and the steps are numbered without a gap",
		broken: `SELECT 'payment ' || p.id FROM payment p
			LEFT JOIN (SELECT payment_id, MAX(seq) AS last, COUNT(*) AS steps FROM payment_transition WHERE domain_id = $1 GROUP BY payment_id) h ON h.payment_id = p.id
			LEFT JOIN payment_transition t ON t.payment_id = p.id AND t.seq = h.last
			WHERE p.domain_id = $1 AND NOT COALESCE(p.seq = h.last AND h.steps = h.last + 1 AND t.to_state = p.state, FALSE)`,
	},
	{
		Name: "owners", Rule: "each history belongs to a payment",
		broken: `SELECT DISTINCT 'payment ' || t.payment_id FROM payment_transition t
			LEFT JOIN payment p ON p.id = t.payment_id AND p.domain_id = t.domain_id WHERE t.domain_id = $1 AND p.id IS NULL`,
	},
	{
		Name: "step events", Rule: "each step after the first has its event", recent: true,
		broken: `SELECT 'payment ' || t.payment_id || ' at step ' || t.seq FROM payment_transition t
			LEFT JOIN event e ON e.domain_id = t.domain_id AND e.subject = 'payment' AND e.subject_id = t.payment_id AND e.version = t.seq
			WHERE t.domain_id = $1 AND t.seq > 0 AND t.at >= $2 AND e.id IS NULL`,
	},
	{
		Name: "event steps", Rule: "each event of a payment belongs to one step of its history",
		broken: `SELECT 'event ' || e.id FROM event e
			LEFT JOIN payment_transition t ON t.payment_id = e.subject_id AND t.seq = e.version AND t.domain_id = e.domain_id
			WHERE e.domain_id = $1 AND e.subject = 'payment' AND (t.payment_id IS NULL OR t.seq = 0)`,
	},
	{
		Name: "deliveries", Rule: "a delivery is of an event of its own domain, and is not given up once it was delivered",
		broken: `SELECT 'delivery ' || d.id FROM delivery d LEFT JOIN event e ON e.id = d.event_id
			WHERE d.domain_id = $1 AND (e.id IS NULL OR e.domain_id <> d.domain_id OR e.version <> d.version OR d.dropped > d.delivered)`,
	},
	{
		Name: "order", Rule: "the events of a payment are delivered to a webhook in order",
		// The plus keeps SQLite from reading all pending deliveries of the webhook for each payment.
		broken: `SELECT 'delivery ' || d.id FROM delivery d
			JOIN (SELECT webhook_id, subject_id, MAX(version) AS version FROM delivery
				WHERE domain_id = $1 AND subject = 'payment' AND delivered IS NOT NULL GROUP BY webhook_id, subject_id) heard
			ON heard.webhook_id = +d.webhook_id AND heard.subject_id = d.subject_id AND heard.version > d.version
			WHERE d.domain_id = $1 AND d.subject = 'payment' AND d.delivered IS NULL AND d.dropped IS NULL`,
	},
	{
		Name: "sums", Rule: "a payment's amount and number of lines are those of its lines",
		broken: `SELECT 'payment ' || p.id FROM payment p
			LEFT JOIN (SELECT payment_id, SUM(amount) AS amount, COUNT(*) AS lines FROM instruction WHERE domain_id = $1 GROUP BY payment_id) i ON i.payment_id = p.id
			WHERE p.domain_id = $1 AND NOT COALESCE(p.amount = i.amount AND p.instruction_count = i.lines, FALSE)`,
	},
	{
		Name: "roll-up", Rule: "the state of a payment that ended follows from those of its lines (interface, PaymentState)",
		broken: `SELECT 'payment ' || p.id FROM payment p
			JOIN (SELECT payment_id, COUNT(*) AS lines, SUM(CASE WHEN state = 'rejected' THEN 1 ELSE 0 END) AS rejected,
				SUM(CASE WHEN state = 'done' THEN 1 ELSE 0 END) AS done, SUM(CASE WHEN state = 'accepted' THEN 1 ELSE 0 END) AS accepted
				FROM instruction WHERE domain_id = $1 GROUP BY payment_id) i ON i.payment_id = p.id
			WHERE p.domain_id = $1 AND NOT CASE p.state WHEN 'done' THEN i.done = i.lines WHEN 'rejected' THEN i.rejected = i.lines
				WHEN 'accepted' THEN i.accepted > 0 AND i.done + i.accepted = i.lines
				WHEN 'partial' THEN i.rejected > 0 AND i.rejected < i.lines AND i.rejected + i.done + i.accepted = i.lines ELSE TRUE END`,
	},
	{
		Name: "intent", Rule: "an order was stored before its bank call, except for simulated payments of sandboxes",
		broken: `SELECT 'payment ' || t.payment_id FROM payment_transition t
			WHERE t.domain_id = $1 AND t.to_state = 'validating' AND t.bank_status <> 'simulated'
			AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.payment_id = t.payment_id AND a.kind = 'initiation')`,
	},
	{
		Name: "attempts", Rule: "a payment about which a bank was asked has a connector",
		broken: `SELECT DISTINCT 'payment ' || a.payment_id FROM attempt a JOIN payment p ON p.id = a.payment_id
			WHERE a.domain_id = $1 AND p.connector_uuid IS NULL`,
	},
	{
		Name: "submissions", Rule: "no simulated bank was given an order twice, by its own count",
		broken: `SELECT 'order ' || o.key FROM sandbox_order o WHERE o.domain_id = $1 AND o.submissions <> 1`,
	},
	{
		Name: "waiting", Rule: "a payment that ended waits for no bank call, expiry or action",
		broken: `SELECT 'payment ' || p.id FROM payment p WHERE p.domain_id = $1
			AND p.state NOT IN ('created', 'validating', 'pending') AND (p.next_check IS NOT NULL OR p.expires_from IS NOT NULL OR p.action IS NOT NULL)`,
	},
	{
		Name: "chain", Rule: "each act in the audit log has a place, without a gap up to the last, and the hash of the act before",
		broken: `SELECT 'act ' || a.number FROM audit a
			LEFT JOIN audit b ON COALESCE(b.domain_id, 0) = $1 AND b.number = a.number - 1
			WHERE COALESCE(a.domain_id, 0) = $1 AND a.number > 1 AND (b.hash IS NULL OR a.previous <> b.hash)
			UNION ALL SELECT 'the end, ' || e.number FROM audit_end e
			LEFT JOIN (SELECT MAX(number) AS last, COUNT(*) AS acts FROM audit WHERE COALESCE(domain_id, 0) = $1 AND number IS NOT NULL) l ON TRUE
			LEFT JOIN audit a ON COALESCE(a.domain_id, 0) = $1 AND a.number = e.number
			WHERE e.chain = $1 AND NOT COALESCE(l.last = e.number AND l.acts = e.number AND a.hash = e.hash, FALSE)`,
	},
}

// Invariants lists the invariants in the order in which CheckInvariants checks them.
func Invariants() []Invariant { return slices.Clone(invariants) }

// Breach contains an invariant that does not hold in a domain, and the first violations. The
// violations identify rows without personal data.
type Breach struct {
	Invariant Invariant
	Domain    passerelle.DomainID
	What      []string
}

// CheckInvariants checks all invariants of a domain. It checks each rule with a separate query. A
// common snapshot is not needed, because each rule holds at every moment. The time is proportional
// to the size of the data. A rule whose field `recent` is set applies only from the instant `since`
// on, because older events may have been removed.
func (r *Reader) CheckInvariants(ctx context.Context, domain passerelle.DomainID, since time.Time) ([]Breach, error) {
	var breaches []Breach
	for _, invariant := range invariants {
		args := []any{int64(domain)}
		if invariant.recent {
			args = append(args, database.Micros(since))
		}
		var what []string
		err := r.rows.EachWhole(ctx, invariant.broken+fmt.Sprintf(" ORDER BY 1 LIMIT %d", maxBroken), args, func(row database.Row) (bool, error) {
			one, err := database.ScanString(row)
			what = append(what, one)
			return true, err
		})
		if err != nil {
			return nil, fmt.Errorf("check the invariant %q of domain %d: %w", invariant.Name, domain, err)
		}
		if len(what) > 0 {
			breaches = append(breaches, Breach{Invariant: invariant, Domain: domain, What: what})
		}
	}
	return breaches, nil
}

const sequencesBehind = `SELECT s.name FROM sequence s WHERE s.name = $1 AND s.next + $2 <= (SELECT COALESCE(MAX(id), 0) FROM `

// idsAfter maps a sequence to the difference between its numbers and the ids in its table. Other
// sequences have no difference.
var idsAfter = map[string]int64{"category": int64(passerelle.FirstOwnCategory) - 1}

// numberedByDatabase has the tables whose ids the database assigns. A restore adds an unused row
// for each of them to the table of sequences.
var numberedByDatabase = map[string]bool{"delivery": true, "setting_change": true, "withdrawal": true}

// SequencesBehind lists the sequences whose next id is not above all ids in their table. A faulty
// restore can cause this.
func (r *Reader) SequencesBehind(ctx context.Context) ([]string, error) {
	all, err := database.Collect(ctx, r.rows, database.ScanString, `SELECT name FROM sequence ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list the sequences: %w", err)
	}
	var behind []string
	for _, name := range all {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			return nil, fmt.Errorf("%q is not the name of a sequence of this program", name)
		}
		if numberedByDatabase[name] {
			continue
		}
		late, err := database.Collect(ctx, r.rows, database.ScanString, sequencesBehind+name+`)`, name, idsAfter[name])
		if err != nil {
			return nil, fmt.Errorf("compare the sequence %s with its table: %w", name, err)
		}
		behind = append(behind, late...)
	}
	return behind, nil
}
