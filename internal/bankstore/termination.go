package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Termination is a deleted connection. Its consent must still be ended at the institution.
type Termination struct {
	Domain     passerelle.DomainID
	Connection passerelle.ConnectionID
	User       passerelle.UserID
	Connector  string // the UUID of the connector
	// Memory is the memory of the last read. Sealed is the error from decrypting it, if any.
	Memory []byte
	Sealed error
	// Tries counts failed attempts.
	Tries int64
	// Deleted is the time of the deletion. Until is the end of the consent, if it is known.
	Deleted time.Time
	Until   *time.Time

	due int64
}

// TerminationsDue lists the terminations of a domain that are due. The argument now is in the
// domain's time. TerminationsDue leaves out the connectors in the argument except. Terminations that
// have been overdue for the longest time come first. If a memory cannot be decrypted, the error is
// in the field Sealed.
func (r Reader) TerminationsDue(ctx context.Context, domain passerelle.DomainID, now time.Time, except []string, limit int) ([]Termination, error) {
	others, args := database.Without(except, "connector_uuid", []any{int64(domain), database.Micros(now)})
	return database.Collect(ctx, r.rows, func(row database.Row) (Termination, error) {
		var t Termination
		var sealed []byte
		var deleted int64
		var until *int64
		err := row.Scan(&t.Domain, &t.Connection, &t.User, &t.Connector, &sealed, &t.Tries, &t.due, &deleted, &until)
		t.Deleted, t.Until = database.Instant(deleted), database.OptionalInstant(until)
		if err == nil && sealed != nil {
			t.Memory, t.Sealed = r.source.Unseal(connectionPlace(domain, t.Connection, "memory"), sealed)
		}
		return t, err
	}, `SELECT domain_id, id, user_id, connector_uuid, memory, failures, terminate, deleted, consent_until FROM connection
		WHERE domain_id = $1 AND terminate <= $2 AND terminate IS NOT NULL AND deleted IS NOT NULL`+others+` ORDER BY terminate, id`+database.UpTo(limit), args...)
}

// longestConsent is the longest life of a consent, in days. leastTries is the number of days after
// the deletion during which the service tries to end even an expired consent. The institution may
// have prolonged the consent.
const (
	longestConsent = 180
	leastTries     = 7
)

// Over reports whether the service no longer tries to end the consent. The argument now is in the
// domain's time.
func (t Termination) Over(now time.Time) bool {
	end := t.Deleted.AddDate(0, 0, longestConsent)
	if t.Until != nil {
		end = *t.Until
		if least := t.Deleted.AddDate(0, 0, leastTries); end.Before(least) {
			end = least
		}
	}
	return !now.Before(end)
}

// TerminationsFailing counts the consents of a domain that the service has not been able to end,
// after at least the number of attempts in the argument tries.
func (r Reader) TerminationsFailing(ctx context.Context, domain passerelle.DomainID, tries int) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM connection
		WHERE domain_id = $1 AND terminate IS NOT NULL AND deleted IS NOT NULL AND failures >= $2`, int64(domain), tries)
}

// TryTermination records an attempt to end the consent at the institution. It also stores the time
// of the next attempt, in case the caller does not call EndTermination. Write fails with
// ErrConflict when another process is trying.
func (tx Tx) TryTermination(t Termination, next time.Time) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET terminate = $1, failures = $2 WHERE +domain_id = $3 AND id = $4 AND terminate = $5`,
		database.Micros(next), t.Tries+1, int64(t.Domain), int64(t.Connection), t.due)
}

// SaveTermination replaces the memory during the attempt that TryTermination recorded. Write fails
// with ErrConflict when a later attempt has begun, or when EndTermination was called.
func (tx Tx) SaveTermination(t Termination, memory []byte) error {
	sealed, err := tx.sealFor(Connection{Domain: t.Domain, ID: t.Connection}, "memory", memory)
	if err != nil {
		return err
	}
	// With terminate IS NOT NULL, PostgreSQL might search the index of all terminations.
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET memory = $1 WHERE +domain_id = $2 AND id = $3 AND failures = $4 AND COALESCE(terminate, -1) >= 0 AND deleted IS NOT NULL`,
		sealed, int64(t.Domain), int64(t.Connection), t.Tries+1)
	return nil
}

// EndTermination records that the service no longer needs to end the consent at the institution.
// EraseWithdrawn then erases the remaining data of the connection.
func (tx Tx) EndTermination(t Termination, now time.Time) {
	tx.unit.Exec(`UPDATE connection SET terminate = NULL, memory = NULL WHERE +domain_id = $1 AND id = $2`, int64(t.Domain), int64(t.Connection))
	tx.withdraw(withdrawal{domain: int64(t.Domain), user: int64(t.User), kind: "connection", subject: int64(t.Connection), at: database.Micros(now)})
}
