package store

import (
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// Due is a payment that a loop handles. Connector is the UUID of the payment's connector.
type Due struct {
	Payment   passerelle.PaymentID
	Connector string
}

// dueOf adds a statement that returns payments and their connectors.
func (tx *Tx) dueOf(into *[]Due, sql string, args ...any) {
	tx.unit.OnRetry(func() { *into = nil })
	tx.unit.Returning(func(row database.Row) error {
		var id int64
		var connector *string
		err := row.Scan(&id, &connector)
		if err == nil {
			*into = append(*into, Due{passerelle.PaymentID(id), database.Text[string](connector)})
		}
		return err
	}, sql, args...)
}

// DuePayments leases a domain's payments whose check is due at the instant `now`, in the domain's
// time. It leases at most limit payments. It leaves out payments with an unanswered attempt,
// because the recovery of attempts handles them. It also leaves out payments of the connectors in
// `except`. A scalar subquery looks up the unanswered attempt of each payment. The index
// attempt_live allows only one unanswered attempt for a payment. NOT EXISTS would be slow while an
// unreachable bank leaves many unanswered attempts: with old statistics, PostgreSQL compares each
// payment with all of them.
func (tx *Tx) DuePayments(domain passerelle.DomainID, now time.Time, lease time.Duration, limit int, except []string, into *[]Due) {
	others, args := database.Without(except, "connector_uuid", []any{int64(domain), database.Micros(now), lease.Microseconds()})
	tx.dueOf(into, `WITH due AS MATERIALIZED (
			SELECT id FROM payment WHERE domain_id = $1 AND next_check <= $2 AND check_lease < {now}
				AND (SELECT a.id FROM attempt a WHERE a.payment_id = payment.id AND a.state <> 'answered') IS NULL`+others+`
			ORDER BY next_check`+database.UpTo(limit)+` {skip locked})
		UPDATE payment SET check_lease = {now} + $3
		WHERE id IN (SELECT id FROM due) AND next_check <= $2 AND check_lease < {now}
		RETURNING id, connector_uuid`, args...)
}

// ExpiringPayments leases a domain's payments that have waited for a definitive status at least
// since the instant `before`. It leases at most limit payments. It leaves out payments with an open
// attempt. It also leaves out payments whose check is due at the instant `now`, because the bank
// may already know the outcome, for example after an outage of the service. It includes payments
// with an unknown outcome, because the service does not check these payments.
func (tx *Tx) ExpiringPayments(domain passerelle.DomainID, before, now time.Time, lease time.Duration, limit int, into *[]int64) {
	tx.unit.ReturningIDs(into, `WITH due AS MATERIALIZED (
			SELECT id FROM payment WHERE domain_id = $1 AND expires_from <= $2 AND check_lease < {now}
				AND (SELECT a.id FROM attempt a WHERE a.payment_id = payment.id AND a.state = 'open') IS NULL
				AND (next_check IS NULL OR next_check > $4 OR (SELECT a.id FROM attempt a WHERE a.payment_id = payment.id AND a.state <> 'answered') IS NOT NULL)
			ORDER BY expires_from`+database.UpTo(limit)+` {skip locked})
		UPDATE payment SET check_lease = {now} + $3
		WHERE id IN (SELECT id FROM due) AND expires_from <= $2 AND check_lease < {now}
		RETURNING id`, int64(domain), database.Micros(before), lease.Microseconds(), database.Micros(now))
}

// HastenCheck makes the planned check of a payment due now, unless the check is due earlier. If the
// outcome of an attempt is unknown, HastenCheck also makes the next call about this attempt due
// now, unless the lease of the attempt ends within AttemptLease. HastenCheck also increases
// bank_reports. When a bank call that is under way ends, HastenIfReported or
// HastenAttemptIfReported notices the new number. HastenCheck always updates the rows. It therefore
// waits for a transaction that plans the next check or call, and replaces that plan.
func (tx *Tx) HastenCheck(domain passerelle.DomainID, id passerelle.PaymentID, now time.Time) {
	tx.unit.Exec(`UPDATE payment SET bank_reports = bank_reports + 1, next_check = CASE WHEN next_check > $1 THEN $1 ELSE next_check END
		WHERE +domain_id = $2 AND id = $3`, database.Micros(now), int64(domain), int64(id))
	tx.unit.Exec(`UPDATE attempt SET lease_until = `+hastened+` WHERE +domain_id = $1 AND payment_id = $2 AND state <> 'answered'`, int64(domain), int64(id))
}

// HastenIfReported makes the check of a payment due now if the bank has reported, or sent the payer
// back, since the attempt was loaded. HastenIfReported must come after the statement that plans the
// next check.
func (tx *Tx) HastenIfReported(a Attempt, now time.Time) {
	tx.unit.Exec(`UPDATE payment SET next_check = $1 WHERE +domain_id = $2 AND id = $3 AND bank_reports > $4 AND next_check > $1`,
		database.Micros(now), int64(a.Domain), int64(a.Payment), a.Reported)
}

// PostponeCheck sets the time of the next call to the bank, after a response that changed nothing.
func (tx *Tx) PostponeCheck(p *payment.Payment, next time.Time) {
	tx.unit.Exec(`UPDATE payment SET next_check = $1, check_lease = 0 WHERE +domain_id = $2 AND id = $3 AND version = $4`,
		database.Micros(next), int64(p.Domain), int64(p.ID), p.Version)
}
