package database

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// This package has its own migration runner, of some 370 lines including the parts for both
// databases. For comparison, we ran two libraries with all migrations of package store, and read
// the documentation of a third:
//
//   - goose v3 cuts files at semicolons, and fails at the first trigger until each file has
//     special marks. It did not notice that an applied file had been edited.
//   - golang-migrate v4 runs the files. Like goose, it does not notice an edited file. After a file
//     has failed, it refuses every start until a person has set the version by hand.
//   - tern v2 stores no checksums and supports only PostgreSQL.
//
// No library supports one text for two databases. No library lists the statements without running
// them. No library tries again while running replicas lock a table. goose and golang-migrate need
// database/sql as a second kind of connection to PostgreSQL. A fourth tool, atlas, compares
// schemas. Each upgrade would need it as a second program. A library would replace only the table
// of versions and the loop over the files.

// migration is one step of the schema. No migration can be reverted.
type migration struct {
	version  int64
	name     string
	text     string
	checksum string
}

// session is a transaction for migrations. No other migration runs at the same time.
type session interface {
	// script executes any number of statements without arguments.
	script(ctx context.Context, sql string) error
	exec(ctx context.Context, sql string, args ...any) error
	query(ctx context.Context, row func(Row) error, sql string) error
}

const (
	createHistory = `CREATE TABLE IF NOT EXISTS schema_migration (
	version BIGINT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	checksum TEXT NOT NULL,
	applied BIGINT NOT NULL
)`
	readHistory   = `SELECT version, checksum FROM schema_migration`
	recordHistory = `INSERT INTO schema_migration (version, name, checksum, applied) VALUES ($1, $2, $3, {now})`
)

var errPending = errors.New("the schema is not up to date; run the command migrate")

// Migrate applies all missing migrations, or none of them. A second call changes nothing. If
// several processes call it, one process works while the others wait. On PostgreSQL, Migrate waits
// for running transactions on the tables. It fails when some of them do not end within minutes. It
// fails when a migration was edited after it had been applied. It does not change a schema that is
// newer than this program, because replicas of two versions may run at the same time.
func (p *Handle) Migrate(ctx context.Context) error {
	return p.MigrateShown(ctx, func(int64, int64) {})
}

// MigrateShown does the same as Migrate. Before each migration, it also calls shown with the number
// of applied migrations and the number of all migrations to apply. The first number starts at zero
// again when the migrations are tried again.
func (p *Handle) MigrateShown(ctx context.Context, shown func(done, total int64)) error {
	var applied []string
	err := p.engine.migrate(ctx, func(s session) error {
		var err error
		applied, err = p.bringUp(ctx, s, shown)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", classify(err))
	}
	p.logApplied(ctx, applied)
	return nil
}

// logApplied logs one line for a new database, so that the lines of a first start stay readable.
// An upgrade gets a line for each migration.
func (p *Handle) logApplied(ctx context.Context, names []string) {
	if len(names) > 1 && len(names) == len(p.migrations) {
		p.log.InfoContext(ctx, "database created", "migrations", len(names))
		return
	}
	for _, name := range names {
		p.log.InfoContext(ctx, "migration applied", "migration", name)
	}
}

// SchemaCurrent returns nil when all migrations of this program have been applied, in their
// present form.
func (p *Handle) SchemaCurrent(ctx context.Context) error {
	applied := history{}
	err := p.Each(ctx, readHistory, nil, func(row Row) (bool, error) { return true, applied.add(row) })
	if err != nil {
		return fmt.Errorf("%w: %w", errPending, err)
	}
	pending, err := applied.pending(p.migrations)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%w: %s is missing", errPending, pending[0].name)
	}
	return err
}

// bringUp applies missing migrations and returns their names.
func (p *Handle) bringUp(ctx context.Context, s session, shown func(done, total int64)) ([]string, error) {
	var names []string
	pending, err := p.missing(ctx, s)
	if err != nil {
		return nil, err
	}
	for i, m := range pending {
		shown(int64(i), int64(len(pending)))
		if err := p.apply(ctx, s, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		names = append(names, m.name)
	}
	return names, nil
}

// missing returns the migrations that were not applied yet.
func (p *Handle) missing(ctx context.Context, s session) ([]migration, error) {
	if err := s.script(ctx, createHistory); err != nil {
		return nil, fmt.Errorf("create the history: %w", err)
	}
	applied := history{}
	if err := s.query(ctx, applied.add, readHistory); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return applied.pending(p.migrations)
}

// PendingMigration is a migration that Migrate would apply, with its statements for this
// database.
type PendingMigration struct{ Name, Statements string }

// errUndo ends a transaction that must change nothing.
var errUndo = errors.New("nothing is to change")

// Pending lists the migrations that Migrate would apply, in order, and changes nothing. On
// PostgreSQL, it waits only for running migrations. Like Migrate, it fails when a migration was
// edited after it had been applied.
func (p *Handle) Pending(ctx context.Context) ([]PendingMigration, error) {
	var all []PendingMigration
	err := p.engine.migrate(ctx, func(s session) error {
		pending, err := p.missing(ctx, s)
		if err != nil {
			return err
		}
		for _, m := range pending {
			script, err := p.engine.words().script(m.text)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			all = append(all, PendingMigration{m.name, script})
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return nil, fmt.Errorf("list the migrations to apply: %w", classify(err))
	}
	return all, nil
}

func (p *Handle) apply(ctx context.Context, s session, m migration) error {
	words := p.engine.words()
	script, err := words.script(m.text)
	if err != nil {
		return err
	}
	if err := s.script(ctx, script); err != nil {
		return err
	}
	return s.exec(ctx, words.Text(recordHistory), m.version, m.name, m.checksum)
}

// history contains the checksums of the applied migrations, by version.
type history map[int64]string

func (h history) add(row Row) error {
	var version int64
	var checksum string
	err := row.Scan(&version, &checksum)
	h[version] = checksum
	return err
}

func (h history) pending(all []migration) ([]migration, error) {
	var pending []migration
	for _, m := range all {
		checksum, applied := h[m.version]
		if applied && checksum != m.checksum {
			return nil, fmt.Errorf("migration %s was changed after it had been applied", m.name)
		}
		if !applied {
			pending = append(pending, m)
		}
	}
	return pending, nil
}

// loadMigrations reads migrations/0001_name.sql and so on, in the order of their numbers.
func loadMigrations(files fs.FS) ([]migration, error) {
	if files == nil {
		return nil, nil
	}
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	var all []migration
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read a migration: %w", err)
		}
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || len(all) > 0 && version <= all[len(all)-1].version {
			return nil, fmt.Errorf("migration %s has no number of its own", name)
		}
		all = append(all, migration{version, strings.TrimSuffix(path.Base(name), ".sql"), string(text), fmt.Sprintf("%x", sha256.Sum256(text))})
	}
	return all, nil
}
