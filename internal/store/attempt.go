package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/tracing"
	"passerelle/payment"
)

// Attempt is the record of a bank call that must not be made twice. It is stored before the call.
// The first attempt of a payment sends the order. Later attempts send answers and cancellations to
// the bank, one at a time.
type Attempt struct {
	ID      int64
	Payment passerelle.PaymentID
	Domain  passerelle.DomainID
	// Number counts the attempts of a payment from 1.
	Number int64
	Kind   AttemptKind
	// State is open while the call may be under way, and answered once the outcome is stored. It is
	// unknown when the service must ask the bank for the outcome.
	State   string
	Created time.Time
	// Inquiries counts how often ClaimAttempts took over the attempt. A process whose copy has a
	// lower count has lost the lease of the attempt.
	Inquiries int64

	// AttemptOrder is the order of the payment. All attempts of a payment have the order of the
	// first attempt.
	AttemptOrder
	// Action is the bank's question, Agreed is the answer, and By is the actor who answered or asked
	// for a cancellation. An answer about a requested cancellation also has the kind of cancellations:
	// "no" has the question as Action, and "yes" has only Agreed.
	Action payment.Action
	Agreed bool
	By     payment.Actor
	// Abandoned is the time at which the payer first refused the psuValidation since the last
	// agreement. It is zero without such a refusal. An answer to decoupled is no agreement, because
	// pages and clients also send it without the payer. An agreement that certainly had no effect at
	// the bank does not count either, because the caller learns that it failed.
	Abandoned time.Time
	// Unsent means that the attempt had no effect at the bank. See CloseUnsent.
	Unsent bool
	// Trace is the trace in which the order was sent, as [tracing.Parent] returns it. Trace is
	// empty if the order was sent without a trace.
	Trace string
}

// AttemptOrder contains the stored data about an order at a bank.
type AttemptOrder struct {
	// Key identifies the order at the bank.
	Key       string
	Connector string
	Mechanism string
	// Waits tells the bank to execute the order only after the client's confirmation.
	Waits bool
	// Fields are the values of the connector's payment fields, sealed in the database.
	Fields map[string]string
	// Memory is the connector's data about the order, encrypted like the fields.
	Memory []byte
	// Device is the payer's device at validation, encoded by the use case and stored encrypted. It
	// is nil when no payer took part, and after the payment has left the state created.
	Device []byte
	// Callback is the query with which the bank sent the payer back, encrypted like the fields. The
	// store keeps the query until a call has passed it to the bank, or the payment ends.
	Callback []byte
	// Reported is how often HastenCheck had been called for the payment when the attempt was
	// loaded.
	Reported int64
	// sealedCallback is the stored form of Callback.
	sealedCallback []byte
	// OrderID is the id of the attempt that sends the order.
	OrderID int64
}

// AttemptKind is the purpose of an attempt.
type AttemptKind string

// These are the kinds of attempts.
const (
	AttemptInitiation   AttemptKind = "initiation"
	AttemptAnswer       AttemptKind = "answer"
	AttemptCancellation AttemptKind = "cancellation"
)

// These are the states of an attempt.
const (
	AttemptOpen     = "open"
	AttemptAnswered = "answered"
	AttemptUnknown  = "unknown"
)

// Live reports whether the attempt still lacks a stored outcome.
func (a Attempt) Live() bool { return a.State == AttemptOpen || a.State == AttemptUnknown }

// ErrSealed reports that a sealed value cannot be decrypted: the value or its key is wrong or lost.
var ErrSealed = errors.New("a sealed value does not open")

