// Package backup copies a database consistently while it is in use, and restores copies.
//
// It owns the form of a copy: one file that only its owner can read, in the format of SQLite or
// pg_dump, with everything except the key file and the contents of documents. The file has another
// name until it is complete. The package does not own the schema, and reads no rows.
//
// It fails before it changes anything: it never overwrites a file, and never restores over a
// database with content.
package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/progress"
)

// unfinished ends the name of an incomplete copy.
const unfinished = ".part"

// Make copies the database at an address to a file that does not exist. Other processes
// continue. The copy shows the database at one moment during the call. The meter shows how far
// it is.
func Make(ctx context.Context, address, file string, meter *progress.Meter) error {
	if _, err := os.Stat(file); err == nil {
		return passerelle.InvalidField("--to", "%s already exists and was left unchanged", file)
	}
	part := file + unfinished
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what an earlier copy left: %w", err)
	}
	err := write(ctx, address, part, meter)
	if err == nil {
		err = keep(part, file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), discard(part))
	}
	return nil
}

func discard(part string) error {
	if err := os.Remove(part); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// keep gives a copy its name, once the copy is on the disk, and makes the name durable too.
func keep(part, file string) error {
	for _, step := range []func() error{
		func() error { return os.Chmod(part, 0o600) },
		func() error { return flush(part) },
		func() error { return os.Rename(part, file) },
		func() error { return flush(filepath.Dir(file)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func flush(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func write(ctx context.Context, address, part string, meter *progress.Meter) error {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		defer follow(path, part, meter)()
		return database.CopySQLite(ctx, path, part)
	}
	sizes, err := database.TableSizes(ctx, address)
	if err != nil {
		return err
	}
	program := postgresProgram{name: "pg_dump", said: tables(sizes, meter)}
	return program.run(ctx, address, "--verbose", "--format=custom", "--no-owner", "--no-privileges", "--file="+part)
}

// Restore makes the database at an address from a copy. The file of SQLite and its logs must not
// exist. A PostgreSQL database must exist, without tables. Everything is restored, or nothing. The
// meter shows how far it is.
func Restore(ctx context.Context, file, address string, meter *progress.Meter) error {
	path, sqlite := strings.CutPrefix(address, "sqlite:")
	if err := fits(file, sqlite); err != nil {
		return err
	}
	if sqlite {
		return restoreSQLite(ctx, file, path, meter)
	}
	filled, err := database.Filled(ctx, address)
	if err != nil {
		return err
	}
	if filled {
		return passerelle.InvalidField("--database", "already contains tables and was left unchanged; name an empty database")
	}
	program := postgresProgram{name: "pg_restore", said: entries(ctx, file, meter)}
	err = program.run(ctx, address, "--verbose", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", file)
	if err != nil {
		return fmt.Errorf("restore the database: %w", err)
	}
	return database.Analyze(ctx, address)
}

// The first bytes of the two formats of copies: a file of SQLite (sqlite.org, "Database File
// Format", 1.3) and pg_dump's custom format.
const (
	ofSQLite   = "SQLite format 3\x00"
	ofPostgres = "PGDMP"
)

// fits refuses a missing file, and a copy of the other kind of database, which has tables of its
// own and is of no use here. The program that reads the file refuses what is no copy.
func fits(file string, sqlite bool) error {
	opened, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return passerelle.InvalidField("--from", "the file does not exist: %s", file)
	}
	if err != nil {
		return passerelle.InvalidField("--from", "the copy cannot be read: %s", err)
	}
	defer opened.Close()
	start, err := io.ReadAll(io.LimitReader(opened, int64(len(ofSQLite))))
	switch {
	case err != nil:
		return passerelle.InvalidField("--from", "the copy cannot be read: %s", err)
	case sqlite && bytes.HasPrefix(start, []byte(ofPostgres)):
		return passerelle.InvalidField("--from", "%s is a copy of a PostgreSQL database; restore it to one, with --database postgres://…", file)
	case !sqlite && bytes.HasPrefix(start, []byte(ofSQLite)):
		return passerelle.InvalidField("--from", "%s is a copy of a SQLite database; restore it to one, with --database sqlite:PATH", file)
	}
	return nil
}

// restoreSQLite copies with SQLite, which reads the complete file and refuses other formats.
func restoreSQLite(ctx context.Context, file, path string, meter *progress.Meter) error {
	if _, err := os.Stat(path); err == nil {
		return passerelle.InvalidField("--database", "%s already exists and was left unchanged", path)
	}
	if log := leftLog(path); log != "" {
		return passerelle.InvalidField("--database", "%s belongs to a database that was here before and would be replayed into the restored one; move it to where that database is now", log)
	}
	part := path + unfinished
	end := follow(file, part, meter)
	err := database.CopySQLite(ctx, file, part)
	end()
	if err == nil {
		err = keep(part, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore the database: %w", err), discard(part))
	}
	return nil
}

// leftLog returns the log that a killed program left beside its database, empty for none. SQLite
// replays such a log into any file with the database's name. That damages the file when the log is
// of another database.
func leftLog(path string) string {
	for _, log := range []string{path + "-wal", path + "-journal"} {
		if about, err := os.Stat(log); err == nil && about.Size() > 0 {
			return log
		}
	}
	return ""
}
