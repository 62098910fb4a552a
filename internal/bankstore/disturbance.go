package bankstore

import (
	"context"
	"time"

	"passerelle/internal/database"
)

// Disturb replaces the list of connectors that a process does not call because their banks are
// disturbed. The argument until is the time at which the new list expires. Disturb also removes
// expired entries of other processes.
func (tx Tx) Disturb(process string, connectors []string, now, until time.Time) {
	tx.unit.Exec(`DELETE FROM bank_disturbance WHERE process = $1 OR until <= $2`, process, database.Micros(now))
	for _, one := range connectors {
		tx.unit.Exec(`INSERT INTO bank_disturbance (process, connector, until) VALUES ($1, $2, $3)`, process, one, database.Micros(until))
	}
}

// Disturbed lists the connectors that other processes do not call at present. The argument now is
// the present time.
func (r Reader) Disturbed(ctx context.Context, process string, now time.Time) ([]string, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (string, error) {
		var connector string
		err := row.Scan(&connector)
		return connector, err
	}, `SELECT DISTINCT connector FROM bank_disturbance WHERE process <> $1 AND until > $2 ORDER BY connector`, process, database.Micros(now))
}
