package statementfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
)

// maxCSVAccounts is the maximum number of accounts in a CSV file.
const maxCSVAccounts = 500

// readCSV reads a CSV file according to a mapping. All entries of an account form one statement.
func readCSV(in *input, m *Mapping, emit func(Record) error) error {
	if m == nil {
		m = &Mapping{}
	}
	layout, err := m.detectLayout(in.first)
	if err != nil {
		return err
	}
	c := &csvFile{Mapping: m, csvLayout: layout, emit: emit, rows: csvRows{lines: lines{in: in}, delimiter: layout.delimiter}, of: map[StatementAccount]*csvStatement{}}
	return c.read()
}

// csvFile reads one file.
type csvFile struct {
	*Mapping
	*csvLayout
	emit  func(Record) error
	rows  csvRows
	line  int
	of    map[StatementAccount]*csvStatement
	order []*csvStatement
	// held is the last entry. The next row may continue it.
	held *Record
}

// csvStatement is a statement that is being read. It stores the balances of the first and of the
// last row, because files may be in ascending or descending order.
type csvStatement struct {
	FileStatement
	first, last csvBalance
	sum         decimal.Decimal
}

// csvBalance is the balance after an entry.
type csvBalance struct {
	day             passerelle.Date
	amount, balance decimal.Decimal
	known           bool
}

func (c *csvFile) fail(meaning string, err error) error {
	return &FileError{Line: c.line, Field: meaning, Err: err}
}

func (c *csvFile) read() error {
	for n := 0; ; n++ {
		row, err := c.rows.next()
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return err
		}
		if c.line = c.rows.row; n < c.csvLayout.rows {
			continue
		}
		if err := c.row(row); err != nil {
			return err
		}
	}
}

// row reads a row. A row is an entry if it has an amount or a day. row skips entries that are not
// booked. A row with only a wording continues the wording of the previous entry.
func (c *csvFile) row(row []string) error {
	if !c.dated(row) && !c.hasAmount(row) {
		c.continueWording(row)
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	booked, err := c.booked(row)
	if err != nil || !booked {
		return err
	}
	s, err := c.statement(row)
	if err != nil {
		return err
	}
	c.amounts.decimals = s.Account.Currency.Digits()
	e, err := c.entry(row)
	if err != nil {
		return err
	}
	if err := c.balance(s, e, c.cell(row, balanceColumn)); err != nil {
		return err
	}
	c.held = &Record{Statement: &s.FileStatement, Entry: e}
	return nil
}

// continueWording adds the wording of a row to the previous entry.
func (c *csvFile) continueWording(row []string) {
	if more := c.cell(row, wordingColumn); c.held != nil && tidy(more) == tidy(strings.Join(row, " ")) {
		c.held.Entry.Wording = tidy(c.held.Entry.Wording + " " + more)
	}
}

// hasAmount reports whether a row has a valid amount.
func (c *csvFile) hasAmount(row []string) bool {
	return slices.ContainsFunc([]string{amountColumn, debitColumn, creditColumn}, func(meaning string) bool {
		probe := c.amounts
		_, err := probe.read(c.cell(row, meaning))
		return err == nil
	})
}

// dated reports whether the date column of a row contains a day, a text that begins with a digit,
// or the word pending. A row with any other text there and without an amount is a note or a total.
func (c *csvFile) dated(row []string) bool {
	text := c.cell(row, dateColumn)
	_, err := c.dates.read(text)
	return err == nil || strings.ContainsAny(text[:min(1, len(text))], "0123456789") || notYet(text)
}

// flush emits the last entry.
func (c *csvFile) flush() error {
	held := c.held
	if c.held = nil; held == nil {
		return nil
	}
	return c.emit(*held)
}

// pendingWords lists common words for entries that are not booked.
var pendingWords = []string{"pending", "reverted", "declined", "failed", "cancelled", "canceled", "refused", "vorgemerkt", "offen", "en attente", "en cours", "annule", "refuse"}

// bookedWords lists common words for booked entries.
var bookedWords = []string{"completed", "complete", "booked", "posted", "settled", "cleared", "executed", "gebucht", "umsatz gebucht", "comptabilise", "execute", "valide", "abgeschlossen"}

// notYet reports whether the text in the date column says that a row is not booked.
func notYet(text string) bool { return plainHeader(text) == pendingWords[0] }

// booked reports whether a row is booked, according to its status and its date column.
func (c *csvFile) booked(row []string) (bool, error) {
	status := plainHeader(c.cell(row, statusColumn))
	if notYet(c.cell(row, dateColumn)) {
		return false, nil
	}
	is := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return plainHeader(w) == status })
	}
	switch {
	case status == "", len(c.Pending) > 0:
		return status == "" || !is(c.Pending), nil
	case is(pendingWords):
		return false, nil
	case is(bookedWords):
		return true, nil
	}
	return false, c.fail(statusColumn, errors.New("is not a known word; send a mapping with pending, which lists the words for entries that are not booked"))
}

