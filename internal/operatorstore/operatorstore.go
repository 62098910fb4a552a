// Package operatorstore stores operators, their second factors, identities, sessions and failed
// attempts to sign in. It also reads and chains the audit log. It uses the same database and schema
// as package store.
//
// It owns the SQL for the tables with this data. It does not own the schema or the migrations.
// Package store writes the entries of the audit log (acts), because any write to the store (a unit)
// may add entries. Packages operators and audit own the rules.
//
// A [Reader] reads through a reader of the store, and a [Tx] adds statements to a unit of the
// store. A change and the record of the act therefore commit together.
//
// The functions of this package fail with the errors of package store. Write fails with ErrLocked
// after too many failed attempts to sign in, and with ErrNoLease when the caller does not hold the
// lease of the audit chains.
package operatorstore

import (
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Reader reads operators, sessions and the audit log. It cannot write.
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
