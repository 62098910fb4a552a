package cfonb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"passerelle"
)

// maxRecord is the largest number of bytes of a record with its line break: each character has at
// most four.
const maxRecord = 4*width + 2

// maxRecords limits the number of records of a statement, and so its memory.
const maxRecords = 1_000_000

// Parse reads statements one after the other and yields each when it is complete. After the first
// error it yields no more statements. Lines may end in CR LF. Lines may be shorter than 120
// characters, because some mail programs remove blanks at the end. Empty lines are ignored. Some
// banks send records without line breaks: each record then counts as a line.
// Characters outside ASCII become ASCII characters without accents, or blanks. The movements must
// lead from the old balance to the new one.
func Parse(r io.Reader) iter.Seq2[Statement, error] {
	return func(yield func(Statement, error) bool) {
		p := parser{lines: bufio.NewScanner(r)}
		p.lines.Buffer(make([]byte, 8*maxRecord), 8*maxRecord)
		p.lines.Split(splitRecord)
		for {
			s, err := p.statement()
			if err == io.EOF { //nolint:errorlint // the unwrapped error is the end between two statements
				return
			}
			if err != nil {
				yield(Statement{}, &LineError{Line: p.line, Err: err})
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

type parser struct {
	lines *bufio.Scanner
	line  int
}

// splitRecord is a bufio.SplitFunc. It ends a record at a line break, and after 120 characters. It
// skips blanks between 120 characters and a line break.
func splitRecord(data []byte, atEOF bool) (int, []byte, error) {
	if len(data) == 0 || len(data) < maxRecord && !atEOF {
		return 0, nil, nil
	}
	end := 0
	for n := 0; n < width && end < len(data) && data[end] != '\n'; n++ {
		_, size := utf8.DecodeRune(data[end:])
		end += size
	}
	next := end
	for next < len(data) && (data[next] == ' ' || data[next] == '\r') {
		next++
	}
	if next < len(data) && data[next] == '\n' {
		next++
	}
	return next, data[:end], nil
}

// endMark ends files of programs for DOS.
const endMark = "\x1a"

// next returns the next line that is not empty, or io.EOF.
func (p *parser) next() (*record, error) {
	for {
		p.line++
		if !p.lines.Scan() {
			return nil, p.end()
		}
		if text := strings.TrimSuffix(p.lines.Text(), "\r"); strings.Trim(text, " "+endMark) != "" {
			return recordOf(text)
		}
	}
}

// end returns the reason why there is no next line.
func (p *parser) end() error {
	if err := p.lines.Err(); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return io.EOF
}

// recordOf converts a text of at most 120 characters to a record.
func recordOf(text string) (*record, error) {
	r := &record{}
	n := 0
	for _, char := range text {
		if char < ' ' || char == unicode.ReplacementChar {
			return nil, fmt.Errorf("column %d is not a printable character", n+1)
		}
		r[n] = plain(char)
		n++
	}
	for ; n < width; n++ {
		r[n] = ' '
	}
	return r, nil
}

// plain converts a character to an ASCII character without an accent, or to a blank.
func plain(char rune) byte {
	if char > '~' {
		char, _ = utf8.DecodeRuneInString(norm.NFKD.String(string(char)))
	}
	if char > '~' {
		return ' '
	}
	return byte(char)
}

// These are the errors for files that break the format of statements.
var (
	errOrder   = fmt.Errorf("a statement is a record 01, then movements 04 with details 05, then a record 07; a record has at most %d characters", width)
	errEnd     = errors.New("the file ends within a statement")
	errOther   = errors.New("the account is not the one of the statement")
	errBalance = errors.New("the movements do not lead from the old balance to the new one")
	errLength  = fmt.Errorf("a statement has at most %d records", maxRecords)
)

func (p *parser) statement() (Statement, error) {
	first, err := p.next()
	if err != nil {
		return Statement{}, err
	}
	s := Statement{Line: p.line}
	if first.get(atCode) != oldBalance {
		return s, errOrder
	}
	if s.Account, err = first.account(); err != nil {
		return s, err
	}
	opening, err := first.amount()
	if err != nil {
		return s, err
	}
	if s.Opened, err = first.date(atDate, false); err != nil {
		return s, err
	}
	err = p.rest(&s, opening)
	return s, err
}

// rest reads the records after the old balance, up to the new balance.
func (p *parser) rest(s *Statement, opening int64) error {
	for range maxRecords {
		r, err := p.next()
		if err == io.EOF { //nolint:errorlint // the unwrapped error is the end of the file
			return errEnd
		}
		if err != nil {
			return err
		}
		if !s.Account.has(r) {
			return errOther
		}
		if r.get(atCode) == newBalance {
			return s.close(r, opening)
		}
		if err := s.add(r, p.line); err != nil {
			return err
		}
	}
	return errLength
}

// has reports whether a record belongs to the account. It ignores the code of the bank, because in
// movements some banks write the code of another bank in their group.
func (a *Account) has(r *record) bool {
	one, err := r.account()
	one.Bank = a.Bank
	return err == nil && one == *a
}

func (s *Statement) close(r *record, opening int64) error {
	for i := range s.Movements {
		s.Movements[i].joinLabel()
	}
	var err error
	if s.Balance, err = r.amount(); err != nil {
		return err
	}
	if s.Closed, err = r.date(atDate, false); err != nil {
		return err
	}
	if computed, err := s.Opening(); err != nil || computed != opening {
		return errBalance
	}
	return nil
}

// account returns the account of a record. It reads a blank currency with blank decimals as euros,
// because some banks omit both in the records of balances.
func (r *record) account() (Account, error) {
	currency, digits := r.get(atCurrency), r.get(atDecimals)
	if strings.Trim(currency+digits, " ") == "" {
		currency, digits = "EUR", "2"
	}
	decimals, err := strconv.ParseUint(digits, 10, 8)
	a := Account{Bank: r.get(atBank), Branch: r.get(atBranch), Number: r.get(atNumber), Currency: passerelle.Currency(currency), Decimals: int(decimals)}
	if err != nil {
		return a, errAccount
	}
	return a, a.check()
}

// add adds a movement, or a detail of the last movement.
func (s *Statement) add(r *record, line int) error {
	switch code := r.get(atCode); {
	case code == movement:
		m, err := r.movement()
		m.Line = line
		s.Movements = append(s.Movements, m)
		return err
	case code == detail && len(s.Movements) > 0:
		return s.Movements[len(s.Movements)-1].add(r)
	}
	return errOrder
}

func (r *record) movement() (Movement, error) {
	var (
		m   Movement
		err error
	)
	if m.Booked, err = r.date(atDate, false); err != nil {
		return m, err
	}
	if m.Value, err = r.date(atValue, true); err != nil {
		return m, err
	}
	if m.Amount, err = r.amount(); err != nil {
		return m, err
	}
	if number := r.trimmed(atEntry); number != "" {
		entry, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return m, errEntry
		}
		m.Entry = int(entry)
	}
	m.Operation = r.get(atOperation)
	if internal := r.get(atInternal); isCode(internal, 4) {
		m.Internal = internal
	}
	m.Label, m.Reference = words(r.get(atLabel)), words(r.get(atReference))
	return m, m.check()
}

// add adds a detail. A detail with a malformed qualifier continues the label.
func (m *Movement) add(r *record) error {
	if r.get(atOperation) != m.Operation {
		return errOrder
	}
	d := Detail{Qualifier: r.get(atQualifier), Text: words(r.get(atText))}
	if !isCode(d.Qualifier, 3) {
		d.Qualifier = Label
	}
	m.Details = append(m.Details, d)
	return nil
}

// joinLabel moves the texts that continue the label from the details to the label. It joins all
// texts at once, so that the time grows in proportion to their number.
func (m *Movement) joinLabel() {
	label, others := []string{m.Label}, []Detail(nil)
	for _, d := range m.Details {
		if d.Qualifier == Label {
			label = append(label, d.Text)
		} else {
			others = append(others, d)
		}
	}
	m.Label, m.Details = words(strings.Join(label, " ")), others
}
