// Package database connects to SQLite and PostgreSQL, executes units of work on them, assigns
// ids and runs migrations.
//
// It owns connections, transactions, the outcome of a lost COMMIT, the differences in SQL
// between the two databases, and the statistics of the query planner. It does not own the tables
// of the service: package store has their SQL and the migrations. Its own tables are sequence,
// counter, schema_migration and, on PostgreSQL, unit_mark. It creates schema_migration itself.
// Migrations of the store create the others.
//
// # Reading and writing
//
// A Querier reads committed rows and cannot write. A write is a unit: [Handle.Write] calls a
// function that only collects statements on a [Unit], and executes all of them after the
// function has returned nil. No statement can use the result of another statement. A condition
// is therefore part of a statement, such as a WHERE on the version or the state. When a
// statement does not change exactly the expected row, the unit is undone. If Write returns nil,
// the unit is durable and its rows were read. After ErrUnknown the unit may have been written,
// and after ErrUnread it was written. After any other error, nothing was written.
//
// On SQLite, one goroutine executes the waiting units in one transaction with one fsync, without
// savepoints. When a unit fails, the group is executed again with a savepoint for each unit. In
// the groups that follow, units that change rows also get savepoints.
//
// On PostgreSQL, a unit is one pipelined round trip, including COMMIT: the server itself checks
// that a statement changes the expected row. When a function must check rows that were read,
// COMMIT is a second round trip. Waiting units that only add rows share a transaction. After an
// error or a long wait for a lock, each of them gets its own transaction. A unit with its own
// transaction is repeated when the server requests it or the connection is lost. Each
// transaction writes a number into a slot of the table unit_mark. After a lost connection, the
// slot shows the transaction's outcome, even when the server was restarted or replaced. The
// query for the outcome also invalidates the slot, so that a COMMIT that arrives later is
// refused.
//
// [Querier.Together] combines the reads of several functions in common round trips.
//
// A unit may be executed more than once before Write returns. A function that reads rows must
// therefore only set variables. Another function, registered with Unit.OnRetry, must reset them.
// A function that reads rows must not use the database, because on SQLite it runs in the only
// writer.
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
// A violated constraint is reported as ErrDuplicate or ErrConstraint, according to the
// database's error code. A missing row is reported as ErrNotFound, and a change of a row that no
// longer has the expected version as ErrConflict. If the database cannot be reached or stays
// locked, calls fail with passerelle.Unavailable.
package database
