package database

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/store/storetest"
)

type ownText string

type ownNumber int64

// TestSQLiteValues scans a column into each kind of destination. Scan must fail when a destination
// cannot take the value.
func TestSQLiteValues(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	five, text := int64(5), "five"
	tests := []struct {
		column  string
		dest    any
		want    any
		failure string
	}{
		{`5`, new(int64), int64(5), ""},
		{`5`, new(*int64), &five, ""},
		{`5`, new(int), 5, ""},
		{`5`, new(ownNumber), ownNumber(5), ""},
		{`5`, new(string), "5", ""},
		{`5`, new(any), int64(5), ""},
		{`5`, new(bool), nil, "SQLITE_INTEGER that does not fit into a bool"},
		{`1`, new(bool), true, ""},
		{`FALSE`, new(bool), false, ""},
		{`300`, new(int8), nil, "SQLITE_INTEGER that does not fit into a int8"},
		{`'five'`, new(string), "five", ""},
		{`'five'`, new(*string), &text, ""},
		{`'five'`, new(ownText), ownText("five"), ""},
		{`'five'`, new([]byte), []byte("five"), ""},
		{`'five'`, new(any), "five", ""},
		{`'five'`, new(int64), nil, "type is SQLITE_TEXT"},
		{`'five'`, new(*int64), nil, "type is SQLITE_TEXT"},
		{`'1'`, new(bool), nil, "type is SQLITE_TEXT"},
		{`x'0001'`, new([]byte), []byte{0, 1}, ""},
		{`x''`, new([]byte), []byte{}, ""},
		{`x'0001'`, new(any), []byte{0, 1}, ""},
		{`1.5`, new(float64), 1.5, ""},
		{`1.5`, new(any), 1.5, ""},
		{`1.5`, new(int64), nil, "type is SQLITE_FLOAT"},
		{`1.5`, new(int), nil, "type is SQLITE_FLOAT"},
		{`NULL`, new(*int64), (*int64)(nil), ""},
		{`NULL`, new(*string), (*string)(nil), ""},
		{`NULL`, new(*bool), (*bool)(nil), ""},
		{`NULL`, new([]byte), []byte(nil), ""},
		{`NULL`, new(any), nil, ""},
		{`NULL`, new(int64), nil, "NULL for a int64"},
		{`NULL`, new(string), nil, "NULL for a string"},
		{`NULL`, new(bool), nil, "NULL for a bool"},
		{`1, 2`, new(int64), nil, "1 destinations for 2 columns"},
	}
	for _, test := range tests {
		err := db.Each(t.Context(), `SELECT `+test.column, nil, func(row Row) (bool, error) { return true, row.Scan(test.dest) })
		switch {
		case test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)):
			t.Errorf("%s into %T: error is %v, want %s", test.column, test.dest, err, test.failure)
		case test.failure == "" && err != nil:
			t.Errorf("%s into %T: %v", test.column, test.dest, err)
		case test.failure == "":
			if diff := cmp.Diff(test.want, pointed(test.dest)); diff != "" {
				t.Errorf("%s into %T: %s", test.column, test.dest, diff)
			}
		}
	}
}

// TestSQLiteArguments checks that a column returns each argument as it was passed, and that a query
// with a missing argument fails.
func TestSQLiteArguments(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	for _, arg := range []any{int64(-1) << 63, "", "a\x00b", "é", []byte{}, []byte{0, 255}, nil} {
		got, err := One(t.Context(), &db.Querier, func(row Row) (any, error) {
			var value any
			err := row.Scan(&value)
			return value, err
		}, `SELECT $1`, arg)
		if diff := cmp.Diff(arg, got); diff != "" || err != nil {
			t.Errorf("%#v: %v %s", arg, err, diff)
		}
	}
	if _, err := One(t.Context(), &db.Querier, ScanInt, `SELECT $1 + $2`, 1); err == nil {
		t.Error("a query with a missing argument succeeded")
	}
}

// TestSameStatementInside executes a statement again while a function gets the rows of the first
// execution. The method Together uses one connection for both executions.
func TestSameStatementInside(t *testing.T) {
	db := open(t, storetest.SQLite(t))
	const query = `SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3`
	var outer, inner []int64
	err := db.Together(t.Context(), func(r *Querier) error {
		return r.Each(t.Context(), query, nil, func(row Row) (bool, error) {
			n, err := ScanInt(row)
			outer = append(outer, n)
			if err == nil && n == 2 {
				inner, err = Collect(context.Background(), r, ScanInt, query)
			}
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int64{{1, 2, 3}, {1, 2, 3}}, [][]int64{outer, inner}); diff != "" {
		t.Error(diff)
	}
}

func pointed(dest any) any { return reflect.ValueOf(dest).Elem().Interface() }
