// Package statementfile reads and writes account statements in the formats that banks exchange:
// camt.052, camt.053 and camt.054, MT940 and MT942, CFONB 120, OFX, and CSV with a [Mapping].
//
// It owns the formats, including the dialects of banks, and the detection of formats and character
// encodings. Its callers decide where files come from, who owns the accounts, and how the data is
// used.
//
// Files are read as a stream: memory does not grow with the number of entries. The exception is
// CFONB 120, where each statement is in memory as a whole. Reading fails with a *FileError that
// names the line and the field if they are known. Files are untrusted: document types, entities,
// archives, and values beyond the limits of this package are refused. An error contains no personal
// data from a file.
package statementfile

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// Format is a family of statement files.
type Format string

// These are the formats. MT940 includes MT942, CAMT includes camt.052, camt.053 and camt.054, and
// OFX has versions in SGML and in XML.
const (
	CAMT  Format = "camt053"
	MT940 Format = "mt940"
	CFONB Format = "cfonb120"
	OFX   Format = "ofx"
	CSV   Format = "csv"
)

// FileStatement is a statement of one account for one period. The number and the currency of
// Account are complete before the first entry of the statement. The other fields are complete at
// the end of the statement. In CSV files, entries of several statements may alternate.
type FileStatement struct {
	// Line is the number, from 1, of the line on which the statement begins.
	Line   int
	Format Format
	// Message is the kind of message, such as camt.053.001.08 or MT942.
	Message string
	// ID is the bank's name or number for the statement.
	ID      string
	Account StatementAccount
	// Opening and Closing are the booked balances before and after the entries, nil when the file
	// has no balance.
	Opening, Closing *StatementBalance
	// From and To are the days of the period, zero when the file names no period.
	From, To passerelle.Date
	// Created is the time at which the bank made the statement. For OFX, it is the time of the
	// closing balance. It is zero when the file has no such time. A time without a zone counts as
	// UTC.
	Created time.Time
	// Incomplete means that the end of an MT940 statement is missing, or that the totals in an
	// MT942 differ from the sums of its entries.
	Incomplete bool
}

// Span returns the period between the balances. It returns false if the statement lacks a balance,
// or if the closing balance is before the opening balance.
func (s *FileStatement) Span() (BalanceSpan, bool) {
	if s.Opening == nil || s.Closing == nil {
		return BalanceSpan{}, false
	}
	return BalanceSpan{*s.Opening, *s.Closing}, s.Opening.Date.Compare(s.Closing.Date) <= 0
}

// StatementAccount is the account of a statement. It has an IBAN or a number.
type StatementAccount struct {
	IBAN, Number string
	// Bank is the BIC or a national code.
	Bank string
	// Name is the name of the account. Owner is the name of its owner.
	Name, Owner string
	Currency    passerelle.Currency
	// Type is empty when the file does not contain it.
	Type passerelle.AccountType
}

// StatementBalance is the booked balance at the end of a day.
type StatementBalance struct {
	Date   passerelle.Date
	Amount decimal.Decimal
}

// StatementEntry is one booked movement of an account.
type StatementEntry struct {
	// Line is the number, from 1, of the line on which the entry begins.
	Line int
	// Booked is the booking day. Value is the value day, or zero.
	Booked, Value passerelle.Date
	// Amount is in the currency of the account. It is negative for money that leaves the account.
	Amount decimal.Decimal
	// Reversal means that the entry reverses an earlier one. Amount is the amount of the reversal.
	Reversal bool
	// Reference is the bank's reference of the entry, or empty.
	Reference string
	// Corrects is the reference of an earlier entry that this entry replaces. If Deletes is set,
	// this entry only deletes the earlier one.
	Corrects string
	Deletes  bool
	// EndToEnd is the payer's reference for the payment.
	EndToEnd string
	Wording  string
	// Type is empty when the file does not contain it.
	Type passerelle.TransactionType
	// Name and Number are the name and the account number of the counterparty. Number is an IBAN
	// or a national number.
	Name, Number string
	// OriginalAmount is the amount in OriginalCurrency, nil when there was no other currency.
	OriginalAmount   *decimal.Decimal
	OriginalCurrency passerelle.Currency
}

// Record is an entry of a statement or, without an entry, the end of the statement.
type Record struct {
	Statement *FileStatement
	Entry     *StatementEntry
}

// FileError describes a mistake in a file. Line is 0 for a mistake that concerns the whole file.
type FileError struct {
	Line int
	// Field is the name of the field in the format.
	Field string
	Err   error
	// Reason selects the translation of the error. It may be empty.
	Reason RefusalReason
}

