// Package store stores the data of the service in one database, except the contents of files.
//
// It owns the schema and its migrations, leases, the list of encrypted columns, and the SQL of most
// tables. Three packages have separate tables. Package bankstore has the data that end users share
// from their institutions. Package operatorstore has operators and their sessions, and reads and
// chains the audit log. Package search has the words that find payments. Package store also removes
// some rows of these packages: expired sessions, and the consents and files of deleted users. It
// does not own rules. A use case decides, and the store writes the decision, or fails when the row
// has changed since it was read. Package database owns connections and transactions, and defines
// how SQL is written for SQLite and PostgreSQL.
//
// A [Reader] reads committed rows and cannot write. A write is a unit: [DB.Write] calls a function
// that collects statements on a [Tx], and then executes all of them or none.
//
// A query for a missing row fails with ErrNotFound, unless the comment of the method says
// otherwise. A write fails with ErrConflict when the row has changed since it was read, and with
// ErrDuplicate or ErrConstraint when the schema refuses the row. While the database cannot be
// reached, queries and writes fail with passerelle.Unavailable.
package store
