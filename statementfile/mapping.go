package statementfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"passerelle"
)

// Mapping defines how to read a CSV file. Omitted values are detected from the file: the delimiter,
// the decimal mark, the date format, and columns with common names in eight languages.
type Mapping struct {
	// Account is the account of the file, unless a column contains it.
	Account MappedAccount `json:"account,omitzero"`
	// Encoding is the encoding of a file that is neither in UTF-8 nor in Windows-1252, such as
	// windows-1250.
	Encoding string `json:"encoding,omitempty"`
	// Delimiter is ",", ";", "|" or a tab.
	Delimiter string `json:"delimiter,omitempty"`
	// Decimal is "." or ",".
	Decimal string `json:"decimal,omitempty"`
	// DateFormat is a date format such as DD/MM/YYYY.
	DateFormat string `json:"date_format,omitempty"`
	// NoHeader means that no line names the columns. The mapping then selects columns by number.
	NoHeader bool `json:"no_header,omitempty"`
	// Skip is the number of lines to skip at the beginning. Empty lines do not count.
	Skip int `json:"skip,omitempty"`
	// Negate means that the file has positive amounts for outgoing money, and negative amounts for
	// incoming money.
	Negate bool `json:"negate,omitempty"`
	// Debit lists the values in the sign column that mean outgoing money. Pending lists the values
	// in the status column that mean that an entry is not booked. All other values have the opposite
	// meaning.
	Debit   []string `json:"debit,omitempty"`
	Pending []string `json:"pending,omitempty"`
	// Columns maps names in MappedColumns to columns that are not found by their headers.
	Columns map[string]Columns `json:"columns,omitempty"`
}

// MappedAccount is the account of a CSV file.
type MappedAccount struct {
	IBAN     string              `json:"iban,omitempty"`
	Number   string              `json:"number,omitempty"`
	Currency passerelle.Currency `json:"currency,omitempty"`
	Name     string              `json:"name,omitempty"`
}

// Columns are one or more columns of a CSV file. In JSON they are a name, a number (counted from
// 1), or an array of names and numbers.
type Columns []Column

// Column is a column by its name or, when the name is empty, by its number from 1.
type Column struct {
	Name   string
	Number int
}

// UnmarshalJSON reads a name, a number or an array.
func (c *Columns) UnmarshalJSON(text []byte) error {
	var several []Column
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err := json.Unmarshal(text, &several)
		*c = several
		return err
	}
	var one Column
	err := one.UnmarshalJSON(text)
	*c = Columns{one}
	return err
}

var errColumn = errors.New("a column is a name, or a number from 1")

// UnmarshalJSON reads a name or a number.
func (c *Column) UnmarshalJSON(text []byte) error {
	if number, err := strconv.Atoi(string(text)); err == nil && number > 0 {
		*c = Column{Number: number}
		return nil
	}
	if err := json.Unmarshal(text, &c.Name); err != nil || c.Name == "" {
		return errColumn
	}
	return nil
}

// MarshalJSON writes a name or a number.
func (c Column) MarshalJSON() ([]byte, error) {
	if c.Name == "" {
		return json.Marshal(c.Number)
	}
	return json.Marshal(c.Name)
}

// These are the possible meanings of columns.
const (
	dateColumn      = "date"
	valueDateColumn = "value_date"
	amountColumn    = "amount"
	debitColumn     = "debit"
	creditColumn    = "credit"
	signColumn      = "sign"
	currencyColumn  = "currency"
	wordingColumn   = "wording"
	nameColumn      = "name"
	numberColumn    = "number"
	referenceColumn = "reference"
	endToEndColumn  = "end_to_end"
	balanceColumn   = "balance"
	accountColumn   = "account"
	statusColumn    = "status"
	typeColumn      = "type"
)

// MappedColumns returns the meanings that columns can have.
func MappedColumns() []string {
	return []string{
		dateColumn, valueDateColumn, amountColumn, debitColumn, creditColumn, signColumn, currencyColumn, wordingColumn, nameColumn, numberColumn, referenceColumn, endToEndColumn,
		balanceColumn, accountColumn, statusColumn, typeColumn,
	}
}

// ParseMapping reads a mapping as JSON, and checks it.
func ParseMapping(text string) (*Mapping, error) {
	m := &Mapping{}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var wrong *json.UnmarshalTypeError
	switch err := decoder.Decode(m); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, fmt.Errorf("%s must not be a %s", wrong.Field, wrong.Value)
	case errors.Is(err, errColumn):
		return nil, errColumn
	case err != nil && strings.Contains(err.Error(), "unknown field"):
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	case err != nil:
		return nil, errors.New("must be a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object")
	}
	return m, m.check()
}

// maxSkip is the largest number of lines to skip at the beginning of a CSV file. maxColumns is the
// largest number of columns for one meaning.
const (
	maxSkip    = 100
	maxColumns = 20
)

func (m *Mapping) check() error {
	for _, check := range []func() error{m.checkNames, m.checkValues, m.checkNumbers, m.checkForms} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mapping) checkNames() error {
	for name := range m.Columns {
		if !slices.Contains(MappedColumns(), name) {
			return fmt.Errorf("columns has %q; the names are %s", name, strings.Join(MappedColumns(), ", "))
		}
	}
	return nil
}

func (m *Mapping) checkValues() error {
	switch {
	case m.Encoding != "" && unknownEncoding(m.Encoding):
		return errors.New("encoding must be the name of an encoding, such as windows-1250")
	case len(m.Delimiter) > 1 || !strings.Contains(delimiters, m.Delimiter):
		return errors.New(`delimiter must be ",", ";", "|" or a tab`)
	case !slices.Contains([]string{"", ".", ","}, m.Decimal):
		return errors.New(`decimal must be "." or ","`)
	case m.Skip < 0 || m.Skip > maxSkip:
		return fmt.Errorf("skip must be from 0 to %d", maxSkip)
	case m.Account.Currency != "" && !m.Account.Currency.Known():
		return errors.New("account.currency must be an ISO 4217 currency")
	case m.NoHeader && len(m.Columns) == 0:
		return errors.New("columns is required with no_header")
	}
	return nil
}

func unknownEncoding(name string) bool {
	_, err := htmlindex.Get(name)
	return err != nil
}

func (m *Mapping) checkNumbers() error {
	for name, columns := range m.Columns {
		if len(columns) > maxColumns {
			return fmt.Errorf("columns.%s can have at most %d columns", name, maxColumns)
		}
		for _, c := range columns {
			if m.NoHeader && c.Number == 0 {
				return fmt.Errorf("columns.%s must be a number, because no_header is true", name)
			}
		}
	}
	return nil
}

func (m *Mapping) checkForms() error {
	if m.DateFormat != "" {
		if _, err := dateForm(m.DateFormat); err != nil {
			return err
		}
	}
	if m.Account.IBAN == "" {
		return nil
	}
	var a StatementAccount
	if a.setNumber(m.Account.IBAN); a.IBAN == "" {
		return errors.New("account.iban must be an IBAN")
	}
	return nil
}
