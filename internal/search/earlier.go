package search

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// earlierAtOnce is the number of payments that get their words in one unit. It is small, because
// other units wait for this unit on SQLite.
const earlierAtOnce = 100

// earlierTables lists the tables with the progress of AddEarlier. The first table is for payments
// that are older than payment_word. The second table is for payments that the service stored before
// payment_word contained the names of beneficiaries.
var earlierTables = []string{"payment_word_earlier", "payment_name_earlier"}

// AddEarlier adds the words of a domain's payments that an earlier version of the service stored
// without words. The newest payments come first. AddEarlier stops without an error when another
// process does the same work.
func AddEarlier(ctx context.Context, db *store.DB, domain passerelle.DomainID) error {
	for _, table := range earlierTables {
		if err := addEarlier(ctx, db, domain, table); err != nil {
			return err
		}
	}
	return nil
}

func addEarlier(ctx context.Context, db *store.DB, domain passerelle.DomainID, table string) error {
	for {
		before, err := database.One(ctx, db.Rows(), database.ScanInt, `SELECT before_id FROM `+table+` WHERE domain_id = $1`, int64(domain))
		if err == nil {
			err = addBefore(ctx, db, domain, table, before)
		}
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
			return nil
		case err != nil:
			return fmt.Errorf("add words of the payments of domain %d: %w", domain, err)
		}
	}
}

// addBefore adds the words of a batch of payments with ids below the argument `before`. It stores
// the id that it has reached.
func addBefore(ctx context.Context, db *store.DB, domain passerelle.DomainID, table string, before int64) error {
	page, err := db.Payments(ctx, store.PaymentFilter{Domain: domain}, store.Window{Order: "id", Descending: true, Limit: earlierAtOnce, From: []any{before, before}}, true)
	if err != nil {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		if len(page) == 0 {
			tx.Unit().ExecOne(store.ErrConflict, `DELETE FROM `+table+` WHERE domain_id = $1 AND before_id = $2`, int64(domain), before)
			return nil
		}
		for _, p := range page {
			tx.Unit().Insert(knownWordRows, rowsOf(tx, p.Payment))
		}
		tx.Unit().ExecOne(store.ErrConflict, `UPDATE `+table+` SET before_id = $1 WHERE domain_id = $2 AND before_id = $3`,
			int64(page[len(page)-1].ID), int64(domain), before)
		return nil
	})
}

// knownWordRows inserts rows of words. It skips rows that already exist.
var knownWordRows = wordRows.OrNothing()
