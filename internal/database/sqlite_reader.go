package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// sqliteReader is a connection that only reads, with its prepared statements.
type sqliteReader struct {
	conn     *sql.Conn
	prepared *statements
}

func (r *sqliteReader) read(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	rows, err := r.prepared.query(ctx, text, args)
	if err != nil {
		return err
	}
	return drain(rows, row)
}

// control executes BEGIN or COMMIT, which never wait on a connection that only reads.
func (r *sqliteReader) control(text string) error {
	_, err := r.prepared.exec(context.Background(), text, nil)
	return err
}

// discard closes the connection permanently, and with it an open transaction.
func (r *sqliteReader) discard() {
	r.prepared.close()
	_ = r.conn.Raw(func(any) error { return driver.ErrBadConn }) // nothing was written
}

func (r *sqliteReader) close() error {
	r.prepared.close()
	return r.conn.Close()
}

// sqliteReaders lends connections that only read. It lends the connection that was used last, whose
// cache is the newest. database/sql has a pool too, but its prepared statements belong to no
// connection, and finding the connection costs a third of a short query.
type sqliteReaders struct {
	pool    *sql.DB
	dialect *Dialect
	slots   chan struct{} // one element for each lent connection

	mu     sync.Mutex
	idle   []*sqliteReader
	closed bool
}

func newSQLiteReaders(pool *sql.DB, most int, d *Dialect) *sqliteReaders {
	return &sqliteReaders{pool: pool, dialect: d, slots: make(chan struct{}, most)}
}

// borrow returns a connection that the caller must give back. It waits while all connections are
// lent, until the context ends.
func (p *sqliteReaders) borrow(ctx context.Context) (*sqliteReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	reader, err := p.next(ctx)
	if err != nil {
		<-p.slots
	}
	return reader, err
}

func (p *sqliteReaders) next(ctx context.Context) (*sqliteReader, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		reader := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return reader, nil
	}
	p.mu.Unlock()
	conn, err := p.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteReader{conn, newStatements(conn, p.dialect)}, nil
}

// giveBack takes a borrowed connection. It discards the connection when broken is set, and when the
// database was closed meanwhile.
func (p *sqliteReaders) giveBack(reader *sqliteReader, broken bool) {
	p.mu.Lock()
	if broken = broken || p.closed; !broken {
		p.idle = append(p.idle, reader)
	}
	p.mu.Unlock()
	if broken {
		reader.discard()
	}
	<-p.slots
}

// with calls fn with a borrowed connection.
func (p *sqliteReaders) with(ctx context.Context, fn func(*sqliteReader) error) error {
	reader, err := p.borrow(ctx)
	if err != nil {
		return err
	}
	broken := true // until fn returns: after a panic, rows may still be open
	defer func() { p.giveBack(reader, broken) }()
	err = fn(reader)
	broken = errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, errLost)
	return err
}

func (p *sqliteReaders) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, reader := range idle {
		errs = append(errs, reader.close())
	}
	return errors.Join(append(errs, p.pool.Close())...)
}

// read reads with a borrowed connection.
func (s *sqliteEngine) read(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.readers.with(ctx, func(r *sqliteReader) error { return r.read(ctx, text, args, row) })
}

func (s *sqliteEngine) readWhole(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.read(ctx, text, args, row)
}

// readByKey reads without a cancellable context. For each query with such a context, database/sql
// and the driver both start a goroutine, which costs more than reading a row by its key.
func (s *sqliteEngine) readByKey(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.readers.with(ctx, func(r *sqliteReader) error { return r.read(context.WithoutCancel(ctx), text, args, row) })
}

// together runs the functions one after the other in one transaction, until one fails. Each
// transaction that follows a write must check and refill the cache of its connection, so one
// transaction for all functions is cheaper.
func (s *sqliteEngine) together(ctx context.Context, r *Querier, questions []func(*Querier) error) error {
	return s.readers.with(ctx, func(reader *sqliteReader) error { //nolint:contextcheck // COMMIT also ends the transaction of a caller that has gone
		if err := reader.control("BEGIN"); err != nil {
			return errors.Join(errLost, err)
		}
		own := *r
		own.engine = snapshot{s, reader}
		err := inTurn(&own, questions)
		if end := reader.control("COMMIT"); end != nil {
			return errors.Join(err, errLost, end)
		}
		return err
	})
}

func inTurn(r *Querier, questions []func(*Querier) error) error {
	for _, question := range questions {
		if err := question(r); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is the engine of functions that Together runs in one transaction.
type snapshot struct {
	*sqliteEngine
	reader *sqliteReader
}

func (s snapshot) read(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.reader.read(ctx, text, args, row)
}

func (s snapshot) readWhole(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.reader.read(ctx, text, args, row)
}

func (s snapshot) readByKey(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.reader.read(context.WithoutCancel(ctx), text, args, row)
}

func (s snapshot) together(_ context.Context, r *Querier, questions []func(*Querier) error) error {
	return inTurn(r, questions)
}
