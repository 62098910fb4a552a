package statementfile

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode"
)

// csvRows reads the rows of a CSV file. A quoted text may extend over several lines only when all
// its quotes are balanced. Otherwise each line is a row, so that a stray quote does not hide the
// rows after it.
type csvRows struct {
	lines
	delimiter rune
	// waiting holds lines that were read but belong to later rows.
	waiting []string
	// row is the number of the line on which the current row begins. unclosed means that the row
	// has a quote that is not closed.
	row      int
	unclosed bool
}

// maxRowLines is the maximum number of lines in a row.
const maxRowLines = 50

// next returns the next row that is not empty, or io.EOF.
func (r *csvRows) next() ([]string, error) {
	for {
		text, err := r.take(0)
		if err != nil {
			return nil, err
		}
		r.row = r.line - len(r.waiting) + 1
		fields, err := r.parse(text, false)
		used := 1
		odd := strings.Count(text, `"`)%2 == 1
		if err != nil && odd {
			fields, used, err = r.joined(text)
		}
		if r.unclosed = err != nil && odd; err != nil {
			used = 1
			fields, err = r.parse(text, true)
		}
		r.waiting = r.waiting[used:]
		if err != nil {
			return nil, at(r.row, "", "not valid CSV")
		}
		if strings.TrimSpace(strings.Join(fields, "")) != "" {
			return fields, nil
		}
	}
}

// take returns an unused line without removing it: the next line for n = 0, the line after that for
// n = 1.
func (r *csvRows) take(n int) (string, error) {
	for len(r.waiting) <= n {
		text, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			r.lines.line-- // that line does not exist
		}
		if err != nil {
			return "", err
		}
		r.waiting = append(r.waiting, text)
	}
	return r.waiting[n], nil
}

// joined parses a line with an odd number of quotes together with the following lines, until their
// number of quotes is even. If these lines are not a row, they and further lines are not one either.
func (r *csvRows) joined(text string) ([]string, int, error) {
	for n := 1; n < maxRowLines; n++ {
		more, err := r.take(n)
		if err != nil || len(text) > maxToken {
			break // the caller parses the first line alone
		}
		text += "\n" + more
		if strings.Count(more, `"`)%2 == 1 {
			fields, err := r.parse(text, false)
			return fields, n + 1, err
		}
	}
	return nil, 0, csv.ErrQuote
}

func (r *csvRows) parse(text string, lazy bool) ([]string, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, nil
	case !strings.Contains(text, `"`):
		return r.split(text), nil
	}
	one := csv.NewReader(strings.NewReader(text))
	one.Comma, one.FieldsPerRecord, one.LazyQuotes, one.TrimLeadingSpace = r.delimiter, -1, lazy, r.delimiter != '\t'
	fields, err := one.Read()
	if err != nil {
		return nil, err
	}
	if _, err := one.Read(); !errors.Is(err, io.EOF) {
		return nil, csv.ErrQuote // the text contains more than one row
	}
	return fields, nil
}

// split returns the fields of a line without quotes. A csv.Reader would need a buffer for each line.
func (r *csvRows) split(text string) []string {
	fields := strings.Split(text, string(r.delimiter))
	for i := range fields {
		if r.delimiter != '\t' {
			fields[i] = strings.TrimLeftFunc(fields[i], unicode.IsSpace)
		}
	}
	return fields
}
