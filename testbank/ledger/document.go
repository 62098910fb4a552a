package ledger

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Document is anything that a bank stores except money and counters. The packages that use
// documents define their kinds.
type Document interface {
	// Key returns the kind and the id.
	Key() (kind, id string)
	// Belongs returns the owner under which the document is listed.
	Belongs() string
	// Due returns the time at which the document is next due. Zero means never.
	Due() time.Time
}

// Put stores or replaces a document.
func (t *Tx) Put(d Document) error {
	kind, id := d.Key()
	body, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, id, err)
	}
	due := sql.NullInt64{Int64: d.Due().UnixMilli(), Valid: !d.Due().IsZero()}
	return t.exec("write "+kind, `INSERT INTO document (kind, id, owner, due, body) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (kind, id) DO UPDATE SET owner = excluded.owner, due = excluded.due, body = excluded.body`,
		kind, id, d.Belongs(), due, string(body))
}

// Get reads a document into d. It returns ErrNotFound when there is no such document.
func (t *Tx) Get(kind, id string, d Document) error {
	var body string
	if err := t.row("read "+kind+" "+id, `SELECT body FROM document WHERE kind = ? AND id = ?`, []any{kind, id}, []any{&body}); err != nil {
		return err
	}
	return decode(body, d)
}

// Delete deletes a document.
func (t *Tx) Delete(kind, id string) error {
	return t.exec("delete "+kind, `DELETE FROM document WHERE kind = ? AND id = ?`, kind, id)
}

// kept is the type constraint for pointers to documents.
type kept[D any] interface {
	*D
	Document
}

// List reads the documents of a kind, ordered by id. It reads the documents of one owner, or all
// when the owner is empty.
func List[D any, P kept[D]](t *Tx, kind, owner string) ([]P, error) {
	return list[D, P](t, kind, `SELECT body FROM document WHERE kind = ? AND (? = '' OR owner = ?) ORDER BY id`, kind, owner, owner)
}

// ListDue reads the documents of a kind that have a due time.
func ListDue[D any, P kept[D]](t *Tx, kind string) ([]P, error) {
	return list[D, P](t, kind, `SELECT body FROM document WHERE kind = ? AND due IS NOT NULL ORDER BY due, id`, kind)
}

func list[D any, P kept[D]](t *Tx, kind, query string, args ...any) ([]P, error) {
	var all []P
	err := t.each("list "+kind, query, args, func(rows *sql.Rows) error {
		var body string
		if err := rows.Scan(&body); err != nil {
			return err
		}
		d := P(new(D))
		all = append(all, d)
		return decode(body, d)
	})
	return all, err
}

// NextDue returns the first document that is due at or before an instant. It returns ErrNotFound
// when no document is due.
func (t *Tx) NextDue(until time.Time) (string, string, time.Time, error) {
	var (
		kind string
		id   string
	)
	var millis int64
	err := t.row("find what is due", `SELECT kind, id, due FROM document WHERE due <= ? ORDER BY due, kind, id LIMIT 1`,
		[]any{until.UnixMilli()}, []any{&kind, &id, &millis})
	return kind, id, time.UnixMilli(millis).UTC(), err
}

func decode(body string, d Document) error {
	if err := json.Unmarshal([]byte(body), d); err != nil {
		return fmt.Errorf("decode a document: %w", err)
	}
	return nil
}
