//go:build samples

package statementfile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle/statementfile"
)

type samples struct {
	repository, commit string
	// root is the folder with the samples, and files matches their names.
	root    string
	files   *regexp.Regexp
	refused map[string]string
	// altered holds the reason for each file whose balances do not match.
	altered  map[string]string
	mappings map[string]string
	// others counts lines of CSV files that are neither empty nor transactions.
	others map[string]int
}

type readSample struct {
	statements, balanced, transactions int
	unbalanced                         bool
}

// TestPublicSamples compares the number of transactions in each file with a count that does not use
// the reader. Except in altered files, the transactions must lead from balance to balance. With
// PASSERELLE_TEST_SAMPLES_WRITE, the test generates docs/statement-samples.md again.
func TestPublicSamples(t *testing.T) {
	folder := os.Getenv("PASSERELLE_TEST_SAMPLES")
	if folder == "" {
		t.Fatal("PASSERELLE_TEST_SAMPLES names no folder; call make samples")
	}
	page := &strings.Builder{}
	page.WriteString(samplesHead)
	for _, s := range public {
		s.read(t, filepath.Join(folder, strings.ReplaceAll(s.repository, "/", "+"), s.root), page)
	}
	const name = "../docs/statement-samples.md"
	if os.Getenv("PASSERELLE_TEST_SAMPLES_WRITE") != "" {
		if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil { //nolint:gosec // everybody may read the page
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != page.String() {
		t.Errorf("%s is not what this test says (%v); set PASSERELLE_TEST_SAMPLES_WRITE=1 to write it", name, err)
	}
}

const samplesHead = `# Public sample files

This page shows which sample files of other programs the service reads. ` + "`make samples`" + ` fetches the repositories
at the commits below, reads each file, and compares the result with this page. No sample file is part of this project.

A file counts as read when it has a statement of a bank account or a card, and the service reads all of its transactions.
If a statement has both balances, its transactions add up from the opening to the closing balance. Tables list exceptions.

`

func (s *samples) read(t *testing.T, folder string, page *strings.Builder) {
	t.Helper()
	var total readSample
	var names []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(folder, path); err == nil && !d.IsDir() && s.files.MatchString(filepath.ToSlash(name)) {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: there are no files in %s (%v)", s.repository, folder, err)
	}
	slices.Sort(names)
	read := 0
	for _, name := range names {
		one, is := s.one(t, folder, name)
		if is {
			read++
		}
		total.statements, total.balanced, total.transactions = total.statements+one.statements, total.balanced+one.balanced, total.transactions+one.transactions
	}
	s.write(page, len(names), read, total)
}

func (s *samples) one(t *testing.T, folder, name string) (readSample, bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	var m *statementfile.Mapping
	if text := s.mappings[name]; text != "" {
		if m, err = statementfile.ParseMapping(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	summary, err := statementfile.Summarize(bytes.NewReader(content), m)
	why, refused := s.refused[name]
	if err != nil || refused {
		if (err != nil) != refused {
			t.Errorf("%s %s: %v, want that it is refused: %q", s.repository, name, err, why)
		}
		return readSample{}, false
	}
	var got readSample
	for _, a := range summary.Accounts {
		got.statements, got.transactions, got.unbalanced = got.statements+a.Statements, got.transactions+a.Entries, got.unbalanced || len(a.Unbalanced) > 0
		if len(a.Unbalanced) == 0 && len(a.Spans) > 0 {
			got.balanced += a.Statements
		}
	}
	if want := s.count(name, summary.Format, content); got.transactions != want {
		t.Errorf("%s %s: %d transactions are read, the file has %d", s.repository, name, got.transactions, want)
	}
	if _, altered := s.altered[name]; got.unbalanced != altered {
		t.Errorf("%s %s: unbalanced %t, want %t", s.repository, name, got.unbalanced, altered)
	}
	return got, true
}

var marks = map[statementfile.Format]*regexp.Regexp{
	statementfile.CAMT:  regexp.MustCompile(`(?s)<(?:\w+:)?Ntry>.*?</(?:\w+:)?Ntry>`),
	statementfile.MT940: regexp.MustCompile(`(?m)^:61:`),
	statementfile.CFONB: regexp.MustCompile(`(?m)^04`),
	statementfile.OFX:   regexp.MustCompile(`<STMTTRN>`),
	statementfile.CSV:   regexp.MustCompile(`(?m)^.*[^\s,;].*$`),
}

var pending = regexp.MustCompile(`<(?:\w+:)?Sts>\s*(?:<(?:\w+:)?Cd>)?\s*(?:PDNG|INFO|FUTR)`)

// count counts the transactions in a file without using the reader.
func (s *samples) count(name string, format statementfile.Format, content []byte) int {
	n := -s.others[name]
	for _, found := range marks[format].FindAll(content, -1) {
		if format != statementfile.CAMT || !pending.Match(found) {
			n++
		}
	}
	return n
}

func (s *samples) write(page *strings.Builder, files, read int, total readSample) {
	fmt.Fprintf(page, "## %s\n\n<https://github.com/%s> at commit `%s`: %d files, %d read, %d statements (%d with balances that match), %d transactions.\n\n", s.repository, s.repository, s.commit, files, read, total.statements, total.balanced, total.transactions)
	for _, table := range []struct {
		title string
		files map[string]string
	}{{"Refused", s.refused}, {"Read, with balances that do not match", s.altered}} {
		if len(table.files) == 0 {
			continue
		}
		byReason := map[string][]string{}
		for name, why := range table.files {
			byReason[why] = append(byReason[why], name)
		}
		fmt.Fprintf(page, "| %s | Why |\n|---|---|\n", table.title)
		var rows []string
		for why, names := range byReason {
			slices.Sort(names)
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", strings.Join(names, ", "), why))
		}
		slices.Sort(rows)
		page.WriteString(strings.Join(rows, "") + "\n")
	}
}
