package database

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

// statementLimit limits the prepared statements of a connection, because lists of different lengths
// lead to any number of different statements.
const statementLimit = 512

// sqliteConn is a connection to a database file, with its prepared statements. Only one goroutine
// may use it at a time. It calls SQLite without database/sql, whose conversions take longer than
// SQLite does for a short statement.
type sqliteConn struct {
	conn     *sqlite.Conn
	dialect  *Dialect
	prepared map[string]*sqlite.Stmt // by the text in the code, except statements that are running
}

// openSQLiteConn opens a connection to the file at an absolute path, and creates a missing file.
// Each setting is the text of a PRAGMA. The cache has 8 MiB. The connection does not map the file
// into memory: after each write of another connection, it would drop its map and map the file
// again, which costs more than the map saves.
func openSQLiteConn(ctx context.Context, path string, d *Dialect, settings ...string) (*sqliteConn, error) {
	c, err := bareSQLiteConn(path, d, busyTimeout)
	if err != nil {
		return nil, err
	}
	script := "PRAGMA cache_size(-8192);"
	for _, setting := range settings {
		script += "PRAGMA " + setting + ";"
	}
	if err := c.script(ctx, script); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// bareSQLiteConn opens a connection without settings. wait is the time for which a statement waits
// for other processes.
func bareSQLiteConn(path string, d *Dialect, wait time.Duration) (*sqliteConn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(wait)
	return &sqliteConn{conn: conn, dialect: d, prepared: map[string]*sqlite.Stmt{}}, nil
}

// query calls the function row for each row of the result, until the function returns false or an
// error. When the context ends, query fails with the error of the context.
func (c *sqliteConn) query(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stmt, err := c.take(text)
	if err != nil {
		return ended(ctx, err)
	}
	release := c.interruptible(ctx)
	defer func() { release(); c.putBack(text, stmt, args) }()
	if err = bind(stmt, args); err == nil {
		err = each(stmt, row)
	}
	return ended(ctx, err)
}

// ended adds the error of the context to an error of a statement that was interrupted.
func ended(ctx context.Context, err error) error {
	if sqlite.ErrCode(err) == sqlite.ResultInterrupt {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// exec executes a statement, and returns the number of rows that it changed. The number is valid
// only for INSERT, UPDATE and DELETE.
func (c *sqliteConn) exec(ctx context.Context, text string, args []any) (int64, error) {
	err := c.query(ctx, text, args, func(Row) (bool, error) { return true, nil })
	return int64(c.conn.Changes()), err
}

// The function named only returns the first row of a query that has one column.
func only[T any](ctx context.Context, c *sqliteConn, scan func(Row) (T, error), text string) (T, error) {
	return first(scan, func(row func(Row) (bool, error)) error { return c.query(ctx, text, nil, row) })
}

// control executes a statement such as BEGIN or COMMIT. The statement has no time limit, because it
// waits only for other processes and for the disk.
func (c *sqliteConn) control(text string) error {
	_, err := c.exec(context.Background(), text, nil)
	return err
}

// interruptible makes the connection interrupt statements when the context ends. The returned
// function undoes this. The package for SQLite starts a goroutine for a context that can end.
func (c *sqliteConn) interruptible(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	before := c.conn.SetInterrupt(ctx.Done())
	return func() { c.conn.SetInterrupt(before) }
}

func each(stmt *sqlite.Stmt, row func(Row) (bool, error)) error {
	for {
		found, err := stmt.Step()
		if err != nil || !found {
			return err
		}
		if more, err := row(sqliteRow{stmt}); err != nil || !more {
			return err
		}
	}
}

// take returns the prepared statement for a text. Another call of take before putBack prepares the
// text again. A function that gets the rows of a statement may therefore execute the same
// statement.
func (c *sqliteConn) take(text string) (*sqlite.Stmt, error) {
	if stmt := c.prepared[text]; stmt != nil {
		delete(c.prepared, text)
		return stmt, nil
	}
	stmt, rest, err := c.conn.PrepareTransient(c.dialect.Text(text))
	if err != nil {
		return nil, err
	}
	if rest > 0 {
		return nil, errors.Join(errors.New("the text has several statements"), stmt.Finalize())
	}
	return stmt, nil
}

// putBack resets a statement for the next call of take. It replaces arguments that are texts or
// bytes with NULL, but not numbers: SQLite plans a statement again when an argument changes from or
// to 0 or 1.
func (c *sqliteConn) putBack(text string, stmt *sqlite.Stmt, args []any) {
	_ = stmt.Reset() // its error is that of the last step
	if c.prepared[text] != nil {
		_ = stmt.Finalize() // its error is that of the last step
		return
	}
	if len(c.prepared) >= statementLimit {
		c.forgetOne()
	}
	for i, arg := range args {
		switch arg.(type) {
		case string, []byte:
			stmt.BindNull(i + 1)
		}
	}
	c.prepared[text] = stmt
}

// forgetOne closes a random prepared statement. If the statement is frequent, it is soon prepared
// again.
func (c *sqliteConn) forgetOne() {
	for text, stmt := range c.prepared {
		_ = stmt.Finalize() // its error is that of the last step
		delete(c.prepared, text)
		return
	}
}

// bind sets the arguments of a statement, in the types that [arguments] returns.
func bind(stmt *sqlite.Stmt, args []any) error {
	if want := stmt.BindParamCount(); len(args) != want {
		return fmt.Errorf("%d arguments for %d parameters", len(args), want)
	}
	for i, arg := range args {
		bindOne(stmt, i+1, arg)
	}
	return nil // Step returns the errors
}

func bindOne(stmt *sqlite.Stmt, position int, arg any) {
	switch value := arg.(type) {
	case int64:
		stmt.BindInt64(position, value)
	case string:
		stmt.BindText(position, value)
	case bool:
		stmt.BindBool(position, value)
	case []byte:
		if value == nil {
			stmt.BindNull(position)
			return
		}
		stmt.BindBytes(position, value)
	default:
		stmt.BindNull(position)
	}
}

// blank matches a text without a statement.
var blank = regexp.MustCompile(`^(?:\s+|--[^\n]*(?:\n|$))*$`)

// script executes several statements without arguments.
func (c *sqliteConn) script(ctx context.Context, text string) error {
	defer c.interruptible(ctx)()
	for !blank.MatchString(text) {
		stmt, rest, err := c.conn.PrepareTransient(text)
		if err != nil {
			return ended(ctx, err)
		}
		err = each(stmt, func(Row) (bool, error) { return true, nil })
		if _ = stmt.Finalize(); err != nil { // the error of Finalize is that of the last step
			return ended(ctx, fmt.Errorf("execute %q: %w", opening(strings.TrimSpace(text)), err))
		}
		text = text[len(text)-rest:]
	}
	return nil
}

// close closes the connection. SQLite then rolls back an open transaction.
func (c *sqliteConn) close() error {
	for _, stmt := range c.prepared {
		_ = stmt.Finalize() // its error is that of the last step
	}
	c.prepared = nil
	return c.conn.Close()
}
