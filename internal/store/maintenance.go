package store

import (
	"context"
	"errors"
	"time"

	"passerelle/internal/database"
)

// Maintenance returns the time at which the API was closed, or nil while it is open.
func (r *Reader) Maintenance(ctx context.Context) (*time.Time, error) {
	since, err := database.One(ctx, r.rows, func(row database.Row) (int64, error) {
		var since int64
		err := row.Scan(&since)
		return since, err
	}, `SELECT since FROM maintenance`)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return database.OptionalInstant(&since), nil
}

// CloseForMaintenance closes the API. Write fails with ErrConflict when it is already closed.
func (tx *Tx) CloseForMaintenance(now time.Time) {
	tx.unit.ExecOne(ErrConflict, `INSERT INTO maintenance (only_row, since) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING`, database.Micros(now))
}

// EndMaintenance opens the API again. Write fails with ErrConflict when it is already open.
func (tx *Tx) EndMaintenance() { tx.unit.ExecOne(ErrConflict, `DELETE FROM maintenance`) }
