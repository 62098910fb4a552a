// Package backup copies a database consistently while it is in use, and restores copies.
//
// It owns the form of a copy: one file, readable by its owner, in the format of SQLite or
// pg_dump, with everything except the key file and the contents of documents. It has another
// name until it is complete. It does not own the schema, and reads no rows.
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
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"passerelle"
	"passerelle/internal/database"
)

// unfinished ends the name of an incomplete copy.
const unfinished = ".part"

// Make copies the database at an address to a file that does not exist. Other processes
// continue. The copy is of one moment during the call. Progress may be looked at in the file
// Unfinished names.
func Make(ctx context.Context, address, file string) error {
	if _, err := os.Stat(file); err == nil {
		return passerelle.InvalidField("--to", "%s is there already and stays as it is", file)
	}
	part := Unfinished(file)
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what an earlier copy left: %w", err)
	}
	err := write(ctx, address, part)
	if err == nil {
		err = keep(part, file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), discard(part))
	}
	return nil
}

// Unfinished is where a copy is while it is being made.
func Unfinished(file string) string { return file + unfinished }

func discard(part string) error {
	if err := os.Remove(part); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// keep gives a copy its name once it is on the disk, and the name with it.
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

func write(ctx context.Context, address, part string) error {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		return database.CopySQLite(ctx, path, part)
	}
	return postgres(ctx, address, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+part)
}

// Restore makes the database at an address from a copy. The files of SQLite must not exist. A
// PostgreSQL database must exist without tables. It is all or nothing.
func Restore(ctx context.Context, file, address string) error {
	path, sqlite := strings.CutPrefix(address, "sqlite:")
	if err := fits(file, sqlite); err != nil {
		return err
	}
	if sqlite {
		return restoreSQLite(ctx, file, path)
	}
	filled, err := database.Filled(ctx, address)
	if err != nil {
		return err
	}
	if filled {
		return passerelle.InvalidField("--database", "holds tables already, and stays as it is; name an empty database")
	}
	err = postgres(ctx, address, "pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", file)
	if err != nil {
		return fmt.Errorf("restore the database: %w", err)
	}
	return database.Analyze(ctx, address)
}

// The first bytes of the two formats of copies: of a file of SQLite (sqlite.org,
// "Database File Format", 1.3) and of pg_dump's custom format.
const (
	ofSQLite   = "SQLite format 3\x00"
	ofPostgres = "PGDMP"
)

// fits refuses a missing file, and a copy of the other kind of database. The reading program
// refuses everything else.
func fits(file string, sqlite bool) error {
	opened, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return passerelle.InvalidField("--from", "there is no such file: %s", file)
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
func restoreSQLite(ctx context.Context, file, path string) error {
	if _, err := os.Stat(path); err == nil {
		return passerelle.InvalidField("--database", "%s is there already and stays as it is", path)
	}
	if log := leftLog(path); log != "" {
		return passerelle.InvalidField("--database", "%s belongs to a database that was here and would be replayed into the restored one; move it to where that database went", log)
	}
	part := Unfinished(path)
	err := database.CopySQLite(ctx, file, part)
	if err == nil {
		err = keep(part, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore the database: %w", err), discard(part))
	}
	return nil
}

// leftLog returns the log that a killed program left beside its database, empty for none.
// SQLite replays such a log into the file with the database's name, and would damage another
// database.
func leftLog(path string) string {
	for _, log := range []string{path + "-wal", path + "-journal"} {
		if about, err := os.Stat(log); err == nil && about.Size() > 0 {
			return log
		}
	}
	return ""
}

// maxComplaint bounds in bytes what a failed program is quoted with.
const maxComplaint = 2000

// postgres runs a program of PostgreSQL on a database. The password goes into its
// environment: arguments are for all the machine to see.
func postgres(ctx context.Context, target, program string, args ...string) error {
	address, err := url.Parse(target)
	if err != nil {
		return passerelle.InvalidField("--database", "is not a URL like postgres://user@host/name")
	}
	var secret []string
	if password, set := address.User.Password(); set {
		address.User = url.User(address.User.Username())
		secret = append(secret, "PGPASSWORD="+password)
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%s is needed and not there: install PostgreSQL's client programs, of the server's version or a newer one: %w", program, err)
	}
	command := exec.CommandContext(ctx, path, append([]string{"--dbname=" + address.String()}, args...)...)
	var complaint bytes.Buffer
	command.Env, command.Stderr = append(command.Environ(), secret...), &complaint
	if err := command.Run(); err != nil {
		said := complaint.String()
		return fmt.Errorf("%s: %w: %s", program, err, said[:min(len(said), maxComplaint)])
	}
	return nil
}
