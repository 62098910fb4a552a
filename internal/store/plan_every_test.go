package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"passerelle/internal/database"
	"passerelle/internal/store/storetest"
)

// bounded contains the tables that a statement may read completely, with the reason why each stays
// small. All other tables grow.
var bounded = map[string]string{
	"domain": "made by hand", "setting": "the keys that are known", "connector_name": "one for each connector", "counter": "16 for each total of a domain",
	"payment_edge": "the table of states", "maintenance": "one row", "last_backup": "one row", "sealing": "one row", "key_check": "one row", "sequence": "one for each table",
	"schema_migration": "one for each migration", "audit_turn": "one row", "audit_end": "one for each domain", "unit_mark": "one for each process and transaction under way",
	"purge_place": "a few for each domain", "webhook": "registered by hand, and bounded", "auth_provider": "registered by hand", "client": "registered by hand",
	"client_logo": "one for each client", "terms": "published by hand", "terms_text": "published by hand", "document_type": "published by hand", "operator": "made by hand",
	"connector_program": "made by hand", "operator_identity": "one for each operator", "sign_key": "made by hand", "field_key": "made by hand", "setting_change": "made by hand",
	"bank_disturbance": "a few for each process", "payment_word_earlier": "one for each domain", "payment_name_earlier": "one for each domain",
	"sign_in_failure": "kept up to a number", "received": "kept up to a number, in sandboxes", "mail": "alerts, one in an hour for each webhook",
}

// granted contains the statements that may read many rows, each with a step of its plan and the
// reason.
var granted = []struct{ statement, step, why string }{
	{`ORDER BY (amount|date_type|state|instruction_count|validated|connector_name|id|registered|place_key)\b`, `payment_(by|in|of)_`, "a filter beside another order: what it selects is sorted, or the order is walked"},
	{`FROM payment WHERE domain_id = \$1 AND (registered [<>]=? \$\d+ AND )*(state|date_type|amount|validated|connector_uuid IN|connector_uuid IS NULL).* LIMIT \d+\) AS counted`, `payment_`, "a count of several filters at once goes through what one of them selects"},
	{`EXISTS \(SELECT 1 FROM delivery d WHERE d.webhook_id = webhook.id AND d.delivered IS NULL AND d.dropped IS NULL\)`, `delivery_waiting, condition \(webhook_id = webhook\.id\)`, "stops at the first row"},
	{`AND FALSE|AND 1 = 0`, ``, "selects nothing"},
	{`FROM audit\b`, `audit`, "operators look at the audit log, by filters that have no index"},
	{`^UPDATE \w+ SET (lease_until|check_lease) = 0 WHERE`, ``, "once, when a copy was restored"},
	{`^UPDATE token SET revoked = \$1 WHERE domain_id = \$2 AND client_id = \$3`, `token_by_domain`, "an application is deleted by hand"},
	{`SELECT COALESCE\(MAX\(id\), 0\)`, ``, "the last of an index"},
	{`SELECT count\(\*\) FROM connection.* AND terminate IS NOT NULL .* AND failures >= \$2`, `connection_terminating`, "doctor counts them, over an index of the connections whose consent is still to be ended"},
}

// step is one access of a plan to rows of a table, with or without an index.
type step struct {
	table, index string
	bounds       []string
	// page means that the step reads rows from an index, without a sort and up to a limit, and
	// skips no row.
	page bool
	// repeated means that the step is in a subquery, which the database may execute for each row of
	// another step. It is set only for PostgreSQL.
	repeated bool
	text     string
}

// grows reports whether the step reads more rows when the table grows, or when the domain's part of
// the table grows. A step in a subquery must not read all rows of a webhook either.
func (s step) grows() bool {
	if bounded[s.table] != "" || s.page {
		return false
	}
	return len(s.bounds) == 0 || len(s.bounds) == 1 && (isColumn(s.bounds[0], "domain_id") || s.repeated && isColumn(s.bounds[0], "webhook_id"))
}

// isColumn reports whether the bound is the column, or on PostgreSQL an expression with the values
// of the column, such as webhook_id + 0.
func isColumn(bound, column string) bool { return finds(`^\W*`+column+`(\W|$)`, bound) }

func isGranted(sql string, s step) bool {
	for _, one := range granted {
		if finds(`(?s)`+one.statement, sql) && finds(one.step, s.text) {
			return true
		}
	}
	return false
}

var expressions sync.Map // of *regexp.Regexp, by their texts

