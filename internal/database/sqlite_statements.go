package database

import (
	"context"
	"database/sql"
	"sync"
)

// statementLimit limits the prepared statements of a connection, because lists of different lengths
// lead to any number of different statements.
const statementLimit = 512

// preparer contains the methods of a connection that statements calls.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// statements caches prepared statements by their text.
type statements struct {
	source  preparer
	dialect *Dialect
	mu      sync.RWMutex
	byText  map[string]*sql.Stmt
}

func newStatements(source preparer, d *Dialect) *statements {
	return &statements{source: source, dialect: d, byText: map[string]*sql.Stmt{}}
}

func (s *statements) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	stmt, err := s.get(ctx, text) //nolint:sqlclosecheck // cached for the next call
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.source.QueryContext(ctx, s.dialect.Text(text), args...)
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *statements) exec(ctx context.Context, text string, args []any) (sql.Result, error) {
	stmt, err := s.get(ctx, text) //nolint:sqlclosecheck // cached for the next call
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.source.ExecContext(ctx, s.dialect.Text(text), args...)
	}
	return stmt.ExecContext(ctx, args...)
}

// get returns the prepared statement, or nil when the cache is full.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, full := s.byText[text], len(s.byText) >= statementLimit
	s.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.source.PrepareContext(ctx, s.dialect.Text(text))
	if err != nil {
		return nil, err
	}
	return s.keep(text, stmt), nil
}

// keep stores a prepared statement and returns it. If another goroutine has stored a statement for
// the same text in the meantime, keep returns that statement.
func (s *statements) keep(text string, stmt *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.byText[text]; kept != nil {
		_ = stmt.Close() // nothing has used it
		return kept
	}
	s.byText[text] = stmt
	return stmt
}

func (s *statements) close() {
	for _, stmt := range s.byText {
		_ = stmt.Close() // it ends with its connection
	}
}
