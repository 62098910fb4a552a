package database

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"
)

// Together runs several functions that read, and combines their queries. On PostgreSQL, the first
// queries of all functions share one round trip, the second queries share the next one, and so on.
// On SQLite, the functions run one after the other in one transaction, until one fails.
// Each function must read through the Querier that it receives. Together returns the error of the
// first function that failed.
func (r *Querier) Together(ctx context.Context, questions ...func(r *Querier) error) error {
	if r.engine == nil { // the Querier of a list that is in memory
		return inTurn(r, questions)
	}
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	return r.engine.together(ctx, r, questions)
}

func (p *postgresEngine) together(ctx context.Context, r *Querier, questions []func(*Querier) error) error {
	return pipelined(ctx, p, r, questions)
}

// pipelined runs the functions as coroutines. Each coroutine stops at a query, until the sender has
// sent the queries of all coroutines.
func pipelined(ctx context.Context, away sender, r *Querier, questions []func(*Querier) error) error {
	errs := make([]error, len(questions))
	nexts := make([]func() ([]*gatheredRead, bool), len(questions))
	for i, question := range questions {
		next, stop := iter.Pull(func(yield func([]*gatheredRead) bool) {
			own := *r
			own.engine = gatherer{r.engine, yield}
			errs[i] = question(&own)
		})
		defer stop()
		nexts[i] = next
	}
	for all := queries(nexts); len(all) > 0; all = queries(nexts) {
		away.send(ctx, all)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// gatheredRead is a query that waits to be sent together with others. Its error is set after the
// query was sent.
type gatheredRead struct {
	sql  string
	args []any
	row  func(Row) (more bool, err error)
	err  error
}

// queries returns the next queries of the functions that have queries left.
func queries(questions []func() ([]*gatheredRead, bool)) []*gatheredRead {
	var all []*gatheredRead
	for _, next := range questions {
		some, _ := next()
		all = append(all, some...)
	}
	return all
}

// sender is an engine that sends several queries in one round trip.
type sender interface {
	send(ctx context.Context, all []*gatheredRead)
}

// gatherer is the engine of a function that Together runs.
type gatherer struct {
	engine
	enqueue func([]*gatheredRead) bool
}

// errLeft ends a function when its result is no longer needed.
var errLeft = errors.New("the result is no longer needed")

func (g gatherer) together(ctx context.Context, r *Querier, questions []func(*Querier) error) error {
	return pipelined(ctx, g, r, questions)
}

func (g gatherer) readByKey(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	return g.read(ctx, sql, args, row)
}

func (g gatherer) read(ctx context.Context, sql string, args []any, row func(Row) (bool, error)) error {
	q := &gatheredRead{sql: sql, args: args, row: row}
	g.send(ctx, []*gatheredRead{q})
	return q.err
}

func (g gatherer) send(_ context.Context, all []*gatheredRead) {
	if g.enqueue(all) {
		return
	}
	for _, q := range all {
		q.err = errLeft
	}
}

// send sends queries in one round trip. When the server refuses one query, the later queries also
// fail.
func (p *postgresEngine) send(ctx context.Context, all []*gatheredRead) {
	if len(all) == 1 {
		all[0].err = p.read(ctx, all[0].sql, all[0].args, all[0].row)
		return
	}
	batch := &pgx.Batch{}
	for _, q := range all {
		batch.Queue(p.dialect.Text(q.sql), q.args...)
	}
	results := p.pool.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // each query has its own error
	for _, q := range all {
		rows, err := results.Query()
		if err == nil {
			err = readRows(rows, q.row)
		}
		q.err = err
	}
}