func finds(expression, text string) bool {
	compiled, known := expressions.Load(expression)
	if !known {
		compiled, _ = expressions.LoadOrStore(expression, regexp.MustCompile(expression))
	}
	return compiled.(*regexp.Regexp).MatchString(text)
}

// planned is a database that shows the generic plans of statements.
type planned struct {
	t       *testing.T
	pool    *sql.DB
	words   *database.Dialect
	columns map[string][]string // the columns of each index
	tables  map[string]bool
	// executed contains the statements that TestEveryStatement plans.
	executed []storetest.Statement
}

func newPlanned(t *testing.T, address string) *planned {
	t.Helper()
	p := &planned{t: t, words: database.PostgresDialect(), columns: map[string][]string{}, tables: map[string]bool{}}
	driver, list := "pgx", `SELECT t.relname, i.relname, pg_get_indexdef(x.indexrelid, k, FALSE) FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid,
		generate_series(1, x.indnkeyatts) k WHERE t.relnamespace = current_schema()::regnamespace ORDER BY i.relname, k`
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		p.words, driver, address = database.SQLiteDialect(), "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
		list = `SELECT m.name, i.name, COALESCE(k.name, '<expr>') FROM sqlite_schema m, pragma_index_list(m.name) i, pragma_index_info(i.name) k WHERE m.type = 'table' ORDER BY i.name, k.seqno`
	} else {
		address = storetest.Direct(t, address)
		for name, value := range database.PostgresParameters() {
			address += "&" + name + "=" + url.QueryEscape(value)
		}
		address += "&default_query_exec_mode=simple_protocol"
	}
	var err error
	if p.pool, err = sql.Open(driver, address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.pool.Close() })
	p.pool.SetMaxOpenConns(1)
	p.each(list, func(rows *sql.Rows) error {
		var table, index, column string
		err := rows.Scan(&table, &index, &column)
		p.columns[index], p.tables[table] = append(p.columns[index], column), true
		return err
	})
	return p
}

func (p *planned) do(text string) {
	p.t.Helper()
	if _, err := p.pool.ExecContext(p.t.Context(), text); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
}

func (p *planned) each(text string, row func(*sql.Rows) error, args ...any) {
	p.t.Helper()
	rows, err := p.pool.QueryContext(p.t.Context(), text, args...)
	if err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			p.t.Fatalf("%v: %s", err, text)
		}
	}
	if err := rows.Err(); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
}

func (p *planned) strings(text string) (all []string) {
	p.t.Helper()
	p.each(text, func(rows *sql.Rows) error {
		var one string
		err := rows.Scan(&one)
		all = append(all, one)
		return err
	})
	return all
}

func (p *planned) isPostgres() bool { return p.words.Name == "postgres" }

var placeholder = regexp.MustCompile(`\$(\d+)`)

func parametersOf(text string) (most int) {
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		most = max(most, atoi(found[1]))
	}
	return most
}

func (p *planned) steps(text string) []step {
	p.t.Helper()
	if p.isPostgres() {
		return p.stepsOfPostgres(text)
	}
	return p.stepsOfSQLite(text)
}

type node struct {
	Type   string `json:"Node Type"`
	Table  string `json:"Relation Name"`
	Index  string `json:"Index Name"`
	Cond   string `json:"Index Cond"`
	Filter string `json:"Filter"`
	// Parent is SubPlan for a subquery that PostgreSQL may execute for each row of another node.
	Parent string `json:"Parent Relationship"`
	Plans  []node `json:"Plans"`
}

func (p *planned) stepsOfPostgres(text string) (steps []step) {
	p.t.Helper()
	p.do(`PREPARE this AS ` + p.words.Text(text))
	defer p.do(`DEALLOCATE this`)
	execute := `EXECUTE this`
	if n := parametersOf(text); n > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	p.each(`EXPLAIN (COSTS OFF, FORMAT JSON) `+execute, func(rows *sql.Rows) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var all []struct{ Plan node }
		err := json.Unmarshal(text, &all)
		for _, one := range all {
			steps = p.walk(one.Plan, false, false, steps)
		}
		return err
	})
	return steps
}

// inOrder contains plan nodes that pass on rows one by one, and stop when no more rows are needed.
var inOrder = []string{"Nested Loop", "LockRows", "Subquery Scan", "Append", "Merge Append", "Result", "Limit"}

