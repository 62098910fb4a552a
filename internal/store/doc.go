// Package store keeps everything the service knows in one database.
//
// It owns the schema and its migrations, leases, which columns are encrypted, and the SQL about
// all tables but those of two packages: bankstore has what end users share from their
// institutions, and operatorstore has operators and the audit log. It does not own rules: a use
// case decides, and the store writes the decision, or refuses it when the row has changed
// meanwhile. Package database owns connections and transactions, and says how SQL is written
// for both databases.
//
// A [Reader] reads committed rows and cannot write. A write is a unit: [DB.Write] calls a
// function that collects statements on a [Tx], and executes all of them or none.
//
// A missing row is ErrNotFound. A change over another version than expected is ErrConflict. A
// row that the schema refuses is ErrDuplicate or ErrConstraint. A database that cannot be
// reached is passerelle.Unavailable.
package store
