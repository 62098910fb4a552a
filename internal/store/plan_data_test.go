package store_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/bankstore/bankstoretest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

type userAccounts struct {
	fixture
	*bankstoretest.User
}

func newUserAccounts(t *testing.T, s fixture) *userAccounts {
	t.Helper()
	return &userAccounts{s, bankstoretest.NewUser(t, s.db, s.domain)}
}

// plannedAccounts returns a fixture that explains statements before it executes them. PostgreSQL
// gets statistics of a million rows, and high costs for sequential scans and sorts. A plan with one
// of these steps therefore lacks an index.
func plannedAccounts(t *testing.T, url string) (*userAccounts, *explained) {
	isPostgres := !strings.HasPrefix(url, "sqlite:")
	if isPostgres {
		url = storetest.Direct(t, url) + "&enable_seqscan=off&enable_sort=off"
	}
	s := newFixture(t, url)
	h := newUserAccounts(t, s)
	h.AddFiles()
	h.addSeries(t)
	if isPostgres {
		if err := s.sql(`UPDATE pg_class SET reltuples = 1000000, relpages = 1 WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)`); err != nil {
			t.Fatal(err)
		}
	}
	engine := explain(s)
	return h, engine
}

// addSeries adds a cluster, and a transaction with a value that a client stored.
func (h *userAccounts) addSeries(t *testing.T) {
	t.Helper()
	noted := h.Add(0, 1)[0]
	h.write(func(tx *store.Tx) error {
		return errors.Join(
			bankstore.In(tx).CreateCluster(h.domain, h.Accounts[0], &passerelle.Cluster{Wording: "rent"}, 5, store.ErrConflict),
			bankstore.In(tx).SetInformation(h.domain, 7, bankstore.Information{Transaction: noted.ID, Key: "k", Value: "v"}),
		)
	})
}

var (
	wholeIndex = regexp.MustCompile(`Index (Only )?Scan( Backward)? using`)
	sorting    = regexp.MustCompile(`^(.*->  )?Sort$`)
)

// growing returns the growing steps of PostgreSQL plans: complete reads of a table or an index, and
// sorts.
func growing(plans []string) (steps []string) {
	for i, step := range plans {
		bound := i+1 < len(plans) && strings.Contains(plans[i+1], "Index Cond")
		if strings.Contains(step, "Seq Scan on") || sorting.MatchString(strings.TrimSpace(step)) || wholeIndex.MatchString(step) && !bound {
			steps = append(steps, step)
		}
	}
	return steps
}

type query struct {
	run func() error
	// index is the index that SQLite uses, with the searched columns.
	index string
	// sorts is the reason why the plan may sort rows or read a whole index. It is empty if the plan
	// may do neither.
	sorts string
}

func reading[T any](read func() (T, error)) func() error {
	return func() error { _, err := read(); return unlessMissing(err) }
}

func (h *userAccounts) writing(fn func(*store.Tx)) func() error {
	return func() error {
		return unlessMissing(h.try(func(tx *store.Tx) error { fn(tx); return nil }))
	}
}

// unlessMissing ignores ErrNotFound and ErrConflict, because some of the tested statements find no
// row.
func unlessMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// TestPlansOfBankingData checks that no query reads a whole table. Sorts and complete reads of an
// index need a reason.
func TestPlansOfBankingData(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		h, engine := plannedAccounts(t, url)
		for _, queries := range h.queries() {
			for name, q := range queries {
				engine.plans = nil
				if err := q.run(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				plan := strings.Join(engine.plans, "\n")
				if strings.HasPrefix(url, "sqlite:") {
					if !strings.Contains(plan, q.index) {
						t.Errorf("%s: no use of %s:\n%s", name, q.index, plan)
					}
					for _, step := range engine.plans {
						if strings.HasPrefix(step, "SCAN ") && !limited.MatchString(step) || strings.Contains(step, "TEMP B-TREE") && q.sorts == "" {
							t.Errorf("%s: a step that grows with the table: %s", name, step)
						}
					}
					continue
				}
				for _, step := range growing(engine.plans) {
					if q.sorts == "" || strings.Contains(step, "Seq Scan") {
						t.Errorf("%s: %s of\n%s", name, strings.TrimSpace(step), plan)
					}
				}
			}
		}
	})
}

func (h *userAccounts) queries() []map[string]query {
	return []map[string]query{
		h.connectionQueries(), h.accountQueries(), h.syncQueries(), h.transactionQueries(), h.documentQueries(), h.aroundQueries(), h.exportQueries(), h.withdrawalQueries(),
		h.providerQueries(), h.consoleQueries(),
	}
}