func (p *planned) walk(n node, limited, repeated bool, steps []step) []step {
	subquery := n.Parent == "SubPlan"
	limited, repeated = limited && !subquery && n.Parent != "InitPlan", repeated || subquery
	if n.Table != "" && n.Type != "ModifyTable" && n.Type != "Bitmap Heap Scan" {
		steps = append(steps, step{
			table: n.Table, index: n.Index, bounds: p.bounds(n.Index, n.Cond), page: limited && n.Filter == "" && n.Index != "", repeated: repeated,
			text: fmt.Sprintf("%s on %s using %s, condition %s, filter %s", n.Type, n.Table, n.Index, n.Cond, n.Filter),
		})
	}
	limited = n.Type == "Limit" || limited && slices.Contains(inOrder, n.Type)
	for _, below := range n.Plans {
		steps = p.walk(below, limited, repeated, steps)
	}
	return steps
}

// bounds returns the leading columns of an index that a condition uses. In the definition of an
// index, PostgreSQL writes an expression with more parentheses and line breaks than in a condition.
func (p *planned) bounds(index, condition string) (bounds []string) {
	for _, column := range p.columns[index] {
		expression := strings.Join(strings.Fields(strings.Trim(column, "()")), " ")
		if !finds(`(^|\W)`+regexp.QuoteMeta(expression)+`(\W|$)`, condition) {
			break
		}
		bounds = append(bounds, column)
	}
	return bounds
}

var (
	access     = regexp.MustCompile(`^(SCAN|SEARCH) (\w+)(?: EXISTS)?(?: USING (?:COVERING )?(?:(INTEGER PRIMARY KEY)|PRIMARY KEY|INDEX (\w+)))?(?: \((.*)\))?`)
	comparison = regexp.MustCompile(`[=<>].*$`)
	// pageOnly matches a statement that reads a page of a domain's rows. Its only conditions are
	// the domain and, for some statements, the condition of a partial index.
	pageOnly = regexp.MustCompile(`(?s)WHERE (\w+\.)?domain_id = \$\d+\s+(AND deleted IS NULL AND state IS NULL |AND state <> 'answered' )?ORDER BY [^()]*LIMIT`)
)

func (p *planned) stepsOfSQLite(text string) (steps []step) {
	p.t.Helper()
	sorts := false
	p.each(`EXPLAIN QUERY PLAN `+p.words.Text(text), func(rows *sql.Rows) error {
		var id, parent, unused int64
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		sorts = sorts || strings.Contains(detail, "TEMP B-TREE")
		m := access.FindStringSubmatch(detail)
		if m == nil {
			return err
		}
		if table := p.tableOf(text, m[2]); table != "" {
			steps = append(steps, step{table: table, index: m[3] + m[4], bounds: conditionsOf(m[5]), text: detail})
		}
		return err
	}, make([]any, parametersOf(text))...)
	for i := range steps {
		steps[i].page = steps[i].index != "" && !sorts && pageOnly.MatchString(text)
	}
	return steps
}

func conditionsOf(text string) (columns []string) {
	for condition := range strings.SplitSeq(text, " AND ") {
		if condition != "" {
			columns = append(columns, comparison.ReplaceAllString(condition, ""))
		}
	}
	return columns
}

// tableOf returns the table to which a name in a statement refers. It returns "" for a common table
// expression.
func (p *planned) tableOf(text, name string) string {
	if p.tables[name] {
		return name
	}
	for _, found := range regexp.MustCompile(`(\w+)"?\s+(?:AS\s+)?`+name+`\b`).FindAllStringSubmatch(text, -1) {
		if p.tables[found[1]] {
			return found[1]
		}
	}
	return ""
}

