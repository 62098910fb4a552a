package payment

import (
	"errors"
	"slices"
	"time"

	"passerelle"
)

// Note is an entry in a payment's timeline for something other than a change of state. It causes no
// event. Text is for people and has at most MaxDescription characters.
type Note struct {
	// At is the time at which the note was added.
	At    time.Time
	Kind  string
	Actor Actor
	// Bank is the bank's own status word, empty when no bank was involved.
	Bank string
	Text string
	// Requests are the calls to the bank, as in a Report. Requests is empty when no bank was
	// involved.
	Requests string
	// Day is the day of an occurrence, and zero in other notes.
	Day passerelle.Date
}

// These are the kinds of note.
const (
	// NoteCancelling means that a cancellation waits for the payer's action.
	NoteCancelling = "cancelling"
	// NoteCancellationGranted means that the bank cancels the instructions that are still open.
	NoteCancellationGranted = "cancellationGranted"
	// NoteCancellationRefused means that the order continues despite the requested cancellation.
	NoteCancellationRefused = "cancellationRefused"
	// NoteCancellationOvertaken means that the payment ended for another reason before its
	// cancellation.
	NoteCancellationOvertaken = "cancellationOvertaken"
	// NoteAbandoned means that the payer abandoned the payment in this service, and may still
	// approve it at the bank.
	NoteAbandoned = "abandoned"
	// NoteOccurrence means that the bank executed a periodic order once.
	NoteOccurrence = "occurrence"
	// NoteOccurrenceFailed means that one execution of a periodic order failed, and that the order
	// continues.
	NoteOccurrenceFailed = "occurrenceFailed"
	// NoteBankStatus means that only the bank's status word has changed, or that the bank sent a
	// remark.
	NoteBankStatus = "bankStatus"
	// NoteOutcomeUnknown means that the outcome of a call to the bank is unknown, and that the
	// service asks the bank for the outcome.
	NoteOutcomeUnknown = "outcomeUnknown"
	// NoteSettled means that an operator recorded an outcome that the bank could not report.
	NoteSettled = "settled"
	// NoteStale means that a report was older than the stored data, or came after the end of the
	// payment, and changed nothing.
	NoteStale = "staleReport"
	// NoteSenseless means that a report could not be understood and changed nothing.
	NoteSenseless = "senselessReport"
)

// NoteKinds lists every kind of note.
func NoteKinds() []string {
	return []string{
		NoteCancelling, NoteCancellationGranted, NoteCancellationRefused, NoteCancellationOvertaken, NoteAbandoned,
		NoteOccurrence, NoteOccurrenceFailed, NoteBankStatus, NoteOutcomeUnknown, NoteSettled, NoteStale, NoteSenseless,
	}
}

// TakeNotes returns the notes that were added since TakeNotes was last called, oldest first. The
// caller must store them with the payment.
func (p *Payment) TakeNotes() []Note {
	notes := p.Notes
	p.Notes = nil
	return notes
}

// NoteUnknownOutcome adds a note about a call to the bank with an unknown outcome. The note
// contains the ids of the requests that the connector sent.
func (p *Payment) NoteUnknownOutcome(r Report, now time.Time) {
	p.add(Note{At: now, Kind: NoteOutcomeUnknown, Actor: ByService, Requests: clean(r.Requests, MaxBankRequests)})
}

// NoteSettlement adds a note with an operator's reason for ending a payment that had an unknown
// outcome.
func (p *Payment) NoteSettlement(reason string, now time.Time) {
	p.record(NoteSettled, ByService, reason, now)
}

// record adds a note. The notes of earlier copies of the payment stay unchanged.
func (p *Payment) record(kind string, by Actor, text string, now time.Time) {
	p.add(Note{At: now, Kind: kind, Actor: by, Text: clean(text, MaxDescription)})
}

// add adds notes. It copies the earlier notes, because copies of the payment may share them.
func (p *Payment) add(notes ...Note) { p.Notes = append(slices.Clip(p.Notes), notes...) }

// recordReport adds a note about a report that was not applied. The text of the note is the reason
// or, for a stale report, the bank's status word. The reason quotes at most 40 characters of the
// bank's value.
func (p *Payment) recordReport(r Report, why error, now time.Time) {
	said := clean(r.Raw, MaxBankWord)
	kind, text := NoteSenseless, why.Error()
	if errors.Is(why, ErrStale) {
		kind, text = NoteStale, said
	}
	p.add(Note{At: now, Kind: kind, Actor: ByBank, Bank: said, Text: clean(text, MaxDescription), Requests: clean(r.Requests, MaxBankRequests)})
}
