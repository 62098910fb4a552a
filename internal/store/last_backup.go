package store

import (
	"context"
	"errors"
	"time"

	"passerelle/internal/database"
)

// LastBackup returns the real time at which the newest known copy of the database began. It returns
// nil when no copy is known.
func (r *Reader) LastBackup(ctx context.Context) (*time.Time, error) {
	begun, err := database.One(ctx, r.rows, database.ScanInt, `SELECT begun FROM last_backup`)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return database.OptionalInstant(&begun), nil
}

// NoteBackup stores the time at which a complete copy began, unless a newer copy is known.
func (tx *Tx) NoteBackup(begun time.Time) {
	tx.unit.Exec(`INSERT INTO last_backup (only_row, begun) VALUES (1, $1)
		ON CONFLICT (only_row) DO UPDATE SET begun = excluded.begun WHERE last_backup.begun < excluded.begun`, database.Micros(begun))
}
