// Package store keeps everything the service knows in one database, SQLite or
// PostgreSQL, and is the only package with SQL.
//
// It owns the schema and its migrations, transactions, the assignment of ids, leases, and
// which columns are encrypted. It does not own rules. A use case decides, and the store
// writes the decision, or refuses it when the row has changed meanwhile.
//
// # Reading and writing
//
// A Reader reads committed rows and cannot write. A write is a unit: [DB.Write] calls a
// function that only collects statements on a [Tx], and executes them together after the
// function has returned nil. No statement can use the result of another. Conditions belong
// to the statement itself, as a WHERE on the version or the state; a statement that does
// not change exactly the row it must undoes the unit. A nil error means that the unit is
// durable. An error other than ErrUnknown means that nothing of it was written.
//
// On SQLite, one goroutine executes the waiting units in one transaction with one fsync,
// without savepoints. When a unit fails, the group is executed again with a savepoint for
// each unit, and the next groups guard the units that change rows.
//
// On PostgreSQL, a unit is one pipelined round trip, COMMIT included: the server itself
// checks that a statement changes the row that it must. When a function has to judge what
// was read, COMMIT is a second round trip. Waiting units that only add rows share a
// transaction, until an error or a wait for a lock: then each gets its own. A unit with its
// own transaction is repeated when the server asks for it or the connection is lost. Each
// transaction marks a slot in the table unit_mark. After a lost connection, the slot shows
// its outcome, whatever happened to the server. Asking invalidates the slot, so that a
// COMMIT which arrives later is refused.
//
// [Reader.Together] makes the reads of several functions in common round trips.
//
// A unit may be executed more than once before Write returns. A function that reads rows
// must therefore only set variables, and register with Tx.onRetry what to reset first. It
// must not call the store: on SQLite it runs in the only writer.
//
// # The SQL
//
// There is one text for both databases, with these tokens:
//
//	{now}          the database's clock, microseconds since 1970 UTC, BIGINT
//	{skip locked}  FOR UPDATE SKIP LOCKED where the database has it
//	{id}           column type of an assigned key (migrations)
//	{bytes}        column type of bytes (migrations)
//
// A migration may have lines for one database between "-- only sqlite" or
// "-- only postgres" and "-- end". Columns are BIGINT, TEXT, BOOLEAN and bytes. Instants are
// BIGINT microseconds since 1970 in UTC, and amounts are in minor units. Optional values are
// pointers. Empty bytes may be read as nil. A parameter whose type PostgreSQL cannot infer, as in INSERT … SELECT $1,
// is written CAST($1 AS BIGINT). A trigger on PostgreSQL refuses with an
// ERRCODE of class 23, so that both databases report ErrConstraint. No
// constraint is deferrable and no statement says OR ROLLBACK.
//
// # Failures
//
// A violated constraint is ErrDuplicate or ErrConstraint, by the database's error code. A
// missing row is ErrNotFound. A change over another version than expected is ErrConflict. A
// database that cannot be reached or stays locked is passerelle.Unavailable.
package store
