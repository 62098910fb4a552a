package statementfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
)

// amountForm parses the amounts of a file. Unless the mapping sets the decimal mark, the first
// amount that shows the mark determines it for all amounts.
type amountForm struct {
	mark byte
	// decimals is the number of decimals of the currency.
	decimals int
}

var (
	errMark = errors.New(`may have a point or a comma for thousands; send a mapping with decimal`)
	errSign = errors.New("must have at most one sign, as in -5.00, 5.00- and (5.00)")
	// errGroups has the errors for amounts whose points and commas do not fit the decimal mark.
	errGroups = map[byte]error{
		'.': errors.New("must be an amount with a point before the decimals, and commas only before each three digits"),
		',': errors.New("must be an amount with a comma before the decimals, and points only before each three digits"),
	}
	errCurrencies = errors.New("must name only one currency")
)

// spacesAndQuotes removes currency signs, and the spaces and quotes that separate thousands. It
// also replaces the minus sign U+2212 with a hyphen.
var spacesAndQuotes = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "\u2019", "", "\u2212", "-", "€", "", "$", "", "£", "")

// brokenDecimals matches a separator of thousands in the decimals.
var brokenDecimals = regexp.MustCompile(`[.,][0-9]*[ \x{a0}\x{202f}'\x{2019}]+[0-9]`)

// namedCurrency matches a currency code before or after an amount.
var namedCurrency = regexp.MustCompile(`^([A-Z]{3})?([^A-Z]*?)([A-Z]{3})?$`)

// read reads an amount such as -1 234,56 or (1,234.56) or 12.50- EUR.
func (f *amountForm) read(text string) (decimal.Decimal, error) {
	parts := namedCurrency.FindStringSubmatch(spacesAndQuotes.Replace(strings.TrimSpace(text)))
	if parts == nil || brokenDecimals.MatchString(text) {
		return decimal.Decimal{}, errAmount
	}
	digits, negative, err := unsigned(parts[2])
	if parts[1] != "" && parts[3] != "" {
		err = errCurrencies
	}
	if err != nil {
		return decimal.Decimal{}, err
	}
	if f.mark == 0 {
		mark, decided := markOf(digits, f.decimals)
		if !decided {
			return decimal.Decimal{}, errMark
		}
		f.mark = mark
	}
	plain, fits := ungrouped(digits, f.mark)
	if !fits {
		return decimal.Decimal{}, errGroups[f.mark]
	}
	d, err := amountOf(plain, '.')
	if negative {
		d = d.Neg()
	}
	return d, err
}

// unsigned removes the sign, and reports whether it is negative. Some programs write the sign as
// brackets or after the amount.
func unsigned(text string) (string, bool, error) {
	const signs = "+-()"
	digits := strings.Trim(text, signs)
	before, after, _ := strings.Cut(text, digits)
	if digits == "" {
		return "", false, errAmount
	}
	switch before + after {
	case "", "+":
		return digits, false, nil
	case "-", "()":
		return digits, true, nil
	}
	return "", false, errSign
}

// markOf returns the decimal mark in an amount, or 0 when the amount has no mark. It returns false
// for an ambiguous amount such as 1,234, unless the currency has three decimals.
func markOf(digits string, decimals int) (byte, bool) {
	last := strings.LastIndexAny(digits, ".,")
	if last < 0 {
		return 0, true
	}
	mark := digits[last]
	other := "."
	if mark == '.' {
		other = ","
	}
	switch count := strings.Count(digits, string(mark)); {
	case strings.Contains(digits, other):
		return mark, count == 1
	case count > 1:
		return other[0], true
	}
	return mark, len(digits)-last-1 != 3 || decimals == 3
}

