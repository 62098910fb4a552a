package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/keys"
	"passerelle/internal/secretfile"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// databaseFlag is the flag of commands that open a database directly, even while a service uses it.
type databaseFlag struct {
	Database     string `placeholder:"URL" help:"Database to work on: sqlite:PATH or postgres://… (default: sqlite:passerelle-data/passerelle.db)."`
	DatabaseFile string `placeholder:"FILE" help:"File with the value of --database, readable only by its owner."`
}

// devDatabase is the database of passerelle dev in the working directory. devKeys is its key file.
const (
	devDatabase = "sqlite:passerelle-data/passerelle.db"
	devKeys     = "passerelle-data/keys"
)

// AfterApply sets the database from the flags. kong calls it once for each struct that embeds
// the flag.
func (d *databaseFlag) AfterApply() error {
	if err := secretfile.Read(secretfile.Value{Flag: "--database", File: &d.DatabaseFile, Value: &d.Database}); err != nil {
		return err
	}
	d.Database = cmp.Or(d.Database, devDatabase)
	return nil
}

// do opens an existing database, runs the command, and prints the result. The ring, if any,
// encrypts and decrypts secrets.
func (d databaseFlag) do(c *console, ring *keys.Ring, command func(*store.DB) (any, error)) error {
	if err := d.exists(); err != nil {
		return err
	}
	db, err := store.Open(c.ctx, d.Database, store.Options{Keys: ring, Log: c.log})
	if err != nil {
		return err
	}
	result, err := current(c, db, ring, command)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return c.show(result)
}

// exists fails if the database file does not exist, so that a mistyped path does not create an
// empty database.
func (d databaseFlag) exists() error {
	path, file := strings.CutPrefix(d.Database, "sqlite:")
	if !file {
		return nil
	}
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return nil
	case d.Database == devDatabase:
		return fmt.Errorf("the database does not exist; run the command in the folder in which passerelle dev runs, or name the database with --database: %w", err)
	}
	return fmt.Errorf("the database does not exist; passerelle migrate creates it: %w", err)
}

// openKeys reads the key file of a database in use. Without the flag --key-file, this is the file
// keys beside a SQLite database, or the file of passerelle dev for PostgreSQL.
func (d databaseFlag) openKeys(flag string) (*keys.Ring, error) {
	if flag != "" {
		return openKeys(flag)
	}
	if err := d.exists(); err != nil {
		return nil, err
	}
	file, database := devKeys, "PostgreSQL database" // its address may contain a password
	if path, lite := strings.CutPrefix(d.Database, "sqlite:"); lite {
		file, database = filepath.Join(filepath.Dir(path), filepath.Base(devKeys)), "database "+d.Database
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--key-file: %s does not exist; name the key file of the service that uses the %s", file, database)
	}
	return openKeys(file)
}

// current runs the command if the database is up to date. With a key ring, current also binds a new
// database to this ring, and fails if the database is bound to another ring.
func current(c *console, db *store.DB, ring *keys.Ring, command func(*store.DB) (any, error)) (any, error) {
	if err := db.Database.SchemaCurrent(c.ctx); err != nil {
		return nil, fmt.Errorf("the database is not ready; run passerelle migrate: %w", err)
	}
	if ring != nil {
		if err := db.BindKeys(c.ctx); err != nil {
			return nil, err
		}
	}
	return command(db)
}

// domainFlags contains the flags of the commands that work on one domain.
type domainFlags struct {
	databaseFlag
	Domain string `placeholder:"NAME" help:"Domain to work on (default: the only one)."`
}

// target is the object of a command: an open database, a domain and its time zone.
type target struct {
	db     *store.DB
	domain passerelle.Domain
	zone   *time.Location
	log    *slog.Logger
}

// at runs a command on the domain and prints the result.
func (t domainFlags) at(c *console, command func(target) (any, error)) error {
	return t.sealed(c, nil, command)
}

func (t domainFlags) sealed(c *console, ring *keys.Ring, command func(target) (any, error)) error {
	return t.do(c, ring, func(db *store.DB) (any, error) {
		all, err := db.Domains(c.ctx)
		if err != nil {
			return nil, fmt.Errorf("list the domains: %w", err)
		}
		domain, err := t.choose(all)
		if err != nil {
			return nil, err
		}
		zone, err := zoneOf(c, db, domain)
		if err != nil {
			return nil, err
		}
		return command(target{db, domain, zone, c.log})
	})
}

func (t domainFlags) choose(all []passerelle.Domain) (passerelle.Domain, error) {
	if t.Domain == "" && len(all) == 1 {
		return all[0], nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		if d.Name == t.Domain {
			return d, nil
		}
		names[i] = d.Name
	}
	switch {
	case len(all) == 0:
		return passerelle.Domain{}, absent("--domain", "there is no domain yet; create one with passerelle domain create")
	case t.Domain == "":
		return passerelle.Domain{}, passerelle.MissingField("--domain", "there are several domains; choose one of "+strings.Join(names, ", "))
	}
	return passerelle.Domain{}, absent("--domain", "there is no domain %q; there are %s", t.Domain, strings.Join(names, ", "))
}

// zoneOf returns the zone in which the command reads and prints the times of a domain.
func zoneOf(c *console, db *store.DB, d passerelle.Domain) (*time.Location, error) {
	values, err := settings.Load(c.ctx, &db.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	return values.Location(), nil
}

// moment formats an instant like the API, and returns "" for nil.
func (d target) moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return passerelle.FormatDateTime(*t, d.zone)
}

// absent returns an error which says that the object named by a flag or an argument does not exist.
func absent(field, format string, args ...any) error {
	return &passerelle.Error{
		Kind: passerelle.NotFound, Code: "notFound", Field: field, Message: field + ": " + fmt.Sprintf(format, args...),
	}
}

// known returns an error that names the missing object when the store or a use case only says that
// something is missing. It returns other errors unchanged.
func known(err error, field string, id any) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, passerelle.NotFound) {
		return absent(field, "there is none with id %v", id)
	}
	return err
}

// act returns the audit entry for an act of this command in the domain, like the function act.
func (d target) act(name, subject string) store.Audit { return act(d.domain.ID, name, subject) }

// act returns the audit entry for an act of this command in a domain, or zero for an act of the
// deployment. The subject is the kind of the object, or empty for an act without an object.
func act(domain passerelle.DomainID, name, subject string) store.Audit {
	return store.Audit{Domain: domain, At: time.Now(), Act: name, Subject: subject}
}

// access returns the use cases for tokens and applications. They work on the database of the
// command.
func (d target) access() *access.Access { return &access.Access{DB: d.db, Now: time.Now} }

// views converts rows for printing. Without rows, the result is an empty list, not null.
func views[Row, View any](rows []Row, view func(Row) View) []View {
	all := make([]View, len(rows))
	for i, row := range rows {
		all[i] = view(row)
	}
	return all
}
