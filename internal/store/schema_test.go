package store_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
	"passerelle/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the schemas in testdata")

// dumps contains queries that describe a whole schema, one text per row. The order of the rows
// depends only on names and on the order of columns.
var dumps = map[string]string{
	"sqlite": `SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY tbl_name, type DESC, name`,
	"postgres": `WITH relation AS (
		SELECT oid, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
	), line AS (
		SELECT relname, 1 AS part, attnum::text AS name, format('column %s.%s %s%s%s%s', relname, attname, format_type(atttypid, atttypmod),
			CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, CASE WHEN attidentity <> '' THEN ' IDENTITY' ELSE '' END,
			COALESCE(' DEFAULT ' || pg_get_expr(adbin, adrelid), '') || COALESCE(' ' || attoptions::text, '')) AS text, attnum AS position
		FROM relation JOIN pg_attribute ON attrelid = relation.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		WHERE attnum > 0 AND NOT attisdropped
		UNION ALL
		SELECT relname, 2, conname, format('constraint %s.%s %s', relname, conname, pg_get_constraintdef(c.oid)), 0
		FROM relation JOIN pg_constraint c ON conrelid = relation.oid AND contype <> 'n'
		UNION ALL
		SELECT relname, 3, indexrelid::regclass::text, pg_get_indexdef(indexrelid), 0 FROM relation JOIN pg_index ON indrelid = relation.oid
		UNION ALL
		SELECT relname, 4, tgname, pg_get_triggerdef(t.oid), 0 FROM relation JOIN pg_trigger t ON tgrelid = relation.oid WHERE NOT tgisinternal
		UNION ALL
		SELECT '~', 5, proname, pg_get_functiondef(oid), 0 FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
	)
	SELECT replace(text, current_schema() || '.', '') FROM line ORDER BY relname COLLATE "C", part, position, name COLLATE "C"`,
}

// TestSchema compares the schema that the migrations create with the recorded schema. Reviewers
// therefore see a change to the schema of either database.
func TestSchema(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		db := openOnly(t, url)
		if err := db.Database.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		name := db.Rows().Dialect().Name
		lines, err := database.Collect(t.Context(), db.Rows(), database.ScanString, dumps[name])
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines, "\n") + "\n"
		golden := filepath.Join("testdata", "schema."+name+".sql")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the schema differs from %s; run make generate (-want +got):\n%s", golden, diff)
		}
	})
}
