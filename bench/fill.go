package main

import (
	"context"
	"fmt"
	"strings"
)

// Copies of a row have ids above copiesAfter, far above the ids of the service.
const copiesAfter = 100_000_000

// copyStep is the number of copies made in one transaction.
const copyStep = 50_000

// numbers selects the ids of copies, from $1 to $2, for the statements below.
const numbers = `WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST($2 AS BIGINT)) `

// multiply makes copies with the statements in texts. Their parameter $3 is the argument id: the id
// of the only original, or of the first of several originals.
func (w *instance) multiply(ctx context.Context, p *place, id int64, copies int, texts ...string) error {
	writer, err := p.writerTo(ctx, w.kind, w.database)
	if err != nil {
		return err
	}
	for first := 1; first <= copies; first += copyStep {
		var all []statement
		for _, text := range texts {
			all = append(all, statement{text, []any{copiesAfter + int64(first), copiesAfter + int64(min(first+copyStep-1, copies)), id}})
		}
		if err := writer.write(ctx, all); err != nil {
			return fmt.Errorf("copy a row: %w", err)
		}
	}
	if w.kind == sqlite {
		return nil // the service uses SQLite without statistics
	}
	return p.settle(ctx, w.database)
}

// settle does the work that PostgreSQL would otherwise start some time after large changes, in the
// middle of a measurement.
func (p *place) settle(ctx context.Context, database string) error {
	pool, err := p.pool(ctx, database)
	if err != nil {
		return err
	}
	for _, text := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := pool.Exec(ctx, text); err != nil {
			return fmt.Errorf("settle the database: %w", err)
		}
	}
	return nil
}

// copyPayment copies the originals in turn. $3 is the id of the first original. All labels begin
// with the same text. The account numbers are in plain text, because an encrypted value can be
// decrypted only in its own row.
var copyPayment = []string{
	`INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at) ` + numbersAnd("payment_transition", "payment_id") +
		`SELECT i, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at FROM n CROSS JOIN original WHERE payment_id = ` + inTurn + ` ORDER BY i, seq`,
	`INSERT INTO payment (id, domain_id, client_id, version, seq, state, error_code, connector_uuid, connector_name, validate_mechanism, registered, validated,
			client_redirect_uri, client_state, webview_url, currency, date_type, amount, instruction_count, expires_from) ` + numbersAnd("payment", "id") +
		`SELECT i, domain_id, client_id, version, seq, state, error_code, connector_uuid, connector_name, validate_mechanism, registered, validated,
			client_redirect_uri, client_state, webview_url, currency, date_type, amount, instruction_count, expires_from FROM n CROSS JOIN original WHERE id = ` + inTurn,
	`INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, beneficiary_scheme, beneficiary_identification, beneficiary_label, state, error_code,
			exec_date, registered, new_beneficiary, new_reference, new_end, label_folded, label_shared) ` + numbersAnd("instruction", "payment_id") +
		`SELECT i, i, position, domain_id, 'reference ' || CAST(i AS TEXT), amount, 'Invoice ' || CAST(i AS TEXT), beneficiary_scheme, '` + theBeneficiary + `', beneficiary_label, state, error_code,
			exec_date, registered, new_beneficiary, new_reference, new_end, 'invoice ' || CAST(i AS TEXT), label_shared FROM n CROSS JOIN original WHERE payment_id = ` + inTurn,
	`INSERT INTO attempt (id, payment_id, domain_id, number, kind, key, connector_uuid, mechanism, waits, fields, state, created, lease_until) ` + numbersAnd("attempt", "payment_id") +
		`SELECT i, i, domain_id, number, kind, 'copy ' || CAST(i AS TEXT), connector_uuid, mechanism, waits, fields, state, created, lease_until FROM n CROSS JOIN original WHERE payment_id = ` + inTurn,
}

// numbersAnd selects the same ids, and the originals of a table as `original`. With old statistics,
// PostgreSQL would otherwise read the whole table for each copy.
func numbersAnd(table, key string) string {
	return strings.TrimSpace(numbers) + fmt.Sprintf(`, original AS MATERIALIZED (SELECT * FROM %s WHERE %s BETWEEN CAST($3 AS BIGINT) AND CAST($3 AS BIGINT) + %d) `,
		table, key, len(originals)-1)
}

// inTurn is the id of the original of copy i.
var inTurn = fmt.Sprintf("CAST($3 AS BIGINT) + i %% %d", len(originals))

// copyTransaction makes transactions on 7000 different days before 2022.
var copyTransaction = []string{
	`INSERT INTO bank_transaction (id, domain_id, user_id, account_id, epoch, key, date, application_date, value, value_scale, wording, coming, categories, details, digest,
			scraped, last_update, changed, connection_id, folded) ` + numbers +
		`SELECT i, domain_id, user_id, account_id, epoch, 'copy ' || CAST(i AS TEXT), day, day, value, value_scale, wording, coming, categories, details, digest,
			scraped, last_update, changed, connection_id, folded
		FROM bank_transaction CROSS JOIN (SELECT i, CAST(2001 + i % 7000 / 336 AS TEXT) || '-' || SUBSTR(CAST(101 + i % 7000 / 28 % 12 AS TEXT), 2, 2) || '-'
			|| SUBSTR(CAST(101 + i % 28 AS TEXT), 2, 2) AS day FROM n) AS days WHERE id = CAST($3 AS BIGINT)`,
	`UPDATE bank_account SET transactions = transactions + CAST($2 AS BIGINT) - CAST($1 AS BIGINT) + 1 WHERE id = (SELECT account_id FROM bank_transaction WHERE id = CAST($3 AS BIGINT))`,
}

// copyDelivery copies an accepted delivery. Each copy has its own event.
var copyDelivery = []string{
	`INSERT INTO event (id, domain_id, name, subject, subject_id, version, held, media_type, omitted, body, parted, created) ` + numbers +
		`SELECT i, domain_id, name, subject, i, version, held, media_type, omitted, body, parted, created FROM event CROSS JOIN n WHERE id = (SELECT event_id FROM delivery WHERE id = CAST($3 AS BIGINT))`,
	`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created, attempts, delivered) ` + numbers +
		`SELECT i, domain_id, webhook_id, i, subject, i, version, created, attempts, delivered FROM delivery CROSS JOIN n WHERE id = CAST($3 AS BIGINT)`,
	`INSERT INTO delivery_attempt (id, domain_id, webhook_id, delivery_id, at, duration, status) ` + numbers +
		`SELECT i, domain_id, webhook_id, i, at, duration, status FROM delivery_attempt CROSS JOIN n WHERE delivery_id = CAST($3 AS BIGINT)`,
}

func (p *place) numberIn(ctx context.Context, kind, database, text string) (int64, error) {
	var n int64
	reader, err := p.bareReader(ctx, kind, database)
	if err != nil {
		return 0, err
	}
	err = reader.each(ctx, text, nil, func(scan func(...any) error) error { return scan(&n) })
	return n, err
}
