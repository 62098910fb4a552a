package storetest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// prepare migrates the database at an address. Databases start empty when prepare is nil.
var prepare func(ctx context.Context, url string) error

// Prepare makes the functions SQLite and Postgres return databases with the schema that the
// function migrate creates. The migrations run only once, because it is far faster to copy a file,
// or to empty the tables after a test.
func Prepare(migrate func(ctx context.Context, url string) error) { prepare = migrate }

var sqliteTemplate struct {
	sync.Mutex
	content []byte
}

func sqliteCopy(t testing.TB) []byte {
	t.Helper()
	sqliteTemplate.Lock()
	defer sqliteTemplate.Unlock()
	if sqliteTemplate.content != nil {
		return sqliteTemplate.content
	}
	path := filepath.Join(t.TempDir(), "template")
	if err := prepare(t.Context(), "sqlite:"+path); err != nil {
		t.Fatalf("prepare a database: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the prepared database: %v", err)
	}
	sqliteTemplate.content = content
	return content
}

// schemas contains the free PostgreSQL schemas of this program, in their original state. Schemas
// that are free when the program ends stay on the server.
var schemas struct {
	sync.Mutex
	free []string
	// pools has the open sessions of inspections, by the addresses of schemas. It has an entry for
	// each schema that a test uses, and for each free schema.
	pools   map[string]*sql.DB
	altered []string
}

// remember creates a second schema, seed_{schema}. In this schema, it stores the rows that
// migrations wrote and the positions of the sequences.
const remember = `CREATE SCHEMA seed_{schema};
CREATE TABLE seed_{schema}.stood AS SELECT format('%I.%I', schemaname, sequencename) AS name, start_value, last_value FROM pg_sequences WHERE schemaname = '{schema}';
DO $$ DECLARE t TEXT; written BOOLEAN; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' LOOP
		EXECUTE format('SELECT EXISTS (SELECT FROM {schema}.%I)', t) INTO written;
		IF written THEN EXECUTE format('CREATE TABLE seed_{schema}.%I AS TABLE {schema}.%I', 'row_' || t, t); END IF;
	END LOOP;
END $$`

// recall restores the rows and sequences from the second schema. It disables triggers, because most
// of them prevent the removal of rows. It fails on tables that are in use.
const recall = `SET lock_timeout = '5s';
SET session_replication_role = replica;
DO $$ DECLARE t TEXT; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' LOOP
		EXECUTE format('DELETE FROM {schema}.%I', t);
	END LOOP;
	FOR t IN SELECT substr(tablename, 5) FROM pg_tables WHERE schemaname = 'seed_{schema}' AND starts_with(tablename, 'row_') LOOP
		EXECUTE format('INSERT INTO {schema}.%I OVERRIDING SYSTEM VALUE TABLE seed_{schema}.%I', t, 'row_' || t);
	END LOOP;
	PERFORM setval(name::regclass, coalesce(last_value, start_value), last_value IS NOT NULL) FROM seed_{schema}.stood;
END $$`

// postgresPrepared returns the address of a schema with its tables.
func postgresPrepared(t testing.TB, server string) string {
	t.Helper()
	name := takeSchema()
	if name == "" {
		name = newName()
		createSchema(t, server, name)
		if err := prepare(t.Context(), inSchema(t, server, name)); err != nil {
			t.Fatalf("prepare a schema: %v", err)
		}
		execute(t, server, strings.ReplaceAll(remember, "{schema}", name))
	}
	address := inSchema(t, server, name)
	expectPool(address)
	t.Cleanup(func() { leave(t, server, name, address) })
	return address
}

// leave makes a schema available to the next test, or drops an altered schema.
func leave(t testing.TB, server, name, address string) {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if slices.Contains(schemas.altered, address) {
		if pool := schemas.pools[address]; pool != nil {
			_ = pool.Close()
		}
		delete(schemas.pools, address)
		execute(t, server, strings.ReplaceAll("DROP SCHEMA {schema} CASCADE; DROP SCHEMA seed_{schema} CASCADE", "{schema}", name))
		return
	}
	execute(t, server, strings.ReplaceAll(recall, "{schema}", name)) // fails the test when it cannot restore the schema
	schemas.free = append(schemas.free, name)
}

// expectPool allows keepPool to keep the sessions of a schema.
func expectPool(address string) {
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.pools == nil {
		schemas.pools = map[string]*sql.DB{}
	}
	if _, expected := schemas.pools[address]; !expected {
		schemas.pools[address] = nil
	}
}

func keptPool(address string) *sql.DB {
	schemas.Lock()
	defer schemas.Unlock()
	return schemas.pools[address]
}

// keepPool keeps the sessions of a schema for later tests, if the schema remains after the test and
// has no kept sessions yet.
func keepPool(address string, pool *sql.DB) bool {
	schemas.Lock()
	defer schemas.Unlock()
	if kept, remains := schemas.pools[address]; !remains || kept != nil {
		return false
	}
	schemas.pools[address] = pool
	return true
}

func markAltered(address string) {
	schemas.Lock()
	defer schemas.Unlock()
	schemas.altered = append(schemas.altered, address)
}

func takeSchema() string {
	schemas.Lock()
	defer schemas.Unlock()
	if len(schemas.free) == 0 {
		return ""
	}
	name := schemas.free[0]
	schemas.free = slices.Delete(schemas.free, 0, 1)
	return name
}