func (r *Reader) scanAttempt(row database.Row) (Attempt, error) {
	var (
		a                                Attempt
		sealed, memory, device, callback []byte
		created                          int64
		abandoned                        *int64
		action, by, trace                *string
		agreed                           *bool
	)
	err := row.Scan(&a.ID, &a.Payment, &a.Domain, &a.Number, &a.Kind, &a.State, &created, &a.Inquiries, &action, &by, &agreed,
		&a.OrderID, &a.Key, &a.Connector, &a.Mechanism, &a.Waits, &sealed, &memory, &device, &callback, &a.Reported, &a.Unsent, &trace, &abandoned)
	if err != nil {
		return a, err
	}
	a.Created, a.Action, a.By = database.Instant(created), database.Text[payment.Action](action), database.Text[payment.Actor](by)
	a.Agreed, a.Trace = agreed != nil && *agreed, database.Text[string](trace)
	if abandoned != nil {
		a.Abandoned = database.Instant(*abandoned)
	}
	plain, err := r.keys.Open(attemptPlace(a.Domain, a.OrderID, "fields"), sealed)
	if err != nil {
		return a, fmt.Errorf("%w: the fields of attempt %d: %w", ErrSealed, a.OrderID, err)
	}
	place := func(column string) keys.Place { return attemptPlace(a.Domain, a.OrderID, column) }
	err = cmp.Or(r.openOptional(&a.Memory, place("memory"), memory), r.openOptional(&a.Device, place("device"), device), r.openOptional(&a.Callback, place("callback"), callback))
	if err != nil {
		return a, err
	}
	a.sealedCallback = callback
	err = json.Unmarshal(plain, &a.Fields)
	return a, err
}

// openOptional decrypts a sealed value. It does nothing if sealed is nil.
func (r *Reader) openOptional(into *[]byte, place keys.Place, sealed []byte) error {
	var err error
	if sealed == nil {
		return nil
	}
	if *into, err = r.keys.Open(place, sealed); err != nil {
		return fmt.Errorf("%w: the %s of attempt %d: %w", ErrSealed, place.Column, place.Row, err)
	}
	return nil
}

func attemptPlace(domain passerelle.DomainID, id int64, column string) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "attempt", Column: column, Row: id}
}

// Attempt loads the last attempt of a payment. It fails with ErrNotFound when the payment has no
// attempt. With ErrSealed, it returns the attempt without encrypted parts that cannot be read.
func (r *Reader) Attempt(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) (Attempt, error) {
	var last Attempt
	_, err := database.ByKey(ctx, r.rows, func(row database.Row) (struct{}, error) {
		var err error
		last, err = r.scanAttempt(row)
		return struct{}{}, err
	}, `SELECT a.id, a.payment_id, a.domain_id, a.number, a.kind, a.state, a.created, a.asked, a.action, a.actor, a.agreed,
			o.id, o.key, o.connector_uuid, o.mechanism, o.waits, o.fields, o.memory, o.device, o.callback, p.bank_reports, a.unsent, a.trace,
			(SELECT MIN(n.created) FROM attempt n WHERE n.payment_id = a.payment_id AND n.action = 'psuValidation' AND NOT n.agreed
				AND n.number > COALESCE((SELECT MAX(y.number) FROM attempt y WHERE y.payment_id = a.payment_id AND y.agreed AND NOT y.unsent AND y.action <> 'decoupled'), 0))
		FROM attempt a JOIN attempt o ON o.payment_id = a.payment_id AND o.number = 1 JOIN payment p ON p.id = a.payment_id
		WHERE +a.domain_id = $1 AND a.payment_id = $2 ORDER BY a.number DESC LIMIT 1`,
		int64(domain), int64(id))
	return last, err
}

// ApprovalAsked returns the time of the last attempt of a payment after which the bank could ask for
// an approval in its app. An answer to that question and the answer "no" are no such attempts.
// ApprovalAsked fails with ErrNotFound when there is no such attempt.
func (r *Reader) ApprovalAsked(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) (time.Time, error) {
	micros, err := database.ByKey(ctx, r.rows, database.ScanInt, `SELECT created FROM attempt
		WHERE +domain_id = $1 AND payment_id = $2 AND (action IS NULL OR action <> 'decoupled' AND agreed) ORDER BY number DESC LIMIT 1`, int64(domain), int64(id))
	return database.Instant(micros), err
}

