package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"passerelle/internal/backup"
)

// sized is the size of one kind of rows in a database.
type sized struct {
	what, kind string
	rows       int
	// bytes is the size that the rows have added, and copied the same size in a copy of the
	// database.
	bytes, copied   int64
	backup, restore time.Duration
}

// contents are the kinds of rows that a database is filled with, a million of each at scale 1.
// Each returns the address of the database, and how many rows there are.
var contents = []struct {
	what string
	fill func(ctx context.Context, p *place, kind string, rows int) (string, error)
}{
	{"payments with their timelines and attempts", func(ctx context.Context, p *place, kind string, rows int) (string, error) {
		w, err := p.filled(ctx, kind, rows)
		if err != nil {
			return "", err
		}
		return w.database, nil
	}},
	{"transactions", func(ctx context.Context, p *place, kind string, rows int) (string, error) {
		w, err := p.freshService(ctx, kind)
		if err != nil {
			return "", err
		}
		_, err = w.longList(ctx, p, p.amount(rows))
		return w.database, err
	}},
	{"events with a delivery and an attempt", func(ctx context.Context, p *place, kind string, rows int) (string, error) {
		o, err := p.sendingService(ctx, kind, 1)
		if err != nil {
			return "", err
		}
		if _, err := o.posting(1)(ctx); err != nil {
			return "", err
		}
		one, err := p.numberIn(ctx, kind, o.database, `SELECT MAX(id) FROM delivery`)
		if err != nil {
			return "", err
		}
		return o.database, (&instance{kind: kind, database: o.database}).multiply(ctx, p, one, p.amount(rows), copyDelivery...)
	}},
}

// million is the number of rows that a figure refers to.
const million = 1_000_000

// sizes fills databases and prints how large they are, and how long copies take.
func (o options) sizes(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "| A million | on | GB | a row | copy in GB | backup | restore |\n|---|---|---:|---:|---:|---:|---:|")
	for _, kind := range []string{sqlite, postgres} {
		for i := range contents {
			s, err := o.size(ctx, kind, i)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", contents[i].what, kind, err)
			}
			each := float64(million) / float64(s.rows)
			fmt.Fprintf(out, "| %s | %s | %.2f | %d bytes | %.2f | %.0f s | %.0f s |\n", s.what, s.kind,
				float64(s.bytes)*each/1e9, s.bytes/int64(s.rows), float64(s.copied)*each/1e9, s.backup.Seconds()*each, s.restore.Seconds()*each)
		}
	}
	return nil
}

func (o options) size(ctx context.Context, kind string, content int) (s sized, err error) {
	p := &place{options: o}
	defer func() { err = errors.Join(err, p.close()) }()
	folder, err := os.MkdirTemp(p.folder, "passerelle-bench-")
	if err != nil {
		return s, fmt.Errorf("make a folder: %w", err)
	}
	p.later(func() error { return os.RemoveAll(folder) })
	s = sized{what: contents[content].what, kind: kind, rows: p.amount(million)}
	database, err := contents[content].fill(ctx, p, kind, million)
	if err != nil {
		return s, err
	}
	if s.bytes, err = p.bytesOf(ctx, kind, database); err != nil {
		return s, err
	}
	file, begun := filepath.Join(folder, "copy"), time.Now()
	if err := backup.Make(ctx, database, file, nil); err != nil {
		return s, err
	}
	about, err := os.Stat(file)
	if err != nil {
		return s, err
	}
	s.copied, s.backup = about.Size(), time.Since(begun)
	to := "sqlite:" + filepath.Join(folder, "restored")
	if kind == postgres {
		if to, err = p.database(ctx, kind); err != nil {
			return s, err
		}
	}
	begun = time.Now()
	err = backup.Restore(ctx, file, to, nil)
	s.restore = time.Since(begun)
	return s, err
}

// bytesOf returns the size of the pages of a database, without its log.
func (p *place) bytesOf(ctx context.Context, kind, database string) (int64, error) {
	return p.numberIn(ctx, kind, database, map[string]string{
		sqlite: `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`, postgres: `SELECT pg_database_size(current_database())`,
	}[kind])
}
