package store

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/keys"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options are the settings of a store, except the address of its database.
type Options struct {
	// Keys encrypt sensitive columns. A store without keys works until it reads or writes a
	// sensitive column.
	Keys *keys.Ring
	// Log, MaxConns, Alone and Limit have the same meaning as in database.Config.
	Log      *slog.Logger
	MaxConns int
	Alone    bool
	Limit    time.Duration
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	Reader

	Database       *database.Handle // for its health, its schema and its statistics
	log            *slog.Logger
	keyRenewal     time.Duration          // zero except in tests
	proof          atomic.Pointer[[]byte] // the value in key_check, as last read
	connectorNames sync.Map               // the names in connector_name that this process has stored, by UUID
}

// Reader reads committed rows and cannot write.
type Reader struct {
	// rows is nil in the zero Reader.
	rows *database.Querier
	keys *keys.Ring
	// sealing is set once the database has confirmed that account numbers are sealed.
	sealing *atomic.Bool
}

// Tx collects the statements of a unit. [DB.Write] creates each Tx.
type Tx struct {
	// ctx is the context of the caller. Seal may read key_check with this context.
	ctx   context.Context
	unit  *database.Unit
	db    *DB
	keys  *keys.Ring
	seals bool
}

// Open opens the database at an address, which [database.Open] describes. It does not change the
// schema.
func Open(ctx context.Context, url string, options Options) (*DB, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	handle, err := database.Open(ctx, url, database.Config{
		Migrations: migrations, Log: options.Log, MaxConns: options.MaxConns, Alone: options.Alone, Limit: options.Limit,
	})
	if err != nil {
		return nil, err
	}
	return &DB{Reader: Reader{rows: &handle.Querier, keys: options.Keys, sealing: &atomic.Bool{}}, Database: handle, log: options.Log}, nil
}

// Write executes the statements that fn collects. It executes all of them in one unit, or none.
// [database.Handle.Write] describes the errors.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	making, _ := ctx.Value(creationKey{}).(creation)
	return db.Database.Write(ctx, func(unit *database.Unit) error {
		tx := &Tx{ctx: ctx, unit: unit, db: db, keys: db.keys}
		unit.Watch(making.sequence)
		if err := fn(tx); err != nil {
			return err
		}
		if made := unit.Watched(); made != 0 {
			return tx.Executed(making.Execution, made)
		}
		return nil
	})
}

// Unit returns the underlying unit, for packages with separate tables.
func (tx *Tx) Unit() *database.Unit { return tx.unit }

// Rows returns the querier of the reader, for packages with separate tables.
func (r *Reader) Rows() *database.Querier { return r.rows }

// RowSource is an open store or one of its readers, for packages with separate tables.
type RowSource interface {
	Rows() *database.Querier
	Unseal(place keys.Place, sealed []byte) ([]byte, error)
}

// Keys returns the keys of the store, for packages that seal columns of separate tables. The result
// is nil when the store has no keys.
func (r *Reader) Keys() *keys.Ring { return r.keys }

// Keys returns the keys of the store.
func (tx *Tx) Keys() *keys.Ring { return tx.keys }

// AfterCommit registers a function that Write calls in the caller's goroutine once the unit is
// durable. Write does not call the function when the unit fails. Write calls several functions in
// the order of their registration.
func (tx *Tx) AfterCommit(fn func()) { tx.unit.AfterCommit(fn) }

// Together executes several queries in one round trip where possible, like
// [database.Querier.Together].
func (r *Reader) Together(ctx context.Context, questions ...func(r *Reader) error) error {
	rows := r.rows
	if rows == nil {
		rows = &database.Querier{}
	}
	all := make([]func(*database.Querier) error, len(questions))
	for i, question := range questions {
		all[i] = func(rows *database.Querier) error {
			own := *r
			own.rows = rows
			return question(&own)
		}
	}
	return rows.Together(ctx, all...)
}

// Into returns a read for [Reader.Together] that stores its result in a variable.
func Into[T any](into *T, read func(*Reader) (T, error)) func(*Reader) error {
	return func(r *Reader) error {
		result, err := read(r)
		*into = result
		return err
	}
}

// Close waits for running writes and closes all connections. A second call does nothing.
func (db *DB) Close() error {
	if err := db.Database.Close(); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}

// Window is the part of a list to read.
type Window = database.Window
