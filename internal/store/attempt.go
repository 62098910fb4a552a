package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/keys"
)

// Attempt is the record, made before a bank is called, that one order is about
// to be sent. Its key is the order's name at the bank.
type Attempt struct {
	ID        int64
	Payment   passerelle.PaymentID
	Domain    passerelle.DomainID
	Key       string
	Connector string
	Mechanism string
	// State is open while the call may be under way, answered once the bank's
	// answer is stored, unknown when only asking the bank can tell.
	State string
	// Fields are the payment field values, sealed in the database.
	Fields  map[string]string
	Created time.Time
	// Asked counts how often the bank was asked about it since.
	Asked int64
}

// The states of an attempt.
const (
	AttemptOpen     = "open"
	AttemptAnswered = "answered"
	AttemptUnknown  = "unknown"
)

const attemptColumns = `id, payment_id, domain_id, key, connector_uuid, mechanism, state, fields, created, asked`

func (r *Reader) scanAttempt(row scanner) (Attempt, error) {
	var (
		a       Attempt
		sealed  []byte
		created int64
	)
	if err := row.Scan(&a.ID, &a.Payment, &a.Domain, &a.Key, &a.Connector, &a.Mechanism, &a.State, &sealed, &created, &a.Asked); err != nil {
		return a, err
	}
	a.Created = instant(created)
	plain, err := r.keys.Open(attemptPlace(a.Domain, a.ID), sealed)
	if err != nil {
		return a, fmt.Errorf("open the fields of attempt %d: %w", a.ID, err)
	}
	err = json.Unmarshal(plain, &a.Fields)
	return a, err
}

func attemptPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "attempt", Column: "fields", Row: id}
}

// Attempt loads the attempt of a payment, or ErrNotFound.
func (r *Reader) Attempt(ctx context.Context, domain passerelle.DomainID, payment passerelle.PaymentID) (Attempt, error) {
	return one(ctx, r, r.scanAttempt, `SELECT `+attemptColumns+` FROM attempt WHERE domain_id = $1 AND payment_id = $2`,
		int64(domain), int64(payment))
}

// OpenAttempt records an order that is about to be sent, under a lease. A
// payment has one attempt in its life: a second is ErrDuplicate.
func (tx *Tx) OpenAttempt(a *Attempt, lease time.Duration) error {
	id, err := tx.newID("attempt")
	if err != nil {
		return err
	}
	a.ID, a.State = id, AttemptOpen
	plain, err := json.Marshal(a.Fields)
	if err != nil {
		return fmt.Errorf("encode the fields of an attempt: %w", err)
	}
	sealed, err := tx.keys.Seal(attemptPlace(a.Domain, id), plain)
	if err != nil {
		return fmt.Errorf("seal the fields of an attempt: %w", err)
	}
	tx.execOne(ErrConflict, `INSERT INTO attempt (id, payment_id, domain_id, key, connector_uuid, mechanism, state, fields, created, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $8, {now} + $9)`,
		id, int64(a.Payment), int64(a.Domain), a.Key, a.Connector, a.Mechanism, sealed, micros(a.Created), lease.Microseconds())
	return nil
}

// AnswerAttempt closes an attempt whose outcome is stored in the same
// transaction. One already answered is ErrConflict.
func (tx *Tx) AnswerAttempt(a Attempt) {
	tx.execOne(ErrConflict, `UPDATE attempt SET state = 'answered' WHERE domain_id = $1 AND id = $2 AND state <> 'answered'`, int64(a.Domain), a.ID)
}

// DoubtAttempt records that the outcome is unknown and when the bank is to be
// asked next, counted from the database's clock.
func (tx *Tx) DoubtAttempt(a Attempt, wait time.Duration) {
	tx.execOne(ErrConflict, `UPDATE attempt SET state = 'unknown', lease_until = {now} + $1 WHERE domain_id = $2 AND id = $3 AND state <> 'answered'`,
		wait.Microseconds(), int64(a.Domain), a.ID)
}

// ClaimAttempts takes over at most limit attempts of a domain whose lease has
// lapsed, for the length of a new lease.
func (tx *Tx) ClaimAttempts(domain passerelle.DomainID, lease time.Duration, limit int, into *[]int64) {
	tx.claim(into, `WITH due AS MATERIALIZED (
			SELECT id FROM attempt WHERE domain_id = $1 AND state <> 'answered' AND lease_until < {now}
			ORDER BY lease_until LIMIT $2 {skip locked})
		UPDATE attempt SET lease_until = {now} + $3, asked = asked + 1
		WHERE id IN (SELECT id FROM due) AND state <> 'answered' AND lease_until < {now}
		RETURNING payment_id`, int64(domain), limit, lease.Microseconds())
}

// claim runs a statement that leases rows and returns their ids.
func (tx *Tx) claim(into *[]int64, sql string, args ...any) {
	tx.onRetry(func() { *into = nil })
	tx.query(func(row scanner) error {
		var id int64
		if err := row.Scan(&id); err != nil {
			return err
		}
		*into = append(*into, id)
		return nil
	}, sql, args...)
}

// GiveFields keeps the payment field values that came before the payer
// validated, in place of earlier ones.
func (tx *Tx) GiveFields(domain passerelle.DomainID, payment passerelle.PaymentID, fields map[string]string) error {
	plain, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode payment fields: %w", err)
	}
	sealed, err := tx.keys.Seal(givenPlace(domain, payment), plain)
	if err != nil {
		return fmt.Errorf("seal payment fields: %w", err)
	}
	tx.execOne(ErrNotFound, `INSERT INTO payment_given (payment_id, domain_id, fields) VALUES ($1, $2, $3)
		ON CONFLICT (payment_id) DO UPDATE SET fields = excluded.fields WHERE payment_given.domain_id = excluded.domain_id`,
		int64(payment), int64(domain), sealed)
	return nil
}

// GivenFields loads the values that GiveFields kept; none is an empty map.
func (r *Reader) GivenFields(ctx context.Context, domain passerelle.DomainID, payment passerelle.PaymentID) (map[string]string, error) {
	sealed, err := one(ctx, r, func(row scanner) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT fields FROM payment_given WHERE domain_id = $1 AND payment_id = $2`, int64(domain), int64(payment))
	if errors.Is(err, ErrNotFound) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	plain, err := r.keys.Open(givenPlace(domain, payment), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the fields of payment %d: %w", payment, err)
	}
	var fields map[string]string
	err = json.Unmarshal(plain, &fields)
	return fields, err
}

func givenPlace(domain passerelle.DomainID, payment passerelle.PaymentID) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment_given", Column: "fields", Row: int64(payment)}
}
