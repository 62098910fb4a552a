package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// The loop of package delivery removes old events in small transactions, which must not read the
// same rows again and again. Finished deliveries therefore have a separate index, and an event is
// removed together with its last delivery. For events without deliveries, and for large bodies
// without an event, the store records a position. The service has checked all rows up to this
// position.

// Retention says which rows of a domain are old enough to be removed. The age of an event and of
// its deliveries counts from the time of the change that the event reports.
type Retention struct {
	Domain passerelle.DomainID
	// Events is an instant in the domain's time. Older events are removed after all their
	// deliveries have ended. Health is the instant before which health records are removed.
	Events, Health time.Time
	// Batch limits the number of rows that one statement removes. The limit for the attempts of
	// finished deliveries is ten times as high. The parts of bodies have no limit. Batches limits
	// the number of transactions in one call of PurgeEvents. The next call continues.
	Batch, Batches int
}

// PurgeEvents removes old data of a domain: finished events with their deliveries, attempts and
// bodies, and health records. Undelivered events stay, but their attempts from before r.Events are
// removed.
func (db *DB) PurgeEvents(ctx context.Context, r Retention) error {
	for range r.Batches {
		more, err := db.purgeBatch(ctx, r)
		if err != nil {
			return fmt.Errorf("remove old events of domain %d: %w", r.Domain, err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

func (db *DB) purgeBatch(ctx context.Context, r Retention) (bool, error) {
	over, err := database.Collect(ctx, db.rows, scanOld, `SELECT id, event_id FROM delivery
		WHERE domain_id = $1 AND created < $2 AND (delivered IS NOT NULL OR dropped IS NOT NULL) ORDER BY created, id LIMIT $3`,
		int64(r.Domain), database.Micros(r.Events), r.Batch)
	if err != nil {
		return false, err
	}
	from, err := db.purgePlace(ctx, r.Domain, unsentPlace)
	if err != nil {
		return false, err
	}
	unseen, err := database.Collect(ctx, db.rows, scanOld, `SELECT created, id FROM event
		WHERE domain_id = $1 AND (created, id) > ($2, $3) AND created < $4 ORDER BY created, id LIMIT $5`,
		int64(r.Domain), from[0], from[1], database.Micros(r.Events), r.Batch)
	if err != nil {
		return false, err
	}
	var removed rowCount
	err = db.Write(ctx, func(tx *Tx) error {
		tx.unit.OnRetry(func() { removed = 0 })
		tx.removeAttempts(r, &removed)
		tx.removeDeliveries(r, over)
		tx.removeEvents(r.Domain, second(unseen))
		tx.movePurge(r.Domain, unsentPlace, unseen)
		tx.removeHealth(r, &removed)
		return nil
	})
	return len(over)+len(unseen)+int(removed) > 0, err
}

// scanOld reads a pair of numbers. The second number is an id.
func scanOld(row database.Row) ([2]int64, error) {
	var pair [2]int64
	err := row.Scan(&pair[0], &pair[1])
	return pair, err
}

func second(pairs [][2]int64) []int64 {
	ids := make([]int64, len(pairs))
	for i, pair := range pairs {
		ids[i] = pair[1]
	}
	return ids
}

// These are the kinds of purge positions. A purge position is an instant and an id. All rows up to
// this position were checked.
const (
	unsentPlace = "event"
	partPlace   = "event_part"
)

func (db *DB) purgePlace(ctx context.Context, domain passerelle.DomainID, subject string) ([2]int64, error) {
	place, err := database.One(ctx, db.rows, scanOld, `SELECT created, last FROM purge_place WHERE domain_id = $1 AND subject = $2`, int64(domain), subject)
	if errors.Is(err, ErrNotFound) {
		return [2]int64{math.MinInt64, 0}, nil
	}
	return place, err
}

// movePurge moves a purge position past checked rows. It never moves the position back, because
// another process may have checked more rows.
func (tx *Tx) movePurge(domain passerelle.DomainID, subject string, seen [][2]int64) {
	if len(seen) == 0 {
		return
	}
	last := seen[len(seen)-1]
	tx.unit.Exec(`INSERT INTO purge_place (domain_id, subject, created, last) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain_id, subject) DO UPDATE SET created = excluded.created, last = excluded.last
		WHERE (excluded.created, excluded.last) > (purge_place.created, purge_place.last)`, int64(domain), subject, last[0], last[1])
}

// rowCount is the number of rows that the statements of a unit removed.
type rowCount int

// counted adds a statement that returns each row that it removes, and counts these rows.
func (tx *Tx) counted(n *rowCount, sql string, args ...any) {
	tx.unit.Returning(func(database.Row) error { *n++; return nil }, sql, args...)
}

// removeAttempts removes records of old requests for deliveries in any state. A delivery that fails
// every minute has very many requests.
func (tx *Tx) removeAttempts(r Retention, removed *rowCount) {
	tx.counted(removed, `DELETE FROM delivery_attempt WHERE id IN (
			SELECT a.id FROM webhook w JOIN delivery_attempt a ON a.webhook_id = w.id AND a.at < $1 WHERE w.domain_id = $2`+database.UpTo(r.Batch)+`)
		RETURNING id`, database.Micros(r.Events), int64(r.Domain))
}

// removeDeliveries removes deliveries, and each event whose last delivery it removed. The argument
// `over` contains pairs: the id of a delivery and the id of its event. removeDeliveries keeps
// deliveries with more attempts than one transaction should remove.
func (tx *Tx) removeDeliveries(r Retention, over [][2]int64) {
	if len(over) == 0 {
		return
	}
	deliveries := make([]int64, len(over))
	for i, pair := range over {
		deliveries[i] = pair[0]
	}
	list, args := idList(r.Domain, deliveries)
	tx.unit.Exec(`DELETE FROM delivery_attempt WHERE id IN (
		SELECT id FROM delivery_attempt WHERE domain_id = $1 AND delivery_id IN (`+list+`)`+database.UpTo(10*r.Batch)+`)`, args...)
	tx.unit.Exec(`DELETE FROM delivery WHERE +domain_id = $1 AND id IN (`+list+`)
		AND NOT EXISTS (SELECT 1 FROM delivery_attempt a WHERE a.delivery_id = delivery.id)`, args...)
	tx.removeEvents(r.Domain, second(over))
}

// removeEvents removes events without a delivery. The argument `events` contains the ids to check.
// removeEvents keeps the events of temporary users, because they may still get deliveries.
func (tx *Tx) removeEvents(domain passerelle.DomainID, events []int64) {
	if len(events) == 0 {
		return
	}
	list, args := idList(domain, events)
	const unsent = ` AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id) AND NOT held`
	tx.unit.Exec(`DELETE FROM event_part WHERE domain_id = $1 AND event_id IN (SELECT id FROM event WHERE +domain_id = $1 AND id IN (`+list+`)`+unsent+`)`, args...)
	tx.unit.Exec(`DELETE FROM event WHERE +domain_id = $1 AND id IN (`+list+`)`+unsent, args...)
}

func (tx *Tx) removeHealth(r Retention, removed *rowCount) {
	tx.counted(removed, `DELETE FROM webhook_health WHERE (webhook_id, hour) IN (
			SELECT webhook_id, hour FROM webhook_health WHERE domain_id = $1 AND hour < $2`+database.UpTo(r.Batch)+`)
		RETURNING hour`, int64(r.Domain), hourOf(r.Health))
}

// partsKept is the time during which a large body may wait for its event.
const partsKept = 24 * time.Hour

// PurgeParts removes large bodies whose event was not stored within a day. The day counts in real
// time, not in the domain's time. The argument `batch` limits the parts that one transaction
// checks, and `batches` limits the transactions. The next call continues.
func (db *DB) PurgeParts(ctx context.Context, batch, batches int) error {
	return purgeBatches(batches, batch, func() (int, error) {
		from, err := db.purgePlace(ctx, 0, partPlace)
		if err != nil {
			return 0, fmt.Errorf("find where the search for parts continues: %w", err)
		}
		parts, err := database.Collect(ctx, db.rows, scanOld, `SELECT created, event_id FROM event_part
			WHERE (created, event_id) > ($1, $2) AND created < {now} - CAST($3 AS BIGINT) ORDER BY created, event_id LIMIT $4`,
			from[0], from[1], partsKept.Microseconds(), batch)
		if err != nil || len(parts) == 0 {
			return 0, err
		}
		err = db.Write(ctx, func(tx *Tx) error {
			var c database.Clauses
			list := database.AnyOf(&c, second(parts))
			tx.unit.Exec(`DELETE FROM event_part WHERE event_id IN (`+list+`) AND NOT EXISTS (SELECT 1 FROM event e WHERE e.id = event_part.event_id)`, c.Args...)
			tx.movePurge(0, partPlace, parts)
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("remove parts without an event: %w", err)
		}
		return len(parts), nil
	})
}

// deletedKept is the time during which a deleted webhook may be restored together with its
// undelivered deliveries.
const deletedKept = 24 * time.Hour

// PurgeUndeliverable drops the undelivered deliveries of webhooks that were deleted more than a day
// ago. It erases the bodies of users' events that no other webhook will receive. The argument
// `batch` limits the deliveries that one transaction drops, and `batches` limits the transactions.
// The next call continues. The argument `now` is in the domain's time.
func (db *DB) PurgeUndeliverable(ctx context.Context, domain passerelle.DomainID, now time.Time, batch, batches int) error {
	return purgeBatches(batches, batch, func() (int, error) {
		deliveries, events, err := db.undeliverable(ctx, domain, now.Add(-deletedKept), batch)
		if err != nil || len(deliveries) == 0 {
			return 0, err
		}
		err = db.Write(ctx, func(tx *Tx) error {
			tx.drop(domain, deliveries, "the webhook was deleted", now)
			tx.eraseBodies(domain, events, now)
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("give up deliveries to deleted webhooks: %w", err)
		}
		return len(deliveries), nil
	})
}

func (r *Reader) undeliverable(ctx context.Context, domain passerelle.DomainID, deleted time.Time, limit int) ([]passerelle.DeliveryID, []int64, error) {
	var (
		deliveries []passerelle.DeliveryID
		events     []int64
	)
	err := r.rows.Each(ctx, `SELECT d.id, d.event_id FROM webhook w JOIN delivery d ON d.webhook_id = w.id
		WHERE w.domain_id = $1 AND w.deleted < $2 AND d.delivered IS NULL AND d.dropped IS NULL`+database.UpTo(limit),
		[]any{int64(domain), database.Micros(deleted)}, func(row database.Row) (bool, error) {
			var delivery passerelle.DeliveryID
			var event int64
			err := row.Scan(&delivery, &event)
			deliveries, events = append(deliveries, delivery), append(events, event)
			return true, err
		})
	return deliveries, events, err
}

// purgeBatches calls the function purge until purge removes fewer than `batch` rows or fails. It
// calls purge at most `batches` times.
func purgeBatches(batches, batch int, purge func() (removed int, err error)) error {
	for range batches {
		if removed, err := purge(); err != nil || removed < batch {
			return err
		}
	}
	return nil
}
