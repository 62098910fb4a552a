package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Holding names data that a user may withdraw. The store keeps the name with each event whose body
// contains the data.
type Holding string

// HoldingOf returns the name of the data that was read about a subject in an epoch. The subject is
// an account, a subscription or a connection. Each withdrawal of an account's or a subscription's
// data begins a new epoch. A nil epoch stands for a subject without epochs.
func HoldingOf(kind string, subject int64, epoch *int64) Holding {
	if epoch == nil {
		return Holding(fmt.Sprintf("%s:%d", kind, subject))
	}
	return Holding(fmt.Sprintf("%s:%d/%d", kind, subject, *epoch))
}

// holdings joins names into the text that the query of bodiesWith searches. It returns nil for an
// empty list.
func holdings(all []Holding) *string {
	if len(all) == 0 {
		return nil
	}
	text := " "
	for _, one := range all {
		text += string(one) + " "
	}
	return &text
}

// bodiesWith returns a query for at most limit events of a user, and its arguments. The body of
// each event contains the holding.
func bodiesWith(domain passerelle.DomainID, user passerelle.UserID, h Holding, limit int) (string, []any) {
	return `SELECT id FROM event WHERE domain_id = $1 AND user_id = $2 AND holds IS NOT NULL AND erased IS NULL AND holds LIKE $3 ORDER BY id` + database.UpTo(limit),
		[]any{int64(domain), int64(user), "% " + string(h) + " %"}
}

// AnyBodyWith reports whether the body of any event of a user contains a holding.
func (r *Reader) AnyBodyWith(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, h Holding) (bool, error) {
	sql, args := bodiesWith(domain, user, h, 1)
	found, err := database.Collect(ctx, r.rows, database.ScanInt, sql, args...)
	return len(found) > 0, err
}

// VoidBodiesWith erases a user's event bodies that contain a holding, and calls `voided` for each
// event. It erases at most limit bodies. It drops the pending deliveries of these events and
// records the reason.
func (tx *Tx) VoidBodiesWith(domain passerelle.DomainID, user passerelle.UserID, h Holding, at time.Time, limit int, voided func()) {
	sql, args := bodiesWith(domain, user, h, limit)
	tx.unit.Exec(`UPDATE delivery SET dropped = $4, drop_reason = 'its data was withdrawn' WHERE event_id IN (`+sql+`) AND COALESCE(delivered, dropped) IS NULL`, append(args, database.Micros(at))...)
	tx.unit.Exec(`DELETE FROM event_part WHERE event_id IN (`+sql+`)`, args...)
	tx.unit.Returning(func(row database.Row) error { voided(); return row.Scan(new(int64)) },
		`UPDATE event SET body = CAST('{}' AS {bytes}), holds = NULL, erased = $4 WHERE id IN (`+sql+`) RETURNING id`, append(args, database.Micros(at))...)
}
