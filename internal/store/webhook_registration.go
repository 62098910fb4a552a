package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/webhook"
)

// WebhookFilter selects webhooks of one domain. If All is false, it leaves out deleted and disabled
// webhooks.
type WebhookFilter struct {
	Domain passerelle.DomainID
	All    bool
	// Failing selects only webhooks with a problem: they are stopped, their last request failed, or
	// their authentication provider was deleted.
	Failing bool
	// Silent selects only webhooks that are stopped, or whose authentication provider was deleted.
	Silent bool
}

func (f WebhookFilter) selection() database.Selection {
	s := database.Selection{From: "webhook", Where: []string{"domain_id = $1"}, Args: []any{int64(f.Domain)}}
	if !f.All {
		s.Where = append(s.Where, "deleted IS NULL", "disabled IS NULL")
	}
	if f.Failing {
		s.Where = append(s.Where, "(stopped OR auth_deleted OR consecutive_failures > 0)")
	}
	if f.Silent {
		s.Where = append(s.Where, "(stopped OR auth_deleted)")
	}
	return s
}

// Webhooks reads a window of webhooks, ordered by id. The position w.From is an id.
func (r *Reader) Webhooks(ctx context.Context, f WebhookFilter, w Window) ([]Webhook, error) {
	sql, args := f.selection().ByID(webhookColumns, "id", w)
	return database.Collect(ctx, r.rows, scanWebhook, sql, args...)
}

// CountWebhooks returns the exact number of webhooks that a filter selects.
func (r *Reader) CountWebhooks(ctx context.Context, f WebhookFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// MaxWebhooks limits the number of a domain's webhooks that are not deleted, because one event can
// have a delivery to each of them.
const MaxWebhooks = 1000

// CreateWebhook stores a registration and sets its id. Write fails with ErrConflict when the
// domain already has MaxWebhooks.
func (tx *Tx) CreateWebhook(w *Webhook) error {
	id, err := tx.unit.NewID("webhook")
	if err != nil {
		return err
	}
	w.ID = passerelle.WebhookID(id)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO webhook (id, domain_id, client_id, user_id, event, url, auth_id, created, disabled)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BIGINT),
			CAST($8 AS BIGINT), CAST($9 AS BIGINT)
		WHERE (SELECT count(*) FROM (SELECT 1 FROM webhook WHERE domain_id = $2 AND deleted IS NULL LIMIT $10) AS taken) < $10`,
		id, int64(w.Domain), database.OptionalID(w.Client), database.OptionalID(w.User), string(w.Event), w.URL, database.OptionalID(w.Auth), database.Micros(w.Created),
		database.OptionalMicros(w.Disabled), MaxWebhooks)
	return nil
}

// WebhookChange is a change of a registration. A nil field leaves the value unchanged, and a
// pointer to a zero value clears it.
type WebhookChange struct {
	Event             *webhook.Event
	URL               *string
	Auth              *int64
	Client            *passerelle.ClientID
	User              *passerelle.UserID
	Disabled, Deleted *bool
}

// ChangeWebhook changes a registration. Write fails with ErrNotFound when the registration is
// deleted and the change does not restore it. Write fails with ErrConflict when the change restores
// it and the domain has MaxWebhooks other webhooks. After the change, the flusher is due
// immediately for deliveries that were not sent while the webhook was deleted or disabled. A
// stopped webhook is no longer stopped after it is deleted or restored. A sender may stop a deleted
// webhook again, without planning another run.
func (tx *Tx) ChangeWebhook(domain passerelle.DomainID, id passerelle.WebhookID, c WebhookChange, now time.Time) {
	const resumes = `(CASE WHEN $1 = 0 AND deleted IS NOT NULL OR $2 = 0 AND disabled IS NOT NULL THEN TRUE ELSE FALSE END)`
	event, url := (*string)(c.Event), c.URL
	tx.unit.ExecOne(ErrNotFound, `UPDATE webhook SET updated = $3,
			event = COALESCE($4, event), url = COALESCE($5, url),
			auth_id = CASE WHEN $6 THEN $7 ELSE auth_id END, auth_deleted = CASE WHEN $6 THEN FALSE ELSE auth_deleted END,
			client_id = CASE WHEN $8 THEN $9 ELSE client_id END,
			user_id = CASE WHEN $10 THEN $11 ELSE user_id END,
			deleted = CASE WHEN $1 = 0 THEN NULL WHEN $1 = 1 THEN COALESCE(deleted, $3) ELSE deleted END,
			disabled = CASE WHEN $2 = 0 THEN NULL WHEN $2 = 1 THEN COALESCE(disabled, $3) ELSE disabled END,
			stopped = CASE WHEN $1 = 1 OR $1 = 0 AND deleted IS NOT NULL THEN FALSE ELSE stopped END,
			next_flush = CASE WHEN $1 = 1 THEN NULL
				WHEN `+resumes+` AND EXISTS (SELECT 1 FROM delivery d WHERE d.webhook_id = webhook.id AND d.delivered IS NULL AND d.dropped IS NULL) THEN $3
				ELSE next_flush END
		WHERE +domain_id = $12 AND id = $13 AND (deleted IS NULL OR $1 = 0)`,
		answer(c.Deleted), answer(c.Disabled), database.Micros(now), event, url, c.Auth != nil, orNone(c.Auth), c.Client != nil, orNone(c.Client),
		c.User != nil, orNone(c.User), int64(domain), int64(id))
	if answer(c.Deleted) == 0 {
		tx.unit.ExecOne(ErrConflict, `UPDATE webhook SET updated = $1 WHERE +domain_id = $2 AND id = $3
			AND (SELECT count(*) FROM (SELECT 1 FROM webhook l WHERE l.domain_id = $2 AND l.deleted IS NULL LIMIT $4) AS live) < $4`,
			database.Micros(now), int64(domain), int64(id), MaxWebhooks+1)
	}
}

// SetAdditions replaces the members that are added to the payloads of a webhook. Write fails with
// ErrConflict when the webhook is deleted, or when these members have changed since w was loaded.
func (tx *Tx) SetAdditions(w Webhook, additions map[string]string, now time.Time) error {
	before, err := storedTexts(w.AddToData)
	if err != nil {
		return err
	}
	after, err := storedTexts(additions)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `UPDATE webhook SET add_to_data = $1, updated = $2 WHERE +domain_id = $3 AND id = $4 AND add_to_data = $5 AND deleted IS NULL`,
		after, database.Micros(now), int64(w.Domain), int64(w.ID), before)
	return nil
}

// answer returns 1 for true, 0 for false and -1 for nil.
func answer(b *bool) int64 {
	switch {
	case b == nil:
		return -1
	case *b:
		return 1
	}
	return 0
}

func orNone[T ~int64](id *T) *int64 {
	if id == nil {
		return nil
	}
	return database.OptionalID(*id)
}

// DeleteWebhooks deletes all registrations of a domain.
func (tx *Tx) DeleteWebhooks(domain passerelle.DomainID, now time.Time) {
	tx.unit.Exec(`UPDATE webhook SET deleted = $1, next_flush = NULL, stopped = FALSE WHERE domain_id = $2 AND deleted IS NULL`, database.Micros(now), int64(domain))
}
