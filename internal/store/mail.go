package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// The store removes sent mails that are older than the newest MaxMails mails of their domain. It
// removes all mails that are older than the newest MaxUnsentMails mails of their domain. Without
// this second limit, the mails of a domain without a mail server would accumulate forever.
const (
	MaxMails       = 1000
	MaxUnsentMails = 10_000
)

// Mail is a mail to an operator of a domain, about one or more webhooks.
type Mail struct {
	ID      int64
	Domain  passerelle.DomainID
	Webhook passerelle.WebhookID
	// Kind is the reason for the mail.
	Kind string
	// Recipient is one address.
	Recipient     string
	Subject, Text string
	// Created is in the domain's time.
	Created time.Time
	// Attempts counts the attempts that were started, and Failure is the reason for the last
	// failure. Failure is empty after the mail was sent.
	Attempts int64
	Failure  string
	// Sent is the real time at which a mail server accepted the mail.
	Sent *time.Time
}

const mailColumns = `id, domain_id, webhook_id, kind, recipient, subject, text, created, attempts, failure, sent`

func scanMail(row database.Row) (Mail, error) {
	var (
		m             Mail
		webhook, sent *int64
		created       int64
		failure       *string
	)
	err := row.Scan(&m.ID, &m.Domain, &webhook, &m.Kind, &m.Recipient, &m.Subject, &m.Text, &created, &m.Attempts, &failure, &sent)
	m.Webhook, m.Created, m.Failure, m.Sent = database.ID[passerelle.WebhookID](webhook), database.Instant(created), database.Text[string](failure), database.OptionalInstant(sent)
	return m, err
}

// Mails reads a window of a domain's mails, the newest first unless the window is Backward. The
// position of the window is an id. Mails ignores the window's Order.
func (r *Reader) Mails(ctx context.Context, domain passerelle.DomainID, w Window) ([]Mail, error) {
	sign, direction := "<", "DESC"
	if w.Backward {
		sign, direction = ">", "ASC"
	}
	sql, args := `SELECT `+mailColumns+` FROM mail WHERE domain_id = $1`, []any{int64(domain), w.Limit, w.Offset}
	if w.From != nil {
		sql, args = sql+` AND id `+sign+` $4`, append(args, w.From...)
	}
	return database.Collect(ctx, r.rows, scanMail, sql+` ORDER BY id `+direction+` LIMIT $2 OFFSET $3`, args...)
}

// CountMails returns the number of mails of a domain.
func (r *Reader) CountMails(ctx context.Context, domain passerelle.DomainID) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM mail WHERE domain_id = $1`, int64(domain))
}

// CreateMail stores an unsent mail and sets its id. It removes the oldest mails beyond MaxMails
// and MaxUnsentMails.
func (tx *Tx) CreateMail(m *Mail) error {
	id, err := tx.unit.NewID("mail")
	if err != nil {
		return err
	}
	m.ID = id
	tx.unit.ExecOne(ErrConflict, `INSERT INTO mail (id, domain_id, webhook_id, kind, recipient, subject, text, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, int64(m.Domain), database.OptionalID(m.Webhook), m.Kind, m.Recipient, m.Subject, m.Text, database.Micros(m.Created))
	for _, bound := range []struct {
		kept  int
		which string
	}{{MaxMails, " AND sent IS NOT NULL"}, {MaxUnsentMails, ""}} {
		tx.unit.Exec(`DELETE FROM mail WHERE domain_id = $1 AND id <= (SELECT id FROM mail WHERE domain_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`+bound.which,
			int64(m.Domain), bound.kept)
	}
	return nil
}

// ClaimMail leases the next due mail of any domain, and counts the attempt. Mails that never failed
// come first. The argument `now` is real time. *into stays nil when no mail is due.
func (tx *Tx) ClaimMail(now time.Time, lease time.Duration, into **Mail) {
	tx.unit.OnRetry(func() { *into = nil })
	tx.unit.Query(func(row database.Row) error {
		m, err := scanMail(row)
		*into = &m
		return err
	}, `WITH due AS MATERIALIZED (
			SELECT id FROM mail WHERE sent IS NULL AND next_try <= $1 AND lease_until < {now} ORDER BY next_try, id LIMIT 1 {skip locked})
		UPDATE mail SET lease_until = {now} + $2, attempts = attempts + 1
		WHERE id IN (SELECT id FROM due) AND sent IS NULL AND next_try <= $1 AND lease_until < {now}
		RETURNING `+mailColumns, database.Micros(now), lease.Microseconds())
}

// MailSent records that a claimed mail was sent. Write fails with ErrConflict when another process
// has claimed the mail since.
func (tx *Tx) MailSent(m Mail, now time.Time) {
	tx.unit.ExecOne(ErrConflict, `UPDATE mail SET sent = $1, failure = NULL, lease_until = 0 WHERE +domain_id = $2 AND id = $3 AND attempts = $4 AND sent IS NULL`,
		database.Micros(now), int64(m.Domain), m.ID, m.Attempts)
}

// MailFailed releases a claimed mail, so that it is tried again at `next`, an instant of real time.
// Write fails with ErrConflict when another process has claimed the mail since.
func (tx *Tx) MailFailed(m Mail, failure string, next time.Time) {
	tx.unit.ExecOne(ErrConflict, `UPDATE mail SET failure = $1, next_try = $2, lease_until = 0 WHERE +domain_id = $3 AND id = $4 AND attempts = $5 AND sent IS NULL`,
		failure, database.Micros(next), int64(m.Domain), m.ID, m.Attempts)
}

// SetAlarm stores the time of the last mail about a webhook, and whether a mail about its recovery
// is due.
func (tx *Tx) SetAlarm(w Webhook) {
	tx.unit.Exec(`UPDATE webhook SET alerted = $1, alarmed = $2 WHERE +domain_id = $3 AND id = $4`,
		database.OptionalMicros(w.Alerted), w.Alarmed, int64(w.Domain), int64(w.ID))
}