// OrderAge returns how long ago the service began to send the order of an attempt. It uses the
// database's clock, which a sandbox cannot set. For an order without a recorded time, it returns
// the time since 1970.
func (r *Reader) OrderAge(ctx context.Context, of Attempt) (time.Duration, error) {
	micros, err := database.One(ctx, r.rows, database.ScanInt, `SELECT {now} - COALESCE(sent, 0) FROM attempt WHERE +domain_id = $1 AND id = $2`, int64(of.Domain), of.OrderID)
	return time.Duration(micros) * time.Microsecond, err
}

// UnknownOutcomes lists at most limit payments whose last bank call has an unknown outcome. It
// searches at most MaxOverviewRows unanswered attempts.
func (r *Reader) UnknownOutcomes(ctx context.Context, domain passerelle.DomainID, limit int) ([]passerelle.PaymentID, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (passerelle.PaymentID, error) {
		var id passerelle.PaymentID
		err := row.Scan(&id)
		return id, err
	}, `SELECT payment_id FROM (SELECT payment_id, state FROM attempt WHERE domain_id = $1 AND state <> 'answered' ORDER BY lease_until LIMIT $2) AS live
		WHERE state = 'unknown' LIMIT $3`, int64(domain), MaxOverviewRows, limit)
}

// CountUnknownOutcomes counts the payments that UnknownOutcomes finds without a limit.
func (r *Reader) CountUnknownOutcomes(ctx context.Context, domain passerelle.DomainID) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*)
		FROM (SELECT state FROM attempt WHERE domain_id = $1 AND state <> 'answered' ORDER BY lease_until LIMIT $2) AS place WHERE state = 'unknown'`,
		int64(domain), MaxOverviewRows)
}

// OpenAttempt records a bank call that is about to be made, and takes the lease of the attempt.
// Write fails with ErrDuplicate when the payment already has an attempt with a.Number or an
// unanswered attempt, or when another order has the same key.
func (tx *Tx) OpenAttempt(a *Attempt, lease time.Duration) error {
	id, err := tx.unit.NewID("attempt")
	if err != nil {
		return err
	}
	a.ID, a.State, a.Trace = id, AttemptOpen, cmp.Or(a.Trace, tracing.Parent(tx.ctx))
	if a.Kind == AttemptInitiation {
		a.OrderID = id
		return tx.openOrder(a, lease)
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO attempt (id, payment_id, domain_id, number, kind, action, actor, agreed, state, created, lease_until, trace)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, {now} + $10, $11)`,
		id, int64(a.Payment), int64(a.Domain), a.Number, string(a.Kind), database.OptionalText(a.Action), string(a.By), a.agreed(), database.Micros(a.Created), lease.Microseconds(), database.OptionalText(a.Trace))
	return nil
}

// agreed returns Agreed, or nil (stored as NULL) for a cancellation that is not the answer "yes".
func (a Attempt) agreed() *bool {
	if a.Kind != AttemptAnswer && !a.Agreed {
		return nil
	}
	return &a.Agreed
}

