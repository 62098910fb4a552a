package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// partSize is the number of bytes in each part of a large body, except the last part.
const partSize = 256 << 10

// EventBody is a large body that is written before its event is stored. PurgeParts removes a
// body whose event was not stored within a day.
type EventBody struct {
	ctx     context.Context
	db      *DB
	domain  passerelle.DomainID
	event   int64 // the id reserved for the event, zero before the first part
	number  int64
	size    int64
	first   byte
	pending []byte
	closed  bool
}

// WriteBody begins a large body. Each part is written in a separate transaction, with the context
// ctx. At most one part is in memory. After Close, pass the body to [Tx.Emit] in the field Parts of
// the event.
func (db *DB) WriteBody(ctx context.Context, domain passerelle.DomainID) *EventBody {
	return &EventBody{ctx: ctx, db: db, domain: domain}
}

// Write appends to the body.
func (b *EventBody) Write(piece []byte) (int, error) {
	if b.closed {
		return 0, errors.New("write a body: it is closed")
	}
	if b.size == 0 && len(b.pending) == 0 && len(piece) > 0 {
		b.first = piece[0]
	}
	for rest := piece; len(rest) > 0; {
		n := min(len(rest), partSize-len(b.pending))
		b.pending, rest = append(b.pending, rest[:n]...), rest[n:]
		if err := b.flush(partSize); err != nil {
			return len(piece) - len(rest), err
		}
	}
	return len(piece), nil
}

// Close writes the rest of the body. An empty body is an error.
func (b *EventBody) Close() error {
	b.closed = true
	if err := b.flush(1); err != nil {
		return err
	}
	if b.size == 0 {
		return errors.New("write a body: it is empty")
	}
	return nil
}

// flush stores the bytes in memory as the next part, if their number is at least the argument
// enough.
func (b *EventBody) flush(enough int) error {
	if len(b.pending) < enough {
		return nil
	}
	err := b.db.Write(b.ctx, func(tx *Tx) error {
		var err error
		if b.event == 0 {
			if b.event, err = tx.unit.NewID("event"); err != nil {
				return err
			}
		}
		tx.unit.Exec(`INSERT INTO event_part (event_id, number, domain_id, body, created) VALUES ($1, $2, $3, $4, {now})`,
			b.event, b.number+1, int64(b.domain), b.pending)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store part %d of a body: %w", b.number+1, err)
	}
	b.number, b.size, b.pending = b.number+1, b.size+int64(len(b.pending)), b.pending[:0]
	return nil
}

// ErrErased reports a body that was erased or is incomplete.
var ErrErased = errors.New("the body was erased")

// Body reads the body of a delivery as it was emitted. Reading fails with ErrErased when the body
// or one of its parts was erased. A body in d.Body is not read again.
func (r *Reader) Body(ctx context.Context, domain passerelle.DomainID, d Delivery) io.Reader {
	return &parts{ctx: ctx, from: r, domain: domain, event: d.EventID, left: d.Parted, page: d.Body, whole: d.Parted == 0 && len(d.Body) == 0}
}

// parts reads a body that is stored in one piece or in parts.
type parts struct {
	ctx    context.Context
	from   *Reader
	domain passerelle.DomainID
	event  int64
	number int64
	left   int64 // bytes in parts that are not read yet
	page   []byte
	// whole means that the body is stored in one piece and is not loaded yet.
	whole bool
}

// Read reads from the current part, and loads the next part when the current one is used up.
func (p *parts) Read(into []byte) (int, error) {
	if err := p.load(); err != nil {
		return 0, err
	}
	if len(p.page) == 0 && p.left <= 0 {
		return 0, io.EOF
	}
	if len(p.page) == 0 {
		if err := p.nextPart(); err != nil {
			return 0, err
		}
	}
	n := copy(into, p.page)
	p.page = p.page[n:]
	return n, nil
}

// load loads the body if it is stored in one piece.
func (p *parts) load() error {
	var err error
	if !p.whole {
		return nil
	}
	p.whole = false
	p.page, err = database.One(p.ctx, p.from.rows, func(row database.Row) ([]byte, error) {
		var body []byte
		err := row.Scan(&body)
		return body, err
	}, `SELECT body FROM event WHERE +domain_id = $1 AND id = $2 AND erased IS NULL AND parted = 0`, int64(p.domain), p.event)
	if errors.Is(err, ErrNotFound) {
		return ErrErased
	}
	return err
}

func (p *parts) nextPart() error {
	page, err := database.One(p.ctx, p.from.rows, func(row database.Row) ([]byte, error) {
		var body []byte
		err := row.Scan(&body)
		return body, err
	}, `SELECT body FROM event_part WHERE domain_id = $1 AND event_id = $2 AND number = $3`, int64(p.domain), p.event, p.number+1)
	if errors.Is(err, ErrNotFound) {
		return ErrErased
	}
	if err != nil {
		return fmt.Errorf("load part %d of the body of event %d: %w", p.number+1, p.event, err)
	}
	p.page, p.number, p.left = page, p.number+1, p.left-int64(len(page))
	return nil
}

// deletedKept is the time during which a deleted webhook may be restored together with its
// undelivered deliveries.
const deletedKept = 24 * time.Hour

// PurgeUndeliverable drops the undelivered deliveries of webhooks that were deleted more than a day
// ago. It erases the bodies of users' events that no other webhook will receive. The argument batch
// limits the deliveries that a unit drops, and batches limits the units. The next call continues
// after the last unit. The argument now is the domain's time.
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

// purgeBatches calls the function purge, at most as often as the argument batches says. It stops
// earlier when purge removes less than a full batch.
func purgeBatches(batches, batch int, purge func() (removed int, err error)) error {
	for range batches {
		if removed, err := purge(); err != nil || removed < batch {
			return err
		}
	}
	return nil
}
