package database

import (
	"database/sql"
	"fmt"
	"reflect"

	"zombiezen.com/go/sqlite"
)

// sqliteRow is the current row of a statement.
type sqliteRow struct{ stmt *sqlite.Stmt }

// Scan copies the columns into destinations. A destination is a pointer to a variable, or an
// sql.Scanner. The variable is a bool, a number, a text, bytes, any, or itself a pointer to one of
// these types. Scan stores nil for NULL in bytes, in any and in a variable that is a pointer. For
// other variables, Scan fails for NULL. Scan also fails when a bool or an integer gets a column of
// another type.
func (r sqliteRow) Scan(dest ...any) error {
	if n := r.stmt.ColumnCount(); n != len(dest) {
		return fmt.Errorf("%d destinations for %d columns", len(dest), n)
	}
	for i, d := range dest {
		if err := r.column(i, d); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// column copies a column into a destination. It handles the most frequent types without reflection,
// which takes longer.
func (r sqliteRow) column(i int, dest any) error {
	isNull := r.stmt.ColumnType(i) == sqlite.TypeNull
	switch d := dest.(type) {
	case **int64:
		if *d = nil; !isNull {
			*d = new(int64)
			return r.column(i, *d)
		}
		return nil
	case **string:
		if *d = nil; !isNull {
			text := r.stmt.ColumnText(i)
			*d = &text
		}
		return nil
	case *[]byte:
		*d = r.bytes(i)
		return nil
	case *any:
		*d = r.value(i)
		return nil
	case sql.Scanner:
		return d.Scan(r.value(i))
	}
	if isNull {
		return r.reflected(i, reflect.ValueOf(dest).Elem())
	}
	switch d := dest.(type) {
	case *string:
		*d = r.stmt.ColumnText(i)
		return nil
	case *int64:
		*d = r.stmt.ColumnInt64(i)
		return r.mustBe(i, sqlite.TypeInteger)
	}
	return r.reflected(i, reflect.ValueOf(dest).Elem())
}

func (r sqliteRow) reflected(i int, into reflect.Value) error {
	kind := into.Kind()
	switch isNull := r.stmt.ColumnType(i) == sqlite.TypeNull; {
	case kind == reflect.Pointer && isNull:
		into.SetZero()
		return nil
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return r.reflected(i, into.Elem())
	case isNull:
		return fmt.Errorf("NULL for a %s", into.Type())
	case kind == reflect.String:
		into.SetString(r.stmt.ColumnText(i))
		return nil
	case kind == reflect.Float64:
		into.SetFloat(r.stmt.ColumnFloat(i))
		return nil
	case kind == reflect.Slice && into.Type().Elem().Kind() == reflect.Uint8:
		into.SetBytes(r.bytes(i))
		return nil
	}
	return r.number(i, into)
}

// number copies an integer column into a number or a bool.
func (r sqliteRow) number(i int, into reflect.Value) error {
	n := r.stmt.ColumnInt64(i)
	switch {
	case into.CanInt() && !into.OverflowInt(n):
		into.SetInt(n)
	case into.Kind() == reflect.Bool && (n == 0 || n == 1):
		into.SetBool(n == 1)
	default:
		return fmt.Errorf("a %s that does not fit into a %s", r.stmt.ColumnType(i), into.Type()) // without the value, which may be personal
	}
	return r.mustBe(i, sqlite.TypeInteger)
}

func (r sqliteRow) mustBe(i int, want sqlite.ColumnType) error {
	if got := r.stmt.ColumnType(i); got != want {
		return fmt.Errorf("the type is %s, want %s", got, want)
	}
	return nil
}

// bytes returns a copy of the bytes of a column, and nil for NULL.
func (r sqliteRow) bytes(i int) []byte {
	if r.stmt.ColumnType(i) == sqlite.TypeNull {
		return nil
	}
	all := make([]byte, r.stmt.ColumnLen(i))
	r.stmt.ColumnBytes(i, all)
	return all
}

// value returns a column in the type in which SQLite stores it.
func (r sqliteRow) value(i int) any {
	switch r.stmt.ColumnType(i) {
	case sqlite.TypeInteger:
		return r.stmt.ColumnInt64(i)
	case sqlite.TypeFloat:
		return r.stmt.ColumnFloat(i)
	case sqlite.TypeText:
		return r.stmt.ColumnText(i)
	case sqlite.TypeBlob:
		return r.bytes(i)
	case sqlite.TypeNull:
	}
	return nil
}
