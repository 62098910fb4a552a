package bankstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// TransactionFilter selects transactions of a user. User is required: the filter selects nothing
// without it.
type TransactionFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	// Account selects one account in its present Epoch. Zero means all.
	Account passerelle.AccountID
	Epoch   int64
	IDs     []passerelle.TransactionID // nil for all
	// All also selects transactions of disabled and deleted accounts, but no withdrawn
	// transactions. Deleted also selects deleted transactions.
	All, Deleted bool
	// ByDate makes the filter use the field date, instead of application_date, for its order and
	// its limits.
	ByDate bool
	// From and Until are the first and the last selected day. A zero date means no limit.
	From, Until passerelle.Date
	// Institution leaves out the transactions that clients created.
	Institution bool
	// Since selects transactions that changed after this instant.
	Since *time.Time
	// Income selects incoming transactions if true, and outgoing transactions if false.
	Income *bool
	// Wording selects transactions whose label contains this text. Search selects transactions with
	// this text in their label, day or category. It also selects transactions whose value equals
	// the text, regardless of the sign.
	Wording, Search string
	// Least and Most limit the value. Values, if not empty, lists the only values to select.
	Least, Most *decimal.Decimal
	Values      []decimal.Decimal
	// within lists the selected accounts, if a TransactionSpan has recorded them. undocumented is
	// set when no transaction in these accounts has a document.
	within       []accountEpoch
	undocumented bool
}

// accountEpoch is an account with its present epoch and the currency of its amounts.
type accountEpoch struct {
	account, epoch int64
	currency       passerelle.Currency
}

// MaxWithin limits the accounts that a query lists, because the query compares each transaction
// with all of them.
const MaxWithin = 16

// Within limits the filter to the accounts of its span, if the span has recorded them. The query
// then need not look up the account of each transaction. If no transaction in the accounts has a
// document, the query also skips the lookup of documents. If the user stops sharing an account
// after the span was read, this one query still returns the account's transactions.
func (f TransactionFilter) Within(s TransactionSpan) TransactionFilter {
	f.undocumented = s.documented == 0
	if f.Account == 0 {
		f.within = s.noted
	}
	return f
}

// among adds the condition that one of the accounts contains the transaction. The condition is a
// CASE: databases use no index for a CASE, and cannot estimate how many rows match. With another
// condition, both databases would look up the accounts and sort all their transactions.
func (f TransactionFilter) among(c *database.Clauses) {
	var each []string
	for _, r := range database.Padded(f.within) {
		each = append(each, "t.account_id = "+c.Bind(r.account)+" AND t.epoch = "+c.Bind(r.epoch))
	}
	c.All = append(c.All, "CASE WHEN "+strings.Join(each, " OR ")+" THEN TRUE ELSE FALSE END")
}

func (f TransactionFilter) day() string {
	if f.ByDate {
		return "t.date"
	}
	return "t.application_date"
}

// DayOf returns the day of a transaction for this filter. The filter sorts transactions by this
// day, and compares it with From and Until.
func (f TransactionFilter) DayOf(t passerelle.Transaction) passerelle.Date {
	if f.ByDate {
		return t.Date
	}
	return t.ApplicationDate
}

// Plain reports whether the filter selects all transactions of its accounts. TransactionSpan then
// contains their number.
func (f TransactionFilter) Plain() bool {
	return f.IDs == nil && f.From.IsZero() && f.Until.IsZero() && !f.Institution && f.Since == nil && f.Income == nil && f.Wording == "" && f.Search == "" &&
		f.Least == nil && f.Most == nil && f.Values == nil
}

// accounts adds the conditions for the accounts whose transactions are selected.
func (f TransactionFilter) accounts(c *database.Clauses) {
	c.And("a.domain_id = %s AND a.user_id = %s", int64(f.Domain), int64(f.User))
	c.And(standing("a.connection_id"))
	if !f.All {
		c.And("a.disabled IS NULL AND a.deleted IS NULL")
	}
	if f.Connection != 0 {
		c.And("a.connection_id = %s", int64(f.Connection))
	}
	if f.Account != 0 {
		c.And("a.id = %s", int64(f.Account))
	}
}

