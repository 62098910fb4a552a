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

type sized struct {
	rows int
	// bytes is the size of the database. copied is the size of its copy.
	bytes, copied   int64
	backup, restore time.Duration
}

// contents lists the kinds of rows with which a database is filled. The function fill returns the
// address of the database.
var contents = []struct {
	what string
	fill func(ctx context.Context, p *place, kind string, rows int) (string, error)
}{
	{"payments with their timelines, attempts and words", func(ctx context.Context, p *place, kind string, rows int) (string, error) {
		w, err := p.filled(ctx, kind, rows)
		if err != nil {
			return "", err
		}
		return w.database, w.addWords(ctx, p)
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

// addWords makes the copies of payments findable by the two words in their labels. One of the words
// is in all labels.
func (w *instance) addWords(ctx context.Context, p *place) error {
	writer, err := p.writerTo(ctx, w.kind, w.database)
	if err != nil {
		return err
	}
	var all []statement
	for _, word := range []string{`'invoice'`, `CAST(id AS TEXT)`} {
		all = append(all, statement{text: `INSERT INTO payment_word (domain_id, word, registered, payment_id)
			SELECT domain_id, ` + word + `, registered, id FROM payment WHERE id > ` + number(copiesAfter)})
	}
	return writer.write(ctx, all)
}

const million = 1_000_000

// sizes fills databases, and prints their size and the time that copies take. It subtracts the
// values of an empty database, which it prints first.
func (o options) sizes(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "| A million | on | GB | a row | copy in GB | backup | restore |\n|---|---|---:|---:|---:|---:|---:|")
	for _, kind := range []string{sqlite, postgres} {
		empty, err := o.size(ctx, kind, 0, func(ctx context.Context, p *place, kind string, _ int) (string, error) {
			w, err := p.freshService(ctx, kind)
			if err != nil {
				return "", err
			}
			return w.database, nil
		})
		if err != nil {
			return fmt.Errorf("an empty database on %s: %w", kind, err)
		}
		fmt.Fprintf(out, "| (empty, as it is) | %s | %.3f | | %.3f | %.1f s | %.1f s |\n", kind,
			float64(empty.bytes)/1e9, float64(empty.copied)/1e9, empty.backup.Seconds(), empty.restore.Seconds())
		for _, c := range contents {
			s, err := o.size(ctx, kind, million, c.fill)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", c.what, kind, err)
			}
			s = s.beyond(empty)
			each := float64(million) / float64(s.rows)
			fmt.Fprintf(out, "| %s | %s | %.2f | %d bytes | %.2f | %.0f s | %.0f s |\n", c.what, kind,
				float64(s.bytes)*each/1e9, s.bytes/int64(s.rows), float64(s.copied)*each/1e9, s.backup.Seconds()*each, s.restore.Seconds()*each)
		}
	}
	return nil
}

// beyond returns the space and time that the rows need in addition to an empty database.
func (s sized) beyond(empty sized) sized {
	s.bytes, s.copied = s.bytes-empty.bytes, s.copied-empty.copied
	s.backup, s.restore = s.backup-empty.backup, s.restore-empty.restore
	return s
}

func (o options) size(ctx context.Context, kind string, rows int, fill func(ctx context.Context, p *place, kind string, rows int) (string, error)) (s sized, err error) {
	p := &place{options: o}
	defer func() { err = errors.Join(err, p.close()) }()
	s.rows = p.amount(rows)
	database, err := fill(ctx, p, kind, rows)
	if err != nil {
		return s, err
	}
	if s.bytes, err = p.bytesOf(ctx, kind, database); err != nil {
		return s, err
	}
	return s, p.copyOf(ctx, kind, database, &s)
}

func (p *place) copyOf(ctx context.Context, kind, database string, s *sized) error {
	folder, err := os.MkdirTemp(p.folder, "passerelle-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	p.later(func() error { return os.RemoveAll(folder) })
	file, begun := filepath.Join(folder, "copy"), time.Now()
	if err := backup.Make(ctx, database, file, nil); err != nil {
		return err
	}
	s.backup = time.Since(begun)
	about, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read the size of the copy: %w", err)
	}
	s.copied = about.Size()
	to := "sqlite:" + filepath.Join(folder, "restored")
	if kind == postgres {
		if to, err = p.database(ctx, kind); err != nil {
			return err
		}
	}
	begun = time.Now()
	err = backup.Restore(ctx, file, to, 0, nil)
	s.restore = time.Since(begun)
	return err
}

// bytesOf returns the size of a database, without its log.
func (p *place) bytesOf(ctx context.Context, kind, database string) (int64, error) {
	return p.numberIn(ctx, kind, database, map[string]string{
		sqlite: `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`, postgres: `SELECT pg_database_size(current_database())`,
	}[kind])
}
