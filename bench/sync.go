package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/keys"
	"passerelle/internal/store"
)

// syncs returns the rows about reading a long history for the first time.
func syncs() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: "sync of 100000 transactions, " + kind, goal: 0.5,
			limit: "upsert of the same rows by the bare driver, 50 in a statement, 500 in a transaction",
			open:  func(ctx context.Context, p *place) (side, side, error) { return syncBesideLimit(ctx, p, kind) },
		})
	}
	return all
}

const (
	historyOf = 100_000
	// historyPage is the number of transactions that arrive and are stored together.
	historyPage = 500
)

// historian is an institution with one account that has a long history.
type historian struct{ transactions int }

const historianUUID = "0b9a1c52-6e0e-4a5f-8a36-0d4f6d3a9a01"

// Profile describes the bank to the service.
func (h historian) Profile() connector.Profile {
	return connector.Profile{
		UUID: historianUUID, ID: 1, Name: "History", Countries: []string{"FR"}, Sandbox: true, Data: &connector.DataSettings{Capabilities: []string{"bank"}},
		Sources: []connector.Source{{ID: 1, Name: "directaccess", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}}},
	}
}

// Read passes on the history in pages.
func (h historian) Read(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) { //nolint:unparam // a connector returns an outcome
	balance := decimal.MustParse("12.50")
	account := passerelle.AccountDetails{Key: "a", Name: "Account", Type: "checking", Usage: passerelle.Private, Currency: "EUR", Balance: &balance}
	if err := out.Accounts([]passerelle.AccountDetails{account}); err != nil {
		return connector.Outcome{}, err
	}
	from, wanted := out.Wanted(account.Key)
	if !wanted {
		return connector.Outcome{}, nil
	}
	for first := 0; first < h.transactions; first += historyPage {
		if err := out.Transactions(account.Key, h.page(first)); err != nil {
			return connector.Outcome{}, err
		}
	}
	return connector.Outcome{}, out.AccountRead(account.Key, from)
}

func (h historian) page(first int) []passerelle.TransactionDetails {
	var all []passerelle.TransactionDetails
	today := passerelle.DateOf(time.Now(), time.UTC)
	for i := first; i < min(first+historyPage, h.transactions); i++ {
		day := today.AddDays(-i * 3650 / h.transactions)
		all = append(all, passerelle.TransactionDetails{
			Key: fmt.Sprint("transaction ", i), Date: day, RDate: day, Value: decimal.MustNew(int64(-100-i%9000), 2), Type: "card",
			Wording: fmt.Sprint("CARD SHOP ", i%1000), SimplifiedWording: "Shop",
		})
	}
	return all
}

func syncBesideLimit(ctx context.Context, p *place, kind string) (side, side, error) {
	h := historian{max(together, p.amount(historyOf)/together*together)} // a multiple of the rows in a statement
	r, err := p.reading(ctx, kind, h)
	if err != nil {
		return nil, nil, err
	}
	bare, err := p.database(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	writer, err := p.bareWriter(ctx, kind, bare)
	if err != nil {
		return nil, nil, err
	}
	return r.syncing(h), upserting(writer, h), nil
}

// reading is the part of the service that reads connections.
type reading struct {
	*aggregation.Aggregation
	domain passerelle.Domain
}

func (p *place) reading(ctx context.Context, kind string, h historian) (*reading, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, database, store.Options{Keys: keys.Generate()})
	if err != nil {
		return nil, err
	}
	p.later(db.Close)
	registry, err := connector.NewRegistry(h)
	if err != nil {
		return nil, err
	}
	nothing := func() {}
	r := &reading{
		Aggregation: &aggregation.Aggregation{
			DB: db, Connectors: registry, Now: time.Now, Wake: nothing, Erase: nothing, Sync: nothing, Fetch: func(string) {}, Name: "bench", Log: slog.New(slog.DiscardHandler),
			Background: func(string, func(context.Context)) bool { return false },
		},
		domain: passerelle.Domain{Name: "bench", Kind: passerelle.Sandbox, BaseURL: "http://bench/2.0", Created: time.Now()},
	}
	if err := db.Database.Migrate(ctx); err != nil {
		return nil, err
	}
	err = db.Write(ctx, func(tx *store.Tx) error { return tx.CreateDomain(&r.domain, "bench") })
	return r, err
}

