package store_test

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

func crowd(t *testing.T) (payments int, long bool) {
	t.Helper()
	return inALongRun(t, "PASSERELLE_TEST_PAYMENTS", 10_000)
}

// numbers is the beginning of a statement that counts from $1 to $2.
const numbers = `WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $2) `

// populate fills the tables with SQL, because creating the payments through package payment would
// take hours. Each of the states created, validating, rejected and expired has a quarter of the
// payments.
var populate = []string{
	`INSERT INTO payment_transition (payment_id, seq, domain_id, to_state, cause, actor, bank_status, at)
		SELECT i, 0, $3, 'created', '', 'client', '', i FROM n`,
	`INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at)
		SELECT i, 1, $3, 0, 'created', CASE i % 4 WHEN 1 THEN 'validating' WHEN 2 THEN 'rejected' ELSE 'expired' END, 'x', 'bank', '', i FROM n WHERE i % 4 > 0`,
	`INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, client_redirect_uri, client_state, currency, amount,
			instruction_count, date_type, validated, error_code, bank_payment_id, website, payer_scheme, payer_identification, connector_uuid, connector_name, source_id)
		SELECT i, $3, $4, 1, CASE WHEN i % 4 > 0 THEN 1 ELSE 0 END,
			CASE i % 4 WHEN 0 THEN 'created' WHEN 1 THEN 'validating' WHEN 2 THEN 'rejected' ELSE 'expired' END,
			i * 1000, 'https://client.example/', CASE WHEN i % 2 = 0 THEN 'order' ELSE '' END, 'EUR', 100 + i % 5, 1 + i % 2, CASE WHEN i % 2 = 0 THEN 'instant' ELSE 'deferred' END,
			CASE i % 4 WHEN 1 THEN i * 1000 + 7 ELSE NULL END, CASE i % 4 WHEN 2 THEN 'bug' ELSE NULL END,
			CASE WHEN i % 2 = 0 THEN 'B' ELSE NULL END, CASE WHEN i % 2 = 0 THEN 'shop.test' ELSE NULL END,
			CASE WHEN i % 2 = 0 THEN 'iban' ELSE NULL END, CASE WHEN i % 2 = 0 THEN 'PAYER' ELSE NULL END,
			CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'A' WHEN 2 THEN 'B' ELSE 'C' END,
			CASE i % 4 WHEN 2 THEN 7 ELSE NULL END
		FROM n`,
	`INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, beneficiary_scheme, beneficiary_identification,
			beneficiary_label, registered, new_beneficiary, new_reference, label_folded)
		SELECT i, i, 0, $3, CASE WHEN i % 2 = 0 THEN 'R' ELSE 'S' END, 100, '', 'iban', CASE WHEN i % 2 = 0 THEN 'SHOP' ELSE 'OTHER' END, '', i * 1000, TRUE, TRUE,
			'invoice ' || CAST(i AS TEXT) FROM n`,
}

func (s fixture) populate(n int) { s.t.Helper(); s.populateAfter(0, n) }

// keepsNumbersClear makes the database keep account numbers unencrypted, like an older database.
// Tests that insert payments with SQL need this, because they insert unencrypted numbers.
func (s fixture) keepsNumbersClear() {
	s.t.Helper()
	if err := s.sql(`UPDATE sealing SET account_numbers = FALSE`); err != nil {
		s.t.Fatal(err)
	}
	s.db.ForgetSealing()
}

func (s fixture) populateAfter(from, n int) {
	s.t.Helper()
	s.keepsNumbersClear()
	const step = 50_000
	for first := from + 1; first <= n; first += step {
		s.write(func(tx *store.Tx) error {
			for i, text := range populate {
				args := []any{first, min(first+step-1, n), int64(s.domain), int64(s.client)}
				if i != 2 {
					args = args[:3]
				}
				// SQLite and PostgreSQL accept WITH before INSERT.
				tx.Unit().Exec(numbers+strings.ReplaceAll(text, "$3", "CAST($3 AS BIGINT)"), args...)
			}
			return nil
		})
	}
	if err := s.sql(`ANALYZE`); err != nil {
		s.t.Fatal(err)
	}
}

