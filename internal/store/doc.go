// Package store keeps everything the service knows in one database, SQLite or
// PostgreSQL, and is the only package with SQL.
//
// It owns the schema and its migrations, transactions, the assignment of ids,
// leases, and which column is sealed. It does not own rules: a use case
// decides, the store writes what was decided and refuses it when the row has
// changed meanwhile.
//
// # Reading and writing
//
// A Reader reads committed rows and cannot write. A write is a unit:
// [DB.Write] calls a function that only collects statements on a [Tx], and
// executes them together after the function has returned nil. No statement can
// look at the result of another; what decides goes into the statement itself,
// as a WHERE on the version or the state, and a statement that does not touch
// exactly the row it must undoes the unit. A nil error means that the unit is
// durable; an error other than ErrUnknown means that nothing of it was written.
//
// On SQLite one goroutine executes the units that wait in one transaction with one
// fsync, each under a savepoint, but those that only add rows without: when one of
// them fails all begin anew, with. On PostgreSQL a unit is one
// pipelined round trip, COMMIT included: the server itself sees to it that a statement
// touches the row that it must. Where a function has to judge what was read, COMMIT is a
// second one. Units that only add rows share theirs with
// those that wait beside them, until anything goes wrong or a lock is waited for:
// then each is alone. One
// that is alone is repeated when the server asks for it or the connection is lost.
// Each transaction marks a slot of its own in the table unit_mark, so that after a
// connection was lost the slot tells what became of it, whatever
// happened to the server meanwhile; who asks gives the slot up, so that what has not come
// by then is refused. What several functions are to read is asked for at once by
// [Reader.Together]. Units may therefore be executed
// more than once before they are answered: a row function must not do more than
// fill variables, and registers with Tx.onRetry what has to be emptied first.
// It must not call the store: on SQLite it runs in the one writer.
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
// A migration may hold lines for one database between "-- only sqlite" or
// "-- only postgres" and "-- end". Columns are BIGINT, TEXT, BOOLEAN and bytes;
// instants are BIGINT microseconds since 1970 in UTC, amounts minor units.
// Optional values go in and come out as pointers; empty bytes may come back as
// nil. A parameter whose type PostgreSQL cannot infer, as in INSERT … SELECT $1,
// is written CAST($1 AS BIGINT). A trigger on PostgreSQL refuses with an
// ERRCODE of class 23, so that both databases report ErrConstraint. No
// constraint is deferrable and no statement says OR ROLLBACK.
//
// # Failures
//
// Constraint violations are recognised by code: ErrDuplicate, ErrConstraint. A
// row that is not there is ErrNotFound, a lost compare-and-set ErrConflict. A
// database that cannot be reached or stays locked is passerelle.Unavailable.
package store
