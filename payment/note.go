package payment

import (
	"errors"
	"slices"
	"time"

	"passerelle"
)

// Note is something worth reading in the timeline of a payment that is not a
// change of its state. It gives no event. Text is for people, at most
// MaxDescription characters; what a bank said in it is in bounds.
type Note struct {
	// At is when it happened or, of what happened at a bank, was heard of.
	At    time.Time
	Kind  string
	Actor Actor
	// Bank is the bank's own status word, empty when no bank was involved.
	Bank string
	Text string
	// Day is that of an occurrence, and of nothing else.
	Day passerelle.Date
}

// The kinds of note.
const (
	// NoteCancelling: a cancellation waits for the payer's action.
	NoteCancelling = "cancelling"
	// NoteCancellationGranted: the bank cancels what is still open.
	NoteCancellationGranted = "cancellationGranted"
	// NoteCancellationRefused: the order goes on as if nobody had asked.
	NoteCancellationRefused = "cancellationRefused"
	// NoteCancellationOvertaken: the payment ended otherwise meanwhile.
	NoteCancellationOvertaken = "cancellationOvertaken"
	// NoteOccurrence: a periodic order was executed once.
	NoteOccurrence = "occurrence"
	// NoteOccurrenceFailed: one execution of a periodic order failed, and the
	// order goes on.
	NoteOccurrenceFailed = "occurrenceFailed"
	// NoteBankStatus: the bank has another word for where the order stands, or says
	// something about it, and nothing else has changed.
	NoteBankStatus = "bankStatus"
	// NoteStale: a report said less than was known, and changed nothing.
	NoteStale = "staleReport"
	// NoteSenseless: a report could not be understood, and changed nothing.
	NoteSenseless = "senselessReport"
)

// NoteKinds lists every kind of note.
func NoteKinds() []string {
	return []string{
		NoteCancelling, NoteCancellationGranted, NoteCancellationRefused, NoteCancellationOvertaken,
		NoteOccurrence, NoteOccurrenceFailed, NoteBankStatus, NoteStale, NoteSenseless,
	}
}

// TakeNotes hands over the notes made since they were last taken, oldest first.
// They are to be stored with the payment.
func (p *Payment) TakeNotes() []Note {
	notes := p.Notes
	p.Notes = nil
	return notes
}

// record appends to a slice of the payment's own: copies made before may share
// what is behind it.
func (p *Payment) record(kind string, by Actor, text string, now time.Time) {
	p.add(Note{At: now, Kind: kind, Actor: by, Text: clean(text, MaxDescription)})
}

func (p *Payment) add(n Note) { p.Notes = append(slices.Clip(p.Notes), n) }

// recordReport notes a report that was not followed. Its reason is our own
// text, with a few quoted characters of the bank's.
func (p *Payment) recordReport(r Report, why error, now time.Time) {
	said := clean(r.Raw, MaxBankWord)
	kind, text := NoteSenseless, why.Error()
	if errors.Is(why, ErrStale) {
		kind, text = NoteStale, said
	}
	p.add(Note{At: now, Kind: kind, Actor: ByBank, Bank: said, Text: clean(text, MaxDescription)})
}
