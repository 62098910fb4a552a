// Package operatorstore stores operators, their second factors, identities, sessions and failed
// attempts to sign in, and reads and chains the audit log. It uses the same database and schema
// as package store.
//
// It owns the SQL about these tables. It does not own the schema or the migrations. Package
// store records the acts, because any unit may contain some. Packages operators and audit own
// the rules.
//
// A [Reader] reads through a reader of the store, and a [Tx] adds statements to a unit of the
// store, so a change and the record of the act commit together.
//
// It fails with the errors of package store, with ErrLocked after too many failed attempts to
// sign in, and with ErrNoLease when another process extends the audit chains.
package operatorstore

import (
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Reader reads about operators and cannot write.
type Reader struct {
	source store.RowSource
	rows   *database.Querier
}

// From returns a Reader that reads through an open store or a reader of a store.
func From(s store.RowSource) Reader { return Reader{source: s, rows: s.Rows()} }

// Tx collects statements about operators in a unit of the store.
type Tx struct {
	units *store.Tx
	unit  *database.Unit
}

// In returns a Tx that adds statements about operators to a unit.
func In(tx *store.Tx) Tx { return Tx{units: tx, unit: tx.Unit()} }
