package aggregation

import (
	"context"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// payloadBuffer is the number of bytes that a payloadWriter collects in memory before it stores
// them in parts.
const payloadBuffer = 64 << 10

// payloadWriter writes the body of an event. A short body stays in memory, and a long one is
// never completely in memory.
type payloadWriter struct {
	payload *wire.Payload

	ctx    context.Context
	db     *store.DB
	domain passerelle.DomainID
	// limit is the number of bytes of the body that may be in memory.
	limit  int
	buffer []byte
	parts  *store.EventBody
	// unstated lists the transactions in the body that the statement made from this body omits,
	// because they were movements of earlier statements, or a client created them.
	unstated []int64
	// holds lists the data in the body that the user may withdraw.
	holds []store.Holding
}

func (r *reporter) newPayload(ctx context.Context) *payloadWriter {
	w := &payloadWriter{ctx: ctx, db: r.lease.db, domain: r.lease.domain.ID, limit: payloadBuffer}
	w.payload = wire.NewPayload(w)
	return w
}

// Write writes a piece of the body.
func (w *payloadWriter) Write(piece []byte) (int, error) {
	w.buffer = append(w.buffer, piece...)
	return len(piece), w.flush()
}

// WriteString does the same as Write for a text.
func (w *payloadWriter) WriteString(piece string) (int, error) {
	w.buffer = append(w.buffer, piece...)
	return len(piece), w.flush()
}

// flush stores a part when enough bytes are in memory.
func (w *payloadWriter) flush() error {
	if len(w.buffer) < w.limit {
		return nil
	}
	if w.parts == nil {
		w.parts = w.db.WriteBody(w.ctx, w.domain)
	}
	_, err := w.parts.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// hold records which data of a connection the body contains.
func (w *payloadWriter) hold(of bankstore.Connection, what ...store.Holding) {
	if whole := of.Holding(); !slices.Contains(w.holds, whole) {
		w.holds = append(w.holds, whole)
	}
	w.holds = append(w.holds, what...)
}

// attachTo returns the event with the written body. Callers pass the error from writing the body,
// if any, and attachTo returns it.
func (w *payloadWriter) attachTo(e store.EmittedEvent, failed error) (store.EmittedEvent, error) {
	e.Holds = w.holds
	if w.parts == nil || failed != nil {
		e.Body = w.buffer
		return e, failed
	}
	if _, err := w.parts.Write(w.buffer); err != nil {
		return e, err
	}
	e.Parts = w.parts
	return e, w.parts.Close()
}
