// Package database connects to SQLite and PostgreSQL, executes units of work on them, assigns
// ids and runs migrations.
//
// It owns connections, transactions, the outcome of a lost COMMIT, the differences in SQL
// between the two databases, and the statistics of the query planner. It does not own the tables
// of the service: package store has their SQL and the migrations. Its own tables are sequence,
// counter and, on PostgreSQL, unit_mark, which migrations of the store create, and
// schema_migration, which it creates itself.
//
// # Reading and writing
//
// A Querier reads committed rows and cannot write. A write is a unit: [Handle.Write] calls a
// function that only collects statements on a [Unit], and executes them together after the
// function has returned nil. No statement can use the result of another statement. Conditions
// are part of the statement, as a WHERE on the version or state. When a statement does not
// change exactly the expected row, the unit is undone. A nil error means that the unit is
// durable and that its rows were read. After ErrUnknown the unit may have been written, and
// after ErrUnread it was written. After any other error, nothing was written.
//
// On SQLite, one goroutine executes the waiting units in one transaction with one fsync,
// without savepoints. When a unit fails, the group is executed again with a savepoint for
// each unit, and the next groups guard the units that change rows.
//
// On PostgreSQL, a unit is one pipelined round trip, including COMMIT: the server itself checks
// that a statement changes the expected row. When a function must check rows that were read,
// COMMIT is a second round trip. Waiting units that only add rows share a transaction, until an
// error or a wait for a lock: after that, each gets its own. A unit with its own transaction is
// repeated when the server requests it or the connection is lost. Each transaction writes a
// number into a slot of the table unit_mark. After a lost connection, the slot shows the
// transaction's outcome, even when the server was restarted or replaced. The question for the
// outcome also invalidates the slot, so that a COMMIT which arrives later is refused.
//
// [Querier.Together] makes the reads of several functions in common round trips.
//
// A unit may be executed more than once before Write returns. A function that reads rows must
// therefore only set variables, and register with Unit.OnRetry a function that resets them. It
// must not use the database, because on SQLite it runs in the only writer.
//
// # The SQL
//
// The same statement text is used for both databases, with these tokens:
//
//	{now}          the database's clock, microseconds since 1970 UTC, BIGINT
//	{skip locked}  FOR UPDATE SKIP LOCKED where the database has it
//	{id}           column type of an assigned key (migrations)
//	{bytes}        column type of bytes (migrations)
//
// A migration may contain lines for one database between "-- only sqlite" or "-- only postgres"
// and "-- end". Columns are BIGINT, TEXT, BOOLEAN and bytes. Instants are BIGINT microseconds
// since 1970 in UTC, and amounts are in minor units. Optional values are pointers. Empty bytes
// may be read as nil. A parameter whose type PostgreSQL cannot infer, as in INSERT … SELECT $1,
// is written CAST($1 AS BIGINT). A trigger on PostgreSQL must raise an ERRCODE of class 23, so
// that both databases report ErrConstraint. No constraint may be deferrable, and no statement
// may contain OR ROLLBACK.
//
// # Failures
//
// A violated constraint is ErrDuplicate or ErrConstraint, according to the database's error
// code. A missing row is ErrNotFound. A change of another version than the expected one is
// ErrConflict. A database that cannot be reached or stays locked is passerelle.Unavailable.
package database
