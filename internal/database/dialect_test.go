package database

import "testing"

// TestUnnamed checks that SQLite gets arguments by position where possible, and does not see the
// value of a limit when it plans.
func TestUnnamed(t *testing.T) {
	for name, test := range map[string]struct{ sql, want string }{
		"in order":       {"INSERT INTO t VALUES ($1, $2), ($3, $4)", "INSERT INTO t VALUES (?, ?), (?, ?)"},
		"again":          {"SELECT $1, $2 WHERE $1 = $3", "SELECT ?, ? WHERE ?1 = ?"},
		"shared by rows": {"VALUES ($1, $2), ($1, $3)", "VALUES (?, ?), (?1, ?)"},
		"out of order":   {"SELECT $2, $1, $3, $12, $11", "SELECT ?2, ?1, ?, ?12, ?11"},
		"limits":         {"SELECT 1 LIMIT $1 OFFSET $2", "SELECT 1 LIMIT 0 + ? OFFSET ?"},
		"a limit again":  {"SELECT $1 LIMIT $1", "SELECT ? LIMIT 0 + ?1"},
		"none":           {"SELECT 1 LIMIT 1", "SELECT 1 LIMIT 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SQLiteDialect().Text(test.sql); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}
