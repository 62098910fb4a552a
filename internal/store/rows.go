package store

import (
	"fmt"
	"strings"
)

// rowsAtOnce is how many rows a statement inserts at most: most of what a statement
// costs is then shared. It has few texts, since each is prepared on each
// connection: as many rows at once, or one.
var rowsAtOnce = []int{50, 10, 1}

// rowType is a table with the columns that rows are inserted with.
type rowType struct {
	width int
	texts map[int]string // by the number of rows
}

// newRowType has them as they follow INSERT INTO.
func newRowType(columns string) rowType {
	r := rowType{width: strings.Count(columns, ",") + 1, texts: map[int]string{}}
	for _, n := range rowsAtOnce {
		r.texts[n] = "INSERT INTO " + columns + " VALUES " + r.values(n)
	}
	return r
}

func (r rowType) values(n int) string {
	rows := make([]string, n)
	for i := range rows {
		names := make([]string, r.width)
		for j := range names {
			names[j] = fmt.Sprintf("$%d", i*r.width+j+1)
		}
		rows[i] = "(" + strings.Join(names, ", ") + ")"
	}
	return strings.Join(rows, ", ")
}

// insert adds rows, whose values are given one row after the other.
func (tx *Tx) insert(r rowType, args []any) {
	for _, n := range rowsAtOnce {
		for ; len(args) >= n*r.width; args = args[n*r.width:] {
			tx.exec(r.texts[n], args[:n*r.width]...)
		}
	}
}
