package ledger

import "errors"

// Counter returns the number stored under a name, or zero when it was never set.
func (t *Tx) Counter(name string) (int64, error) {
	var value int64
	err := t.row("read a counter", `SELECT value FROM counter WHERE name = ?`, []any{name}, []any{&value})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return value, err
}

// SetCounter stores a number under a name.
func (t *Tx) SetCounter(name string, value int64) error {
	return t.exec("write a counter", `INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
}

// changes is the name of the counter of changes to entries.
const changes = "changes"

// Changes returns the number of the last change to an entry.
func (t *Tx) Changes() (int64, error) { return t.Counter(changes) }

func (t *Tx) nextChange() (int64, error) {
	last, err := t.Counter(changes)
	if err != nil {
		return 0, err
	}
	return last + 1, t.SetCounter(changes, last+1)
}
