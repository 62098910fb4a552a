package ledger

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// ErrNotFound means that a requested row does not exist.
var ErrNotFound = errors.New("there is none")

// Book is an open database file.
type Book struct{ db *sql.DB }

// Tx is a transaction. It is valid until the function that received it returns.
type Tx struct {
	ctx context.Context
	tx  *sql.Tx
	// prepared holds the executed statements by their text, because SQLite needs more time to parse
	// a short statement than to execute it.
	prepared map[string]*sql.Stmt
	// after lists the functions to call after the commit.
	after []func()
}

// AfterCommit calls f after the transaction is on disk.
func (t *Tx) AfterCommit(f func()) { t.after = append(t.after, f) }

// Open opens a file. It creates the file if it does not exist.
func Open(ctx context.Context, path string) (*Book, error) {
	pragmas := url.Values{
		// FULL waits for the disk at each commit, so that no acknowledged change is ever lost. Only
		// one program at a time may open the file: each program keeps the time of the bank in memory.
		"_pragma": {"locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "busy_timeout(3000)"},
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // one connection at a time, because correctness matters more than speed
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open the books %s, which only one program may use: %w", path, err), db.Close())
	}
	return &Book{db}, nil
}

// Close closes the file.
func (b *Book) Close() error { return b.db.Close() }

// Update runs f in a transaction. The transaction is on disk when Update returns nil.
func (b *Book) Update(ctx context.Context, f func(*Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	t := &Tx{ctx: ctx, tx: tx, prepared: map[string]*sql.Stmt{}}
	if err := f(t); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	for _, reported := range t.after {
		reported()
	}
	return nil
}

// rollback undoes a transaction. A transaction whose context has ended is already undone.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("undo a transaction: %w", err)
	}
	return nil
}

func (t *Tx) exec(what, query string, args ...any) error {
	statement, err := t.statement(query) //nolint:sqlclosecheck // the end of the transaction closes it
	if err == nil {
		_, err = statement.ExecContext(t.ctx, args...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// statement returns a prepared statement. The end of the transaction closes it.
func (t *Tx) statement(query string) (*sql.Stmt, error) {
	if statement := t.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := t.tx.PrepareContext(t.ctx, query)
	if err == nil {
		t.prepared[query] = statement
	}
	return statement, err
}

// row reads one row. It returns ErrNotFound when the query finds no row.
func (t *Tx) row(what, query string, args, into []any) error {
	statement, err := t.statement(query) //nolint:sqlclosecheck // the end of the transaction closes it
	if err == nil {
		err = statement.QueryRowContext(t.ctx, args...).Scan(into...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// each calls scan for every row.
func (t *Tx) each(what, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
