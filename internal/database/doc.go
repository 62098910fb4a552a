// Package database connects to SQLite and PostgreSQL, executes units of work on them, assigns
// ids and runs migrations.
//
// It owns connections, transactions, the query for the outcome of a lost COMMIT, the differences in
// SQL between the two databases, and the statistics of the query planner. It does not own the
// tables of the service: package store has the migrations, and most of the SQL for these tables.
// The tables of package database are sequence, counter, schema_migration and, on PostgreSQL,
// unit_mark. The package creates schema_migration itself. Migrations of the store create the
// other three.
//
// # Reading and writing
//
// A Querier reads committed rows and cannot write. A write is a unit. [Handle.Write] calls a
// function that collects statements on a [Unit]. After this function has returned nil, Write
// executes all of the statements. No statement can use the result of another statement. A condition
// is therefore part of a statement, such as a WHERE on the version or the state. When a statement
// must change one row and does not, the unit is undone. If Write returns nil, the unit is durable,
// and the unit's functions have read the rows that its statements returned. After ErrUnknown, the
// unit may have been written. After ErrUnread, it was written, but the rows of [Unit.Returning] were
// lost or could not be read. After any other error, nothing was written.
//
// On SQLite, one goroutine executes waiting units together in one transaction, with one fsync and
// without savepoints. When a unit fails, the goroutine executes these units again, with a savepoint
// for each unit. If the failed unit changes rows, all units that change rows also get savepoints in
// the next transactions.
//
// On PostgreSQL, a unit needs one pipelined round trip, including COMMIT. The server itself checks
// that a statement changes the expected row. COMMIT needs a second round trip when a function must
// check rows first. Small waiting units that only add rows and change totals share a transaction.
// If this transaction is undone, for example after an error or a long wait for a lock, each unit
// gets its own transaction. A unit with its own transaction runs again when the server requests
// this or the connection is lost. Each transaction writes a number into a slot of the table
// unit_mark. After a lost connection, the slot shows the transaction's outcome, even when the
// server was restarted or replaced. If the transaction was not committed, the query for the outcome
// also invalidates the slot, so that the transaction cannot be committed later.
//
// [Querier.Together] sends the queries of several functions in common round trips.
//
// A unit may be executed more than once before Write returns. A function that reads rows may
// therefore only set variables. Another function, registered with Unit.OnRetry, must reset them. A
// function that reads rows must not use the database, because on SQLite it runs in the only writer.
//
// # The SQL
//
// Both databases use the same statement text, with these tokens:
//
//	{now}          the database's clock, microseconds since 1970 UTC, BIGINT
//	{skip locked}  FOR UPDATE SKIP LOCKED where the database has it
//	{for update}   FOR UPDATE where the database has it
//	{for share}    FOR SHARE where the database has it
//	{id}           column type of an assigned key (migrations)
//	{bytes}        type of bytes
//	{position}     function: the position of a text in another text, from 1, or 0
//
// A migration may contain lines for one database between "-- only sqlite" or "-- only postgres" and
// "-- end". Columns are BIGINT, TEXT, BOOLEAN and bytes. Instants are BIGINT microseconds since
// 1970 in UTC, and amounts of payments are in minor units. Optional values are pointers. Empty
// bytes may be read as nil. If PostgreSQL cannot infer the type of a parameter, as in INSERT …
// SELECT $1, write CAST($1 AS BIGINT). A trigger on PostgreSQL must raise an ERRCODE of class 23,
// so that both databases report ErrConstraint. No constraint may be deferrable, and no statement
// may contain OR ROLLBACK.
//
// # Failures
//
// The violation of a constraint is reported as ErrDuplicate or ErrConstraint, according to the
// database's error code. A missing row is reported as ErrNotFound. A row that no longer has the
// expected version is reported as ErrConflict. If the database cannot be reached or stays locked,
// calls fail with passerelle.Unavailable.
package database
