package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"passerelle/internal/store"
)

// These are the ids of the domain and the client in bareRows.
const (
	bareDomain = 1
	bareClient = 1
)

var bareRows = []statement{
	{`INSERT INTO domain (id, name, kind, host, base_url, created) VALUES (1, 'bare', 'sandbox', 'bare', 'http://bare/2.0', 0)`, nil},
	{`INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created) VALUES (1, 1, 'bare', 'hash', '[]', 0)`, nil},
}

type statement struct {
	text string
	args []any
}

// bareWriter writes units to a database. A unit consists of the statements of one call of write,
// which share a transaction. The call returns when the transaction is durable.
type bareWriter interface {
	write(ctx context.Context, statements []statement) error
}

// bareWriter prepares an empty database and returns a writer to it.
func (p *place) bareWriter(ctx context.Context, kind, database string) (bareWriter, error) {
	db, err := store.Open(ctx, database, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.Database.Migrate(ctx), db.Close()); err != nil {
		return nil, err
	}
	w, err := p.writerTo(ctx, kind, database)
	if err != nil {
		return nil, err
	}
	return w, w.write(ctx, bareRows)
}

// writerTo returns a writer to a database that already has the schema.
func (p *place) writerTo(ctx context.Context, kind, database string) (bareWriter, error) {
	if kind == sqlite {
		return p.groups(ctx, strings.TrimPrefix(database, "sqlite:"))
	}
	pool, err := p.pool(ctx, database)
	return pipelines{pool}, err
}

// poolSize is the service's default limit for connections to PostgreSQL.
const poolSize = 16

func (p *place) pool(ctx context.Context, database string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, errors.New("the address of the database cannot be read")
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p.later(func() error { pool.Close(); return nil })
	return pool, nil
}

// pipelines writes each unit in its own transaction.
type pipelines struct{ pool *pgxpool.Pool }

func (w pipelines) write(ctx context.Context, statements []statement) error {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.text, s.args...)
	}
	return w.pool.SendBatch(ctx, batch).Close() // one implicit transaction
}

// groups is a writer with a goroutine, which writes waiting units together in one transaction.
type groups struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	queue    chan *waiting
	stop     chan struct{}
}

type waiting struct {
	statements []statement
	done       chan error
}

const groupLimit = 256

func (p *place) groups(ctx context.Context, path string) (*groups, error) {
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=mmap_size(268435456)&_pragma=cache_size(-8192)&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	p.later(pool.Close)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &groups{conn: conn, prepared: map[string]*sql.Stmt{}, queue: make(chan *waiting), stop: make(chan struct{})}
	ended := make(chan struct{})
	go func() { //nolint:contextcheck // the goroutine outlives every request
		defer close(ended)
		w.run()
	}()
	p.later(func() error {
		close(w.stop)
		<-ended
		return conn.Close()
	})
	return w, nil
}

func (w *groups) write(_ context.Context, statements []statement) error {
	mine := &waiting{statements, make(chan error, 1)}
	w.queue <- mine
	return <-mine.done
}

func (w *groups) run() {
	for {
		select {
		case first := <-w.queue:
			w.answer(w.gather(first))
		case <-w.stop:
			return
		}
	}
}

func (w *groups) answer(group []*waiting) {
	err := w.together(group)
	for _, one := range group {
		one.done <- err
	}
}

// gather adds units that are already waiting, up to groupLimit in all.
func (w *groups) gather(first *waiting) []*waiting {
	group := []*waiting{first}
	for len(group) < groupLimit {
		select {
		case next := <-w.queue:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// together writes a group in one transaction.
func (w *groups) together(group []*waiting) error {
	ctx := context.Background()
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, one := range group {
		for _, s := range one.statements {
			if err := w.exec(ctx, s); err != nil {
				_, undone := w.conn.ExecContext(ctx, "ROLLBACK")
				return errors.Join(fmt.Errorf("execute %q: %w", s.text, err), undone)
			}
		}
	}
	_, err := w.conn.ExecContext(ctx, "COMMIT")
	return err
}

// withoutNumbers removes the numbers of parameters, because SQLite's driver is fastest without
// them. This is possible when each parameter occurs once and in order.
func withoutNumbers(text string) string {
	inOrder, n := true, 0
	plain := parameter.ReplaceAllStringFunc(text, func(name string) string {
		n++
		inOrder = inOrder && name == fmt.Sprint("$", n)
		return "?"
	})
	if !inOrder {
		return text
	}
	return plain
}

var parameter = regexp.MustCompile(`\$\d+`)

func (w *groups) exec(ctx context.Context, s statement) error {
	prepared := w.prepared[s.text]
	if prepared == nil {
		var err error
		if prepared, err = w.conn.PrepareContext(ctx, withoutNumbers(s.text)); err != nil {
			return err
		}
		w.prepared[s.text] = prepared
	}
	_, err := prepared.ExecContext(ctx, s.args...)
	return err
}