// exact is a stored decimal in two integers: the digits before the point, and the fraction in
// ten-billionths. Both have the sign of the decimal. A single integer for the whole decimal could
// exceed 64 bits, and SQLite would turn it into a float.
type exact struct{ whole, rest string }

// exactOf returns the SQL expressions for the two parts of the decimal that a column stores. The
// scale of the decimal is in a column of the same name with the suffix _scale.
func exactOf(column string) exact {
	one := "CASE " + column + "_scale WHEN 0 THEN 1 WHEN 1 THEN 10 WHEN 2 THEN 100 WHEN 3 THEN 1000 WHEN 4 THEN 10000 WHEN 5 THEN 100000 WHEN 6 THEN 1000000" +
		" WHEN 7 THEN 10000000 WHEN 8 THEN 100000000 WHEN 9 THEN 1000000000 ELSE 10000000000 END"
	return exact{whole: "(" + column + " / " + one + ")", rest: fmt.Sprintf("(%s %% %s * (10000000000 / %s))", column, one, one)}
}

// compare returns an SQL comparison of a stored decimal with a value. The operator is a comparison
// operator such as "<=". compare supports values with at most ValueDigits digits after the point.
func compare(c *database.Clauses, stored exact, operator string, value decimal.Decimal) string {
	whole, rest, ok := value.Int64(ValueDigits)
	if !ok {
		return "FALSE" // a search may have more digits than any stored value
	}
	return fmt.Sprintf("(%s, %s) %s (%s, %s)", stored.whole, stored.rest, operator, c.Bind(whole), c.Bind(rest))
}

// ValueDigits is the number of digits after the point in comparisons of values.
const ValueDigits = 10

var valueAt = exactOf("t.value")

func (f TransactionFilter) where(c *database.Clauses) {
	if f.within != nil {
		f.among(c)
	} else {
		c.All = append(c.All, "a.id = t.account_id AND a.epoch = t.epoch")
		f.accounts(c)
	}
	switch {
	case f.Account != 0:
		c.And("t.account_id = %s AND t.epoch = %s", int64(f.Account), f.Epoch)
	case f.Connection != 0:
		c.And("t.connection_id = %s", int64(f.Connection))
	default:
		c.And("t.domain_id = %s AND t.user_id = %s", int64(f.Domain), int64(f.User))
	}
	switch {
	case len(f.IDs) == 1: // needs no sorting
		c.And("t.id = %s", int64(f.IDs[0]))
	case f.IDs != nil:
		c.All = append(c.All, "t.id IN ("+database.AnyOf(c, f.IDs)+")")
	}
	if !f.Deleted {
		c.And("t.deleted IS NULL")
	}
	if f.Institution {
		c.And("NOT t.manual")
	}
	f.bounds(c)
	f.words(c)
}

func (f TransactionFilter) bounds(c *database.Clauses) {
	if !f.From.IsZero() {
		c.And(f.day()+" >= %s", f.From.String())
	}
	if !f.Until.IsZero() {
		c.And(f.day()+" <= %s", f.Until.String())
	}
	if f.Since != nil {
		c.And("t.last_update > %s", database.Micros(*f.Since))
	}
	if f.Income != nil && *f.Income {
		c.And("t.value > 0")
	}
	if f.Income != nil && !*f.Income {
		c.And("t.value < 0")
	}
}

// label is the condition that the label contains a text. The case of letters does not matter.
const label = `COALESCE(t.custom_folded, t.folded) LIKE %s ESCAPE '!'`

// search adds the condition that a label, a day or a category contains the text, or that the value
// equals the text, regardless of the sign.
func (f TransactionFilter) search(c *database.Clauses) {
	part := c.Bind(database.Containing(database.Fold(f.Search)))
	clause := fmt.Sprintf(label+" OR t.date LIKE %[1]s ESCAPE '!' OR t.application_date LIKE %[1]s ESCAPE '!' OR LOWER(COALESCE(t.categories, '')) LIKE %[1]s ESCAPE '!'", part)
	if value, err := decimal.Parse(f.Search); err == nil && value.Scale() <= ValueDigits {
		clause += " OR " + compare(c, exact{"ABS(" + valueAt.whole + ")", "ABS(" + valueAt.rest + ")"}, "=", value.Abs())
	}
	c.All = append(c.All, "("+clause+")")
}

