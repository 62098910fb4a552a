package imports

import (
	"context"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/statementfile"
)

// comparison is a sink that compares a file with stored data, and writes nothing.
type comparison struct {
	connector.Sink
	ctx        context.Context
	db         *store.DB
	domain     passerelle.DomainID
	connection passerelle.ConnectionID
	format     statementfile.Format

	stored   map[string]bankstore.StoredAccount
	accounts map[string]*AccountReport
}

// Accounts loads the stored accounts, and refuses those from another format: banks write other
// texts there, so every transaction would be stored again.
func (c *comparison) Accounts(all []passerelle.AccountDetails) error {
	var err error
	if c.stored, err = accountsOf(c.ctx, c.db, c.domain, c.connection); err != nil {
		return err
	}
	c.accounts = map[string]*AccountReport{}
	for _, details := range all {
		one, there := c.stored[details.Key]
		c.accounts[details.Key] = &AccountReport{ID: one.ID, Disabled: there && one.Disabled != nil}
		if !there {
			continue
		}
		if err := c.checkFormat(one); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) checkFormat(a bankstore.StoredAccount) error {
	key, err := bankstore.From(c.db).OneKey(c.ctx, bankstore.SyncedTransactions(a))
	if err != nil {
		return fmt.Errorf("find a key of account %d: %w", a.ID, err)
	}
	if other := formatOf(key); other != "" && other != c.format {
		return passerelle.Conflicting("account %d has transactions from %s files, whose texts differ, so they would come twice; send %s files, or create another connection", a.ID, other, other)
	}
	return nil
}

// Wanted wants what an import would store.
func (c *comparison) Wanted(account string) (passerelle.Date, bool) {
	one := c.accounts[account]
	return passerelle.Date{}, one != nil && !one.Disabled
}

// Transactions counts new transactions.
func (c *comparison) Transactions(account string, page []passerelle.TransactionDetails) error {
	report, into := c.accounts[account], c.stored[account]
	if report.ID == 0 {
		report.New += len(page)
		return nil
	}
	for some := range slices.Chunk(page, pageSize) {
		keys := make([]string, len(some))
		for i, d := range some {
			keys[i] = d.Key
		}
		known, err := bankstore.From(c.db).KnownByKey(c.ctx, bankstore.SyncedTransactions(into), keys)
		if err != nil {
			return fmt.Errorf("find the transactions of account %d: %w", into.ID, err)
		}
		report.New += len(some) - len(known)
		for _, d := range some {
			details, err := bankstore.EncodeDetails(d)
			if err != nil {
				return passerelle.InvalidField("file", "line %d: %s", d.Origin.Line, err)
			}
			if before, is := known[d.Key]; is && before.Digest != details.Digest {
				report.Changed++
			}
		}
	}
	return nil
}

// pageSize is how many keys one query has.
const pageSize = 500

// AccountRead ends an account.
func (*comparison) AccountRead(string, passerelle.Date) error { return nil }

func (c *comparison) report(account string) AccountReport {
	if one := c.accounts[account]; one != nil {
		return *one
	}
	return AccountReport{}
}
