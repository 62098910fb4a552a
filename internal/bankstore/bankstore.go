// Package bankstore stores what end users share from their institutions: connections, bank
// accounts, balances, transactions, investments, subscriptions, documents, files, and consents.
// It uses the same database and schema as package store.
//
// It owns the SQL for the tables with this data. It does not own the schema, the migrations, users,
// payments, webhooks or events: package store does. Use cases own the rules.
//
// A [Reader] reads through a reader of the store, and a [Tx] adds statements to a unit of the
// store. A change of this data, its event and the event's deliveries therefore commit together, or
// none of them does.
//
//	err := db.Write(ctx, func(tx *store.Tx) error {
//		bankstore.In(tx).EditAccount(domain, account, nil)
//		return tx.Emit(event)
//	})
//
// The functions of this package fail with the errors of package store.
package bankstore

import (
	"context"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Reader reads bank data and cannot write.
type Reader struct {
	source store.RowSource
	rows   *database.Querier
}

// From returns a Reader that reads through an open store or a reader of a store.
func From(s store.RowSource) Reader { return Reader{source: s, rows: s.Rows()} }

// Tx collects statements about bank data in a unit of the store.
type Tx struct {
	units *store.Tx
	unit  *database.Unit
}

// In returns a Tx that adds statements about bank data to a unit.
func In(tx *store.Tx) Tx { return Tx{units: tx, unit: tx.Unit()} }

// write executes the statements that fn collects as one unit.
func write(ctx context.Context, db *store.DB, fn func(tx Tx) error) error {
	return db.Write(ctx, func(tx *store.Tx) error { return fn(In(tx)) })
}
