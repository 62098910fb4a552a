package main

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// bareReader runs queries and calls a function for each row.
type bareReader interface {
	each(ctx context.Context, text string, args []any, row func(scan func(...any) error) error) error
}

func (p *place) bareReader(ctx context.Context, kind, database string) (bareReader, error) {
	if kind == postgres {
		pool, err := p.pool(ctx, database)
		return pgxReader{pool}, err
	}
	pool, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(database, "sqlite:")+"?_pragma=query_only(ON)&_pragma=mmap_size(268435456)&_pragma=cache_size(-8192)")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	p.later(pool.Close)
	return &sqlReader{pool: pool}, nil
}

// pgxReader uses the native driver, which prepares statements itself.
type pgxReader struct{ pool *pgxpool.Pool }

func (r pgxReader) each(ctx context.Context, text string, args []any, row func(scan func(...any) error) error) error {
	rows, err := r.pool.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

type sqlReader struct {
	pool     *sql.DB
	prepared sync.Map // the keys are of type string, the values of type *sql.Stmt
}

func (r *sqlReader) each(ctx context.Context, text string, args []any, row func(scan func(...any) error) error) (err error) {
	prepared, known := r.prepared.Load(text)
	if !known {
		fresh, err := r.pool.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		prepared, _ = r.prepared.LoadOrStore(text, fresh)
	}
	rows, err := prepared.(*sql.Stmt).QueryContext(ctx, args...) //nolint:errcheck,forcetypeassert // the map holds nothing else
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
