package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const scalingPage = "../../docs/scaling.md"

// These expressions match lines of the recorded schema, except keyTable, which matches the table of
// keys in docs/scaling.md.
var (
	columnLine  = regexp.MustCompile(`(?m)^column (\w+)\.(\w+) `)
	primaryLine = regexp.MustCompile(`(?m)^constraint \w+\.(\w+) PRIMARY KEY`)
	uniqueLine  = regexp.MustCompile(`(?m)^CREATE UNIQUE INDEX (\w+) ON (\w+) USING btree \((\w+)`)
	foreignLine = regexp.MustCompile(`(?m)^constraint (\w+)\.\w+ FOREIGN KEY \((\w+)`)
	keyTable    = regexp.MustCompile(`(?m)^\| Keys \|.*\n(?:\|.*\n)+`)
)

// keyCounts counts the keys that begin with the domain, the other keys of tables with a domain, and
// the keys of tables without a domain.
type keyCounts struct{ first, without, elsewhere int }

func (c *keyCounts) add(first string, hasDomain bool) {
	switch {
	case !hasDomain:
		c.elsewhere++
	case first == "domain_id":
		c.first++
	default:
		c.without++
	}
}

func (c keyCounts) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d |\n", name, c.first+c.without+c.elsewhere, c.first, c.without, c.elsewhere)
}

func countedKeys(schema string) string {
	hasDomain, isPrimary := map[string]bool{}, map[string]bool{}
	for _, match := range columnLine.FindAllStringSubmatch(schema, -1) {
		hasDomain[match[1]] = hasDomain[match[1]] || match[2] == "domain_id"
	}
	for _, match := range primaryLine.FindAllStringSubmatch(schema, -1) {
		isPrimary[match[1]] = true
	}
	var primary, unique, foreign keyCounts
	for _, match := range uniqueLine.FindAllStringSubmatch(schema, -1) {
		counts := &unique
		if isPrimary[match[1]] {
			counts = &primary
		}
		counts.add(match[3], hasDomain[match[2]])
	}
	for _, match := range foreignLine.FindAllStringSubmatch(schema, -1) {
		foreign.add(match[2], hasDomain[match[1]])
	}
	return "| Keys | All | Begin with the domain | Lack it | Of tables without a domain |\n|---|---:|---:|---:|---:|\n" +
		primary.row("primary keys") + unique.row("other unique keys") + foreign.row("foreign keys")
}

// TestScalingPageCountsTheKeys checks that docs/scaling.md says how many keys begin with the
// domain. A table can be distributed by the domain only when its keys contain the domain.
func TestScalingPageCountsTheKeys(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("testdata", "schema.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(scalingPage)
	if err != nil {
		t.Fatal(err)
	}
	want, got := countedKeys(string(schema)), keyTable.FindString(string(page))
	if *update && got != "" {
		written := strings.Replace(string(page), got, want, 1)
		if err := os.WriteFile(scalingPage, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/scaling.md does not count the keys of the schema; run make generate: (-want +got)\n%s", diff)
	}
}
