package aggregation

import (
	"context"

	"passerelle/internal/settings"
	"passerelle/internal/statement"
	"passerelle/internal/store"
)

// maxStated is the largest payload that a statement is made of: since movements
// are sorted all of it has to be in memory. Only tests change it.
var maxStated = 32 << 20

// statable is a letter that can be sent as a statement: where the domain wants
// one, it stays in memory for as long as it can become one.
func (v *visit) statable(ctx context.Context) *letter {
	l := v.letter(ctx)
	if v.settings.On(settings.CFONB) {
		l.limit = maxStated
	}
	return l
}

// finish makes such a letter the body of an event.
func (v *visit) finish(l *letter, e *store.Event) error {
	if l.long != nil && v.settings.On(settings.CFONB) {
		v.Log.ErrorContext(l.ctx, "a payload is too long for a statement and is sent as JSON", "event", e.Name, "connection", v.c.ID, "most", maxStated)
	}
	if err := l.into(e); err != nil || e.Parts != nil {
		return err
	}
	v.stateOf(l.ctx, e, e.Body)
	if len(e.Body) <= maxInline {
		return nil
	}
	e.Domain = v.domain.ID
	return v.inParts(l.ctx, e)
}

// stateOf makes the body of an event a statement of a payload where the domain
// wants that. A payload with values that do not fit into the columns stays what
// it was: the receiver can tell by the type, and the visit goes on.
func (v *visit) stateOf(ctx context.Context, e *store.Event, payload []byte) {
	if !v.settings.On(settings.CFONB) {
		return
	}
	text, omitted, err := statement.Of(payload)
	if err != nil {
		v.Log.ErrorContext(ctx, "a payload does not fit into a statement and is sent as JSON", "event", e.Name, "connection", v.c.ID, "error", err)
		return
	}
	e.MediaType, e.Body, e.Omitted = statement.MediaType, text, omitted
}