func (h *userAccounts) connectionQueries() map[string]query {
	ctx, db, id, page := context.Background(), h.db, h.Connection.ID, store.Window{Limit: 5, From: []any{int64(1)}}
	logs := bankstore.ConnectionLogFilter{Domain: h.domain, User: 7, Connection: id, From: now}
	due := func(read func(context.Context, passerelle.DomainID, time.Time, int) ([]bankstore.Connection, error)) func() error {
		return reading(func() ([]bankstore.Connection, error) { return read(ctx, h.domain, now, 5) })
	}
	type read = func(context.Context, passerelle.DomainID, time.Time, int) ([]bankstore.Connection, error)
	except := func(list func(context.Context, passerelle.DomainID, time.Time, []string, int) ([]bankstore.Connection, error)) read {
		return func(ctx context.Context, d passerelle.DomainID, now time.Time, limit int) ([]bankstore.Connection, error) {
			return list(ctx, d, now, []string{"busy"}, limit)
		}
	}
	return map[string]query{
		"some of a connector": {run: reading(func() ([]bankstore.Connection, error) {
			return bankstore.From(db).SomeConnections(ctx, h.domain, h.Connection.Connector, nil, 3)
		}), index: "connection_of_connector (domain_id=? AND connector_uuid=?"},
		"some that are well": {run: reading(func() ([]bankstore.Connection, error) {
			return bankstore.From(db).SomeConnections(ctx, h.domain, h.Connection.Connector, new(passerelle.ConnectionState), 3)
		}), index: "connection_of_connector (domain_id=? AND connector_uuid=?"},
		"some in trouble": {run: reading(func() ([]bankstore.Connection, error) {
			return bankstore.From(db).SomeConnections(ctx, h.domain, h.Connection.Connector, new(passerelle.Wrongpass), 3)
		}), index: "connection_in_trouble_at (domain_id=? AND connector_uuid=? AND state=?"},
		"connection":          {run: reading(func() (bankstore.Connection, error) { return bankstore.From(db).Connection(ctx, h.domain, 7, id) }), index: "connection USING INTEGER PRIMARY KEY (rowid=?)"},
		"connections":         {run: reading(func() ([]bankstore.Connection, error) { return bankstore.From(db).Connections(ctx, h.domain, 7, page) }), index: "connection_of_user (domain_id=? AND user_id=? AND id>?)"},
		"connections counted": {run: reading(func() (int64, error) { return bankstore.From(db).CountConnections(ctx, h.domain, 7) }), index: "connection_of_user (domain_id=? AND user_id=?)"},
		"connections of users": {run: reading(func() (map[passerelle.UserID]bankstore.UserConnections, error) {
			return bankstore.From(db).ConnectionsOfUsers(ctx, h.domain, 7, 8)
		}), index: "connection_of_user (domain_id=? AND user_id=?)", sorts: "the users of a page"},
		"connections by their id": {run: reading(func() (map[passerelle.ConnectionID]bankstore.Connection, error) {
			return bankstore.From(db).ConnectionsByID(ctx, h.domain, 7, []passerelle.ConnectionID{id, 2})
		}), index: "connection"},
		"sources": {run: reading(func() ([]bankstore.ConnectionSource, error) {
			return bankstore.From(db).SourcesOf(ctx, h.domain, id, 2)
		}), index: "connection_source_1 (connection_id=?)", sorts: "the sources of a page of connections"},
		"visits": {run: reading(func() ([]bankstore.ConnectionLog, error) {
			return bankstore.From(db).ConnectionLogs(ctx, logs, store.Window{Limit: 5, From: []any{int64(1), int64(1)}})
		}), index: "connection_log_by_time (connection_id=? AND at>? AND at<?)"},
		"visits counted": {run: reading(func() (int64, error) { return bankstore.From(db).CountConnectionLogs(ctx, logs) }), index: "connection_log_by_time (connection_id=? AND at>?"},
		"secrets": {run: func() error {
			_, _, err := bankstore.From(db).ConnectionSecrets(ctx, h.domain, id)
			return err
		}, index: "connection USING INTEGER PRIMARY KEY (rowid=?)"},
		"due":           {run: due(except(bankstore.From(db).ConnectionsDue)), index: "connection_due (domain_id=? AND next_try<?)"},
		"awaited":       {run: due(except(bankstore.From(db).ConnectionsAwaited)), index: "connection_due (domain_id=? AND next_try<?)"},
		"unended":       {run: due(bankstore.From(db).ConnectionsExpired), index: "connection_unfinished (domain_id=? AND expire<?)"},
		"still unended": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).HoldExpired(h.domain, id, now) }), index: "PRIMARY KEY (rowid=?)"},
		"lapsing": {run: reading(func() ([]bankstore.Connection, error) {
			return bankstore.From(db).ConnectionsLapsing(ctx, h.domain, now, bankstore.Connection{}, 5)
		}), index: "connection_lapsing (domain_id=? AND"},
		"lease":   {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).LeaseConnection(h.domain, id, "me", time.Minute) }), index: "PRIMARY KEY (rowid=?)"},
		"renewal": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).KeepConnection(h.domain, id, bankstoretest.Holder, time.Minute) }), index: "PRIMARY KEY (rowid=?)"},
		"release": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).ReleaseConnection(h.domain, id, "me", false) }), index: "PRIMARY KEY (rowid=?)"},
		"saving":  {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).SaveConnection(h.Connection, 99) }), index: "PRIMARY KEY (rowid=?)"},
		"hasten":  {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).HastenRead(h.domain, id, now, now) }), index: "PRIMARY KEY (rowid=?)"},
		"soon":    {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).ReadSoon(h.domain, id, now) }), index: "PRIMARY KEY (rowid=?)"},
		"consents": {run: reading(func() ([]bankstore.Consent, error) {
			return bankstore.From(db).Consents(ctx, bankstore.ConsentFilter{Domain: h.domain, User: 7}, store.Window{Limit: 5, From: []any{int64(1), int64(1)}})
		}), index: "consent_of_user (domain_id=? AND user_id=? AND given<?)"},
		"consents counted": {run: reading(func() (int64, error) {
			return bankstore.From(db).CountConsents(ctx, bankstore.ConsentFilter{Domain: h.domain, User: 7})
		}), index: "consent_of_user (domain_id=? AND user_id=?)"},
		"a consent less": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).WithdrawConsent(h.domain, 1, now) }), index: "consent_of_account (account_id=?)"},
	}
}

