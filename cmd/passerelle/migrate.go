package main

import (
	"errors"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

type migrateCommand struct {
	databaseFlag
	Check  bool `xor:"change" help:"Change nothing; fail when the schema is not up to date."`
	DryRun bool `xor:"change" help:"Change nothing; print the pending migrations with their statements."`
}

// schemaView is the output of migrate.
type schemaView struct {
	Schema string `json:"schema"`
}

var upToDate = schemaView{"up to date"}

// pendingView is the printed form of a migration that is not applied yet.
type pendingView struct {
	Migration  string `json:"migration"`
	Statements string `json:"statements"`
}

// dryRun prints the migrations that would be applied to an existing database.
func (m *migrateCommand) dryRun(c *console) error {
	if err := m.exists(); err != nil {
		return err
	}
	db, err := store.Open(c.ctx, m.Database, store.Options{Log: c.log})
	if err != nil {
		return err
	}
	pending, err := db.Database.Pending(c.ctx)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if len(pending) == 0 && !c.json {
		return c.show(upToDate)
	}
	return c.show(views(pending, func(p database.PendingMigration) pendingView { return pendingView{p.Name, p.Statements} }))
}

// Run applies all migrations, unless --check or --dry-run is set. It creates a missing SQLite
// database.
func (m *migrateCommand) Run(c *console) error {
	if m.DryRun {
		return m.dryRun(c)
	}
	if m.Check {
		return m.do(c, nil, func(*store.DB) (any, error) { return upToDate, nil })
	}
	db, err := store.Open(c.ctx, m.Database, store.Options{Log: c.log})
	if err != nil {
		return err
	}
	meter := c.meter("migrate")
	err = db.Database.MigrateShown(c.ctx, func(done, total int64) { meter.Expect(total, "migrations"); meter.At(done) })
	meter.End()
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return c.show(upToDate)
}
