package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/webhook"
)

// Webhook is the registration of a receiving URL for one event.
type Webhook struct {
	ID     passerelle.WebhookID
	Domain passerelle.DomainID
	// Client is the application to which the webhook belongs, or zero. It becomes zero when the
	// application is deleted.
	Client passerelle.ClientID
	// User limits the webhook to the events of one user. Zero means no limit.
	User  passerelle.UserID
	Event webhook.Event
	URL   string
	Auth  int64 // id of the authentication provider, or zero
	// AuthDeleted is set when the provider was deleted. While it is set, nothing is sent, but the
	// webhook still gets new events.
	AuthDeleted bool
	Created     time.Time
	Updated     *time.Time
	Deleted     *time.Time
	// Disabled is the time at which the webhook was paused. While it is set, nothing is sent and
	// the webhook gets no new events. Undelivered events stay.
	Disabled *time.Time
	// NextFlush is the time at which the flusher is due, in the domain's time. It is nil when the
	// flusher has no work. The flusher continues after the delivery FlushAfter.
	NextFlush  *time.Time
	FlushAfter passerelle.DeliveryID
	// FirstTriesAfter is the id of a delivery. The flusher sends all deliveries up to this id, even
	// untried deliveries. Later deliveries get an immediate first try. FirstTriesAfter is not used
	// while NextFlush is nil.
	FirstTriesAfter passerelle.DeliveryID
	// Stopped is set when failures ended the sender's last run. While it is set, only the flusher
	// and operators send.
	Stopped bool
	// ConsecutiveFailures counts the failed requests since the last accepted one. LastSuccess and
	// LastFailure are the times of the latest accepted and failed request, in the domain's time.
	ConsecutiveFailures      int64
	LastSuccess, LastFailure *time.Time
	// Alerted is the time at which the last alarm or recovery mail was written. Alarmed is true
	// from the alarm mail until the recovery mail is written.
	Alerted *time.Time
	Alarmed bool
	// AddToData lists the members that are added to payloads. It maps the name of each member to a
	// key. The value of the member is the text that is stored for the event's user under this key,
	// or null. AddToData may be nil.
	AddToData map[string]string
}

// firstTriesAfter returns the delivery after which deliveries get an immediate first try.
func (w Webhook) firstTriesAfter() int64 {
	if w.NextFlush == nil {
		return 0
	}
	return int64(w.FirstTriesAfter)
}

// AtOnce reports whether a delivery gets an immediate first try. The flusher sends all others.
func (w Webhook) AtOnce(d Delivery) bool { return d.Attempts == 0 && int64(d.ID) > w.firstTriesAfter() }

const webhookColumns = `id, domain_id, client_id, user_id, event, url, auth_id, created, updated, deleted, disabled,
	next_flush, flush_after, news_after, stopped, consecutive_failures, last_success, last_failure, alerted, alarmed, auth_deleted, add_to_data`

func scanWebhook(row database.Row) (Webhook, error) {
	var (
		w                                Webhook
		client, user, auth               *int64
		created                          int64
		updated, deleted, disabled, next *int64
		success, failure, alerted        *int64
		additions                        string
	)
	err := row.Scan(&w.ID, &w.Domain, &client, &user, &w.Event, &w.URL, &auth, &created, &updated, &deleted, &disabled,
		&next, &w.FlushAfter, &w.FirstTriesAfter, &w.Stopped, &w.ConsecutiveFailures, &success, &failure, &alerted, &w.Alarmed, &w.AuthDeleted, &additions)
	if err != nil {
		return w, err
	}
	w.Client, w.User, w.Auth = database.ID[passerelle.ClientID](client), database.ID[passerelle.UserID](user), database.ID[int64](auth)
	w.Created, w.Updated, w.Deleted, w.Disabled = database.Instant(created), database.OptionalInstant(updated), database.OptionalInstant(deleted), database.OptionalInstant(disabled)
	w.NextFlush, w.LastSuccess, w.LastFailure, w.Alerted = database.OptionalInstant(next), database.OptionalInstant(success), database.OptionalInstant(failure), database.OptionalInstant(alerted)
	w.AddToData, err = readTexts(additions)
	return w, err
}

