package database

import (
	"context"
	"errors"
	"sync"
)

// sqliteReaders lends connections that only read. It lends the connection that was used last, whose
// cache is the newest.
type sqliteReaders struct {
	open  opener
	slots chan struct{} // one element for each lent connection

	mu     sync.Mutex
	idle   []*sqliteConn
	closed bool
}

func newSQLiteReaders(open opener, most int) *sqliteReaders {
	return &sqliteReaders{open: open, slots: make(chan struct{}, most)}
}

// borrow returns a connection that the caller must give back. It waits while all connections are
// lent, until the context ends.
func (p *sqliteReaders) borrow(ctx context.Context) (*sqliteConn, error) {
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

// next returns an idle connection, or opens one. Other callers do not wait for the opening.
func (p *sqliteReaders) next(ctx context.Context) (*sqliteConn, error) {
	reader, err := p.reuse()
	if reader != nil || err != nil {
		return reader, err
	}
	return p.open(ctx)
}

// reuse returns an idle connection, or nil without one.
func (p *sqliteReaders) reuse() (*sqliteConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil //nolint:nilnil // no idle connection is no error
	}
	reader := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return reader, nil
}

// giveBack takes a borrowed connection. It closes the connection when broken is set, and when the
// database was closed meanwhile.
func (p *sqliteReaders) giveBack(reader *sqliteConn, broken bool) {
	p.mu.Lock()
	if broken = broken || p.closed; !broken {
		p.idle = append(p.idle, reader)
	}
	p.mu.Unlock()
	if broken {
		_ = reader.close() // nothing was written
	}
	<-p.slots
}

// with calls fn and lends it a connection.
func (p *sqliteReaders) with(ctx context.Context, fn func(*sqliteConn) error) error {
	reader, err := p.borrow(ctx)
	if err != nil {
		return err
	}
	broken := true // until fn returns: after a panic, a transaction may still be open
	defer func() { p.giveBack(reader, broken) }()
	err = fn(reader)
	broken = errors.Is(err, errLost)
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
	return errors.Join(errs...)
}

// read reads with a borrowed connection.
func (s *sqliteEngine) read(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.readers.with(ctx, func(r *sqliteConn) error { return r.query(ctx, text, args, row) })
}

func (s *sqliteEngine) readWhole(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.read(ctx, text, args, row)
}

// readByKey reads without a context that can end. For such a context, the connection starts a
// goroutine, which costs more than reading a row by its key.
func (s *sqliteEngine) readByKey(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.readers.with(ctx, func(r *sqliteConn) error { return r.query(context.WithoutCancel(ctx), text, args, row) })
}

// together runs the functions one after the other in one transaction, until one fails. Each
// transaction that follows a write must check and refill the cache of its connection, so one
// transaction for all functions is cheaper.
func (s *sqliteEngine) together(ctx context.Context, r *Querier, questions []func(*Querier) error) error {
	return s.readers.with(ctx, func(reader *sqliteConn) error { //nolint:contextcheck // COMMIT also ends the transaction of a caller that has gone
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
	reader *sqliteConn
}

func (s snapshot) read(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.reader.query(ctx, text, args, row)
}

func (s snapshot) readWhole(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	return s.reader.query(ctx, text, args, row)
}

func (s snapshot) readByKey(ctx context.Context, text string, args []any, row func(Row) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.reader.query(context.WithoutCancel(ctx), text, args, row)
}

func (s snapshot) together(_ context.Context, r *Querier, questions []func(*Querier) error) error {
	return inTurn(r, questions)
}
