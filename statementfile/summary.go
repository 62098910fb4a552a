package statementfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/govalues/decimal"

	"passerelle"
)

// Summary describes the content of a file for each account, in the order of the file.
type Summary struct {
	Format   Format
	Message  string
	Accounts []AccountSummary
}

// AccountSummary describes the content of a file for one account. Opening is the earliest opening
// balance. Closing is the latest closing balance. Each is nil when the file has no such balance.
// Sum is the sum of the counted entries.
type AccountSummary struct {
	Account             StatementAccount
	Statements, Entries int
	First, Last         passerelle.Date
	Opening, Closing    *StatementBalance
	Sum                 decimal.Decimal
	// Unbalanced lists the lines of statements that are incomplete, whose entries do not lead from
	// the opening to the closing balance, or whose closing balance is before the opening balance.
	// Imbalance describes the first of them in words.
	Unbalanced []int
	Imbalance  string
	// Outside lists the lines of statements with entries that are booked before the day of the
	// opening balance, or after the day of the closing balance.
	Outside []int
	// Reversals is the number of entries that reverse an earlier entry. Corrections is the number
	// of entries that replace or delete an earlier entry. Entries and Sum do not include an entry
	// that only deletes another entry.
	Reversals, Corrections int
	// Spans are the periods of the statements that have both balances in order. Two of them are
	// joined when they overlap, or when the second begins with the closing balance of the first.
	Spans []BalanceSpan
	// Gaps are the gaps between the spans.
	Gaps []Gap
}

// maxStatements limits the memory of a summary.
const maxStatements = 100_000

// Summarize reads a complete file, as Read does. Balances that do not match are reported in the
// summary and are not an error.
func Summarize(r io.Reader, m *Mapping) (Summary, error) {
	s := summarizing{of: map[StatementAccount]*accountSummarizing{}}
	for record, err := range Read(r, m) {
		if err == nil {
			err = s.add(record)
		}
		if err != nil {
			return Summary{}, err
		}
	}
	return s.summary()
}

// summarizing builds a summary from the records read so far.
type summarizing struct {
	Summary
	of         map[StatementAccount]*accountSummarizing
	order      []*accountSummarizing
	statements int
}

type accountSummarizing struct {
	AccountSummary
	open openStatement
}

// openStatement is the sum of the entries of a statement so far, and the first and last day on which
// they are booked.
type openStatement struct {
	sum         decimal.Decimal
	first, last passerelle.Date
}

// add adds an entry.
func (o *openStatement) add(e *StatementEntry) error {
	if o.first.IsZero() || e.Booked.Compare(o.first) < 0 {
		o.first = e.Booked
	}
	if o.last.Compare(e.Booked) < 0 {
		o.last = e.Booked
	}
	var err error
	o.sum, err = plus(o.sum, e.Amount)
	return err
}

// outside reports whether an entry is booked before the opening or after the closing balance.
func (o *openStatement) outside(s *FileStatement) bool {
	return !o.first.IsZero() && (s.Opening != nil && o.first.Compare(s.Opening.Date) < 0 || s.Closing != nil && o.last.Compare(s.Closing.Date) > 0)
}

// Identity returns the account without the fields that vary between statements of the same account.
func (a *StatementAccount) Identity() StatementAccount {
	return StatementAccount{IBAN: a.IBAN, Number: a.Number, Currency: a.Currency}
}

func (s *summarizing) add(r Record) error {
	key := r.Statement.Account.Identity()
	a := s.of[key]
	if a == nil {
		a = &accountSummarizing{AccountSummary: AccountSummary{Account: r.Statement.Account}}
		s.of[key], s.order = a, append(s.order, a)
	}
	s.Format, s.Message = r.Statement.Format, r.Statement.Message
	if r.Entry != nil {
		return a.addEntry(r.Entry)
	}
	if s.statements++; s.statements > maxStatements {
		return at(r.Statement.Line, "", "a file can have at most %d statements", maxStatements)
	}
	return a.addStatement(r.Statement)
}

func (a *accountSummarizing) addEntry(e *StatementEntry) error {
	if e.Corrects != "" {
		a.Corrections++
	}
	if e.Deletes {
		return nil
	}
	a.Entries++
	if e.Reversal {
		a.Reversals++
	}
	if a.First.IsZero() || e.Booked.Compare(a.First) < 0 {
		a.First = e.Booked
	}
	if a.Last.Compare(e.Booked) < 0 {
		a.Last = e.Booked
	}
	err := a.open.add(e)
	var total error
	a.Sum, total = plus(a.Sum, e.Amount)
	if errors.Join(err, total) != nil {
		return at(e.Line, "", "the sum of the entries has too many digits")
	}
	return nil
}

func (a *accountSummarizing) addStatement(s *FileStatement) error {
	a.Statements++
	open := a.open
	a.open = openStatement{}
	a.extend(s)
	if open.outside(s) {
		a.Outside = append(a.Outside, s.Line)
	}
	if s.Incomplete {
		a.unbalanced(s, missing(s))
	}
	if s.Opening == nil || s.Closing == nil {
		return nil
	}
	span, ordered := s.Span()
	if !ordered {
		a.unbalanced(s, fmt.Sprintf("the closing balance, of %s, is before the opening balance, of %s", s.Closing.Date, s.Opening.Date))
		return nil
	}
	end, err := plus(s.Opening.Amount, open.sum)
	if err != nil {
		return at(s.Line, "", "the balances have too many digits")
	}
	if end.Cmp(s.Closing.Amount) != 0 {
		a.unbalanced(s, fmt.Sprintf("the entries lead from the opening balance %s to %s, but the closing balance is %s", s.Opening.Amount, end, s.Closing.Amount))
	}
	a.Spans = append(a.Spans, span)
	return nil
}

// extend extends the period between the balances by that of a statement.
func (a *AccountSummary) extend(s *FileStatement) {
	if s.Closing != nil && (a.Closing == nil || a.Closing.Date.Compare(s.Closing.Date) <= 0) {
		a.Closing = s.Closing
	}
	if s.Opening != nil && (a.Opening == nil || s.Opening.Date.Compare(a.Opening.Date) < 0) {
		a.Opening = s.Opening
	}
}

// unbalanced records a statement that is incomplete, does not add up, or ends before it begins.
func (a *accountSummarizing) unbalanced(s *FileStatement, why string) {
	if a.Unbalanced = append(a.Unbalanced, s.Line); len(a.Unbalanced) == 1 {
		a.Imbalance = why
	}
}

// missing says what an incomplete statement lacks.
func missing(s *FileStatement) string {
	if s.Message == "MT942" {
		return "the entries do not match the sums in :90D: and :90C:"
	}
	return "the closing balance (:62F: or :62M:) is missing"
}

func (s *summarizing) summary() (Summary, error) {
	for _, a := range s.order {
		var err error
		if a.Gaps, a.Spans, err = Gaps(a.Spans); err != nil {
			return Summary{}, at(0, "", "%s", err)
		}
		s.Accounts = append(s.Accounts, a.AccountSummary)
	}
	return s.Summary, nil
}
