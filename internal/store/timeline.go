package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// TimelineRow is one entry in the timeline of a payment. Exactly one of its two fields is set.
type TimelineRow struct {
	Transition *payment.Transition
	Note       *payment.Note
}

// Timeline lists the entries of payments of a domain, oldest first. It executes one query for
// transitions and one for notes, for any number of payments. The notes of a change precede its
// transitions. If the argument notes is not zero, the list has at most this number of notes, the
// newest ones. Such a limit needs exactly one payment.
func (r *Reader) Timeline(ctx context.Context, domain passerelle.DomainID, ids []passerelle.PaymentID, notes int) (map[passerelle.PaymentID][]TimelineRow, error) {
	lines := map[passerelle.PaymentID][]TimelineRow{}
	if len(ids) == 0 {
		return lines, nil
	}
	list, args := idList(domain, ids)
	rows, err := database.Collect(ctx, r.rows, scanPlacedTransition, `SELECT payment_id, `+transitionColumns+` FROM payment_transition
		WHERE +domain_id = $1 AND payment_id IN (`+list+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("load transitions: %w", err)
	}
	newest := ""
	if notes > 0 {
		args = append(args, notes)
		newest = fmt.Sprintf(" ORDER BY number DESC LIMIT $%d", len(args))
	}
	noted, err := database.Collect(ctx, r.rows, scanNote, `SELECT payment_id, seq, number, kind, actor, bank_status, text, day, at, bank_requests FROM payment_note
		WHERE +domain_id = $1 AND payment_id IN (`+list+`)`+newest, args...)
	if err != nil {
		return nil, fmt.Errorf("load notes: %w", err)
	}
	rows = append(rows, noted...)
	slices.SortFunc(rows, func(a, b placedRow) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.number, b.number))
	})
	for _, row := range rows {
		lines[row.payment] = append(lines[row.payment], row.TimelineRow)
	}
	return lines, nil
}

// placedRow is a row with its position in the timeline. A transition has the number 0. The notes
// with the same seq have higher numbers, so they follow this transition and precede the next one.
type placedRow struct {
	TimelineRow
	payment     passerelle.PaymentID
	seq, number int64
}

func scanNote(row database.Row) (placedRow, error) {
	var (
		n    payment.Note
		at   int64
		day  *string
		made *string
		line placedRow
	)
	err := row.Scan(&line.payment, &line.seq, &line.number, &n.Kind, &n.Actor, &n.Bank, &n.Text, &day, &at, &made)
	if err != nil {
		return line, err
	}
	n.At, n.Requests, line.Note = database.Instant(at), database.Text[string](made), &n
	n.Day, err = database.Date(day)
	return line, err
}

func scanPlacedTransition(row database.Row) (placedRow, error) {
	var line placedRow
	t, err := scanTransition(withFirst{row, &line.payment})
	line.Transition, line.seq = &t, t.Seq
	return line, err
}

// withFirst scans one more column before the columns that its caller expects.
type withFirst struct {
	row   database.Row
	first any
}

func (w withFirst) Scan(dest ...any) error { return w.row.Scan(append([]any{w.first}, dest...)...) }

const transitionColumns = `seq, from_state, to_state, cause, actor, bank_status, at, bank_requests`

func scanTransition(row database.Row) (payment.Transition, error) {
	var (
		t    payment.Transition
		from *string
		made *string
		at   int64
	)
	err := row.Scan(&t.Seq, &from, &t.To, &t.Cause.Trigger, &t.Cause.Actor, &t.Cause.Bank, &at, &made)
	t.Cause.Requests = database.Text[string](made)
	t.From, t.At = database.Text[payment.State](from), database.Instant(at)
	return t, err
}

// Transitions lists the changes of state of a payment, oldest first.
func (r *Reader) Transitions(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) ([]payment.Transition, error) {
	return database.Collect(ctx, r.rows, scanTransition, `SELECT `+transitionColumns+` FROM payment_transition WHERE +domain_id = $1 AND payment_id = $2 ORDER BY seq`,
		int64(domain), int64(id))
}

// AddNotes stores a payment's notes, and no other change. It then removes the notes from p. It does
// not store a note that repeats the last note. Otherwise a bank that repeats itself would fill the
// table.
func (tx *Tx) AddNotes(p *payment.Payment) {
	tx.unit.Exec(`UPDATE payment SET next_check = next_check WHERE +domain_id = $1 AND id = $2`, int64(p.Domain), int64(p.ID)) // locks the row
	for _, note := range p.TakeNotes() {
		tx.unit.Exec(insertNote+`
			WHERE NOT EXISTS (SELECT 1 FROM payment_note WHERE payment_id = $1 AND kind = $4 AND text = $7
				AND number = (SELECT MAX(number) FROM payment_note WHERE payment_id = $1))`, noteArgs(p, p.Seq, note)...)
	}
}

// insertNotes stores the notes of a payment after the transition with the number seq, and removes
// them from p.
func (tx *Tx) insertNotes(p *payment.Payment, seq int64) {
	for _, note := range p.TakeNotes() {
		tx.unit.ExecOne(ErrConflict, insertNote, noteArgs(p, seq, note)...)
	}
}

// insertNote stores a note with the next number. The transaction must have locked the payment's
// row.
const insertNote = `INSERT INTO payment_note (payment_id, number, domain_id, seq, kind, actor, bank_status, text, day, at, bank_requests)
	SELECT CAST($1 AS BIGINT), COALESCE((SELECT MAX(number) FROM payment_note WHERE payment_id = $1), 0) + 1,
		CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS TEXT),
		CAST($8 AS TEXT), CAST($9 AS BIGINT), CAST($10 AS TEXT)`

func noteArgs(p *payment.Payment, seq int64, note payment.Note) []any {
	return []any{int64(p.ID), int64(p.Domain), seq, note.Kind, string(note.Actor), note.Bank, note.Text, database.OptionalDate(note.Day), database.Micros(note.At), database.OptionalText(note.Requests)}
}
