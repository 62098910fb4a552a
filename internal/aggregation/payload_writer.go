package aggregation

import (
	"context"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// payloadBuffer is how much of a body is held in memory before it goes to the
// store in parts.
const payloadBuffer = 64 << 10

// payloadWriter writes the body of an event. A short one stays
// in memory, a long one never is there as a whole.
type payloadWriter struct {
	ctx    context.Context
	db     *store.DB
	domain passerelle.DomainID
	// limit is how much of it may be in memory.
	limit  int
	buffer []byte
	parts  *store.EventBody
	// holds is what of it the person may withdraw.
	holds []store.Holding
	err   error
}

func (run *syncRun) newPayload(ctx context.Context) *payloadWriter {
	return &payloadWriter{ctx: ctx, db: run.DB, domain: run.domain.ID, limit: payloadBuffer}
}

// add writes a piece; the first error is kept.
func (w *payloadWriter) add(piece string) {
	w.buffer = append(w.buffer, piece...)
	if len(w.buffer) < w.limit || w.err != nil {
		return
	}
	if w.parts == nil {
		w.parts = w.db.WriteBody(w.ctx, w.domain)
	}
	_, w.err = w.parts.Write(w.buffer)
	w.buffer = w.buffer[:0]
}

// object writes a resource whose further members are added by open.
func (w *payloadWriter) object(resource any) { w.add(string(wire.Encode(resource))) }

// open writes a resource without its end, so that members can be added.
func (w *payloadWriter) open(resource any) {
	encoded := wire.Encode(resource)
	w.add(string(encoded[:len(encoded)-1]))
}

// item writes what separates a list's items.
func (w *payloadWriter) item(i int) {
	if i > 0 {
		w.add(",")
	}
}

// hold notes that the body holds something of a connection.
func (w *payloadWriter) hold(of bankstore.Connection, what store.Holding) {
	if whole := of.Holding(); !slices.Contains(w.holds, whole) {
		w.holds = append(w.holds, whole)
	}
	w.holds = append(w.holds, what)
}

// attachTo returns the event with what was written as its body.
func (w *payloadWriter) attachTo(e store.EmittedEvent) (store.EmittedEvent, error) {
	e.Holds = w.holds
	if w.parts == nil || w.err != nil {
		e.Body = w.buffer
		return e, w.err
	}
	if _, err := w.parts.Write(w.buffer); err != nil {
		return e, err
	}
	e.Parts = w.parts
	return e, w.parts.Close()
}
