package aggregation

import (
	"context"
	"slices"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// letterSize is how much of a body is held in memory before it goes to the
// store in parts.
const letterSize = 64 << 10

// letter is the body of an event while it is being written. A short one stays
// in memory, a long one never is there as a whole.
type letter struct {
	ctx    context.Context
	db     *store.DB
	domain passerelle.DomainID
	// limit is how much of it may be in memory.
	limit int
	text  []byte
	long  *store.Body
	// holds is what of it the person may withdraw.
	holds []store.Holding
	err   error
}

func (v *visit) letter(ctx context.Context) *letter {
	return &letter{ctx: ctx, db: v.DB, domain: v.domain.ID, limit: letterSize}
}

// add writes a piece; the first error is kept.
func (l *letter) add(piece string) {
	l.text = append(l.text, piece...)
	if len(l.text) < l.limit || l.err != nil {
		return
	}
	if l.long == nil {
		l.long = l.db.WriteBody(l.ctx, l.domain)
	}
	_, l.err = l.long.Write(l.text)
	l.text = l.text[:0]
}

// object writes a resource whose further members are added by open.
func (l *letter) object(resource any) { l.add(string(wire.Encode(resource))) }

// open writes a resource without its end, so that members can be added.
func (l *letter) open(resource any) {
	encoded := wire.Encode(resource)
	l.add(string(encoded[:len(encoded)-1]))
}

// item writes what separates a list's items.
func (l *letter) item(i int) {
	if i > 0 {
		l.add(",")
	}
}

// hold notes that the body holds something of a connection.
func (l *letter) hold(of store.Connection, what store.Holding) {
	if whole := of.Holding(); !slices.Contains(l.holds, whole) {
		l.holds = append(l.holds, whole)
	}
	l.holds = append(l.holds, what)
}

// into makes what was written the body of an event.
func (l *letter) into(e *store.Event) error {
	e.Holds = l.holds
	if l.long == nil || l.err != nil {
		e.Body = l.text
		return l.err
	}
	if _, err := l.long.Write(l.text); err != nil {
		return err
	}
	e.Parts = l.long
	return l.long.Close()
}