func (h *userAccounts) accountQueries() map[string]query {
	ctx, db, page := context.Background(), h.db, store.Window{Limit: 5, From: []any{int64(1)}}
	list := func(with func(*bankstore.AccountFilter)) func() error {
		f := bankstore.AccountFilter{Domain: h.domain, User: 7}
		with(&f)
		return reading(func() ([]bankstore.StoredAccount, error) { return bankstore.From(db).BankAccounts(ctx, f, page) })
	}
	return map[string]query{
		"accounts":                 {run: list(func(*bankstore.AccountFilter) {}), index: "bank_account_of_user (domain_id=? AND user_id=? AND id>?)"},
		"accounts, all":            {run: list(func(f *bankstore.AccountFilter) { f.All = true }), index: "bank_account_of_user (domain_id=? AND user_id=? AND id>?)"},
		"accounts of a connection": {run: list(func(f *bankstore.AccountFilter) { f.Connection = h.Connection.ID }), index: "bank_account_of_connection (connection_id=? AND id>?)"},
		"accounts of a connection counted": {run: reading(func() (int64, error) {
			return bankstore.From(db).CountBankAccounts(ctx, bankstore.AccountFilter{Domain: h.domain, User: 7, Connection: h.Connection.ID})
		}), index: "bank_account_of_connection (connection_id=?"},
		"… of several":          {run: list(func(f *bankstore.AccountFilter) { f.Connections = []passerelle.ConnectionID{1, 2} }), index: "bank_account_of_user (domain_id=? AND user_id=?", sorts: "the accounts of a page of connections"},
		"accounts by their ids": {run: list(func(f *bankstore.AccountFilter) { f.IDs = []passerelle.AccountID{1, 2} }), index: "a USING INTEGER PRIMARY KEY (rowid=?)", sorts: "the accounts that are asked for"},
		"accounts counted": {run: reading(func() (int64, error) {
			return bankstore.From(db).CountBankAccounts(ctx, bankstore.AccountFilter{Domain: h.domain, User: 7})
		}), index: "bank_account_of_user (domain_id=? AND user_id=?"},
		"accounts to be read": {run: reading(func() ([]bankstore.StoredAccount, error) {
			return bankstore.From(db).AccountsOf(ctx, h.domain, h.Connection.ID)
		}), index: "bank_account_of_connection (connection_id=?)"},
		"movements": {
			run: reading(func() ([]passerelle.Movement, error) {
				return bankstore.From(db).Movements(ctx, h.Accounts[:1], bankstoretest.Day(0), bankstoretest.Day(9))
			}),
			index: "transaction_of_account_by_date (account_id=? AND epoch=? AND date>?)", sorts: "the days of the balances that are asked for",
		},
	}
}

func (h *userAccounts) syncQueries() map[string]query {
	ctx, db, a := context.Background(), h.db, h.Accounts[0]
	s := bankstore.StoredSubscription{Subscription: passerelle.Subscription{ID: 1, Connection: h.Connection.ID, User: 7}}
	known := func(s bankstore.SyncedRows) func() error {
		return reading(func() (map[string]bankstore.Known, error) {
			return bankstore.From(db).KnownByKey(ctx, s, []string{"a", "b"})
		})
	}
	bare := func(s bankstore.SyncedRows) func() error {
		return func() error { _, _, err := bankstore.From(db).NoRows(ctx, s); return err }
	}
	keys := func(s bankstore.SyncedRows, from passerelle.Date) func() error {
		return func() error { return bankstore.From(db).EachKey(ctx, s, from, func(int64, string) {}) }
	}
	return map[string]query{
		"transactions by key":     {run: known(bankstore.SyncedTransactions(a)), index: "bank_transaction_1 (account_id=? AND epoch=? AND key=?)"},
		"transactions from a day": {run: keys(bankstore.SyncedTransactions(a), bankstoretest.Day(0)), index: "transaction_of_account_by_date (account_id=? AND epoch=? AND date>?)"},
		"transactions at all":     {run: bare(bankstore.SyncedTransactions(a)), index: "(account_id=? AND epoch=?)"},
		"what changed": {run: reading(func() ([]bankstore.ChangedTransaction, error) {
			return bankstore.From(db).ChangedTransactions(ctx, a, 1, 5)
		}), index: "transaction_changed (account_id=? AND epoch=? AND changed=? AND id>?)"},
		"attachments found": {run: reading(func() ([]passerelle.Attachment, error) {
			return bankstore.From(db).FoundAttachments(ctx, a, passerelle.Attachment{}, 5)
		}), index: "attachment_changed (account_id=? AND epoch=? AND changed=?"},
		"assets by key":          {run: known(bankstore.SyncedAssets(a)), index: "asset_1 (account_id=? AND epoch=? AND key=?)"},
		"asset keys":             {run: keys(bankstore.SyncedAssets(a), passerelle.Date{}), index: "(account_id=? AND epoch=?)"},
		"documents by key":       {run: known(bankstore.SyncedDocuments(s)), index: "document_1 (subscription_id=? AND epoch=? AND key=?)"},
		"document keys":          {run: keys(bankstore.SyncedDocuments(s), passerelle.Date{}), index: "(subscription_id=? AND epoch=?)"},
		"documents that changed": {run: reading(func() ([]bankstore.StoredDocument, error) { return bankstore.From(db).ChangedDocuments(ctx, s, 1, 5) }), index: "document_changed (subscription_id=? AND epoch=? AND changed=? AND id>?)"},
		"subscriptions": {run: reading(func() ([]bankstore.StoredSubscription, error) {
			return bankstore.From(db).SubscriptionsOf(ctx, h.domain, h.Connection.ID)
		}), index: "subscription_of_connection (connection_id=?)"},
		"losing": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).LoseTransaction(h.domain, a, 1, now, 1) }), index: "PRIMARY KEY (rowid=?)"},
	}
}

