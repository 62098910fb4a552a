package ledger

import (
	"database/sql"
	"strings"
)

// Entry is a line of an account's statement. Its id never changes.
type Entry struct {
	ID        int64
	Amount    int64
	OtherName string
	// OtherNumber is the other party's account number, or empty.
	OtherNumber string
	Text        string
	Reference   string
	// Entered and Booked are days in the form YYYY-MM-DD. Booked is empty while the entry is
	// pending.
	Entered string
	Booked  string
}

// Window selects a part of a statement. Its days have the form YYYY-MM-DD.
type Window struct {
	Account string
	// AsOf is the number of the last change that the reader sees. The window omits entries that
	// were made later. An entry that was booked later appears as pending.
	AsOf int64
	// Booked and Pending select entries by their state at AsOf.
	Booked, Pending bool
	// From and To are the first and the last day. They apply to the booking day or, for a pending
	// entry, to the day of entry. Empty means no limit.
	From, To string
	// Before omits the entry with this id and all newer entries. Zero omits no entry.
	Before int64
	// After omits entries that have not changed since the change with this number. Zero omits no
	// entry.
	After int64
	// Offset is how many of the remaining entries to omit, newest first.
	Offset int
	Limit  int
}

// Entries reads a part of a statement, newest first.
func (t *Tx) Entries(w Window) ([]Entry, error) {
	const bookedThen = `COALESCE(booked_at <= ?, FALSE)`
	var wanted []string
	args := []any{w.AsOf, w.Account, w.AsOf}
	if !w.Booked {
		wanted = append(wanted, `day_booked IS NULL`)
	}
	if !w.Pending {
		wanted = append(wanted, `day_booked IS NOT NULL`)
	}
	also := func(condition string, value any, isSet bool) {
		if isSet {
			wanted, args = append(wanted, condition), append(args, value)
		}
	}
	also(`COALESCE(day_booked, entered) >= ?`, w.From, w.From != "")
	also(`COALESCE(day_booked, entered) <= ?`, w.To, w.To != "")
	also(`id < ?`, w.Before, w.Before > 0)
	also(`COALESCE(booked_at, entered_at) > ?`, w.After, w.After > 0)
	args = append(args, w.Limit, w.Offset)
	var entries []Entry
	err := t.each("read a statement", `SELECT id, amount, other_name, other_number, text, reference, entered, COALESCE(day_booked, '') FROM (
			SELECT *, CASE WHEN `+bookedThen+` THEN booked END AS day_booked FROM entry WHERE account = ? AND entered_at <= ?)
		WHERE `+strings.Join(append(wanted, "TRUE"), " AND ")+` ORDER BY id DESC LIMIT ? OFFSET ?`, args,
		func(rows *sql.Rows) error {
			var e Entry
			err := rows.Scan(&e.ID, &e.Amount, &e.OtherName, &e.OtherNumber, &e.Text, &e.Reference, &e.Entered, &e.Booked)
			entries = append(entries, e)
			return err
		})
	return entries, err
}

// BookedUntil adds up an account's entries that were booked until a day. It ignores bookings after
// the change with the number asOf. An empty day means no limit.
func (t *Tx) BookedUntil(account string, asOf int64, day string) (int64, error) {
	var sum int64
	err := t.row("add up a statement", `SELECT COALESCE(SUM(amount), 0) FROM entry WHERE account = ? AND booked_at <= ? AND (? = '' OR booked <= ?)`,
		[]any{account, asOf, day, day}, []any{&sum})
	return sum, err
}

// ChangeOf returns the number of the last change to an entry on an account.
func (t *Tx) ChangeOf(account string, id int64) (int64, error) {
	var change int64
	err := t.row("find an entry", `SELECT COALESCE(booked_at, entered_at) FROM entry WHERE account = ? AND id = ?`, []any{account, id}, []any{&change})
	return change, err
}
