// Package backup copies a database consistently while processes use it, and restores copies.
//
// The package owns the form of a copy. A copy is one file in the format of SQLite or pg_dump, and
// only its owner can read it. It contains neither the key file nor the contents of documents,
// because the database does not contain them. An incomplete copy has a different name. The package
// does not know the schema, and reads no rows.
//
// The package never overwrites a file, and never restores into a database with content. A failed
// copy leaves no incomplete file, and a failed restoration leaves no tables. A complete copy or a
// restored PostgreSQL database stays when a later step fails.
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

// unfinished is the end of the name of an incomplete copy.
const unfinished = ".part"

// Make copies the database at an address to a file. The file must not exist. Other processes can
// use the database during the call. The copy shows the database at one moment during the call. The
// meter shows the progress.
func Make(ctx context.Context, address, file string, meter *progress.Meter) error {
	if _, err := os.Stat(file); err == nil {
		return passerelle.InvalidField("--to", "%s already exists and was left unchanged", file)
	}
	err := publish(file, func(part string) error { return write(ctx, address, part, meter) })
	if errors.Is(err, os.ErrExist) {
		return passerelle.InvalidField("--to", "%s was made by another process meanwhile and was left unchanged", file)
	}
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	return nil
}

// publish creates a new file in the folder of `file`, and calls the function fill with the new
// file's name. It then gives the new file the name `file`. The first name is unique, so no other
// backup uses the new file. From its creation only its owner can read it, because SQLite and
// pg_dump keep the mode of an existing file. After an error, publish removes an incomplete file.
func publish(file string, fill func(part string) error) error {
	created, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+unfinished)
	if err != nil {
		return err
	}
	part := created.Name()
	if err = created.Close(); err == nil {
		err = fill(part)
	}
	if err == nil {
		err = keep(part, file)
	}
	return errors.Join(err, discard(part))
}

func discard(part string) error {
	if err := os.Remove(part); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// keep gives a copy its final name when the copy is on the disk. It also makes that name durable.
func keep(part, file string) error {
	for _, step := range []func() error{
		func() error { return os.Chmod(part, 0o600) },
		func() error { return flush(part) },
		func() error { return name(part, file) },
		func() error { return flush(filepath.Dir(file)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// name gives a file a name that must not exist yet. A link fails when the name exists. A rename
// would replace the file of another process. Only a file system without links needs a rename.
func name(part, file string) error {
	err := os.Link(part, file)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return os.ErrExist
	}
	return os.Rename(part, file)
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

// Restore restores a copy into the database at an address. For SQLite, the database file must not
// exist, and its logs must be missing or empty. For PostgreSQL, the database must exist and have no
// tables. In each table, the restored database skips a number of ids, because the lost database may
// have assigned them after the copy. The meter shows the progress.
func Restore(ctx context.Context, file, address string, skipped int64, meter *progress.Meter) error {
	path, sqlite := strings.CutPrefix(address, "sqlite:")
	if err := fits(file, sqlite); err != nil {
		return err
	}
	if sqlite {
		return restoreSQLite(ctx, file, path, skipped, meter)
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
	if err != nil && !(errors.Is(err, context.Canceled) && committed(ctx, address)) {
		return fmt.Errorf("restore the copy %s: %w", file, err)
	}
	if _, err := database.SkipIDs(context.WithoutCancel(ctx), address, skipped); err != nil {
		return fmt.Errorf("the copy is restored, but the next ids may be in use at clients; run passerelle restore --ids-only: %w", err)
	}
	err = database.Analyze(ctx, address)
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the copy is restored, and the service collects the statistics
	}
	return fmt.Errorf("the copy is restored, but its statistics could not be collected: %w", err)
}

// committed reports whether an interrupted restoration was already complete. In that case, its only
// transaction has filled the database.
func committed(ctx context.Context, address string) bool {
	filled, err := database.Filled(context.WithoutCancel(ctx), address)
	return err == nil && filled
}

// These are the first bytes of the two formats of copies: an SQLite file (sqlite.org, "Database
// File Format", 1.3) and the custom format of pg_dump.
const (
	ofSQLite   = "SQLite format 3\x00"
	ofPostgres = "PGDMP"
)

// fits fails when the file is missing or unreadable, or does not begin like a copy of this kind of
// database. The tables of the two kinds differ. The program that reads the file checks the rest.
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
	case sqlite && !bytes.HasPrefix(start, []byte(ofSQLite)):
		return passerelle.InvalidField("--from", "must be a file that passerelle backup made from SQLite; %s is not", file)
	case !sqlite && !bytes.HasPrefix(start, []byte(ofPostgres)):
		return passerelle.InvalidField("--from", "must be a file that passerelle backup made from PostgreSQL; %s is not", file)
	}
	return nil
}

// restoreSQLite restores a copy with SQLite, which reads the complete file.
func restoreSQLite(ctx context.Context, file, path string, skipped int64, meter *progress.Meter) error {
	if _, err := os.Stat(path); err == nil {
		return passerelle.InvalidField("--database", "%s already exists and was left unchanged", path)
	}
	if log := leftLog(path); log != "" {
		return passerelle.InvalidField("--database", "%s belongs to a database that was here before and would be replayed into the restored one; move it to where that database is now", log)
	}
	err := publish(path, func(part string) error {
		end := follow(file, part, meter)
		err := database.CopySQLite(ctx, file, part)
		end()
		if database.IsDamaged(err) {
			return passerelle.InvalidField("--from", "%s is damaged or incomplete: %v", file, err)
		}
		if err == nil {
			_, err = database.SkipIDs(ctx, "sqlite:"+part, skipped)
		}
		return err
	})
	if errors.Is(err, os.ErrExist) {
		return passerelle.InvalidField("--database", "%s was made by another process meanwhile and was left unchanged", path)
	}
	if err != nil {
		return fmt.Errorf("restore the copy %s: %w", file, err)
	}
	return nil
}

// leftLog returns the name of a log that a killed program left beside its database, or an empty
// text. SQLite replays such a log into any file that has the name of the database. If the log
// belongs to another database, this damages the file.
func leftLog(path string) string {
	for _, log := range []string{path + "-wal", path + "-journal"} {
		if about, err := os.Stat(log); err == nil && about.Size() > 0 {
			return log
		}
	}
	return ""
}
