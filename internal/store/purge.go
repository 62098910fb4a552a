package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle/internal/database"
)

// PurgeExpired removes expired responses to requests, and the tokens and console sessions that
// expired before tokensBefore. The argument `batch` limits the rows of each kind that a unit
// removes, so that the unit does not block the database for long. The argument `batches` limits the
// units. The next call continues.
func (db *DB) PurgeExpired(ctx context.Context, tokensBefore time.Time, batch, batches int) error {
	for range batches {
		err := db.Write(ctx, func(tx *Tx) error {
			tx.PurgeTokens(tokensBefore, batch)
			tx.PurgeResponses(batch)
			tx.PurgeSessions(tokensBefore, batch)
			return nil
		})
		if err != nil {
			return fmt.Errorf("remove expired tokens, sessions and responses: %w", err)
		}
		more, err := db.anyExpired(ctx, tokensBefore)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *Reader) anyExpired(ctx context.Context, tokensBefore time.Time) (bool, error) {
	_, err := database.One(ctx, r.rows, func(row database.Row) (int64, error) {
		var found int64
		err := row.Scan(&found)
		return found, err
	}, `SELECT 1 WHERE EXISTS (SELECT 1 FROM token WHERE expires < $1) OR EXISTS (SELECT 1 FROM idempotency WHERE expires < {now})
		OR EXISTS (SELECT 1 FROM console_session WHERE expires < $1)`,
		database.Micros(tokensBefore))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find expired data: %w", err)
	}
	return true, nil
}

// PurgeSessions removes at most limit console sessions that expired before an instant.
func (tx *Tx) PurgeSessions(before time.Time, limit int) {
	tx.unit.Exec(`DELETE FROM console_session WHERE id IN (SELECT id FROM console_session WHERE expires < $1 ORDER BY expires`+database.UpTo(limit)+`)`, database.Micros(before))
}
