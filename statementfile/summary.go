package statementfile

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
)

// Summary is what a file has, account by account in the order of the file.
type Summary struct {
	Format   Format
	Message  string
	Accounts []AccountSummary
}

// AccountSummary is what a file says about one account. Opening is the first balance and
// Closing the last, nil where the file has none. Sum is that of all entries.
type AccountSummary struct {
	Account             StatementAccount
	Statements, Entries int
	First, Last         passerelle.Date
	Opening, Closing    *StatementBalance
	Sum                 decimal.Decimal
	// Unbalanced are the lines of the statements whose entries do not lead from their opening
	// to their closing balance.
	Unbalanced []int
	Gaps       []Gap
}

// Gap is between two statements of an account when the second does not begin with the balance
// that the first ends with: what is between their days is missing.
type Gap struct {
	After, Before passerelle.Date
	// Missing is what the missing entries sum up to.
	Missing decimal.Decimal
}

// maxStatements bounds the memory of a summary.
const maxStatements = 100_000

// Summarize reads a whole file. Balances that do not fit are part of the summary and no error.
func Summarize(r io.Reader) (Summary, error) {
	s := summarizing{of: map[StatementAccount]*accountSummarizing{}}
	for record, err := range Read(r) {
		if err == nil {
			err = s.add(record)
		}
		if err != nil {
			return Summary{}, err
		}
	}
	return s.summary()
}

// summarizing is a summary of what was read so far.
type summarizing struct {
	Summary
	of         map[StatementAccount]*accountSummarizing
	order      []*accountSummarizing
	statements int
}

type accountSummarizing struct {
	AccountSummary
	// sum is that of the open statement, and spans are the statements with both balances.
	sum   decimal.Decimal
	spans []span
}

type span struct{ opening, closing StatementBalance }

// Identity is the account without what statements may say one way or another.
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
		return at(r.Statement.Line, "", "a file has at most %d statements", maxStatements)
	}
	return a.addStatement(r.Statement)
}

func (a *accountSummarizing) addEntry(e *StatementEntry) error {
	a.Entries++
	if a.First.IsZero() || e.Booked.Compare(a.First) < 0 {
		a.First = e.Booked
	}
	if a.Last.Compare(e.Booked) < 0 {
		a.Last = e.Booked
	}
	var err, total error
	a.sum, err = a.sum.Add(e.Amount)
	a.Sum, total = a.Sum.Add(e.Amount)
	if errors.Join(err, total) != nil {
		return at(e.Line, "", "the sum of the entries has too many digits")
	}
	return nil
}

func (a *accountSummarizing) addStatement(s *FileStatement) error {
	a.Statements++
	sum := a.sum
	a.sum = decimal.Zero
	if s.Closing != nil && (a.Closing == nil || a.Closing.Date.Compare(s.Closing.Date) <= 0) {
		a.Closing = s.Closing
	}
	if s.Opening != nil && (a.Opening == nil || s.Opening.Date.Compare(a.Opening.Date) < 0) {
		a.Opening = s.Opening
	}
	if s.Opening == nil || s.Closing == nil {
		return nil
	}
	end, err := s.Opening.Amount.Add(sum)
	if err != nil {
		return at(s.Line, "", "the balances have too many digits")
	}
	if end.Cmp(s.Closing.Amount) != 0 {
		a.Unbalanced = append(a.Unbalanced, s.Line)
	}
	a.spans = append(a.spans, span{*s.Opening, *s.Closing})
	return nil
}

func (s *summarizing) summary() (Summary, error) {
	for _, a := range s.order {
		if err := a.findGaps(); err != nil {
			return Summary{}, err
		}
		s.Accounts = append(s.Accounts, a.AccountSummary)
	}
	return s.Summary, nil
}

// findGaps compares each statement with the one before it in time.
func (a *accountSummarizing) findGaps() error {
	slices.SortStableFunc(a.spans, func(x, y span) int {
		return cmp.Or(x.closing.Date.Compare(y.closing.Date), x.opening.Date.Compare(y.opening.Date))
	})
	for i := 1; i < len(a.spans); i++ {
		before, after := a.spans[i-1].closing, a.spans[i].opening
		missing, err := after.Amount.Sub(before.Amount)
		if err != nil {
			return at(0, "", "the balances have too many digits")
		}
		if !missing.IsZero() && after.Date.Compare(before.Date) >= 0 {
			a.Gaps = append(a.Gaps, Gap{before.Date, after.Date, missing})
		}
	}
	return nil
}