func (c *csvFile) entry(row []string) (*StatementEntry, error) {
	e := &StatementEntry{
		Line: c.line, Reference: reference(c.text(row, referenceColumn)), EndToEnd: reference(c.text(row, endToEndColumn)),
		Wording: tidy(c.text(row, wordingColumn)), Name: tidy(c.text(row, nameColumn)), Number: number(c.text(row, numberColumn)),
	}
	e.Wording = cmp.Or(e.Wording, e.Name, e.EndToEnd)
	if t := passerelle.TransactionType(c.cell(row, typeColumn)); t.Known() {
		e.Type = t
	}
	var err error
	if e.Booked, err = c.day(row, dateColumn); err != nil {
		return nil, err
	}
	if c.cell(row, valueDateColumn) != "" {
		if e.Value, err = c.day(row, valueDateColumn); err != nil {
			return nil, err
		}
	}
	e.Amount, err = c.amount(row)
	return e, err
}

func (c *csvFile) day(row []string, meaning string) (passerelle.Date, error) {
	text := c.cell(row, meaning)
	if text == "" {
		return passerelle.Date{}, c.absent(row, meaning)
	}
	d, err := c.dates.read(text)
	if err != nil {
		return d, c.fail(meaning, errors.New("must be a valid date "+c.dates.shown+"; for another form, send a mapping with date_format"))
	}
	return d, nil
}

// amount returns the value of one column, with the sign of the sign column if there is one, or the
// difference of two columns. With Negate, the sign is reversed.
func (c *csvFile) amount(row []string) (decimal.Decimal, error) {
	d, err := c.signed(row)
	if err == nil && c.Negate {
		d = d.Neg()
	}
	return d, err
}

func (c *csvFile) signed(row []string) (decimal.Decimal, error) {
	if len(c.columns[amountColumn]) > 0 {
		d, err := c.number(row, amountColumn)
		if err != nil || len(c.columns[signColumn]) == 0 {
			return d, err
		}
		return c.withSign(row, d)
	}
	debit, credit := c.cell(row, debitColumn), c.cell(row, creditColumn)
	if debit == "" && credit == "" {
		return decimal.Decimal{}, c.absent(row, debitColumn)
	}
	in, out := decimal.Zero, decimal.Zero
	var err error
	if credit != "" {
		in, err = c.number(row, creditColumn)
	}
	if err == nil && debit != "" {
		out, err = c.number(row, debitColumn)
	}
	if err != nil {
		return in, err
	}
	in, err = plus(in, out.Abs().Neg())
	if err != nil || in.Prec() > maxDigits {
		return in, c.fail(amountColumn, errAmount)
	}
	return in, nil
}

func (c *csvFile) number(row []string, meaning string) (decimal.Decimal, error) {
	text := c.cell(row, meaning)
	if text == "" {
		return decimal.Decimal{}, c.absent(row, meaning)
	}
	d, err := c.amounts.read(text)
	if err != nil {
		return d, c.fail(meaning, err)
	}
	return d, nil
}

// absent returns the error for an empty or missing cell.
func (c *csvFile) absent(row []string, meaning string) error {
	last := slices.Max(c.columns[meaning])
	switch {
	case len(row) > last:
		return c.fail(meaning, errRequired)
	case c.rows.unclosed:
		return c.fail(meaning, errors.New("is missing, because a quote in the line is not closed"))
	}
	return c.fail(meaning, fmt.Errorf("must be in column %d, but the line has only %d columns", last+1, len(row)))
}

var (
	debitWords  = []string{"d", "dr", "dbit", "debit", "s", "soll", "af", "out", "cargo", "dare", "debito"}
	creditWords = []string{"c", "k", "cr", "crdt", "credit", "h", "haben", "bij", "in", "abono", "avere", "credito"}
)

