package imports

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/statements"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/statementfile"
)

// comparison is a sink that compares a file with stored data. It stores nothing.
type comparison struct {
	connector.Sink
	ctx        context.Context
	db         *store.DB
	domain     passerelle.DomainID
	connection passerelle.ConnectionID
	format     statementfile.Format
	// earlier has the transactions that earlier files would have added. own has those of this file.
	earlier, own brought

	stored   map[string]bankstore.StoredAccount
	accounts map[string]*AccountReport
}

// brought has the hashes of transaction keys, by the key of the account.
type brought map[string]map[uint64]bool

var seed = maphash.MakeSeed()

// first reports whether a transaction appears for the first time.
func (b brought) first(account, key string) bool {
	if b[account] == nil {
		b[account] = map[uint64]bool{}
	}
	hash := maphash.String(seed, key)
	again := b[account][hash]
	b[account][hash] = true
	return !again
}

func (b brought) has(account, key string) bool { return b[account][maphash.String(seed, key)] }

// add adds the transactions of another file.
func (b brought) add(other brought) {
	for account, hashes := range other {
		if b[account] == nil {
			b[account] = hashes
			continue
		}
		maps.Copy(b[account], hashes)
	}
}

// Accounts loads the stored accounts, and refuses a file of another format.
func (c *comparison) Accounts(all []passerelle.AccountDetails) error {
	if err := c.checkFormats(); err != nil {
		return err
	}
	c.accounts = map[string]*AccountReport{}
	for _, details := range all {
		one, there := c.stored[details.Key]
		c.accounts[details.Key] = &AccountReport{ID: one.ID, Disabled: there && one.Disabled != nil}
	}
	return nil
}

// checkFormats loads the stored accounts. It refuses the file when the data of any account comes
// from files of another format. Banks write different texts in each format, so an import would
// store every transaction a second time.
func (c *comparison) checkFormats() error {
	var err error
	if c.stored, err = accountsOf(c.ctx, c.db, c.domain, c.connection); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(c.stored)) {
		if err := c.checkFormat(c.stored[key]); err != nil {
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
	if other := statements.FormatOf(key); other != "" && other != c.format {
		return otherFormat("account %d has transactions from %s files, whose texts differ, so they would come twice; send %s files, or create another connection", a.ID, other, other)
	}
	return nil
}

// Wanted requests the transactions that an import would store, beginning with the first
// transaction.
func (c *comparison) Wanted(account string) (passerelle.Date, bool) {
	one := c.accounts[account]
	return passerelle.Date{}, one != nil && !one.Disabled
}

// Transactions counts new and changed transactions.
func (c *comparison) Transactions(account string, page []passerelle.TransactionDetails) error {
	report, into := c.accounts[account], c.stored[account]
	page = slices.DeleteFunc(slices.Clone(page), func(d passerelle.TransactionDetails) bool {
		return c.earlier.has(account, d.Key) || !c.own.first(account, d.Key)
	})
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
		for _, d := range some {
			details, err := bankstore.EncodeDetails(d)
			if err != nil {
				return passerelle.InvalidField("file", "line %d: %s", d.Origin.Line, err)
			}
			switch before, is := known[d.Key]; {
			case !is || before.Deleted:
				report.New++
			case before.Digest != details.Digest:
				report.Changed++
			}
		}
	}
	return nil
}

// Gone counts the transactions that the file removes.
func (c *comparison) Gone(account string, from passerelle.Date, matches func(key string) bool) error {
	report, into := c.accounts[account], c.stored[account]
	if report.ID == 0 {
		return nil
	}
	err := bankstore.From(c.db).EachKey(c.ctx, bankstore.SyncedTransactions(into), from, func(_ int64, key string) {
		if matches(key) {
			report.Removed++
		}
	})
	if err != nil {
		return fmt.Errorf("find the transactions of account %d that are corrected: %w", into.ID, err)
	}
	return nil
}

// pageSize is the number of keys in one query.
const pageSize = 500

// AccountRead does nothing, because a comparison stores nothing.
func (*comparison) AccountRead(string, passerelle.Date) error { return nil }

func (c *comparison) report(account string) AccountReport {
	if one := c.accounts[account]; one != nil {
		return *one
	}
	return AccountReport{}
}
