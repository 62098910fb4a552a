package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/webhook"
)

// Webhook is the registration of a receiving URL for one event.
type Webhook struct {
	ID     passerelle.WebhookID
	Domain passerelle.DomainID
	// Client is the application it belongs to, zero for none in particular.
	Client  passerelle.ClientID
	Event   webhook.Event
	URL     string
	Auth    int64 // id of the authentication provider, zero for none
	Created time.Time
	Updated *time.Time
	Deleted *time.Time
	// NextFlush is when the flusher is due, in the domain's time; nil when
	// nothing is left to it. FlushAfter is the last delivery it tried.
	NextFlush  *time.Time
	FlushAfter passerelle.DeliveryID
	// NewsAfter is the last delivery that is left to the flusher although it
	// may never have been tried. It means nothing while NextFlush is nil.
	NewsAfter passerelle.DeliveryID
}

// news is the delivery after which first attempts are made at once.
func (w Webhook) news() int64 {
	if w.NextFlush == nil {
		return 0
	}
	return int64(w.NewsAfter)
}

const webhookColumns = `id, domain_id, client_id, event, url, auth_id, created, updated, deleted, next_flush, flush_after, news_after`

func scanWebhook(row scanner) (Webhook, error) {
	var (
		w                      Webhook
		client, auth           *int64
		created                int64
		updated, deleted, next *int64
	)
	err := row.Scan(&w.ID, &w.Domain, &client, &w.Event, &w.URL, &auth, &created, &updated, &deleted, &next, &w.FlushAfter, &w.NewsAfter)
	w.Client, w.Auth = owner[passerelle.ClientID](client), owner[int64](auth)
	w.Created, w.Updated, w.Deleted = instant(created), optionalInstant(updated), optionalInstant(deleted)
	w.NextFlush = optionalInstant(next)
	return w, err
}

// Webhook loads a webhook, deleted or not, or ErrNotFound.
func (r *Reader) Webhook(ctx context.Context, domain passerelle.DomainID, id passerelle.WebhookID) (Webhook, error) {
	return one(ctx, r, scanWebhook, `SELECT `+webhookColumns+` FROM webhook WHERE domain_id = $1 AND id = $2`, int64(domain), int64(id))
}

// Webhooks lists the webhooks of a domain that are not deleted, oldest first.
func (r *Reader) Webhooks(ctx context.Context, domain passerelle.DomainID) ([]Webhook, error) {
	return collect(ctx, r, scanWebhook, `SELECT `+webhookColumns+` FROM webhook WHERE domain_id = $1 AND deleted IS NULL ORDER BY id`, int64(domain))
}

// A webhook to which somebody sends already comes last in lists of work: who
// reads them is most likely to be refused its lease.
const freeFirst = `CASE WHEN lease_until < {now} THEN 0 ELSE 1 END`

// WebhooksWithNews lists the webhooks of a domain that have deliveries to be
// tried for the first time, at most limit; those with which nothing is wrong
// come before those that have failed.
func (r *Reader) WebhooksWithNews(ctx context.Context, domain passerelle.DomainID, limit int) ([]Webhook, error) {
	return collect(ctx, r, scanWebhook, `SELECT `+webhookColumns+` FROM webhook w WHERE domain_id = $1 AND deleted IS NULL
		AND EXISTS (SELECT 1 FROM delivery d WHERE d.webhook_id = w.id AND d.delivered IS NULL AND d.dropped IS NULL AND d.attempts = 0
			AND d.id > CASE WHEN w.next_flush IS NULL THEN 0 ELSE w.news_after END)
		ORDER BY `+freeFirst+`, CASE WHEN next_flush IS NULL THEN 0 ELSE 1 END, id LIMIT $2`, int64(domain), limit)
}

// WebhooksToFlush lists the webhooks of a domain whose failed deliveries are
// due at the domain's instant, the longest overdue first, at most limit.
func (r *Reader) WebhooksToFlush(ctx context.Context, domain passerelle.DomainID, now time.Time, limit int) ([]Webhook, error) {
	return collect(ctx, r, scanWebhook, `SELECT `+webhookColumns+` FROM webhook
		WHERE domain_id = $1 AND next_flush <= $2 AND deleted IS NULL ORDER BY `+freeFirst+`, next_flush, id LIMIT $3`,
		int64(domain), micros(now), limit)
}

