package cfonb

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"passerelle"
)

// width is the length of every record.
const width = 120

// These are the codes of the records of a statement.
const (
	oldBalance = "01"
	movement   = "04"
	detail     = "05"
	newBalance = "07"
)

// span is a range of columns. Columns count from 1, and the range includes both ends.
type span struct{ from, to int }

// These are the columns of the standard. The columns of the first group are the same in all
// records.
var (
	atCode      = span{1, 2}
	atBank      = span{3, 7}
	atInternal  = span{8, 11}
	atBranch    = span{12, 16}
	atCurrency  = span{17, 19}
	atDecimals  = span{20, 20}
	atNumber    = span{22, 32}
	atOperation = span{33, 34}
	atDate      = span{35, 40}

	atAmount = span{91, 104}

	atValue     = span{43, 48}
	atLabel     = span{49, 79}
	atEntry     = span{82, 88}
	atMarks     = span{89, 90}
	atReference = span{105, 120}

	atQualifier = span{46, 48}
	atText      = span{49, 118}
)

func (s span) size() int { return s.to - s.from + 1 }

// record is one line without its line break.
type record [width]byte

// blank returns a record that contains only its code and the account.
func blank(code string, a *Account) *record {
	r := &record{}
	for i := range r {
		r[i] = ' '
	}
	r.put(atCode, code)
	r.put(atBank, a.Bank)
	r.put(atBranch, a.Branch)
	r.put(atCurrency, string(a.Currency))
	r.put(atDecimals, strconv.Itoa(a.Decimals))
	r.put(atNumber, a.Number)
	return r
}

// put writes a text at the left of its columns, and cuts off the part that does not fit.
func (r *record) put(at span, text string) { copy(r[at.from-1:at.to], text) }

func (r *record) get(at span) string { return string(r[at.from-1 : at.to]) }

// trimmed returns the content of columns without blanks around it.
func (r *record) trimmed(at span) string { return strings.Trim(r.get(at), " ") }

const day = "020106"

// FirstYear and LastYear are the first and the last year of a day in a statement. A year has two
// digits in a record: those from 60 to 99 are 1960 to 1999, and smaller ones are 2000 to 2059.
const (
	FirstYear = 1960
	LastYear  = 2059
)

const pivot = FirstYear % 100

// putDate writes a day. A missing day stays blank if it is optional.
func (r *record) putDate(at span, d passerelle.Date, optional bool) error {
	if d.IsZero() && optional {
		return nil
	}
	t := d.In(time.UTC)
	if d.IsZero() || t.Year() < FirstYear || t.Year() > LastYear {
		return errDate
	}
	r.put(at, t.Format(day))
	return nil
}

func (r *record) date(at span, optional bool) (passerelle.Date, error) {
	text := r.get(at)
	if optional && strings.Trim(text, " ") == "" {
		return passerelle.Date{}, nil
	}
	year, err := strconv.ParseUint(text[4:], 10, 8)
	century := 20
	if year >= pivot {
		century = 19
	}
	d, invalid := passerelle.ParseDate("", fmt.Sprintf("%d%s-%s-%s", century, text[4:], text[2:4], text[:2]))
	if err != nil || invalid != nil {
		return passerelle.Date{}, fmt.Errorf("columns %d to %d are not a day as DDMMYY", at.from, at.to)
	}
	return d, nil
}

// The last character of an amount encodes the last digit and the sign.
const (
	positive = "{ABCDEFGHI"
	negative = "}JKLMNOPQR"
)

// putAmount writes a number. The caller has checked its magnitude.
func (r *record) putAmount(n int64) {
	m := magnitude(n)
	signs := positive
	if n < 0 {
		signs = negative
	}
	r.put(atAmount, fmt.Sprintf("%0*d%c", atAmount.size()-1, m/10, signs[m%10]))
}

func (r *record) amount() (int64, error) {
	text := r.get(atAmount)
	last := len(text) - 1
	tens, err := strconv.ParseUint(text[:last], 10, 63)
	units, sign := strings.IndexByte(positive, text[last]), int64(1)
	if units < 0 {
		units, sign = strings.IndexByte(negative, text[last]), -1
	}
	if err != nil || units < 0 {
		return 0, fmt.Errorf("columns %d to %d are not a signed amount", atAmount.from, atAmount.to)
	}
	return sign * (int64(tens)*10 + int64(units)), nil
}