// references returns the queries with which PostgreSQL checks that a referenced row exists, and
// that no row refers to a deleted row. SQLite executes similar queries.
func (p *planned) references() (all []string) {
	p.t.Helper()
	list := `SELECT m.name, f."table", f."from", COALESCE(f."to", 'id'), f.id FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq`
	if p.isPostgres() {
		list = `SELECT c.conrelid::regclass::text, c.confrelid::regclass::text, a.attname, b.attname, c.oid::bigint FROM pg_constraint c, unnest(c.conkey, c.confkey) WITH ORDINALITY k(x, y, n),
			pg_attribute a, pg_attribute b WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace
			AND a.attrelid = c.conrelid AND a.attnum = k.x AND b.attrelid = c.confrelid AND b.attnum = k.y ORDER BY c.oid, k.n`
	}
	type key struct {
		child, parent string
		id            int64
	}
	columns, keys := map[key][][2]string{}, []key{}
	p.each(list, func(rows *sql.Rows) error {
		var k key
		var from, to string
		err := rows.Scan(&k.child, &k.parent, &from, &to, &k.id)
		if columns[k] == nil {
			keys = append(keys, k)
		}
		columns[k] = append(columns[k], [2]string{from, to})
		return err
	})
	lock := map[bool]string{true: " FOR KEY SHARE OF x"}[p.isPostgres()]
	for _, k := range keys {
		var up, down []string
		for i, pair := range columns[k] {
			down, up = append(down, fmt.Sprintf("$%d = x.%s", i+1, pair[0])), append(up, fmt.Sprintf("x.%s = $%d", pair[1], i+1))
		}
		all = append(all, `SELECT 1 FROM `+k.parent+` x WHERE `+strings.Join(up, " AND ")+lock)
		if p.removed(k.parent) {
			all = append(all, `SELECT 1 FROM `+k.child+` x WHERE `+strings.Join(down, " AND ")+lock)
		}
	}
	return all
}

// removed reports whether any executed statement removes rows of a table.
func (p *planned) removed(table string) bool {
	removes := regexp.MustCompile(`^\s*DELETE FROM ` + table + `\b`)
	return slices.ContainsFunc(p.executed, func(s storetest.Statement) bool { return removes.MatchString(s.SQL) })
}

// TestEveryStatement plans every statement that the program has executed so far, in this process
// and in processes that wrote their statements to a folder. Except the statements in granted, no
// statement may read all rows of a growing table, or all rows of a domain in such a table. Checks
// of references are planned on empty tables as well, because PostgreSQL keeps their plans until
// there are statistics.
func TestEveryStatement(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, address string) {
		s := newFixture(t, address)
		askEverything(t, s)
		p := newPlanned(t, address)
		p.executed = storetest.Statements(t)
		t.Parallel() // one half of the test waits for PostgreSQL, the other uses the processor of this program
		texts := p.references()
		texts = append(texts, p.asked()...)
		p.inspect("empty", p.references())
		s.crowdEvery(p)
		p.forgetStatistics()
		p.inspect("filled without statistics", texts)
		p.takeStatistics()
		p.inspect("filled", texts)
		if p.isPostgres() { // SQLite has no statistics in production
			p.pretendFew()
			p.inspect("filled since the statistics were taken", texts)
		}
		t.Logf("%d statements", len(texts))
	})
}

var listOfArguments = regexp.MustCompile(`\$\d+(?:,\s*\$\d+)+`)

// asked returns the executed statements. It returns one of several statements that differ only in
// the length of a list.
func (p *planned) asked() (texts []string) {
	p.t.Helper()
	known := map[string]bool{}
	for _, one := range p.executed {
		alike := listOfArguments.ReplaceAllString(one.SQL, "$$")
		if one.Database == p.words.Name && !strings.HasPrefix(one.SQL, "LOCK TABLE") && !known[alike] {
			known[alike] = true
			texts = append(texts, one.SQL)
		}
	}
	return texts
}