func (h *userAccounts) transactionQueries() map[string]query {
	ctx, db := context.Background(), h.db
	queries := map[string]query{}
	for name, with := range map[string]func(*bankstore.TransactionFilter){
		"transaction_of_user (domain_id=? AND user_id=?":           func(f *bankstore.TransactionFilter) { f.Wording, f.From = "shop", bankstoretest.Day(0) },
		"transaction_of_user_by_date (domain_id=? AND user_id=?":   func(f *bankstore.TransactionFilter) { f.Search, f.ByDate = "shop", true },
		"transaction_of_account (account_id=? AND epoch=?":         func(f *bankstore.TransactionFilter) { f.Account, f.Deleted = h.Accounts[0].ID, true },
		"transaction_of_account_by_date (account_id=? AND epoch=?": func(f *bankstore.TransactionFilter) { f.Account, f.ByDate, f.Since = h.Accounts[0].ID, true, &now },
		"transaction_of_connection (connection_id=?":               func(f *bankstore.TransactionFilter) { f.Connection, f.All = h.Connection.ID, true },
		"transaction_of_connection_by_date (connection_id=? AND da": func(f *bankstore.TransactionFilter) {
			f.Connection, f.ByDate, f.Until = h.Connection.ID, true, bankstoretest.Day(3)
		},
	} {
		f := h.Filter()
		with(&f)
		queries["list by "+name] = query{run: reading(func() ([]passerelle.Transaction, error) {
			return bankstore.From(db).Transactions(ctx, f, store.Window{Limit: 5, From: []any{"2026-01-05", int64(3)}})
		}), index: name}
		queries["list within accounts by "+name] = query{run: func() error {
			span, err := bankstore.From(db).TransactionSpan(ctx, f)
			if err != nil {
				return err
			}
			_, err = bankstore.From(db).Transactions(ctx, f.Within(span), store.Window{Limit: 5, From: []any{"2026-01-05", int64(3)}})
			return err
		}, index: name}
		queries["count by "+name] = query{run: reading(func() (int64, error) { return bankstore.From(db).CountTransactions(ctx, f) }), index: "(" /* any index with searched columns */}
	}
	queries["one transaction"] = query{run: func() error {
		f := h.Filter()
		f.IDs, f.All, f.Deleted = []passerelle.TransactionID{1}, true, true
		_, err := bankstore.From(db).Transactions(ctx, f, store.Window{Limit: 1})
		return err
	}, index: "t USING INTEGER PRIMARY KEY (rowid=?)"}
	queries["days"] = query{run: func() error { _, err := bankstore.From(db).TransactionSpan(ctx, h.Filter()); return err }, index: "transaction_of_account (account_id=? AND epoch=?)"}
	queries["attachments"] = query{run: reading(func() ([]passerelle.Attachment, error) {
		return bankstore.From(db).Attachments(ctx, h.domain, 7, []passerelle.TransactionID{1, 2})
	}), index: "(transaction_id=?", sorts: "those of a page of transactions"}
	queries["documents of transactions"] = query{run: reading(func() ([]bankstore.AttachedDocument, error) {
		return bankstore.From(db).DocumentsOf(ctx, bankstore.DocumentFilter{Domain: h.domain, User: 7}, []passerelle.TransactionID{1, 2})
	}), index: "transaction_document_1 (transaction_id=?", sorts: "those of a page of transactions"}
	queries["attaching"] = query{run: func() error {
		return unlessMissing(h.try(func(tx *store.Tx) error {
			return bankstore.In(tx).AttachDocument(h.domain, 7, 1, 1, now, 20, store.ErrConflict)
		}))
	}, index: "transaction_document_1 (transaction_id=?"}
	queries["detaching"] = query{run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DetachDocuments(h.domain, 7, 1, 0, now) }), index: "transaction_document_1 (transaction_id=?"}
	return queries
}

func (h *userAccounts) documentQueries() map[string]query {
	ctx, db := context.Background(), h.db
	of := bankstore.SubscriptionFilter{Domain: h.domain, User: 7, Connection: h.Connection.ID}
	documents := func(with func(*bankstore.DocumentFilter)) func() error {
		f := bankstore.DocumentFilter{Domain: h.domain, User: 7, All: true}
		with(&f)
		return func() error {
			_, err := bankstore.From(db).Documents(ctx, f, store.Window{Limit: 5, From: []any{"2026-01-05", int64(3)}})
			if err == nil {
				_, err = bankstore.From(db).CountDocuments(ctx, f)
			}
			return err
		}
	}
	return map[string]query{
		"subscriptions of a connection": {run: reading(func() ([]bankstore.StoredSubscription, error) {
			return bankstore.From(db).Subscriptions(ctx, of, store.Window{Limit: 5})
		}), index: "subscription_of_connection (connection_id=? AND id>?)"},
		"subscriptions of a connection counted": {run: reading(func() (int64, error) { return bankstore.From(db).CountSubscriptions(ctx, of) }), index: "subscription_of_connection (connection_id=?"},
		"subscriptions counted": {run: reading(func() (int64, error) {
			return bankstore.From(db).CountSubscriptions(ctx, bankstore.SubscriptionFilter{Domain: h.domain, User: 7})
		}), index: "subscription_of_user (domain_id=? AND user_id=?"},
		"documents of a user":         {run: documents(func(f *bankstore.DocumentFilter) { f.Types = []string{"bill"} }), index: "document_of_user (domain_id=? AND user_id=? AND date<?)"},
		"documents of a connection":   {run: documents(func(f *bankstore.DocumentFilter) { f.Connection = h.Connection.ID }), index: "document_of_connection (connection_id=? AND date<?)"},
		"documents of a subscription": {run: documents(func(f *bankstore.DocumentFilter) { f.Subscription = 1 }), index: "document_of_subscription (subscription_id=? AND epoch=? AND date<?)"},
		"documents of a transaction":  {run: documents(func(f *bankstore.DocumentFilter) { f.Transaction = 1 }), index: "transaction_document_1 (transaction_id=?", sorts: "at most twenty"},
		"documents by timestamp":      {run: documents(func(f *bankstore.DocumentFilter) { f.Since, f.Before, f.Zone = now, now, time.UTC }), index: "document_of_user (domain_id=? AND user_id=? AND date<?)"},
		"types of documents":          {run: reading(func() ([]store.DocumentTypeSetting, error) { return db.DocumentTypes(ctx, h.domain) }), index: "document_type"},
		"a file":                      {run: reading(func() (bankstore.StoredFile, error) { return bankstore.From(db).File(ctx, h.domain, 7, 1) }), index: "PRIMARY KEY (rowid=?)"},
		"files of a user":             {run: reading(func() ([]bankstore.StoredFile, error) { return bankstore.From(db).Files(ctx, h.domain, 7, 1, 5) }), index: "stored_file_of_user (domain_id=? AND user_id=? AND id>?)"},
		"the origin of a file":        {run: reading(func() (bankstore.FileOrigin, error) { return bankstore.From(db).FileOrigin(ctx, h.domain, 1) }), index: "document_of_file (file_id=?)"},
		"files to fetch": {run: h.writing(func(tx *store.Tx) {
			var claimed []bankstore.LeasedFile
			bankstore.In(tx).ClaimFiles(h.domain, "c1", time.Minute, 5, &claimed)
		}), index: "stored_file_to_fetch (connector=? AND domain_id=? AND next_fetch<?)"},
		"files that wait": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).ResumeFiles(h.Connection) }), index: "stored_file_to_fetch (connector=? AND domain_id=? AND next_fetch=?)"},
		"files to remove": {run: h.writing(func(tx *store.Tx) {
			var claimed []int64
			bankstore.In(tx).ClaimForgotten(time.Minute, 5, &claimed)
		}), index: "stored_file_due (due<?)"},
	}
}

func (h *userAccounts) aroundQueries() map[string]query {
	ctx, db, a, full := context.Background(), h.db, h.Accounts[0], errors.New("full")
	clusters := func(with func(*bankstore.ClusterFilter)) func() error {
		f := bankstore.ClusterFilter{Domain: h.domain, User: 7}
		with(&f)
		return func() error {
			_, err := bankstore.From(db).Clusters(ctx, f, store.Window{Limit: 5, From: []any{int64(1)}})
			if err == nil {
				_, err = bankstore.From(db).CountClusters(ctx, f)
			}
			return err
		}
	}
	saving := func(fn func(*store.Tx) error) func() error {
		return func() error {
			if err := h.try(fn); !errors.Is(err, full) {
				return unlessMissing(err)
			}
			return nil
		}
	}
	return map[string]query{
		"clusters of a user":       {run: clusters(func(*bankstore.ClusterFilter) {}), index: "cluster_of_user (domain_id=? AND user_id=? AND id>?)"},
		"clusters of a connection": {run: clusters(func(f *bankstore.ClusterFilter) { f.Connection = h.Connection.ID }), index: "cluster_of_user (domain_id=? AND user_id=? AND id>?)"},
		"clusters of an account":   {run: clusters(func(f *bankstore.ClusterFilter) { f.Account = a.ID }), index: "cluster_of_", sorts: "the clusters of an account, which are bounded"},
		"a cluster":                {run: clusters(func(f *bankstore.ClusterFilter) { f.ID = 1 }), index: "s USING INTEGER PRIMARY KEY (rowid=?)"},
		"clusters to compare":      {run: reading(func() ([]bankstore.StoredCluster, error) { return bankstore.From(db).ClustersOf(ctx, a, 5) }), index: "cluster_of_account (account_id=? AND epoch=?)"},
		"making a cluster": {run: saving(func(tx *store.Tx) error {
			return bankstore.In(tx).CreateCluster(h.domain, a, &passerelle.Cluster{Wording: "w"}, 1, full)
		}), index: "cluster_of_account (account_id=? AND epoch=?)"},
		"changing a cluster": {run: h.writing(func(tx *store.Tx) {
			bankstore.In(tx).UpdateCluster(h.domain, 7, passerelle.Cluster{}, passerelle.Cluster{ID: 1})
		}), index: "PRIMARY KEY (rowid=?)"},
		"refreshing a cluster": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).RefreshCluster(h.domain, passerelle.Cluster{ID: 1}) }), index: "PRIMARY KEY (rowid=?)"},
		"deleting a cluster":   {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteCluster(h.domain, 7, 1, now) }), index: "PRIMARY KEY (rowid=?)"},
		"what was in it": {run: h.writing(func(tx *store.Tx) {
			tx.Unit().Exec(`UPDATE bank_transaction SET cluster_id = NULL WHERE cluster_id = $1`, 1)
		}), index: "transaction_of_cluster (cluster_id=?)"},
		"filling a cluster": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).Cluster(a, 1, []passerelle.TransactionID{1, 2}) }), index: "PRIMARY KEY (rowid=?)"},
		"what is noted": {run: reading(func() ([]bankstore.Information, error) {
			return bankstore.From(db).Informations(ctx, h.domain, []passerelle.TransactionID{1, 2})
		}), index: "transaction_information_1 (transaction_id=?)", sorts: "what is noted about a page of transactions"},
		"noting": {run: saving(func(tx *store.Tx) error {
			return bankstore.In(tx).SetInformation(h.domain, 7, bankstore.Information{Transaction: 1, Key: "k", Value: "v"})
		}), index: "t USING INTEGER PRIMARY KEY (rowid=?)"},
		"noting too much": {run: saving(func(tx *store.Tx) error { bankstore.In(tx).LimitInformations(h.domain, 1, now, 0, full); return nil }), index: "transaction_information_1 (transaction_id=?)"},
		"forgetting":      {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteInformations(h.domain, 7, 1, 0) }), index: "transaction_information_1 (transaction_id=?)"},
		"forgetting one":  {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteInformations(h.domain, 7, 1, 9) }), index: "PRIMARY KEY (rowid=?)"},
		"own categories":  {run: reading(func() ([]passerelle.Category, error) { return bankstore.From(db).OwnCategories(ctx, h.domain, 7, nil) }), index: "category_of_user (user_id=?)"},
		"one of them": {run: reading(func() ([]passerelle.Category, error) {
			return bankstore.From(db).OwnCategories(ctx, h.domain, 7, []passerelle.CategoryID{1, 2})
		}), index: "category", sorts: "the categories that are asked for"},
		"making a category": {run: saving(func(tx *store.Tx) error {
			return bankstore.In(tx).CreateCategory(h.domain, &passerelle.Category{User: 7, Name: "n"}, 0, full)
		}), index: "category_of_user (user_id=?)"},
		"changing a category": {run: h.writing(func(tx *store.Tx) {
			bankstore.In(tx).UpdateCategory(h.domain, passerelle.Category{}, passerelle.Category{ID: 1, User: 7})
		}), index: "PRIMARY KEY (rowid=?)"},
		"deleting a category": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteCategory(h.domain, 7, 1) }), index: "PRIMARY KEY (rowid=?)"},
	}
}

func (h *userAccounts) exportQueries() map[string]query {
	ctx, db, most := context.Background(), h.db, store.Window{Limit: 5}
	from := func(place ...any) store.Window { return store.Window{Limit: 5, From: place} }
	logs := func(w store.Window) func() error {
		return reading(func() ([]bankstore.ConnectionLog, error) {
			return bankstore.From(db).ConnectionLogsOf(ctx, h.domain, 7, w)
		})
	}
	values := func(w store.Window) func() error {
		return reading(func() ([]passerelle.InvestmentValue, error) {
			return bankstore.From(db).InvestmentValuesOf(ctx, h.domain, 7, w)
		})
	}
	const ofOne = "those of one connection or investment after the other"
	return map[string]query{
		"visits by time": {run: reading(func() ([]bankstore.ConnectionLog, error) {
			return bankstore.From(db).ConnectionLogs(ctx, bankstore.ConnectionLogFilter{Domain: h.domain, User: 7}, most)
		}), index: "connection_log_of_user (domain_id=? AND user_id=?)"},
		"visits of a user":      {run: logs(most), index: "connection_log_by_time (connection_id=? AND at>?)", sorts: ofOne},
		"more visits":           {run: logs(from(int64(1), int64(5), int64(2))), index: "connection_log_by_time (connection_id=? AND at>?)", sorts: ofOne},
		"worth of a user":       {run: values(most), index: "investment_value_1 (investment_id=? AND date>?)", sorts: ofOne},
		"more worth":            {run: values(from(int64(1), "2026-01-01", int64(2))), index: "investment_value_1 (investment_id=? AND date>?)", sorts: ofOne},
		"investments of a user": {run: values(most), index: "asset_of_user (domain_id=? AND user_id=? AND kind=? AND id>?)", sorts: ofOne},
	}
}

func (h *userAccounts) withdrawalQueries() map[string]query {
	ctx := context.Background()
	step := func(kind string, epoch *int64) func() error {
		return func() error {
			err := h.try(func(tx *store.Tx) error {
				tx.Unit().Exec(`INSERT INTO withdrawal (domain_id, user_id, kind, subject_id, epoch, created) VALUES ($1, 7, $2, 99, $3, 1)`, int64(h.domain), kind, epoch)
				tx.VoidBodiesWith(h.domain, 7, store.HoldingOf(kind, 99, epoch), now, 5, func() {})
				return nil
			})
			for more := err == nil; more; {
				more, err = bankstore.EraseWithdrawn(ctx, h.db, 5)
			}
			return err
		}
	}
	first := int64(0)
	return map[string]query{
		"erasing an account":     {run: step("account", &first), index: "bank_transaction USING COVERING INDEX transaction_changed (account_id=? AND epoch<?)", sorts: "the files of what is erased"},
		"erasing a subscription": {run: step("subscription", &first), index: "document_", sorts: "the files of what is erased"},
		"erasing a connection":   {run: step("connection", nil), index: "transaction_of_connection", sorts: "the files of what is erased"},
		"disabling an account": {run: h.writing(func(tx *store.Tx) {
			bankstore.In(tx).DisableAccounts(h.domain, 7, now, h.Accounts[0])
		}), index: "bank_transaction USING INDEX transaction_changed (account_id=? AND epoch=? AND changed=?)", sorts: "the reads in lost reports, of which there are few"},
		"the next withdrawal":     {run: reading(func() (bool, error) { return bankstore.EraseWithdrawn(ctx, h.db, 5) }), sorts: "one, in the order of ids"},
		"withdrawing a user":      {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteUser(passerelle.User{Domain: h.domain, ID: 8}, now, now) }), index: "connection_of_user (domain_id=? AND user_id=?)", sorts: "the parts of held events"},
		"deleting one connection": {run: h.writing(func(tx *store.Tx) { bankstore.In(tx).DeleteConnection(h.domain, 8, 99, now) }), index: "PRIMARY KEY (rowid=?)", sorts: "the events of the user that hold it"},
	}
}

func (h *userAccounts) consoleQueries() map[string]query {
	ctx, db, page := context.Background(), h.db, store.Window{Descending: true, Limit: 5, From: []any{int64(9)}}
	troubles := func(f bankstore.TroubleFilter) func() error {
		f.Domain = h.domain
		return reading(func() ([]bankstore.Connection, error) { return bankstore.From(db).ConnectionsInTrouble(ctx, f, page) })
	}
	const merged = "a page of each state"
	return map[string]query{
		"connections in trouble": {run: troubles(bankstore.TroubleFilter{}), index: "connection_in_trouble (domain_id=? AND state=? AND id<?)", sorts: merged},
		"… in a state":           {run: troubles(bankstore.TroubleFilter{States: []passerelle.ConnectionState{"bug"}}), index: "connection_in_trouble (domain_id=? AND state=? AND id<?)", sorts: merged},
		"… of a connector":       {run: troubles(bankstore.TroubleFilter{Connector: "c1"}), index: "connection_in_trouble_at (domain_id=? AND connector_uuid=? AND state=? AND id<?)", sorts: merged},
		"users, newest first": {run: reading(func() ([]passerelle.User, error) {
			return db.Users(ctx, h.domain, store.UserWindow{Limit: 5, From: 9, Backward: true})
		}), index: "end_user_by_domain (domain_id=? AND id<?)"},
		"tokens of programs": {run: reading(func() ([]store.Token, error) { return db.Tokens(ctx, store.TokenFilter{Domain: h.domain}, page) }), index: "token_of_program (domain_id=? AND id<?)"},
		"tokens": {run: reading(func() ([]store.Token, error) {
			return db.Tokens(ctx, store.TokenFilter{Domain: h.domain, All: true}, page)
		}), index: "token_by_domain (domain_id=? AND id<?)"},
		"the use of a token":  {run: h.writing(func(tx *store.Tx) { tx.NoteTokenUse(h.domain, 1, now, now) }), index: "PRIMARY KEY (rowid=?)"},
		"clients":             {run: reading(func() ([]store.Client, error) { return db.ClientPage(ctx, h.domain, page) }), index: "client_by_domain (domain_id=? AND id<?)"},
		"the use of a client": {run: h.writing(func(tx *store.Tx) { tx.NoteClientUse(h.domain, 1, now, now) }), index: "PRIMARY KEY (rowid=?)"},
		"settings":            {run: reading(func() (map[string]store.Setting, error) { return db.SettingRecords(ctx, h.domain) }), index: "setting_1 (domain_id=?)"},
		"changes of a key": {run: reading(func() ([]store.SettingChange, error) {
			return db.SettingChanges(ctx, store.SettingChanges{Domain: h.domain, Key: "a"}, store.Window{Limit: 5, From: []any{int64(1), int64(1)}})
		}), index: "setting_change_of_key (domain_id=? AND key=? AND at<?)"},
	}
}

func (h *userAccounts) providerQueries() map[string]query {
	ctx, db := context.Background(), h.db
	w := store.Webhook{ID: 1, Domain: h.domain}
	return map[string]query{
		"an auth provider":   {run: reading(func() (store.AuthProvider, error) { return db.AuthProvider(ctx, h.domain, 1) }), index: "auth_provider"},
		"one of a name":      {run: reading(func() (store.AuthProvider, error) { return db.AuthProviderNamed(ctx, h.domain, "x") }), index: "auth_provider"},
		"its webhooks":       {run: reading(func() ([]passerelle.WebhookID, error) { return db.WebhooksWithProvider(ctx, h.domain, 1, 5) }), index: "webhook"},
		"mails":              {run: reading(func() ([]store.Mail, error) { return db.Mails(ctx, h.domain, store.Window{Limit: 5}) }), index: "mail_"},
		"mails counted":      {run: reading(func() (int64, error) { return db.CountMails(ctx, h.domain) }), index: "mail_"},
		"a mail to send":     {run: h.writing(func(tx *store.Tx) { var m *store.Mail; tx.ClaimMail(now, time.Minute, &m) }), index: "mail_", sorts: "one mail"},
		"health":             {run: reading(func() (map[passerelle.WebhookID]store.Health, error) { return db.Health(ctx, h.domain, now, 1, 2) }), index: "webhook_health", sorts: "the hours of a day"},
		"an outage":          {run: reading(func() (store.Outage, error) { return db.Outage(ctx, w) }), index: "delivery"},
		"settings of a user": {run: reading(func() (map[string]string, error) { return db.UserSettings(ctx, h.domain, 7) }), index: "user_setting"},
		"use of connectors":  {run: reading(func() (map[string]int64, error) { return db.ConnectorUse(ctx, h.domain, now, 5) }), index: "payment_", sorts: "the latest payments, up to a bound"},
		"known users": {run: reading(func() (map[passerelle.UserID]bool, error) {
			return db.KnownUsers(ctx, h.domain, []passerelle.UserID{1, 2})
		}), index: "end_user"},
		"the way back": {run: reading(func() (bankstore.ConnectionReturn, error) {
			return bankstore.From(db).ConnectionReturn(ctx, h.domain, 1)
		}), index: "connection_return"},
		"received by itself":  {run: reading(func() ([]store.Received, error) { return db.ReceivedRequests(ctx, h.domain) }), index: "received"},
		"submitted by itself": {run: reading(func() (int64, error) { return db.SandboxSubmissions(ctx, h.domain, "k") }), index: "sandbox_order"},
	}
}

// TestPlansOfTransactions checks that each list of transactions reads a page in the order of an
// index.
func TestPlansOfTransactions(t *testing.T) {
	s := newFixture(t, storetest.EmptySQLite(t))
	h := newUserAccounts(t, s)
	engine := explain(s)
	for name, with := range map[string]func(*bankstore.TransactionFilter){
		"transaction_of_user (domain_id=? AND user_id=?":                        func(*bankstore.TransactionFilter) {},
		"transaction_of_user_by_date (domain_id=? AND user_id=?":                func(f *bankstore.TransactionFilter) { f.ByDate = true },
		"transaction_of_account (account_id=? AND epoch=?":                      func(f *bankstore.TransactionFilter) { f.Account = h.Accounts[0].ID },
		"transaction_of_account_by_date (account_id=? AND epoch=?":              func(f *bankstore.TransactionFilter) { f.Account, f.ByDate = h.Accounts[0].ID, true },
		"transaction_of_user (domain_id=? AND user_id=? AND application_date>?": func(f *bankstore.TransactionFilter) { f.From = bankstoretest.Day(1) },
		"transaction_of_connection (connection_id=?":                            func(f *bankstore.TransactionFilter) { f.Connection = h.Connection.ID },
		"transaction_of_connection_by_date (connection_id=?":                    func(f *bankstore.TransactionFilter) { f.Connection, f.ByDate = h.Connection.ID, true },
	} {
		f := h.Filter()
		with(&f)
		engine.plans = nil
		if _, err := bankstore.From(s.db).Transactions(t.Context(), f, store.Window{Limit: 5, From: []any{"2026-01-05", int64(3)}}); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(engine.plans, "; ")
		if !strings.Contains(plan, name) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN") {
			t.Errorf("%s: %s", name, plan)
		}
	}
}

func TestPlanOfMovements(t *testing.T) {
	s := newFixture(t, storetest.EmptySQLite(t))
	h := newUserAccounts(t, s)
	engine := explain(s)
	if _, err := bankstore.From(s.db).Movements(t.Context(), h.Accounts, bankstoretest.Day(0), bankstoretest.Day(9)); err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(engine.plans, "; "); !strings.Contains(plan, "transaction_of_account_by_date (account_id=? AND epoch=? AND date>?)") || strings.Contains(plan, "SCAN") {
		t.Error(plan)
	}
}
