package database

import (
	"fmt"
	"strings"
)

// rowsAtOnce lists the numbers of rows that one statement inserts, the largest first. Most of
// the cost of a statement does not depend on its number of rows. There are few numbers, because
// each requires a statement text, which each connection must prepare.
var rowsAtOnce = []int{50, 10, 2, 1}

// RowType is a table with the columns that rows are inserted with.
type RowType struct {
	Width int
	texts map[int]string // by the number of rows
}

// NewRowType takes the column list of an INSERT INTO.
func NewRowType(columns string) RowType {
	r := RowType{Width: strings.Count(columns, ",") + 1, texts: map[int]string{}}
	for _, n := range rowsAtOnce {
		r.texts[n] = "INSERT INTO " + columns + " VALUES " + r.values(n)
	}
	return r
}

// OrNothing is the table for rows that may be there already, which stay as they are.
func (r RowType) OrNothing() RowType {
	same := RowType{Width: r.Width, texts: map[int]string{}}
	for n, text := range r.texts {
		same.texts[n] = text + " ON CONFLICT DO NOTHING"
	}
	return same
}

func (r RowType) values(n int) string {
	rows := make([]string, n)
	for i := range rows {
		names := make([]string, r.Width)
		for j := range names {
			names[j] = fmt.Sprintf("$%d", i*r.Width+j+1)
		}
		rows[i] = "(" + strings.Join(names, ", ") + ")"
	}
	return strings.Join(rows, ", ")
}

// Insert adds rows. args contains the values, row after row.
func (u *Unit) Insert(r RowType, args []any) {
	for _, n := range rowsAtOnce {
		for ; len(args) >= n*r.Width; args = args[n*r.Width:] {
			u.Exec(r.texts[n], args[:n*r.Width]...)
		}
	}
}
