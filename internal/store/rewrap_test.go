package store_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// notSealed lists the binary columns whose values are not encrypted, each with a description. A new
// binary column must be added here or to sealedColumns.
var notSealed = map[string]string{
	"audit.hash":                 "a hash of the entry",
	"audit.previous":             "a hash of the entry before",
	"audit_end.hash":             "a hash of the last entry",
	"client.secret_hash":         "a hash",
	"client_logo.content":        "a picture for everybody",
	"connection_return.nonce":    "spent when it is of use",
	"console_session.csrf":       "of no use without the session",
	"console_session.token_hash": "a hash",
	"event.body":                 "what receivers get, without anything sensitive",
	"event_part.body":            "a part of such",
	"idempotency.key_hash":       "a hash",
	"idempotency.request_hash":   "a hash",
	"received.body":              "what came to the sandbox's receiver",
	"sandbox_order.body":         "what a simulated bank keeps",
	"sign_in_failure.part_of":    "a hash",
	"sign_in_failure.subject":    "a hash",
	"token.hash":                 "a hash",
}

const (
	columnsOfSQLite   = `SELECT m.name || '.' || c.name || '.' || c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1`
	columnsOfPostgres = `SELECT table_name || '.' || column_name || '.' || data_type FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1`
)

func (s fixture) schema() map[string]map[string]string {
	s.t.Helper()
	query := columnsOfSQLite
	if s.db.Rows().Dialect().Name == "postgres" {
		query = columnsOfPostgres
	}
	lines, err := database.Collect(s.t.Context(), s.db.Rows(), database.ScanString, query)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, line := range lines {
		parts := strings.SplitN(line, ".", 3)
		if all[parts[0]] == nil {
			all[parts[0]] = map[string]string{}
		}
		all[parts[0]][parts[1]] = strings.ToLower(parts[2])
	}
	return all
}

func isBytes(kind string) bool { return kind == "blob" || kind == "bytea" }

// words contains the values for columns in which the schema permits only some words. The function
// fill inserts them beside encrypted values.
var words = map[string]string{"only_row": "1", "type": "'oauth'", "kind": "'initiation'", "act": "'order'"}

// fill returns a statement that inserts a row into a table.
func (s fixture) fill(table string, columns map[string]string, values map[string][]byte) string {
	literal := func(name, kind string) string {
		value := append([]byte{}, values[name]...)
		switch {
		case isBytes(kind) && s.db.Rows().Dialect().Name == "sqlite":
			return "X'" + hex.EncodeToString(value) + "'"
		case isBytes(kind):
			return `'\x` + hex.EncodeToString(value) + `'`
		case words[name] != "":
			return words[name]
		case kind == "boolean":
			return "FALSE"
		case kind == "text":
			return "'x'"
		}
		return "7"
	}
	names := slices.Sorted(maps.Keys(columns))
	literals := make([]string, len(names))
	for i, name := range names {
		literals[i] = literal(name, columns[name])
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(literals, ", "))
}

// TestRewrap rewraps a value in every sealed column, and decrypts all values without the old key.
func TestRewrap(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		old, schema := s.db.Ring(), s.schema()
		sealed := map[string]map[string][]byte{}
		for _, c := range store.SealedColumns {
			value, err := old.Seal(c.Place(), []byte(c.Table()+c.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if sealed[c.Table()] == nil {
				sealed[c.Table()] = map[string][]byte{}
			}
			sealed[c.Table()][c.Name()] = value
		}
		for table, values := range sealed {
			storetest.Break(t, url, s.fill(table, schema[table], values))
		}
		s.db.SetRing(old.Rotated())
		count := int64(len(store.SealedColumns))
		for n, want := range []int64{count, 0} {
			seen, rewrapped, err := s.db.Rewrap(t.Context(), 1, func(int64) {})
			if err != nil || seen != count || rewrapped != want {
				t.Fatalf("round %d: %d values seen, %d rewrapped of %d: %v", n, seen, rewrapped, want, err)
			}
		}
		s.opensWith(s.db.Ring().Retired())
	})
}

func (s fixture) opensWith(ring *keys.Ring) {
	s.t.Helper()
	for _, c := range store.SealedColumns {
		place, sealed, err := s.db.Sealed(s.t.Context(), c)
		if err != nil {
			s.t.Fatal(err)
		}
		if plain, err := ring.Open(place, sealed); err != nil || string(plain) != c.Table()+c.Name() {
			s.t.Errorf("%s.%s opens to %q: %v", c.Table(), c.Name(), plain, err)
		}
	}
}

// TestRewrapStopsAtWhatDoesNotOpen checks that Rewrap stops at a value that cannot be decrypted,
// because this value would be lost when the operator removes the old key.
func TestRewrapStopsAtWhatDoesNotOpen(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		storetest.Break(t, url, s.fill("field_key", s.schema()["field_key"], map[string][]byte{"private": []byte("not sealed")}))
		if _, _, err := s.db.Rewrap(t.Context(), 100, func(int64) {}); !errors.Is(err, store.ErrSealed) {
			t.Errorf("%v", err)
		}
	})
}

func TestEveryColumnOfBytesIsAccountedFor(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var got []string
		for table, columns := range s.schema() {
			for name, kind := range columns {
				if isBytes(kind) {
					got = append(got, table+"."+name)
				}
			}
		}
		want := slices.Collect(maps.Keys(notSealed))
		for _, c := range store.SealedColumns {
			want = append(want, c.Table()+"."+c.Name())
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns of bytes: %s", diff)
		}
	})
}
