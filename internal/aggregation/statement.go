package aggregation

import (
	"context"

	"passerelle/internal/settings"
	"passerelle/internal/statement"
	"passerelle/internal/store"
)

// maxStatementPayload is the size of the largest payload that is converted to a statement, in
// bytes. The conversion needs the whole payload in memory. Only tests change this limit.
var maxStatementPayload = 32 << 20

// newStatementPayload returns the writer of a payload that can be converted to a statement. When
// the domain's settings require statements, the payload stays in memory up to maxStatementPayload.
func (r *reporter) newStatementPayload(ctx context.Context) *payloadWriter {
	w := r.newPayload(ctx)
	if r.settings.On(settings.CFONB) {
		w.limit = maxStatementPayload
	}
	return w
}

// finish returns the event with the payload of newStatementPayload as its body.
func (r *reporter) finish(w *payloadWriter, e store.EmittedEvent, failed error) (store.EmittedEvent, error) {
	if w.parts != nil && r.settings.On(settings.CFONB) {
		r.log.ErrorContext(w.ctx, "a payload is too long for a statement and is sent as JSON", "event", e.Name, "connection", r.lease.c.ID, "most", maxStatementPayload)
	}
	e, err := w.attachTo(e, failed)
	if err != nil || e.Parts != nil {
		return e, err
	}
	r.makeStatement(w.ctx, &e, e.Body, w.unstated...)
	e.Domain = r.lease.domain.ID
	err = r.lease.db.InParts(w.ctx, &e)
	return e, err
}

// makeStatement converts a payload to a statement when the domain's settings require it. It leaves
// a payload unchanged when the conversion fails. The receiver recognises this by the media type,
// and the run continues.
func (r *reporter) makeStatement(ctx context.Context, e *store.EmittedEvent, payload []byte, unstated ...int64) {
	if !r.settings.On(settings.CFONB) {
		return
	}
	text, omitted, err := statement.Of(payload, unstated...)
	if err != nil {
		r.log.ErrorContext(ctx, "a payload does not fit into a statement and is sent as JSON", "event", e.Name, "connection", r.lease.c.ID, "error", err)
		return
	}
	e.MediaType, e.Body, e.Omitted = statement.MediaType, text, omitted
}
