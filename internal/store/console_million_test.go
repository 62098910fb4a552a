package store_test

import (
	"math"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func rowsOfLists(t *testing.T) (rows int, long bool) {
	t.Helper()
	return inALongRun(t, "PASSERELLE_TEST_ROWS", 4000)
}

const fewRows = 1000

// crowds contains statements that insert rows for the lists of listsOfConsole. $1 and $2 are the
// numbers of the first and the last row, $3 is the domain, $4 is a connection, and HASH is a unique
// value.
var crowds = []string{
	`INSERT INTO end_user (id, domain_id, platform, created, permanent, version) SELECT i, CAST($3 AS BIGINT), 'sharedAccess', i, i, 1 FROM n`,
	`INSERT INTO connection (id, domain_id, user_id, connector_uuid, created, state, credentials)
		SELECT i, CAST($3 AS BIGINT), 7, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i, CASE i % 4 WHEN 0 THEN 'wrongpass' WHEN 1 THEN 'bug' ELSE NULL END, HASH FROM n`,
	`INSERT INTO webhook (id, domain_id, event, url, created, disabled)
		SELECT i, CAST($3 AS BIGINT), 'PAYMENT_STATE_UPDATED', 'https://shop.example/', i, CASE WHEN i % 2 = 0 THEN i ELSE NULL END FROM n`,
	`INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created) SELECT i, CAST($3 AS BIGINT), 'Shop', HASH, '', i FROM n`,
	`INSERT INTO token (id, domain_id, kind, hash, scopes, user_id, created)
		SELECT i, CAST($3 AS BIGINT), CASE WHEN i % 2 = 0 THEN 'config' ELSE 'user' END, HASH, '', CASE WHEN i % 2 = 0 THEN NULL ELSE 7 END, i FROM n`,
	`INSERT INTO setting_change (id, domain_id, key, new_value, type, changed_by, at)
		SELECT i, CAST($3 AS BIGINT), CASE WHEN i % 2 = 0 THEN 'api.timezone' ELSE 'autosync.enabled' END, 'x', 'add', 'command', i FROM n`,
	`INSERT INTO bank_account (id, domain_id, user_id, connection_id, key, type, details, digest)
		SELECT i, CAST($3 AS BIGINT), 7, CAST($4 AS BIGINT), 'k' || CAST(i AS TEXT), 'checking', '{}', i FROM n`,
	`INSERT INTO subscription (id, domain_id, user_id, connection_id, key, details, digest)
		SELECT i, CAST($3 AS BIGINT), 7, CAST($4 AS BIGINT), 'k' || CAST(i AS TEXT), '{}', i FROM n`,
	`INSERT INTO connection_log (id, domain_id, user_id, connection_id, started, at, accounts, attended)
		SELECT i, CAST($3 AS BIGINT), 7, CAST($4 AS BIGINT), i, i, 1, FALSE FROM n`,
}

// crowdIn executes crowds for n rows with ids greater than `after`. It returns the connection of
// the accounts, subscriptions and connection logs.
func (s fixture) crowdIn(domain passerelle.DomainID, after, n int) passerelle.ConnectionID {
	s.t.Helper()
	hash := `randomblob(16)`
	if s.db.Rows().Dialect().Name == "postgres" {
		hash = `decode(md5(CAST(i AS TEXT)), 'hex')`
	}
	const step = 50_000
	for first := after + 1; first <= after+n; first += step {
		s.write(func(tx *store.Tx) error {
			for _, text := range crowds {
				args := []any{first, min(first+step-1, after+n), int64(domain)}
				if strings.Contains(text, "$4") {
					args = append(args, after+1)
				}
				tx.Unit().Exec(numbers+strings.ReplaceAll(text, "HASH", hash), args...)
			}
			return nil
		})
	}
	return passerelle.ConnectionID(after + 1)
}

// listOfConsole reads the newest page of a list, and returns the number of its rows.
type listOfConsole func(domain passerelle.DomainID, connection passerelle.ConnectionID) (rows int, err error)

func listsOfConsole(s fixture) map[string]listOfConsole {
	ctx, newest := s.t.Context(), store.Window{Descending: true, Limit: pageOfList}
	troubles := func(connector string, states ...passerelle.ConnectionState) listOfConsole {
		return func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := bankstore.From(s.db).ConnectionsInTrouble(ctx, bankstore.TroubleFilter{Domain: domain, States: states, Connector: connector}, newest)
			return len(rows), err
		}
	}
	webhooks := func(all bool) listOfConsole {
		return func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := s.db.Webhooks(ctx, store.WebhookFilter{Domain: domain, All: all}, newest)
			return len(rows), err
		}
	}
	tokens := func(all bool) listOfConsole {
		return func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := s.db.Tokens(ctx, store.TokenFilter{Domain: domain, All: all}, newest)
			return len(rows), err
		}
	}
	changes := func(key string) listOfConsole {
		return func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := s.db.SettingChanges(ctx, store.SettingChanges{Domain: domain, Key: key}, newest)
			return len(rows), err
		}
	}
	return map[string]listOfConsole{
		"failing": troubles(""), "failing, by state": troubles("", passerelle.Wrongpass), "failing, by connector": troubles("even"),
		"failing, by both": troubles("odd", passerelle.Bug),
		"webhooks in use":  webhooks(false), "webhooks": webhooks(true), "tokens of programs": tokens(false), "tokens": tokens(true),
		"changes of the configuration": changes(""), "changes of a key": changes("api.timezone"),
		"users": func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := s.db.Users(ctx, domain, store.UserWindow{Limit: pageOfList, From: math.MaxInt64, Backward: true})
			return len(rows), err
		},
		"clients": func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := s.db.ClientPage(ctx, domain, newest)
			return len(rows), err
		},
		"connections of a user": func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := bankstore.From(s.db).Connections(ctx, domain, 7, newest)
			return len(rows), err
		},
		"accounts of a user": func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := bankstore.From(s.db).BankAccounts(ctx, bankstore.AccountFilter{Domain: domain, User: 7, All: true}, newest)
			return len(rows), err
		},
		"subscriptions of a user": func(domain passerelle.DomainID, _ passerelle.ConnectionID) (int, error) {
			rows, err := bankstore.From(s.db).Subscriptions(ctx, bankstore.SubscriptionFilter{Domain: domain, User: 7, All: true}, newest)
			return len(rows), err
		},
		"visits of a connection": func(domain passerelle.DomainID, connection passerelle.ConnectionID) (int, error) {
			rows, err := bankstore.From(s.db).ConnectionLogs(ctx, bankstore.ConnectionLogFilter{Domain: domain, User: 7, Connection: connection}, newest)
			return len(rows), err
		},
	}
}

// TestMillionRowsOfTheConsole reads the first page of each list in two domains, one with a thousand
// rows and one with many rows. In a long run, the long list may take at most three times as long as
// the short one.
func TestMillionRowsOfTheConsole(t *testing.T) {
	onEachOwnDatabase(t, func(t *testing.T, s fixture) {
		n, long := rowsOfLists(t)
		const after = 20_000_000
		few := s.crowdIn(s.other, after, fewRows)
		many := s.crowdIn(s.domain, after+fewRows, n)
		if err := s.sql(`ANALYZE`); err != nil {
			t.Fatal(err)
		}
		for name, list := range listsOfConsole(s) {
			t.Run(name, func(t *testing.T) {
				measure{3, pageTimeout}.hold(t, long, list.page(t, s.other, few), list.page(t, s.domain, many))
			})
		}
	})
}

func (list listOfConsole) page(t *testing.T, domain passerelle.DomainID, connection passerelle.ConnectionID) func() {
	return func() {
		t.Helper()
		if rows, err := list(domain, connection); err != nil || rows != pageOfList {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
}
