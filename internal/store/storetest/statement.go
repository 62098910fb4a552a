package storetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Statement is an SQL statement of the program, with the kind of database to which it was sent.
type Statement struct{ Database, SQL string }

// StatementFolder is the name of an environment variable. Its value is the folder in which tests
// store the statements of the program, in a file for each process.
const StatementFolder = "PASSERELLE_TEST_STATEMENTS"

var collected struct {
	sync.Mutex
	known map[Statement]bool
	file  *os.File
}

// Collect stores a statement of the program, and ignores a statement that a test executes itself.
// Package database calls Collect in the goroutine that executes a query or adds the statement to a
// unit. The stack therefore shows which code the statement comes from.
func Collect(database, sql string) {
	s := Statement{database, sql}
	collected.Lock()
	defer collected.Unlock()
	if collected.known[s] || byHand() {
		return
	}
	if collected.known == nil {
		collected.known = map[Statement]bool{}
	}
	collected.known[s] = true
	leaveStatement(s)
}

// byHand reports whether a test executes the statement itself. It examines the first caller outside
// the files that all statements pass through.
func byHand() bool {
	var callers [24]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		frame, more := frames.Next()
		switch base := filepath.Base(frame.File); {
		case strings.HasSuffix(base, "_test.go"):
			return true
		case !slices.Contains([]string{"dialect.go", "write.go", "read.go", "rows.go"}, base), !more:
			return false
		}
	}
}

// leaveStatement appends a statement to the file of this process. It panics when an error occurs,
// because otherwise no test would check the statement.
func leaveStatement(s Statement) {
	folder := os.Getenv(StatementFolder)
	if folder == "" {
		return
	}
	line, err := json.Marshal(s)
	if err == nil && collected.file == nil {
		collected.file, err = os.CreateTemp(folder, "statements-")
	}
	if err == nil {
		_, err = collected.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// Statements returns the statements that this process has collected, and all statements in the
// statement folder.
func Statements(t testing.TB) []Statement {
	t.Helper()
	all := map[Statement]bool{}
	files, err := filepath.Glob(filepath.Join(os.Getenv(StatementFolder), "statements-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			var s Statement
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[s] = true
		}
	}
	collected.Lock()
	defer collected.Unlock()
	for s := range collected.known {
		all[s] = true
	}
	list := make([]Statement, 0, len(all))
	for s := range all {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Statement) int { return strings.Compare(a.Database+a.SQL, b.Database+b.SQL) })
	return list
}
