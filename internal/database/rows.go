package database

import (
	"fmt"
	"strings"
)

// rowsAtOnce lists the numbers of rows that one statement may insert, the largest first. The cost
// of a statement depends little on its number of rows. The list is short, because each number has a
// separate statement that each connection must prepare.
var rowsAtOnce = []int{50, 10, 2, 1}

// RowType is a table with the columns that an insertion sets.
type RowType struct {
	Width int
	texts map[int]string // statements by number of rows
}

// NewRowType returns a RowType. The argument columns is the text after INSERT INTO: the name of the
// table and the list of columns.
func NewRowType(columns string) RowType {
	r := RowType{Width: strings.Count(columns, ",") + 1, texts: map[int]string{}}
	for _, n := range rowsAtOnce {
		r.texts[n] = "INSERT INTO " + columns + " VALUES " + r.values(n)
	}
	return r
}

// OrNothing returns a RowType for rows that may already exist. An insertion does not change
// existing rows.
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

// Insert adds statements that insert rows. args contains the values, row after row.
func (u *Unit) Insert(r RowType, args []any) {
	for _, n := range rowsAtOnce {
		for ; len(args) >= n*r.Width; args = args[n*r.Width:] {
			u.Exec(r.texts[n], args[:n*r.Width]...)
		}
	}
}