func (tx *Tx) openOrder(a *Attempt, lease time.Duration) error {
	sealed, err := tx.sealJSON(attemptPlace(a.Domain, a.ID, "fields"), a.Fields)
	if err != nil {
		return fmt.Errorf("seal the fields of an attempt: %w", err)
	}
	var device []byte
	if a.Device != nil {
		if device, err = tx.Seal(attemptPlace(a.Domain, a.ID, "device"), a.Device); err != nil {
			return fmt.Errorf("seal the device of a payer: %w", err)
		}
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO attempt (id, payment_id, domain_id, number, kind, key, connector_uuid, mechanism, waits, fields, device, state, created, lease_until, trace, sent)
		VALUES ($1, $2, $3, $4, 'initiation', $5, $6, $7, $8, $9, $10, 'open', $11, {now} + $12, $13, {now})`,
		a.ID, int64(a.Payment), int64(a.Domain), a.Number, a.Key, a.Connector, a.Mechanism, a.Waits, sealed, device, database.Micros(a.Created), lease.Microseconds(), database.OptionalText(a.Trace))
	return nil
}

// RememberOrder replaces the connector's data about the order of an attempt.
func (tx *Tx) RememberOrder(a Attempt, memory []byte) error {
	sealed, err := tx.Seal(attemptPlace(a.Domain, a.OrderID, "memory"), memory)
	if err != nil {
		return fmt.Errorf("seal the memory of an order: %w", err)
	}
	tx.unit.ExecOne(ErrConflict, `UPDATE attempt SET memory = $1 WHERE +domain_id = $2 AND id = $3 AND number = 1`, sealed, int64(a.Domain), a.OrderID)
	return nil
}

// SaveOrder replaces the connector's memory while a call about the order is still under way. Write
// fails with ErrConflict when the payment no longer has this version. SaveOrder increases the
// version. A simultaneous call with the earlier version therefore cannot overwrite the new memory.
func (tx *Tx) SaveOrder(a Attempt, version int64, memory []byte) error {
	tx.unit.ExecOne(ErrConflict, `UPDATE payment SET version = version + 1 WHERE +domain_id = $1 AND id = $2 AND version = $3`, int64(a.Domain), int64(a.Payment), version)
	return tx.RememberOrder(a, memory)
}

// AskedAs copies the callback and the number of reports from `before`, an older copy of the
// attempt. The service loaded this copy before it asked the bank.
func (a *Attempt) AskedAs(before Attempt) {
	a.Reported, a.Callback, a.sealedCallback = before.Reported, before.Callback, before.sealedCallback
}

// KeepCallback stores the query with which the bank sent the payer back. It replaces an earlier
// query. The query stays until ForgetCallback or EndCallback removes it. KeepCallback stores
// nothing for a payment that has ended.
func (tx *Tx) KeepCallback(a Attempt, callback []byte) error {
	sealed, err := tx.Seal(attemptPlace(a.Domain, a.OrderID, "callback"), callback)
	if err != nil {
		return fmt.Errorf("seal the callback of an order: %w", err)
	}
	tx.unit.Exec(`UPDATE attempt SET callback = $1 WHERE +domain_id = $2 AND id = $3
		AND (SELECT p.state FROM payment p WHERE p.id = attempt.payment_id {for share}) IN ('created', 'validating', 'pending')`, sealed, int64(a.Domain), a.OrderID)
	return nil
}

// EndCallback removes the stored query and the connector's memory of a payment that has ended. They
// may contain codes and tokens of the bank, which the service no longer needs. The memory stays
// while an attempt is unanswered, because the service asks the bank about this attempt.
func (tx *Tx) EndCallback(p *payment.Payment) {
	if !chosen(p) {
		return
	}
	tx.unit.Exec(`UPDATE attempt SET callback = NULL,
			memory = CASE WHEN EXISTS (SELECT 1 FROM attempt a WHERE a.payment_id = $2 AND a.state <> 'answered') THEN memory END
		WHERE +domain_id = $1 AND payment_id = $2 AND number = 1 AND (callback IS NOT NULL OR memory IS NOT NULL)`, int64(p.Domain), int64(p.ID))
}

// ForgetCallback removes the callback with which the attempt was loaded. It does not remove a newer
// callback.
func (tx *Tx) ForgetCallback(a Attempt) {
	tx.unit.Exec(`UPDATE attempt SET callback = NULL WHERE +domain_id = $1 AND id = $2 AND callback = $3`, int64(a.Domain), a.OrderID, a.sealedCallback)
}

// AnswerAttempt closes an attempt in the transaction that stores its outcome. Write fails with
// ErrConflict when the attempt is already answered, or when another process has taken it over since
// it was read.
func (tx *Tx) AnswerAttempt(a Attempt) {
	tx.unit.ExecOne(ErrConflict, `UPDATE attempt SET state = 'answered' WHERE +domain_id = $1 AND id = $2 AND asked = $3 AND state <> 'answered'`,
		int64(a.Domain), a.ID, a.Inquiries)
}

// CloseUnsent does the same as AnswerAttempt for an attempt that had no effect at the bank, see
// connector.ErrNotSent. An agreement in such an attempt counts no longer.
func (tx *Tx) CloseUnsent(a Attempt) {
	tx.unit.ExecOne(ErrConflict, `UPDATE attempt SET state = 'answered', unsent = TRUE WHERE +domain_id = $1 AND id = $2 AND asked = $3 AND state <> 'answered'`,
		int64(a.Domain), a.ID, a.Inquiries)
}

// PostponeAttempt records that the outcome is unknown. The service asks the bank again after the
// duration `wait`, by the database's clock. Write fails with ErrConflict in the same cases as
// AnswerAttempt.
func (tx *Tx) PostponeAttempt(a Attempt, wait time.Duration) {
	tx.unit.ExecOne(ErrConflict, `UPDATE attempt SET state = 'unknown', lease_until = {now} + $1 WHERE +domain_id = $2 AND id = $3 AND asked = $4 AND state <> 'answered'`,
		wait.Microseconds(), int64(a.Domain), a.ID, a.Inquiries)
}

// AttemptLease is how long an attempt belongs to the process that opened it or took it over.
const AttemptLease = 30 * time.Second

// hastened is the SQL expression for a lease that makes the service ask the bank now about an
// unknown outcome. A lease that ends within AttemptLease stays: a process may be asking now, and a
// second process must not ask too.
var hastened = fmt.Sprintf(`CASE WHEN state = 'unknown' AND lease_until > {now} + %d THEN {now} - 1000 ELSE lease_until END`, AttemptLease.Microseconds())

// HastenAttemptIfReported makes the service ask the bank about an attempt now if the bank has
// reported, or sent the payer back, since the attempt was loaded. A lease that ends within
// AttemptLease stays. The same unit must call PostponeAttempt first.
func (tx *Tx) HastenAttemptIfReported(a Attempt) {
	tx.unit.Exec(`UPDATE attempt SET lease_until = `+hastened+` WHERE +domain_id = $1 AND id = $2
		AND $3 < (SELECT bank_reports FROM payment WHERE id = payment_id)`, int64(a.Domain), a.ID, a.Reported)
}

// ClaimAttempts takes over at most limit unanswered attempts of a domain after their leases have
// expired. Each of them gets a new lease. ClaimAttempts leaves out attempts of the connectors in
// `except`. The UPDATE does not repeat the subquery's condition on the state. With that condition,
// PostgreSQL would start with all unanswered attempts.
func (tx *Tx) ClaimAttempts(domain passerelle.DomainID, lease time.Duration, limit int, except []string, into *[]Due) {
	others, args := database.Without(except, connectorOfAttempt, []any{int64(domain), lease.Microseconds()})
	tx.dueOf(into, `WITH due AS MATERIALIZED (
			SELECT id FROM attempt WHERE domain_id = $1 AND state <> 'answered' AND lease_until < {now}`+others+`
			ORDER BY lease_until`+database.UpTo(limit)+` {skip locked})
		UPDATE attempt SET lease_until = {now} + $2, asked = asked + 1
		WHERE id IN (SELECT id FROM due) AND lease_until < {now}
		RETURNING payment_id, `+connectorOfAttempt, args...)
}

// connectorOfAttempt is the SQL expression for an attempt's connector. Only attempts that send an
// order store a connector.
const connectorOfAttempt = `COALESCE(connector_uuid, (SELECT p.connector_uuid FROM payment p WHERE p.id = attempt.payment_id))`