// RefusalReason is the reason why a file is refused.
type RefusalReason string

// These are the reasons for refusing a file.
const (
	// NoStatement is for files that are not statements in a known format.
	NoStatement RefusalReason = "statement"
	EmptyFile   RefusalReason = "empty"
	// OtherFile is for archives, PDF files and spreadsheets.
	OtherFile RefusalReason = "other"
	TooLarge  RefusalReason = "large"
	// Damaged is for files that are cut off or not well-formed.
	Damaged RefusalReason = "damaged"
	// NoAccount is for statements without an account number or a currency, for accounts that
	// change, and for account numbers that are too long.
	NoAccount RefusalReason = "account"
	// NeedsMapping is for CSV files whose columns have unknown names.
	NeedsMapping RefusalReason = "mapping"
)

// because sets the reason of an error.
func (e *FileError) because(r RefusalReason) *FileError {
	e.Reason = r
	return e
}

func (e *FileError) Error() string {
	switch {
	case e.Line == 0:
		return e.Err.Error()
	case e.Field == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d, %s: %s", e.Line, e.Field, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// These are the limits of a file.
const (
	// MaxSize is the maximum size of a file, in bytes.
	MaxSize = 1 << 30
	// maxEntries is the maximum number of entries in a file.
	maxEntries = 2_000_000
	// maxText is the maximum length of a text of an entry, in bytes. Longer texts are cut.
	maxText = 1000
	// maxNumber is the maximum length of an account number, in bytes.
	maxNumber = 200
	// maxToken is the maximum length of one value, in bytes.
	maxToken = 64 << 10
)

// errStopped stops a reader when its caller has stopped reading.
var errStopped = errors.New("the caller stopped")

// reader reads one format.
type reader func(in *input, m *Mapping, emit func(Record) error) error

var readers = map[Format]reader{CAMT: readCAMT, MT940: readMT940, CFONB: readCFONB, OFX: readOFX, CSV: readCSV}

// Read reads the statements of a file in any of the formats. For each statement, it yields the
// entries in the order of the file and then the end of the statement. After an error, it yields
// nothing more. The mapping describes a CSV file. When it is nil, the header defines the columns.
// For other formats, Read uses only the mapping's Encoding and, for OFX, the mapping's currency.
func Read(r io.Reader, m *Mapping) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var checked recordCheck
		emit := func(record Record) error {
			if err := checked.add(record); err != nil {
				return err
			}
			if !yield(record, nil) {
				return errStopped
			}
			return nil
		}
		if err := read(r, m, emit); err != nil && !errors.Is(err, errStopped) {
			yield(Record{}, err)
		}
	}
}

// recordCheck checks the rules that all formats share.
type recordCheck struct {
	entries int
	// open is the statement of the last record. account is the result of Account.Identity at the
	// first record of this statement.
	open    *FileStatement
	account StatementAccount
}

func (c *recordCheck) add(r Record) error {
	if c.open != r.Statement {
		c.open, c.account = r.Statement, r.Statement.Account.Identity()
	}
	if r.Statement.Account.Identity() != c.account {
		return at(r.Statement.Line, "", "the account of a statement changes after its first entry").because(NoAccount)
	}
	if max(len(c.account.IBAN), len(c.account.Number)) > maxNumber {
		return at(r.Statement.Line, "", "an account number can have at most %d bytes", maxNumber).because(NoAccount)
	}
	for _, b := range []*StatementBalance{r.Statement.Opening, r.Statement.Closing} {
		if b != nil && implausible(b.Date) {
			return at(r.Statement.Line, "", "the day of a balance %w", errDay)
		}
	}
	if r.Entry == nil {
		return nil
	}
	if implausible(r.Entry.Booked) {
		return at(r.Entry.Line, "", "the booking day %w", errDay)
	}
	if c.entries++; c.entries > maxEntries {
		return at(r.Entry.Line, "", "a file can have at most %d entries", maxEntries).because(TooLarge)
	}
	return nil
}

func read(r io.Reader, m *Mapping, emit func(Record) error) error {
	in, format, err := open(r, m)
	if err != nil {
		return err
	}
	return readers[format](in, m, emit)
}

// at returns an error about a field in a line.
func at(line int, field, format string, args ...any) *FileError {
	return &FileError{Line: line, Field: field, Err: fmt.Errorf(format, args...)}
}