// words adds the conditions on texts, on values and on the limits of values.
func (f TransactionFilter) words(c *database.Clauses) {
	if f.Wording != "" {
		c.And(label, database.Containing(database.Fold(f.Wording)))
	}
	if f.Search != "" {
		f.search(c)
	}
	for _, bound := range []struct {
		value    *decimal.Decimal
		operator string
	}{{f.Least, ">="}, {f.Most, "<="}} {
		if bound.value != nil {
			c.All = append(c.All, compare(c, valueAt, bound.operator, *bound.value))
		}
	}
	if len(f.Values) > 0 {
		var equal []string
		for _, value := range database.Padded(f.Values) {
			equal = append(equal, compare(c, valueAt, "=", value))
		}
		c.All = append(c.All, "("+strings.Join(equal, " OR ")+")")
	}
}

// source returns the tables of the query. Both databases must read the index of transactions, which
// has the order of the list, and look up each account. CROSS JOIN prevents SQLite from starting
// with the accounts and sorting all their transactions.
func (f TransactionFilter) source() string {
	if f.within != nil {
		return `bank_transaction t WHERE `
	}
	return `bank_transaction t CROSS JOIN bank_account a WHERE `
}

// Transactions lists transactions, the newest first. The position of a window consists of the day
// and the id of a transaction.
func (r Reader) Transactions(ctx context.Context, f TransactionFilter, w store.Window) ([]passerelle.Transaction, error) {
	sql, args := f.page(w)
	return database.Collect(ctx, r.rows, scanTransaction, sql, args...)
}

func (f TransactionFilter) page(w store.Window) (string, []any) {
	order, sign := "DESC", "<"
	if w.Descending != w.Backward {
		order, sign = "ASC", ">"
	}
	var c database.Clauses
	f.where(&c)
	if len(w.From) == 2 {
		c.And("("+f.day()+", t.id) "+sign+" (%s, %s)", w.From[0], w.From[1])
	}
	columns := transactionColumns
	if f.undocumented {
		columns = undocumentedColumns + `0`
	}
	return fmt.Sprintf(`SELECT %s FROM %s %s ORDER BY %s %s, t.id %[5]s LIMIT %s OFFSET %s`,
		columns, f.source(), c.String(), f.day(), order, c.Bind(w.Limit), c.Bind(w.Offset)), c.Args
}