// withSign applies the sign in the sign column to an amount.
func (c *csvFile) withSign(row []string, d decimal.Decimal) (decimal.Decimal, error) {
	text := strings.TrimSpace(c.cell(row, signColumn))
	word := plainHeader(text)
	is := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return w == text || w != "" && plainHeader(w) == word && word != "" })
	}
	switch {
	case len(c.Debit) > 0 && is(c.Debit), len(c.Debit) == 0 && (is(debitWords) || text == "-"):
		return d.Abs().Neg(), nil
	case len(c.Debit) > 0 && text != "", is(creditWords), text == "+":
		return d.Abs(), nil
	}
	return d, c.fail(signColumn, errors.New("is not a known word; send a mapping with debit, which lists the words for outgoing money"))
}

// statement returns the statement for the account in a row or in the mapping.
func (c *csvFile) statement(row []string) (*csvStatement, error) {
	a := StatementAccount{Name: tidy(c.Account.Name), Currency: c.Account.Currency}
	for _, text := range []string{c.Account.Number, c.Account.IBAN, c.text(row, accountColumn)} {
		if strings.Contains(text, `"`) {
			return nil, c.fail(accountColumn, errors.New("must be an IBAN or a number"))
		}
		if text != "" {
			a.IBAN, a.Number = "", ""
			a.setNumber(text)
		}
	}
	if text := c.cell(row, currencyColumn); text != "" {
		if err := into(&a.Currency, currencyOf, strings.ToUpper(text)); err != nil {
			return nil, c.fail(currencyColumn, err)
		}
	}
	a.Currency = cmp.Or(a.Currency, c.currency)
	if a.check(c.line, "") != nil {
		column, why := accountColumn, errCSVAccount
		if a.Currency == "" && a.IBAN+a.Number != "" {
			column, why = currencyColumn, errCSVCurrency
		}
		return nil, at(c.line, column, "%s", why).because(NoAccount)
	}
	if s := c.of[a]; s != nil {
		return s, nil
	}
	if len(c.order) >= maxCSVAccounts {
		return nil, c.fail(accountColumn, errors.New("the file has too many accounts"))
	}
	s := &csvStatement{FileStatement: FileStatement{Line: c.line, Format: CSV, Message: "CSV", Account: a}}
	c.of[a], c.order = s, append(c.order, s)
	return s, nil
}

// balance adds an entry to the sum of the statement. It also stores the balance after the entry, if
// the row has one.
func (c *csvFile) balance(s *csvStatement, e *StatementEntry, text string) error {
	b := csvBalance{day: e.Booked, amount: e.Amount}
	var err error
	if text != "" {
		if b.balance, err = c.amounts.read(text); err != nil {
			return c.fail(balanceColumn, err)
		}
		b.known = true
	}
	if s.last = b; s.first.day.IsZero() {
		s.first = b
	}
	if s.sum, err = plus(s.sum, e.Amount); err != nil {
		return c.fail(amountColumn, err)
	}
	return nil
}

// end emits the last entry and ends all statements.
func (c *csvFile) end() error {
	if err := c.flush(); err != nil {
		return err
	}
	if len(c.order) == 0 {
		return at(0, "", "the file is CSV and has no transactions").because(EmptyFile)
	}
	for _, s := range c.order {
		if err := s.close(); err != nil {
			return err
		}
		if err := c.emit(Record{Statement: &s.FileStatement}); err != nil {
			return err
		}
	}
	return nil
}

// close finds the opening and closing balance of a statement. The entries may be in ascending or
// descending order: close uses the order in which the amounts lead from balance to balance. If both
// orders do so, or neither does, it uses the order of the days.
func (s *csvStatement) close() error {
	if !s.first.known || !s.last.known {
		return nil
	}
	oldest, newest := s.first, s.last
	leads, err := s.leads(oldest, newest)
	turned, errTurned := s.leads(newest, oldest)
	if err := errors.Join(err, errTurned); err != nil {
		return &FileError{Line: s.Line, Field: balanceColumn, Err: errSum}
	}
	if !leads && turned || leads == turned && oldest.day.Compare(newest.day) > 0 {
		oldest, newest = newest, oldest
	}
	before, err := plus(oldest.balance, oldest.amount.Neg())
	if err != nil {
		return &FileError{Line: s.Line, Field: balanceColumn, Err: err}
	}
	s.Opening, s.Closing = &StatementBalance{oldest.day.AddDays(-1), before}, &StatementBalance{newest.day, newest.balance}
	return nil
}

// leads reports whether the entries lead from the balance before the oldest entry to the balance
// after the newest entry.
func (s *csvStatement) leads(oldest, newest csvBalance) (bool, error) {
	before, err := plus(oldest.balance, oldest.amount.Neg())
	if err != nil {
		return false, err
	}
	after, err := plus(before, s.sum)
	return err == nil && after.Equal(newest.balance), err
}