type stretchOfList struct {
	filter store.PaymentFilter
	order  string
	// sorts is the reason why no index has the order of the selection. It is empty if an index has
	// this order.
	sorts string
}

func million(s fixture, n int) map[string]stretchOfList {
	half := time.UnixMicro(int64(n) / 2 * 1000)
	all := map[string]stretchOfList{
		"filter by state":        {filter: store.PaymentFilter{State: string(payment.Expired)}},
		"filter by error":        {filter: store.PaymentFilter{ErrorCode: "bug"}},
		"filter by bank id":      {filter: store.PaymentFilter{BankPaymentID: "B"}},
		"filter by website":      {filter: store.PaymentFilter{Website: "shop.test"}},
		"filter by payer":        {filter: store.PaymentFilter{Payer: "payer"}},
		"filter by beneficiary":  {filter: store.PaymentFilter{Beneficiary: "shop"}},
		"filter by client state": {filter: store.PaymentFilter{Beneficiary: "shop", ClientState: "order"}},
		"filter by reference":    {filter: store.PaymentFilter{Reference: "R"}},
		"filter by payer's end":  {filter: store.PaymentFilter{PayerEnd: "ayer"}},
		"filter by an end":       {filter: store.PaymentFilter{BeneficiaryEnd: "shop"}},
		"filter by client":       {filter: store.PaymentFilter{Client: s.client}},
		"filter by amount":       {filter: store.PaymentFilter{Least: 101, Most: 103}, order: "amount"},
		"filter by label":        {filter: store.PaymentFilter{LabelStart: "Invoice"}, order: store.LabelOrder},
		"filter by type":         {filter: store.PaymentFilter{DateType: "instant"}},
		"filter by connector":    {filter: store.PaymentFilter{Connectors: []string{"b"}}},
		"filter by source":       {filter: store.PaymentFilter{Connectors: []string{"b"}, Source: 7}},
		"filter by country":      {filter: store.PaymentFilter{Connectors: []string{"a", "c"}}},
		"filter by none":         {filter: store.PaymentFilter{NoConnector: true}},
		"registered since":       {filter: store.PaymentFilter{From: half}},
		"registered until":       {filter: store.PaymentFilter{Until: half}},
		"validated until":        {filter: store.PaymentFilter{DateField: "validate_date", Until: half}, sorts: "one date bounds, another orders"},
		"validated since":        {filter: store.PaymentFilter{DateField: "validate_date", From: half}, sorts: "one date bounds, another orders"},
	}
	for _, name := range []string{"validated since", "validated until"} {
		all[name+", in that order"] = stretchOfList{filter: all[name].filter, order: "validate_date"}
	}
	for order := range store.PaymentOrders {
		if order != store.LabelOrder {
			all["by "+order] = stretchOfList{order: order}
		}
	}
	for name, one := range all {
		one.filter.Domain = s.domain
		if one.order == "" {
			one.order = "register_date"
		}
		all[name] = one
	}
	return all
}

const pageOfList = 100

// unlisted contains the filter fields that no list of TestMillion has to set, each with the reason.
var unlisted = map[string]string{"Only": "selects at most one payment"}

func TestMillionHasEveryFilter(t *testing.T) {
	set := map[string]bool{}
	for _, list := range million(fixture{t: t, domain: 1, client: 1}, 1000) {
		for field, value := range reflect.ValueOf(list.filter).Fields() {
			set[field.Name] = set[field.Name] || !value.IsZero()
		}
	}
	for field := range reflect.TypeFor[store.PaymentFilter]().Fields() {
		if field.IsExported() && !set[field.Name] && unlisted[field.Name] == "" {
			t.Errorf("no list sets %s of store.PaymentFilter: add one to million in internal/store/payment_million_test.go, "+
				"a plan to internal/store/plan_test.go, a draw to drawFilter in internal/store/payment_list_test.go, "+
				"and a filter to internal/api/scenario_filter_test.go", field.Name)
		}
	}
}