// syncing returns a side in which a new user shares the account and the service reads it.
func (r *reading) syncing(h historian) side {
	return func(ctx context.Context) (measured, error) {
		user, err := r.CreateUser(ctx, r.domain, true, func(*store.Tx, passerelle.User) error { return nil })
		if err != nil {
			return measured{}, err
		}
		if _, err := r.Connect(ctx, r.domain, user.ID, aggregation.Request{Connector: historianUUID, Source: "directaccess"}); err != nil {
			return measured{}, err
		}
		if err := r.share(ctx, user.ID); err != nil {
			return measured{}, err
		}
		return timed(h.transactions, func() error {
			n, err := r.SyncDue(ctx, r.domain)
			if err == nil && n != 1 {
				err = fmt.Errorf("%d connections were read", n)
			}
			stored, counting := bankstore.From(r.DB).CountTransactions(ctx, bankstore.TransactionFilter{Domain: r.domain.ID, User: user.ID})
			if err == nil && stored != int64(h.transactions) {
				err = fmt.Errorf("%d transactions are stored", stored)
			}
			return errors.Join(err, counting)
		})
	}
}

// share enables the account of a user. Enabling an account is the user's consent.
func (r *reading) share(ctx context.Context, user passerelle.UserID) error {
	found, err := bankstore.From(r.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: r.domain.ID, User: user, All: true}, store.Window{Limit: 1})
	if err != nil || len(found) == 0 {
		return fmt.Errorf("no account was found (%w)", err)
	}
	disabled := false
	_, err = r.ChangeAccounts(ctx, r.domain, user, []passerelle.AccountID{found[0].ID}, aggregation.AccountChange{Disabled: &disabled, Origin: "api"})
	return err
}

// together is the number of rows in one upsert of the limit program. Single rows are slower on both
// databases.
const together = 50

const transactionColumns = 19

// upsertTransactions writes all columns that the service writes, except id and manual. The database
// sets these two columns.
var upsertTransactions = func() string {
	rows := make([]string, together)
	for i := range rows {
		names := make([]string, transactionColumns)
		for j := range names {
			names[j] = fmt.Sprintf("$%d", i*transactionColumns+j+1)
		}
		rows[i] = "(" + strings.Join(names, ", ") + ")"
	}
	return `INSERT INTO bank_transaction (domain_id, user_id, account_id, epoch, key, date, application_date, value, value_scale, wording, coming, categories, details, digest,
		scraped, last_update, changed, connection_id, folded)
	VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT (account_id, epoch, key) DO UPDATE SET date = excluded.date,
		application_date = excluded.application_date, value = excluded.value, value_scale = excluded.value_scale, wording = excluded.wording, coming = excluded.coming,
		details = excluded.details, digest = excluded.digest, last_update = excluded.last_update, deleted = NULL, changed = excluded.changed, folded = excluded.folded`
}()

// upserting returns the limit program for a synchronisation. Each measurement uses a new account.
func upserting(writer bareWriter, h historian) side {
	var account int64
	return func(ctx context.Context) (measured, error) {
		account++
		return timed(h.transactions, func() error {
			for first := 0; first < h.transactions; first += historyPage {
				all, err := upserts(account, h.page(first))
				if err != nil {
					return err
				}
				if err := writer.write(ctx, all); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func upserts(account int64, page []passerelle.TransactionDetails) ([]statement, error) {
	var all []statement
	now := time.Now().UnixMicro()
	for some := range slices.Chunk(page, together) {
		args := make([]any, 0, together*transactionColumns)
		for _, d := range some {
			details, err := json.Marshal(d)
			if err != nil {
				return nil, err
			}
			args = append(args, bareDomain, theUser, account, 0, d.Key, d.Date.String(), d.RDate.String(), -int64(d.Value.Coef()), d.Value.Scale(), d.Wording, false, nil, string(details),
				theDigest, now, now, 1, account, d.Wording)
		}
		all = append(all, statement{upsertTransactions, args})
	}
	return all, nil
}

// theDigest has the length of a real digest.
const theDigest = int64(-0x123456789abcdef0)
