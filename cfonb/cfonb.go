// Package cfonb writes and reads statements of accounts in the form that French banks exchange:
// records of 120 characters. A brochure of July 2004 by the Comité français d'organisation et de
// normalisation bancaires defines these records.
//
// The package owns the columns, the coding of signed amounts, the characters that a record may
// contain, and the continuation of long labels. Its callers supply the accounts and movements. The
// package uses no clock and no files, and its amounts are integers.
//
// Writing fails when an amount, a date or a code does not fit its columns. Reading fails with a
// *LineError at the first line that breaks the standard. The errors contain no account number and
// no label.
package cfonb

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"passerelle"
)

// MaxAmount is the largest absolute value of an amount or a balance, in units of the last decimal.
// It has 14 digits.
const MaxAmount = 99_999_999_999_999

// MaxDecimals is the largest number of decimals of an amount.
const MaxDecimals = 9

// Account identifies an account in France by the first three parts of its RIB. It also has the
// currency and the number of decimals.
type Account struct {
	// Bank and Branch have five capitals or digits, Number has eleven.
	Bank, Branch, Number string
	Currency             passerelle.Currency
	// Decimals is the number of digits of an amount after the decimal point, up to MaxDecimals.
	Decimals int
}

// Split returns the bank, branch and account number of a French IBAN. It ignores spaces and accepts
// lower-case letters. It returns false for other IBANs, because a statement cannot contain them. It
// omits the two digits of the RIB key, because a statement does not contain the key.
func Split(iban string) (string, string, string, bool) {
	iban = strings.ToUpper(strings.Join(strings.Fields(iban), ""))
	a := passerelle.Account{Scheme: passerelle.IBAN, Identification: iban, Label: "account"}
	if !strings.HasPrefix(iban, "FR") || a.Check("") != nil {
		return "", "", "", false
	}
	return iban[4:9], iban[9:14], iban[14:25], true
}

// Statement holds the movements of an account between two balances.
type Statement struct {
	// Line is the line of the file on which the statement begins, from 1. Only Parse sets it.
	Line    int
	Account Account
	// Opened and Closed are the days of the old and of the new balance.
	Opened, Closed passerelle.Date
	// Balance is the new balance, in units of the last decimal.
	Balance   int64
	Movements []Movement
}

// Opening returns the old balance: the new balance minus the movements. An amount or a balance
// beyond MaxAmount is an error.
func (s *Statement) Opening() (int64, error) {
	sum := s.Balance
	for i := range s.Movements {
		amount := s.Movements[i].Amount
		if magnitude(amount) > MaxAmount || magnitude(sum) > math.MaxInt64/2 {
			return 0, errAmount
		}
		sum -= amount
	}
	if magnitude(sum) > MaxAmount || magnitude(s.Balance) > MaxAmount {
		return 0, errAmount
	}
	return sum, nil
}

// Movement is one entry of an account. Write converts its texts with [Text].
type Movement struct {
	// Line is the line of the file on which the movement begins, from 1. Only Parse sets it.
	Line int
	// Operation is the interbank code: two capitals or digits. See [Operation] and [TypeOf].
	Operation string
	// Internal is the bank's own code of four capitals or digits, or empty.
	Internal string
	Booked   passerelle.Date
	// Value is the value day, if any.
	Value passerelle.Date
	// Amount is negative for outgoing money, in units of the last decimal.
	Amount int64
	// Label may have any length. The movement's record has 31 columns for it, and further records
	// contain the rest. Write breaks labels between words, and splits words of more than 31
	// characters.
	Label string
	// Entry is the number of the entry in the statement. It has at most seven digits.
	Entry int
	// Reference is cut after 16 characters.
	Reference string
	// Details are the further records of the movement.
	Details []Detail
}

// These are qualifiers of the records that follow a movement. No Detail has the qualifier Label.
const (
	// Label marks a record whose text continues the movement's label. A reader appends the text to
	// the label.
	Label = "LIB"
	// Payee names the beneficiary, and Payer the person who pays.
	Payee = "NBE"
	Payer = "NPY"
	// Original has the amount in another currency. See [Detail.Original].
	Original = "MMO"
)

// Detail is a record with further data about a movement. The qualifier has three capitals or
// digits and is not Label. The text is cut after 70 characters.
type Detail struct {
	Qualifier string
	Text      string
}

// originalForm matches a currency, the number of decimals and an amount without a sign. A rate may
// follow.
var originalForm = regexp.MustCompile(`^([A-Z]{3})([0-9])([0-9]{14})`)

// Original returns the currency, the number of decimals and the amount in a detail with the qualifier
// Original. The amount is in units of the last decimal and has no sign. Original returns false for
// any other detail.
func (d *Detail) Original() (passerelle.Currency, int, int64, bool) {
	parts := originalForm.FindStringSubmatch(d.Text)
	if d.Qualifier != Original || parts == nil {
		return "", 0, 0, false
	}
	decimals, _ := strconv.Atoi(parts[2]) // the pattern matches only digits
	amount, _ := strconv.ParseInt(parts[3], 10, 64)
	return passerelle.Currency(parts[1]), decimals, amount, true
}

// These are errors for values that do not fit a statement.
var (
	errAmount   = errors.New("an amount or a balance has more than 14 digits")
	errDate     = errors.New("a date is missing or outside 1960 to 2059")
	errAccount  = errors.New("the account must have bank and branch of 5 capitals or digits, a number of 11, a currency of 3 capitals and at most 9 decimals")
	errCode     = errors.New("an operation must have 2 capitals or digits, a qualifier 3, an internal code 4 or none")
	errEntry    = errors.New("the number of an entry must have at most 7 digits")
	errLabelled = errors.New("a detail must not have the qualifier of labels")
)

func (a *Account) check() error {
	fits := isCode(a.Bank, 5) && isCode(a.Branch, 5) && isCode(a.Number, 11) &&
		isCode(string(a.Currency), 3) && !strings.ContainsAny(string(a.Currency), "0123456789") &&
		0 <= a.Decimals && a.Decimals <= MaxDecimals
	if !fits {
		return errAccount
	}
	return nil
}

func (m *Movement) check() error {
	switch {
	case magnitude(m.Amount) > MaxAmount:
		return errAmount
	case !isCode(m.Operation, 2), m.Internal != "" && !isCode(m.Internal, 4):
		return errCode
	case m.Entry < 0 || m.Entry > 9_999_999:
		return errEntry
	}
	for _, d := range m.Details {
		if !isCode(d.Qualifier, 3) {
			return errCode
		}
		if d.Qualifier == Label {
			return errLabelled
		}
	}
	return nil
}

// isCode reports whether s consists of capitals and digits and has the given size.
func isCode(s string, size int) bool {
	return len(s) == size && strings.Trim(s, capitals) == ""
}

const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// LineError is an error at a line of the file. Lines count from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }
