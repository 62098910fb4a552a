package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

func lengthOfHistory(t *testing.T) (transactions int, long bool) {
	t.Helper()
	return inALongRun(t, "PASSERELLE_TEST_TRANSACTIONS", 20_000)
}

// fewTransactions is the number of transactions of the second connection. All of them are on the
// oldest days.
const fewTransactions = 20

// bookMany books transactions over 7000 days. The first 20 are in account $6 of connection $8. All
// others are of connection $7: every tenth is in account $5, and the rest is in account $4.
const bookMany = `INSERT INTO bank_transaction (id, domain_id, user_id, account_id, epoch, key, date, application_date, value, value_scale, wording, coming, details, digest,
		scraped, last_update, changed, connection_id, folded)
	SELECT i, CAST($3 AS BIGINT), 7, CASE WHEN i <= 20 THEN CAST($6 AS BIGINT) WHEN i % 10 = 0 THEN CAST($5 AS BIGINT) ELSE CAST($4 AS BIGINT) END, 0, 'k' || CAST(i AS TEXT), day, day,
		i % 1000, 2, 'SHOP', FALSE, '{"Date":"' || day || '","RDate":"' || day || '","Value":"1.00"}', i, i, i, 1, CASE WHEN i <= 20 THEN CAST($8 AS BIGINT) ELSE CAST($7 AS BIGINT) END, 'shop'
	FROM (SELECT i, CAST(2001 + i % 7000 / 336 - CASE WHEN i <= 20 THEN 1 ELSE 0 END AS TEXT) || '-' || SUBSTR(CAST(101 + i % 7000 / 28 % 12 AS TEXT), 2, 2) || '-'
		|| SUBSTR(CAST(101 + i % 28 AS TEXT), 2, 2) AS day FROM n) AS days`

func longHistory(t *testing.T, s fixture, n int) (h *userAccounts, few *userAccounts) {
	t.Helper()
	h, few = newUserAccounts(t, s), newUserAccounts(t, s)
	const step = 50_000
	for first := 1; first <= n; first += step {
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(numbers+bookMany, first, min(first+step-1, n), int64(s.domain), int64(h.Accounts[0].ID), int64(h.Accounts[1].ID), int64(few.Accounts[0].ID),
				int64(h.Connection.ID), int64(few.Connection.ID))
			return nil
		})
	}
	inB := int64(n/10 - fewTransactions/10)
	s.write(func(tx *store.Tx) error {
		bankstore.In(tx).CountTransactions(s.domain, few.Accounts[0], fewTransactions, 0)
		bankstore.In(tx).CountTransactions(s.domain, h.Accounts[1], inB, 0)
		bankstore.In(tx).CountTransactions(s.domain, h.Accounts[0], int64(n)-fewTransactions-inB, 0)
		return nil
	})
	if err := s.sql(`ANALYZE`); err != nil {
		t.Fatal(err)
	}
	return h, few
}