// Webhook loads a webhook, even if it is deleted. It fails with ErrNotFound when the webhook does
// not exist.
func (r *Reader) Webhook(ctx context.Context, domain passerelle.DomainID, id passerelle.WebhookID) (Webhook, error) {
	return database.One(ctx, r.rows, scanWebhook, `SELECT `+webhookColumns+` FROM webhook WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
}

// freeFirst puts a webhook with a running sender at the end of a list of work, because the store
// would most likely refuse another lease.
const freeFirst = `CASE WHEN lease_until < {now} THEN 0 ELSE 1 END`

// waits is the condition that an earlier delivery of the same webhook and subject is held back. It
// is a scalar subquery with at most one row, because PostgreSQL would turn EXISTS into a join.
// Without statistics, the join would read the whole backlog.
const waits = `(` + earlier + ` AND p.not_before > 0 ORDER BY p.version LIMIT 1) IS NOT NULL`

// WebhooksWithFirstTries lists a domain's webhooks with deliveries that are due for an immediate
// first try. The list has at most limit webhooks. Webhooks without a running sender come first.
// WebhooksWithFirstTries leaves out deleted, disabled and stopped webhooks, and webhooks with a
// deleted provider.
func (r *Reader) WebhooksWithFirstTries(ctx context.Context, domain passerelle.DomainID, limit int) ([]Webhook, error) {
	return database.Collect(ctx, r.rows, scanWebhook, `SELECT `+webhookColumns+` FROM webhook w
		WHERE domain_id = $1 AND deleted IS NULL AND disabled IS NULL AND NOT stopped AND NOT auth_deleted
		AND (SELECT d.id FROM delivery d WHERE d.webhook_id = w.id AND d.delivered IS NULL AND d.dropped IS NULL AND `+tried+` = 0
			AND d.not_before = 0 AND d.id > CASE WHEN w.next_flush IS NULL THEN 0 ELSE w.news_after END AND NOT (`+waits+`)
			ORDER BY d.id LIMIT 1) IS NOT NULL
		ORDER BY `+freeFirst+`, CASE WHEN next_flush IS NULL THEN 0 ELSE 1 END, id LIMIT $2`, int64(domain), limit)
}

// WebhooksToFlush lists at most limit webhooks with a flusher that is due at the instant `now`, in
// the domain's time. It sorts webhooks without a running sender first, and then by the time at
// which the flusher was due.
func (r *Reader) WebhooksToFlush(ctx context.Context, domain passerelle.DomainID, now time.Time, limit int) ([]Webhook, error) {
	return database.Collect(ctx, r.rows, scanWebhook, `SELECT `+webhookColumns+` FROM webhook
		WHERE domain_id = $1 AND next_flush <= $2 AND deleted IS NULL AND disabled IS NULL AND NOT auth_deleted ORDER BY `+freeFirst+`, next_flush, id LIMIT $3`,
		int64(domain), database.Micros(now), limit)
}

// LeaseWebhook makes holder the only sender to a webhook for the duration of the lease. Write fails
// with ErrConflict while any holder has a lease, or when the webhook is deleted.
func (tx *Tx) LeaseWebhook(w Webhook, holder string, lease time.Duration) {
	tx.unit.ExecOne(ErrConflict, `UPDATE webhook SET holder = $1, lease_until = {now} + $2 WHERE +domain_id = $3 AND id = $4 AND deleted IS NULL AND lease_until < {now}`,
		holder, lease.Microseconds(), int64(w.Domain), int64(w.ID))
}

// KeepWebhook renews a lease of a webhook. Write fails with ErrConflict when the lease has lapsed.
// A late sender therefore cannot overwrite the results of the next sender.
func (tx *Tx) KeepWebhook(w Webhook, holder string, lease time.Duration) {
	tx.unit.ExecOne(ErrConflict, `UPDATE webhook SET lease_until = {now} + $1 WHERE +domain_id = $2 AND id = $3 AND holder = $4 AND lease_until >= {now}`,
		lease.Microseconds(), int64(w.Domain), int64(w.ID), holder)
}

// Unwanted finds, when the unit is written, the webhooks that are deleted, are disabled or have a
// deleted provider. It stores their ids in *unwanted.
func (tx *Tx) Unwanted(domain passerelle.DomainID, webhooks []passerelle.WebhookID, unwanted *[]int64) {
	list, args := idList(domain, webhooks)
	tx.unit.ReturningIDs(unwanted, `SELECT id FROM webhook WHERE +domain_id = $1 AND id IN (`+list+`)
		AND (deleted IS NOT NULL OR disabled IS NOT NULL OR auth_deleted)`, args...)
}

// ReleaseWebhook ends the lease of holder. It does nothing when the lease has lapsed and another
// holder has the webhook.
func (tx *Tx) ReleaseWebhook(w Webhook, holder string) {
	tx.unit.Exec(`UPDATE webhook SET lease_until = 0, holder = '' WHERE +domain_id = $1 AND id = $2 AND holder = $3`, int64(w.Domain), int64(w.ID), holder)
}

// PlanFlush ends the run of the flusher that was due at the instant `due`. The next run is due at
// the instant `next`. If another run was requested since this run began, that run stays planned.
// Without undelivered deliveries, PlanFlush plans no run, and the webhook is no longer stopped.
func (tx *Tx) PlanFlush(w Webhook, due, next time.Time) {
	const left = `EXISTS (SELECT 1 FROM delivery d WHERE d.webhook_id = webhook.id AND d.delivered IS NULL AND d.dropped IS NULL)`
	tx.unit.Exec(`UPDATE webhook SET next_flush = CASE WHEN `+left+` THEN CAST($1 AS BIGINT) END, stopped = stopped AND `+left+`
		WHERE +domain_id = $2 AND id = $3 AND deleted IS NULL AND next_flush = $4`, database.Micros(next), int64(w.Domain), int64(w.ID), database.Micros(due))
}

// LeaveToFlusher makes the flusher send the deliveries of a webhook up to the id `last`, while the
// flusher has work. This includes deliveries that were never tried. LeaveToFlusher does nothing
// when held back deliveries were released since the webhook was loaded.
func (tx *Tx) LeaveToFlusher(w Webhook, holder string, last passerelle.DeliveryID) {
	tx.unit.Exec(`UPDATE webhook SET news_after = $1 WHERE +domain_id = $2 AND id = $3 AND holder = $4 AND news_after = $5`,
		int64(last), int64(w.Domain), int64(w.ID), holder, int64(w.FirstTriesAfter))
}

const dueHeldBack = `FROM delivery WHERE domain_id = $1 AND not_before <= $2 AND delivered IS NULL AND dropped IS NULL AND not_before > 0`

// AnyHeldBackDue reports whether a domain has deliveries that are still held back although they may
// be sent now, in the domain's time.
func (r *Reader) AnyHeldBackDue(ctx context.Context, domain passerelle.DomainID, now time.Time) (bool, error) {
	due, err := database.One(ctx, r.rows, database.ScanInt, `SELECT CASE WHEN (SELECT id `+dueHeldBack+` ORDER BY not_before, id LIMIT 1) IS NULL THEN 0 ELSE 1 END`, int64(domain), database.Micros(now))
	return due == 1, err
}

// FreeHeldBack releases at most limit held back deliveries that are due now, in the domain's time.
// These deliveries are then due for an immediate first try. FreeHeldBack always changes
// FirstTriesAfter, so that a concurrent LeaveToFlusher does nothing.
func (tx *Tx) FreeHeldBack(domain passerelle.DomainID, now time.Time, limit int) {
	some := dueHeldBack + ` ORDER BY not_before, id` + database.UpTo(limit)
	tx.unit.Exec(`UPDATE webhook SET news_after = CASE WHEN news_after < due.first THEN news_after ELSE due.first END - 1
		FROM (SELECT f.webhook_id, MIN(f.id) AS first FROM (SELECT webhook_id, id `+some+`) AS f GROUP BY f.webhook_id) AS due
		WHERE +webhook.domain_id = $1 AND webhook.id = due.webhook_id`, int64(domain), database.Micros(now))
	tx.unit.Exec(`UPDATE delivery SET not_before = 0 WHERE +domain_id = $1 AND id IN (SELECT id `+some+`)`, int64(domain), database.Micros(now))
}