// askEverything executes the statements of TestPlans, because a test may run without TestPlans.
func askEverything(t *testing.T, s fixture) {
	t.Helper()
	for name, question := range s.questions() {
		if err := question.run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// inspect reports each step that grows and is not granted. Of several steps that differ only in
// parameter numbers such as $1, it reports one.
func (p *planned) inspect(when string, texts []string) {
	p.t.Helper()
	known := map[string]bool{}
	for _, text := range texts {
		for _, step := range p.steps(text) {
			if alike := placeholder.ReplaceAllString(step.text, "$$"); step.grows() && !isGranted(text, step) && !known[alike] {
				known[alike] = true
				p.t.Errorf("%s: %s\nof %s", when, step.text, text)
			}
		}
	}
}

func (s fixture) crowdEvery(p *planned) {
	s.t.Helper()
	const after, many = 100_000, 2 * fewDeliveries
	s.populateAfter(after, after+many)
	s.crowded(after, many)
	s.crowdIn(s.domain, after, many)
	p.fill(many)
}

// fill inserts a number of rows into every growing table. In most columns that allow NULL, half of
// the values are NULL.
func (p *planned) fill(n int) {
	p.t.Helper()
	columns, free := `SELECT m.name, c.name, lower(c.type), c."notnull" = 1 FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, c.cid`,
		append([]string{`PRAGMA foreign_keys = OFF`, `PRAGMA ignore_check_constraints = ON`}, p.triggers()...)
	if p.isPostgres() {
		columns, free = `SELECT table_name, column_name, data_type, is_nullable = 'NO' FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, ordinal_position`,
			[]string{storetest.DropChecks, `SET session_replication_role = replica`}
	}
	for _, text := range free {
		p.do(text)
	}
	names, values := map[string][]string{}, map[string][]string{}
	p.each(columns, func(rows *sql.Rows) error {
		var table, column, kind string
		var filled bool
		err := rows.Scan(&table, &column, &kind, &filled)
		names[table], values[table] = append(names[table], column), append(values[table], valueOf(column, kind, filled))
		return err
	})
	const first = 50_000_000
	for table := range names {
		if bounded[table] == "" {
			p.do(fmt.Sprintf(`INSERT INTO %s (%s) WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n WHERE TRUE ON CONFLICT DO NOTHING`,
				table, strings.Join(names[table], ", "), first, first+n-1, strings.Join(values[table], ", ")))
		}
	}
}

// triggers returns statements that drop SQLite's triggers, because triggers cannot be disabled.
func (p *planned) triggers() []string {
	if p.isPostgres() {
		return nil
	}
	return p.strings(`SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'`)
}

func valueOf(column, kind string, filled bool) string {
	value := map[string]string{
		"bigint": "i", "integer": "i", "boolean": "i % 2 = 0", "blob": "randomblob(16)", "bytea": "decode(md5(CAST(i AS TEXT)), 'hex')",
	}[kind]
	switch {
	case column == "domain_id":
		return "1"
	case value == "":
		value = "'x' || CAST(i AS TEXT)"
	}
	if filled || column == "id" {
		return value
	}
	return "CASE WHEN i % 2 = 0 THEN " + value + " END"
}

// forgetStatistics removes all statistics. A database that was restored from a dump is in the same
// condition.
func (p *planned) forgetStatistics() {
	p.t.Helper()
	if !p.isPostgres() {
		for _, text := range []string{`ANALYZE`, `DELETE FROM sqlite_stat1`, `DELETE FROM sqlite_stat4`, `ANALYZE sqlite_schema`} {
			p.do(text)
		}
		// The open connection still knows the sizes of tables. Without statistics, SQLite expects a
		// million rows in each table. The next statement opens another connection.
		p.pool.SetMaxIdleConns(0)
		p.pool.SetMaxIdleConns(1)
		return
	}
	p.do(`DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)`)
	p.do(`UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')`)
}

// pretendFew changes PostgreSQL's statistics as if few rows had waited when they were taken.
// PostgreSQL then expects that reading an index of waiting rows completely costs almost nothing,
// for example the index of pending deliveries. It changes each column whose being NULL or not is a
// condition of a partial index, except the columns in kept, which rarely change. If indexes have
// both conditions, few rows have NULL.
func (p *planned) pretendFew() {
	p.t.Helper()
	const (
		partial = `SELECT x.indrelid, pg_get_expr(x.indpred, x.indrelid) AS condition FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid
			WHERE t.relnamespace = current_schema()::regnamespace AND x.indpred IS NOT NULL`
		kept = `'deleted', 'user_id', 'account_id', 'subscription_id', 'file_id', 'payer_identification', 'connector_uuid'`
	)
	for _, few := range [][2]string{{" IS NOT NULL", "1"}, {" IS NULL", "0"}} {
		p.do(`UPDATE pg_statistic s SET stanullfrac = ` + few[1] + ` FROM pg_attribute a, (` + partial + `) i
			WHERE a.attrelid = s.starelid AND a.attnum = s.staattnum AND i.indrelid = s.starelid
			AND a.attname NOT IN (` + kept + `) AND strpos(i.condition, '(' || a.attname || '` + few[0] + `)') > 0`)
	}
}

// takeStatistics collects statistics. For SQLite, it replaces row counts above 1,000 by a million,
// because SQLite rightly reads a small table completely.
func (p *planned) takeStatistics() {
	p.t.Helper()
	p.do(`ANALYZE`)
	if !p.isPostgres() {
		p.do(`UPDATE sqlite_stat1 SET stat = '1000000' || CASE WHEN instr(stat, ' ') > 0 THEN substr(stat, instr(stat, ' ')) ELSE '' END WHERE CAST(stat AS INTEGER) > 1000`)
		p.do(`ANALYZE sqlite_schema`)
	}
}
