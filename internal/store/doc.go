// Package store stores all data of the service in one database.
//
// It owns the schema and its migrations, leases, the list of encrypted columns, and the SQL of
// all tables except those of two packages: bankstore has the data that end users share from
// their institutions, and operatorstore has operators and the audit log. It does not own rules:
// a use case decides, and the store writes the decision, or refuses it when the row has changed
// since it was read. Package database owns connections and transactions, and defines how SQL is
// written for both databases.
//
// A [Reader] reads committed rows and cannot write. A write is a unit: [DB.Write] calls a
// function that collects statements on a [Tx], and executes all of them or none.
//
// A missing row is ErrNotFound. A change of another version than the expected one is
// ErrConflict. A row that the schema refuses is ErrDuplicate or ErrConstraint. A database that
// cannot be reached is passerelle.Unavailable.
package store
