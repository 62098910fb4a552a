package main

import (
	"errors"

	"passerelle/internal/store"
)

type migrateCommand struct {
	databaseFlag
	Check bool `help:"Change nothing; fail when the schema is not up to date."`
}

// schemaView is what migrate prints.
type schemaView struct {
	Schema string `json:"schema"`
}

var upToDate = schemaView{"up to date"}

// Run brings the schema up to date. It is the one command that makes a
// database which does not exist.
func (m *migrateCommand) Run(c *console) error {
	if m.Check {
		return m.do(c, nil, func(*store.DB) (any, error) { return upToDate, nil })
	}
	db, err := store.Open(c.ctx, m.Database, store.Options{Log: c.log})
	if err != nil {
		return err
	}
	if err := errors.Join(db.Database.Migrate(c.ctx), db.Close()); err != nil {
		return err
	}
	return c.show(upToDate)
}
