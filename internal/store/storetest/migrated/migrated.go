// Package migrated makes package storetest give tests databases with the schema of this program,
// and collects the statements of the program. To import it is enough.
//
// It owns nothing but this connection, because the tests of package store use
// storetest from within. It does not decide where databases are. A migration that
// fails fails the first test that asks for a database.
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
}

func migrate(ctx context.Context, url string) error {
	db, err := store.Open(ctx, url, store.Options{Keys: keys.Generate(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(db.Database.Migrate(ctx), db.Close())
}