// TestMillionTransactions reads the first page and the last full page of every list.
func TestMillionTransactions(t *testing.T) {
	onEachOwnDatabase(t, func(t *testing.T, s fixture) {
		n, long := lengthOfHistory(t)
		h, few := longHistory(t, s, n)
		for name, with := range map[string]func(*bankstore.TransactionFilter){
			"all":     func(*bankstore.TransactionFilter) {},
			"by date": func(f *bankstore.TransactionFilter) { f.ByDate = true },
			"since a day": func(f *bankstore.TransactionFilter) {
				f.From = passerelle.DateOf(time.Date(2003, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC)
			},
			"of an account":         func(f *bankstore.TransactionFilter) { f.Account = h.Accounts[0].ID },
			"of a small account":    func(f *bankstore.TransactionFilter) { f.Account = h.Accounts[1].ID },
			"of a connection":       func(f *bankstore.TransactionFilter) { f.Connection = h.Connection.ID },
			"of a connection, date": func(f *bankstore.TransactionFilter) { f.Connection, f.ByDate = h.Connection.ID, true },
		} {
			t.Run(name, func(t *testing.T) {
				f := h.Filter()
				with(&f)
				h.compareEnds(t, f, long)
				h.compareEnds(t, h.Within(f), long)
			})
		}
		t.Run("of a connection with little that is old", func(t *testing.T) {
			f := h.Filter()
			f.Connection = few.Connection.ID
			rows, total := h.Transactions(f, store.Window{Limit: pageOfList}), h.Count(f)
			if len(rows) != fewTransactions || total != fewTransactions {
				t.Errorf("%d rows of %d", len(rows), total)
			}
			h.readsFew(t, f, store.Window{Limit: pageOfList}, long)
		})
	})
}

func (h *userAccounts) compareEnds(t *testing.T, f bankstore.TransactionFilter, long bool) {
	t.Helper()
	total := h.Count(f)
	first := store.Window{Limit: pageOfList}
	before := h.Transactions(f, store.Window{Limit: 1, Offset: total - pageOfList - 1})
	last := first
	last.From = []any{f.DayOf(before[0]).String(), int64(before[0].ID)}
	if rows := h.Transactions(f, last); len(rows) != pageOfList {
		t.Fatalf("%d rows on the last page of %d", len(rows), total)
	}
	h.readsFew(t, f, first, long)
	h.readsFew(t, f, last, long)
	if !long {
		return // the table is small and is read faster without an index
	}
	measure{1.5, pageTimeout}.hold(t, long, func() { h.Transactions(f, first) }, func() { h.Transactions(f, last) })
}

func (h *userAccounts) pageOf(t *testing.T, f bankstore.TransactionFilter, w store.Window) (string, []any) {
	t.Helper()
	var page database.Statement
	h.db.Database.Observe(func(_ context.Context, statements []database.Statement) error {
		page = statements[0]
		return nil
	})
	defer h.db.Database.Observe(nil)
	h.Transactions(f, w)
	return page.SQL, page.Args
}

// In a long run on PostgreSQL, readsFew checks that a page reads few rows. On SQLite, the page must
// be read in the order of an index.
func (h *userAccounts) readsFew(t *testing.T, f bankstore.TransactionFilter, w store.Window, long bool) {
	t.Helper()
	sql, args := h.pageOf(t, f, w)
	if h.db.Rows().Dialect().Name == "postgres" {
		plan, err := database.Collect(context.Background(), h.db.Rows(), database.ScanString, `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		if rows := rowsOf(plan); long && rows > 6*pageOfList {
			t.Errorf("reads %d rows:\n%s", rows, strings.Join(plan, "\n"))
		}
		return
	}
	for _, step := range h.steps(t, sql, args) {
		walks, sorts := strings.Contains(step, " t ") && !strings.Contains(step, "USING INDEX"), strings.Contains(step, "TEMP B-TREE")
		if walks || sorts || f.Connection != 0 && strings.Contains(step, "transaction_of_user") {
			t.Errorf("SQLite: %s", step)
		}
	}
}

func (s fixture) steps(t *testing.T, sql string, args []any) []string {
	t.Helper()
	plan, err := database.Collect(context.Background(), s.db.Rows(), func(row database.Row) (string, error) {
		var id, parent, unused int64
		var step string
		err := row.Scan(&id, &parent, &unused, &step)
		return step, err
	}, `EXPLAIN QUERY PLAN `+sql, args...)
	if err != nil || len(plan) == 0 {
		t.Fatalf("%v %v", plan, err)
	}
	return plan
}

func rowsOf(plan []string) (total int) {
	for _, step := range plan {
		if found := scanned.FindStringSubmatch(step); found != nil && !strings.Contains(step, "Subquery Scan") {
			total += atoi(found[1]) * atoi(found[2])
		}
		if found := removed.FindStringSubmatch(step); found != nil {
			total += atoi(found[1])
		}
	}
	return total
}