// CountTransactions returns the exact number of transactions that a filter selects.
func (r Reader) CountTransactions(ctx context.Context, f TransactionFilter) (int64, error) {
	if f.Plain() {
		span, err := r.TransactionSpan(ctx, f)
		return span.Transactions, err
	}
	var c database.Clauses
	f.where(&c)
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM `+f.source()+c.String(), c.Args...)
}

// TransactionSpan is the number of transactions in the accounts of a filter, and their first and
// last day. Apart from the fields that select accounts, only Deleted and ByDate of the filter
// matter.
type TransactionSpan struct {
	Accounts, Transactions int64
	First, Last            passerelle.Date
	// documented is the number of accounts with at least one document.
	documented int64
	// noted lists the accounts. It is nil for more than MaxWithin accounts.
	noted []accountEpoch
}

// Currency returns the currency of an account. The second result is false when the span does not
// list the account: a span lists the accounts only if there are at most MaxWithin of them.
func (s TransactionSpan) Currency(id passerelle.AccountID) (passerelle.Currency, bool) {
	for _, a := range s.noted {
		if a.account == int64(id) {
			return a.currency, true
		}
	}
	return "", false
}

// TransactionSpan reads the span of a filter. It reads counters, and both ends of an index for each
// account.
func (r Reader) TransactionSpan(ctx context.Context, f TransactionFilter) (TransactionSpan, error) {
	var s TransactionSpan
	var c database.Clauses
	f.accounts(&c)
	there, stored := " AND t.deleted IS NULL", "a.transactions"
	if f.Deleted {
		there, stored = "", "a.transactions + a.deleted_transactions"
	}
	end := func(order string) string {
		return fmt.Sprintf(`(SELECT %s FROM bank_transaction t WHERE t.account_id = a.id AND t.epoch = a.epoch%s ORDER BY %[1]s %[3]s, t.id %[3]s LIMIT 1)`, f.day(), there, order)
	}
	err := r.rows.Each(ctx, `SELECT a.id, a.epoch, a.details, `+stored+`,
		CASE WHEN EXISTS (SELECT 1 FROM transaction_document x WHERE x.account_id = a.id AND x.account_epoch = a.epoch) THEN 1 ELSE 0 END, `+end("ASC")+`, `+end("DESC")+` FROM bank_account a WHERE `+c.String(), c.Args, func(row database.Row) (bool, error) {
		return true, s.add(row)
	})
	if s.Accounts > MaxWithin {
		s.noted = nil
	}
	return s, err
}

// add adds an account to the span.
func (s *TransactionSpan) add(row database.Row) error {
	var (
		of                 accountEpoch
		details            string
		stored, documented int64
		oldest, last       *string
	)
	if err := row.Scan(&of.account, &of.epoch, &details, &stored, &documented, &oldest, &last); err != nil {
		return err
	}
	s.Accounts, s.Transactions, s.documented = s.Accounts+1, s.Transactions+stored, s.documented+documented
	if s.Accounts <= MaxWithin {
		if err := decodeDetails(details, &struct{ Currency *passerelle.Currency }{&of.currency}); err != nil {
			return fmt.Errorf("read the currency of account %d: %w", of.account, err)
		}
		s.noted = append(s.noted, of)
	}
	first, err := database.Date(oldest)
	if err != nil {
		return err
	}
	end, err := database.Date(last)
	if s.First.IsZero() || !first.IsZero() && first.Compare(s.First) < 0 {
		s.First = first
	}
	if end.Compare(s.Last) > 0 {
		s.Last = end
	}
	return err
}

// ChangedTransaction is a transaction that has changed. Unstated means that a statement of the
// changes omits it: an earlier complete read already found it booked, or a client created it.
type ChangedTransaction struct {
	passerelle.Transaction
	Unstated bool
}

func scanChanged(row database.Row) (ChangedTransaction, error) {
	var (
		c   ChangedTransaction
		err error
	)
	c.Transaction, err = scanTransaction(after{row, []any{&c.Unstated}})
	return c, err
}

// ChangedTransactions lists an account's transactions, ordered by id, that have changed since the
// last complete read that a sync has reported. The list has at most limit transactions. Their ids
// are greater than the argument after.
func (r Reader) ChangedTransactions(ctx context.Context, a StoredAccount, after passerelle.TransactionID, limit int) ([]ChangedTransaction, error) {
	return database.Collect(ctx, r.rows, scanChanged, `SELECT t.manual OR COALESCE(t.booked < t.changed, FALSE), `+transactionColumns+` FROM bank_transaction t
		WHERE t.account_id = $1 AND t.epoch = $2 AND t.changed = $3 AND t.id > $4 ORDER BY t.id LIMIT $5`,
		int64(a.ID), a.Epoch, a.NextReading(), int64(after), limit)
}

// NewTransactions lists the transactions that the last complete read of each account reported as
// changed, the newest first. It covers the shared accounts of the connections.
func (r Reader) NewTransactions(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, connections []passerelle.ConnectionID, limit int) ([]passerelle.Transaction, error) {
	var c database.Clauses
	c.And("c.domain_id = %s AND c.user_id = %s AND c.deleted IS NULL", int64(domain), int64(user))
	c.All = append(c.All, "c.id IN ("+database.AnyOf(&c, connections)+")")
	return database.Collect(ctx, r.rows, scanTransaction, `SELECT `+transactionColumns+` FROM connection c CROSS JOIN bank_account a CROSS JOIN bank_transaction t WHERE `+c.String()+`
		AND a.connection_id = c.id AND a.disabled IS NULL AND a.deleted IS NULL AND t.account_id = a.id AND t.epoch = a.epoch AND t.changed = a.readings
		ORDER BY t.application_date DESC, t.id DESC LIMIT `+c.Bind(limit), c.Args...)
}
