package store

import (
	"context"
	"encoding/json"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/payment"
)

// Witness stores the page that a payer saw before acting, as evidence for the payment's newest
// attempt. The content is encrypted. Witness ignores the attempt in e. Write fails with
// ErrDuplicate when the attempt already has evidence.
func (tx *Tx) Witness(e payment.Evidence) error {
	id, err := tx.unit.NewID("payment_evidence")
	if err != nil {
		return err
	}
	sealed, err := tx.sealJSON(evidencePlace(e.Domain, id), e.Shown)
	if err != nil {
		return fmt.Errorf("encrypt the evidence: %w", err)
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO payment_evidence (id, payment_id, domain_id, attempt, act, language, shown, at)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), COALESCE((SELECT MAX(number) FROM attempt WHERE payment_id = $2), 0),
			CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS {bytes}), CAST($7 AS BIGINT)`,
		id, int64(e.Payment), int64(e.Domain), string(e.Act), e.Language, sealed, database.Micros(e.At))
	return nil
}

func evidencePlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment_evidence", Column: "shown", Row: id}
}

// Evidence returns the page that the payer saw before each act in the webview, oldest first.
func (r *Reader) Evidence(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) ([]payment.Evidence, error) {
	return database.Collect(ctx, r.rows, r.scanEvidence, `SELECT id, payment_id, domain_id, attempt, act, language, shown, at FROM payment_evidence
		WHERE +domain_id = $1 AND payment_id = $2 ORDER BY attempt, id`, int64(domain), int64(id))
}

func (r *Reader) scanEvidence(row database.Row) (payment.Evidence, error) {
	var (
		e      payment.Evidence
		id, at int64
		sealed []byte
	)
	if err := row.Scan(&id, &e.Payment, &e.Domain, &e.Attempt, &e.Act, &e.Language, &sealed, &at); err != nil {
		return e, err
	}
	e.At = database.Instant(at)
	plain, err := r.keys.Open(evidencePlace(e.Domain, id), sealed)
	if err != nil {
		return e, fmt.Errorf("%w: evidence %d: %w", ErrSealed, id, err)
	}
	err = json.Unmarshal(plain, &e.Shown)
	return e, err
}