// groups maps each decimal mark to a pattern for digits with separators of thousands.
var groups = map[byte]*regexp.Regexp{'.': regexp.MustCompile(`^[0-9]{1,3}(?:,[0-9]{3})+$`), ',': regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{3})+$`)}

// ungrouped returns an amount without separators of thousands and with a decimal point.
func ungrouped(digits string, mark byte) (string, bool) {
	if mark == 0 {
		return digits, true
	}
	whole, fraction, both := strings.Cut(digits, string(mark))
	if strings.ContainsAny(whole, ".,") {
		if !groups[mark].MatchString(whole) {
			return "", false
		}
		whole = strings.NewReplacer(".", "", ",", "").Replace(whole)
	}
	if both {
		whole += "." + fraction
	}
	return whole, true
}

// eitherAmount reads an amount with a point or a comma as decimal mark. decimals is the number of
// decimals of the currency.
func eitherAmount(text string, decimals int) (decimal.Decimal, error) {
	if strings.Contains(text, ".") && strings.Contains(text, ",") {
		return (&amountForm{}).read(text)
	}
	if digits, _, err := unsigned(strings.TrimSpace(text)); err == nil && decimals != 3 && digits[:min(1, len(digits))] != "0" && groups['.'].MatchString(digits) {
		return decimal.Decimal{}, errThousands
	}
	return amountOf(strings.Replace(text, ",", ".", 1), '.')
}

// dayForm parses days in one format. It contains the positions of year, month and day.
type dayForm struct {
	shown            string
	pattern          *regexp.Regexp
	year, month, day int
}

// forms lists common date formats, most likely first. A slash, a point, a hyphen or a space is
// accepted as separator.
var forms = []string{"YYYY-MM-DD", "DD/MM/YYYY", "YYYYMMDD", "DD/MM/YY", "MM/DD/YYYY"}

// commonForms contains the parsers of these formats, in the same order.
var commonForms = func() []*dayForm {
	all := make([]*dayForm, len(forms))
	for i, form := range forms {
		all[i], _ = dateForm(form) // a test parses each format
	}
	return all
}()

var formWords = regexp.MustCompile(`YYYY|YY|MM|DD|M|D`)

// dateForm makes a parser for a format such as DD/MM/YYYY.
func dateForm(text string) (*dayForm, error) {
	words := formWords.FindAllString(text, -1)
	rest := formWords.ReplaceAllString(text, "")
	place := func(initial string) int {
		return 1 + slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, initial) })
	}
	f := &dayForm{shown: text, year: place("Y"), month: place("M"), day: place("D")}
	if f.year*f.month*f.day == 0 || len(words) != 3 || strings.Trim(rest, "/-. ") != "" {
		return nil, errors.New("date_format must have YYYY or YY, MM and DD, such as DD/MM/YYYY")
	}
	separator := ""
	if rest != "" {
		separator = `[/.\- ]`
	}
	var patterns []string
	for _, word := range words {
		patterns = append(patterns, digitsOf(word, rest != ""))
	}
	compiled, err := regexp.Compile("^" + strings.Join(patterns, separator) + `\.?(?:$|[T ,].*)`)
	f.pattern = compiled
	return f, err
}

// digitsOf returns the pattern of a year, month or day. Between separators, months and days may
// have one digit, and months may be names.
func digitsOf(word string, separated bool) string {
	switch {
	case word == "YYYY":
		return `([0-9]{4})`
	case word == "YY" || !separated:
		return `([0-9]{2})`
	case word[0] == 'M':
		return `([0-9]{1,2}|[A-Za-z]{3})`
	}
	return `([0-9]{1,2})`
}

// months lists the names of months as English banks abbreviate them.
var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// read reads a day.
func (f *dayForm) read(text string) (passerelle.Date, error) {
	parts := f.pattern.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return passerelle.Date{}, errDate
	}
	year := parts[f.year]
	if len(year) == 2 {
		year = "20" + year
	}
	month := parts[f.month]
	if named := slices.Index(months, strings.ToLower(month)); named >= 0 {
		month = strconv.Itoa(named + 1)
	}
	return dateOf(fmt.Sprintf("%s-%02s-%02s", year, month, parts[f.day]))
}
