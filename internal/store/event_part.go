package store

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// maxInline is the size of the largest body that is stored in one piece, in bytes. Each request in
// flight keeps one such body in memory.
const maxInline = 64 << 10

// InParts moves the body of an event to parts, if it is too long to be stored in one piece.
func (db *DB) InParts(ctx context.Context, e *EmittedEvent) error {
	if len(e.Body) <= maxInline {
		return nil
	}
	parts := db.WriteBody(ctx, e.Domain)
	if _, err := parts.Write(e.Body); err != nil {
		return fmt.Errorf("store a large body: %w", err)
	}
	if err := parts.Close(); err != nil {
		return fmt.Errorf("store a large body: %w", err)
	}
	e.Body, e.Parts = nil, parts
	return nil
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

// flush stores the bytes in memory as the next part. It does nothing when there are fewer bytes
// than the argument `enough`.
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
