package database

import (
	"fmt"
	"reflect"
	"strings"
)

// Clauses collects conditions and their arguments, for statements whose FROM clause the caller
// writes.
type Clauses struct {
	All  []string
	Args []any
}

// Bind adds an argument and returns its placeholder.
func (c *Clauses) Bind(value any) string {
	c.Args = append(c.Args, value)
	return fmt.Sprintf("$%d", len(c.Args))
}

// And adds a condition. The clause contains one %s for each value.
func (c *Clauses) And(clause string, values ...any) {
	names := make([]any, len(values))
	for i, value := range values {
		names[i] = c.Bind(value)
	}
	c.All = append(c.All, fmt.Sprintf(clause, names...))
}

// String joins all conditions with AND.
func (c *Clauses) String() string { return strings.Join(c.All, " AND ") }

// Changed returns the assignments for an UPDATE that writes only the columns with a new value, and
// binds these values. If no value is new, the assignment changes nothing.
func Changed(c *Clauses, columns []string, former, values []any) string {
	var set []string
	for i, column := range columns {
		if !reflect.DeepEqual(former[i], values[i]) {
			set = append(set, column+" = "+c.Bind(values[i]))
		}
	}
	if len(set) == 0 {
		return columns[0] + " = " + columns[0]
	}
	return strings.Join(set, ", ")
}

// AnyOf binds ids and returns the list of their placeholders. If there are no ids, the list
// matches nothing.
func AnyOf[T ~int64](c *Clauses, ids []T) string {
	names := []string{"-1"}
	for _, id := range Padded(ids) {
		names = append(names, c.Bind(int64(id)))
	}
	return strings.Join(names, ", ")
}

// Padded repeats the last value until the number of values is a power of two. The text of each
// statement is cached. Lists without this padding would lead to too many different texts.
func Padded[T any](values []T) []T {
	all := values[:len(values):len(values)]
	for n := len(all); n&(n-1) != 0; n++ {
		all = append(all, values[len(values)-1])
	}
	return all
}

// Without returns a condition that leaves out the rows of some connectors. It appends the arguments
// of this condition to args.
func Without(connectors []string, column string, args []any) (string, []any) {
	if len(connectors) == 0 {
		return "", args
	}
	var places []string
	for _, one := range Padded(connectors) {
		args = append(args, one)
		places = append(places, fmt.Sprint("$", len(args)))
	}
	return " AND COALESCE(" + column + ", '') NOT IN (" + strings.Join(places, ", ") + ")", args
}