// TestMillion reads the first page of every list, and the page after nine tenths of its matches.
func TestMillion(t *testing.T) {
	onEachOwnDatabase(t, func(t *testing.T, s fixture) {
		n, long := crowd(t)
		s.populate(n)
		t.Run("invariants", s.checkInvariants)
		for name, list := range million(s, n) {
			t.Run(name, func(t *testing.T) {
				matches, err := s.db.CountPayments(t.Context(), list.filter, n)
				if err != nil {
					t.Fatal(err)
				}
				if list.filter.Unfiltered() {
					matches = int64(n) // the inserted rows are not in the counter
				}
				first := store.Window{Order: list.order, Limit: pageOfList}
				deep := first
				deep.From = s.placeOf(t, list, matches*9/10)
				s.comparePages(t, list, first, deep, long)
			})
		}
	})
}

// placeOf returns the Place of the payment at a position in a list, counted from 1. It skips the
// rows before this payment with an offset.
func (s fixture) placeOf(t *testing.T, list stretchOfList, position int64) []any {
	t.Helper()
	rows, err := s.db.Payments(t.Context(), list.filter, store.Window{Order: list.order, Limit: 1, Offset: position - 1}, false)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows at position %d, %v", len(rows), position, err)
	}
	return rows[0].Place
}

func (s fixture) comparePages(t *testing.T, list stretchOfList, first, deep store.Window, long bool) {
	t.Helper()
	limit := measure{1.5, pageTimeout}
	if list.sorts != "" {
		limit.limit = time.Minute
	}
	limit.hold(t, long, s.page(t, list, first), s.page(t, list, deep))
	if !long {
		return // the table is small and is read faster without an index
	}
	if s.db.Rows().Dialect().Name != "postgres" || list.sorts != "" {
		return
	}
	a, b := s.rowsRead(t, list, first), s.rowsRead(t, list, deep)
	if b > a || a > 3*pageOfList {
		t.Errorf("the first page reads %d rows and the one at nine tenths %d", a, b)
	}
}

// TestMillionLikeAThousand reads the first page of each list that needs no sort, among a thousand
// payments and among many more.
func TestMillionLikeAThousand(t *testing.T) {
	onEachOwnDatabase(t, func(t *testing.T, s fixture) {
		n, long := crowd(t)
		const few = 1000
		s.populate(few)
		before := map[string]time.Duration{}
		for name, list := range million(s, few) {
			if list.sorts == "" {
				before[name] = s.best(t, list)
			}
		}
		s.populateAfter(few, n)
		lists := million(s, n)
		for name := range before {
			list := lists[name]
			took := s.best(t, list)
			ratio := float64(took) / float64(max(before[name], 100*time.Microsecond))
			t.Logf("%s: %v, %.2f times as long", name, took, ratio)
			if long && (ratio > 3 || took > pageTimeout) {
				t.Errorf("%s takes %v among %d, %.2f times as long as among %d", name, took, n, ratio, few)
			}
			first := store.Window{Order: list.order, Limit: pageOfList}
			if long && s.db.Rows().Dialect().Name == "postgres" && s.rowsRead(t, list, first) > 3*pageOfList {
				t.Errorf("%s reads %d rows", name, s.rowsRead(t, list, first))
			}
		}
	})
}

func (s fixture) best(t *testing.T, list stretchOfList) time.Duration {
	t.Helper()
	shortest := time.Hour
	for range 7 {
		shortest = min(shortest, timed(s.page(t, list, store.Window{Order: list.order, Limit: pageOfList})))
	}
	return shortest
}

func (s fixture) page(t *testing.T, list stretchOfList, w store.Window) func() {
	return func() {
		t.Helper()
		if rows, err := s.db.Payments(t.Context(), list.filter, w, false); err != nil || len(rows) != pageOfList {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
	}
}

var (
	scanned = regexp.MustCompile(`Scan.*actual rows=(\d+) loops=(\d+)`)
	removed = regexp.MustCompile(`Rows Removed by .*: (\d+)`)
)

// rowsRead returns the number of rows that all scans in a page's query read, according to EXPLAIN.
func (s fixture) rowsRead(t *testing.T, list stretchOfList, w store.Window) int {
	t.Helper()
	sql, args := store.PageOf(list.filter, w)
	plan, err := database.Collect(context.Background(), s.db.Rows(), database.ScanString, `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	total := rowsOf(plan)
	if total == 0 {
		t.Fatalf("no rows in\n%s", strings.Join(plan, "\n"))
	}
	return total
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
