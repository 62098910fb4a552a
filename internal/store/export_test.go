package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
)

const (
	KeyLease      = keyLease
	LabelOrder    = labelOrder
	TriggeredFrom = triggeredFrom
)

var (
	Migrations    = migrations
	PaymentOrders = paymentOrders
	SealedColumns = sealedColumns
)

// PageOf returns the PostgreSQL statement for a page of payments, with its arguments.
func PageOf(f PaymentFilter, w Window) (string, []any) {
	return f.page(w, paymentOrders[w.Order], false)
}

// End returns the last four characters of an account number.
func End(number string) string { return end(number) }

// Erase executes one step of DB.Erase. AnyRemains reports whether another step is needed.
func (tx *Tx) Erase(e Erasure, batch int, now time.Time) { tx.erase(e, batch, now) }

func (r *Reader) AnyRemains(ctx context.Context, e Erasure) (bool, error) {
	return r.anyRemains(ctx, e)
}

// InsertAttempts stores attempts with consecutive ids.
func (tx *Tx) InsertAttempts(w Webhook, first int64, all []DeliveryAttempt) {
	for i := range all {
		all[i].Webhook = w.ID
	}
	tx.insertAttempts(w.Domain, first, all)
}

// UnsentPlace returns the position up to which PurgeEvents has searched for events without
// deliveries.
func (db *DB) UnsentPlace(ctx context.Context, domain passerelle.DomainID) ([2]int64, error) {
	return db.purgePlace(ctx, domain, unsentPlace)
}

func (r *Reader) Ring() *keys.Ring { return r.keys }

func (r *Reader) SetRing(ring *keys.Ring) { r.keys = ring }

// RenewKeysEvery sets the interval at which leases of idempotency keys are renewed.
func (db *DB) RenewKeysEvery(interval time.Duration) { db.keyRenewal = interval }

// ForgetSealing makes the store ask the database again whether account numbers are sealed.
func (db *DB) ForgetSealing() { db.sealing.Store(false) }

func (a *AuthProvider) SecretPlace() keys.Place { return a.secretPlace() }

func (c sealedColumn) Table() string { return c.table }

func (c sealedColumn) Name() string { return c.name }

// Row returns the key of the row that tests insert.
func (c sealedColumn) Row() int64 {
	if c.key == "only_row" {
		return 1
	}
	return 7
}

// Place returns the place of the value in the row that tests insert.
func (c sealedColumn) Place() keys.Place {
	if c.everywhere {
		return c.place(0, c.Row())
	}
	return c.place(7, c.Row())
}

// Sealed returns the first sealed value of a column, and the place of the value.
func (r *Reader) Sealed(ctx context.Context, c sealedColumn) (keys.Place, []byte, error) {
	value, err := database.One(ctx, r.rows, scanSealed, c.page(), 0, 1)
	return c.place(value.domain, value.row), value.value, err
}
