// Package migrated makes the databases of package storetest, except the empty ones, start with the
// schema of this program, and collects the statements of the program. A test only has to import the
// package.
//
// The package does not own the location of databases: package storetest does. Package migrated is
// separate because tests inside package database import storetest, so storetest cannot import
// store. If a migration fails, the first test that asks for a database fails.
package migrated

import (
	"context"
	"errors"
	"log/slog"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func init() { //nolint:gochecknoinits // tests only have to import the package
	storetest.Prepare(migrate)
	database.Watch(storetest.Collect)
	database.DialWith(storetest.Dial)
}

func migrate(ctx context.Context, url string) error {
	db, err := store.Open(ctx, url, store.Options{Keys: keys.Generate(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(db.Database.Migrate(ctx), db.Close())
}