// CreateWebhook stores a registration and gives it its id.
func (tx *Tx) CreateWebhook(w *Webhook) error {
	id, err := tx.newID("webhook")
	if err != nil {
		return err
	}
	w.ID = passerelle.WebhookID(id)
	tx.execOne(ErrConflict, `INSERT INTO webhook (id, domain_id, client_id, event, url, auth_id, created) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, int64(w.Domain), optionalID(w.Client), string(w.Event), w.URL, optionalID(w.Auth), micros(w.Created))
	return nil
}

// UpdateWebhook stores a registration's event, URL and provider.
func (tx *Tx) UpdateWebhook(w Webhook, now time.Time) {
	tx.execOne(ErrNotFound, `UPDATE webhook SET event = $1, url = $2, auth_id = $3, updated = $4 WHERE domain_id = $5 AND id = $6 AND deleted IS NULL`,
		string(w.Event), w.URL, optionalID(w.Auth), micros(now), int64(w.Domain), int64(w.ID))
}

// DeleteWebhook ends a registration; what it was still to get is given up.
func (tx *Tx) DeleteWebhook(domain passerelle.DomainID, id passerelle.WebhookID, now time.Time) {
	tx.execOne(ErrNotFound, `UPDATE webhook SET deleted = $1, next_flush = NULL WHERE domain_id = $2 AND id = $3 AND deleted IS NULL`,
		micros(now), int64(domain), int64(id))
}

// LeaseWebhook makes holder the only sender to a webhook for a while. Write
// fails with ErrConflict while another one is.
func (tx *Tx) LeaseWebhook(w Webhook, holder string, lease time.Duration) {
	tx.execOne(ErrConflict, `UPDATE webhook SET holder = $1, lease_until = {now} + $2 WHERE domain_id = $3 AND id = $4 AND deleted IS NULL AND lease_until < {now}`,
		holder, lease.Microseconds(), int64(w.Domain), int64(w.ID))
}

// KeepWebhook renews a lease. Write fails with ErrConflict when it has
// lapsed, so that a late worker cannot overwrite what its successor did.
func (tx *Tx) KeepWebhook(w Webhook, holder string, lease time.Duration) {
	tx.execOne(ErrConflict, `UPDATE webhook SET lease_until = {now} + $1 WHERE domain_id = $2 AND id = $3 AND holder = $4 AND lease_until >= {now}`,
		lease.Microseconds(), int64(w.Domain), int64(w.ID), holder)
}

// ReleaseWebhook ends a lease; one that has lapsed is left alone.
func (tx *Tx) ReleaseWebhook(w Webhook, holder string) {
	tx.exec(`UPDATE webhook SET lease_until = 0, holder = '' WHERE domain_id = $1 AND id = $2 AND holder = $3`, int64(w.Domain), int64(w.ID), holder)
}

// PlanFlush ends a run of the flusher: the next one is due at next, or never
// when the run left nothing undelivered.
func (tx *Tx) PlanFlush(w Webhook, next time.Time) {
	tx.exec(`UPDATE webhook SET next_flush = CASE WHEN EXISTS (
			SELECT 1 FROM delivery d WHERE d.webhook_id = webhook.id AND d.delivered IS NULL AND d.dropped IS NULL) THEN CAST($1 AS BIGINT) END
		WHERE domain_id = $2 AND id = $3 AND deleted IS NULL`, micros(next), int64(w.Domain), int64(w.ID))
}

// WantFlush makes sure that the flusher visits a webhook; a visit that is
// planned already stays as it is.
func (tx *Tx) WantFlush(w Webhook, next time.Time) {
	tx.exec(`UPDATE webhook SET next_flush = $1 WHERE domain_id = $2 AND id = $3 AND deleted IS NULL AND next_flush IS NULL`,
		micros(next), int64(w.Domain), int64(w.ID))
}

// GoOnAfter keeps the flusher's place: its next run begins after a delivery.
func (tx *Tx) GoOnAfter(w Webhook, last passerelle.DeliveryID) {
	tx.exec(`UPDATE webhook SET flush_after = $1 WHERE domain_id = $2 AND id = $3`, int64(last), int64(w.Domain), int64(w.ID))
}

// LeaveToFlusher leaves the deliveries of a webhook up to last, tried or not,
// to the flusher, for as long as it has something to do.
func (tx *Tx) LeaveToFlusher(w Webhook, holder string, last passerelle.DeliveryID) {
	tx.exec(`UPDATE webhook SET news_after = $1 WHERE domain_id = $2 AND id = $3 AND holder = $4`,
		int64(last), int64(w.Domain), int64(w.ID), holder)
}

// AuthProvider is a way for receivers to check that a request is ours.
type AuthProvider struct {
	ID     int64
	Domain passerelle.DomainID
	Type   string // "hmac_signature"
	Name   string
	// Secret is the signing secret, sealed in the database.
	Secret  string
	Created time.Time
}

const authColumns = `id, domain_id, type, name, secret, created`

func (r *Reader) scanAuthProvider(row scanner) (AuthProvider, error) {
	var (
		a       AuthProvider
		sealed  []byte
		created int64
	)
	if err := row.Scan(&a.ID, &a.Domain, &a.Type, &a.Name, &sealed, &created); err != nil {
		return a, err
	}
	a.Created = instant(created)
	secret, err := r.keys.Open(authPlace(a.Domain, a.ID), sealed)
	if err != nil {
		return a, fmt.Errorf("open the secret of authentication provider %d: %w", a.ID, err)
	}
	a.Secret = string(secret)
	return a, nil
}

func authPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "auth_provider", Column: "secret", Row: id}
}

// AuthProvider loads a provider that is not deleted, or ErrNotFound.
func (r *Reader) AuthProvider(ctx context.Context, domain passerelle.DomainID, id int64) (AuthProvider, error) {
	return one(ctx, r, r.scanAuthProvider, `SELECT `+authColumns+` FROM auth_provider WHERE domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), id)
}

// AuthProviders lists the providers of a domain, oldest first, at most 1000.
func (r *Reader) AuthProviders(ctx context.Context, domain passerelle.DomainID) ([]AuthProvider, error) {
	return collect(ctx, r, r.scanAuthProvider, `SELECT `+authColumns+` FROM auth_provider WHERE domain_id = $1 AND deleted IS NULL ORDER BY id LIMIT 1000`, int64(domain))
}

// CreateAuthProvider stores a provider and gives it its id. A name in use is
// ErrDuplicate.
func (tx *Tx) CreateAuthProvider(a *AuthProvider) error {
	id, err := tx.newID("auth_provider")
	if err != nil {
		return err
	}
	a.ID = id
	sealed, err := tx.keys.Seal(authPlace(a.Domain, id), []byte(a.Secret))
	if err != nil {
		return fmt.Errorf("seal the secret of an authentication provider: %w", err)
	}
	tx.execOne(ErrConflict, `INSERT INTO auth_provider (id, domain_id, type, name, secret, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(a.Domain), a.Type, a.Name, sealed, micros(a.Created))
	return nil
}
