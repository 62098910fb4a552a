package statementfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// mtField matches the first line of a field. Lines within a field may also begin with a colon, so
// mtField matches only the tags of MT940 and MT942.
var mtField = regexp.MustCompile(`^(?:\{4:)?:(13D?|20|21|25P?|28C?|34F|60[FM]|61|62[FM]|6[45]F?|86|90[CD]|NS):(.*)$`)

// maxFieldLines limits the lines of one field, and of all fields that describe one entry. The
// standard allows 6.
const maxFieldLines = 60

// readMT940 reads MT940 and MT942 messages with or without their SWIFT envelope.
func readMT940(in *input, _ *Mapping, emit func(Record) error) error {
	m := &mt{lines: lines{in: in}, emit: emit}
	return m.read()
}

// mt reads one file.
type mt struct {
	lines
	emit      func(Record) error
	statement *FileStatement
	// interim means that the message is an MT942, which has no balances.
	interim bool
	// sums holds the totals in an MT942. counted holds the totals calculated from its entries.
	sums, counted [2]*decimal.Decimal
	entry         *StatementEntry
	// expected means that the entry is not booked yet. An MT942 may list such entries.
	expected bool
	// more holds the further lines of field 61, or the part of field NS that replaces them.
	more string
	// texts holds the lines of the entry's fields 86. Some banks send one field for each line.
	texts []string
	// ended means that the closing balance was read.
	ended bool
}

// mtLines holds the lines of one field.
type mtLines struct {
	line int
	tag  string
	text []string
}

func (f *mtLines) fail(err error) error {
	return &FileError{Line: f.line, Field: ":" + f.tag + ":", Err: err}
}

func (m *mt) read() error {
	var field *mtLines
	for {
		text, err := m.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if field, err = m.addLine(field, text); err != nil {
			return err
		}
	}
	if err := m.take(field); err != nil {
		return err
	}
	return m.finish()
}

// addLine begins a field, adds a line to the open field, or ends it.
func (m *mt) addLine(field *mtLines, text string) (*mtLines, error) {
	text = strings.TrimRight(strings.Trim(text, "\x01\x03"), " ")
	if _, block, enveloped := strings.Cut(text, "{4:"); enveloped {
		text = block
	}
	if found := mtField.FindStringSubmatch(text); found != nil {
		err := m.take(field)
		return &mtLines{line: m.line, tag: found[1], text: []string{found[2]}}, err
	}
	if text == "-" || strings.HasPrefix(text, "-}") || strings.HasPrefix(text, "{") {
		return nil, m.take(field)
	}
	if field == nil || text == "" {
		return field, nil
	}
	if len(field.text) >= maxFieldLines {
		return nil, field.fail(errors.New("has too many lines"))
	}
	field.text = append(field.text, text)
	return field, nil
}

// take handles a complete field.
func (m *mt) take(f *mtLines) error {
	if f == nil {
		return nil
	}
	if err := m.enter(f); err != nil {
		return err
	}
	read := mtFields[f.tag]
	if read == nil {
		return nil
	}
	if !slices.Contains(entryFields, f.tag) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	err := read(m, f)
	var own *FileError
	if err == nil || errors.As(err, &own) {
		return err
	}
	return f.fail(err)
}

// firstFields lists the fields with which a statement begins at banks that omit field 20.
var firstFields = []string{"25", "25P", "28", "28C", "60F"}

// enter begins a statement at field 20. For banks that omit field 20, it begins a statement at one
// of firstFields: the first statement, and each statement after a closing balance.
func (m *mt) enter(f *mtLines) error {
	if f.tag == "20" || (m.statement == nil || m.ended) && slices.Contains(firstFields, f.tag) {
		return m.begin(f)
	}
	if m.statement == nil {
		return f.fail(errors.New("is outside a message, which begins with field 20"))
	}
	return nil
}

// entryFields lists the fields that belong to an entry.
var entryFields = []string{"61", "86", "NS"}

var mtFields = map[string]func(*mt, *mtLines) error{
	"13D": func(m *mt, _ *mtLines) error { m.interim = true; return nil },
	"13":  func(m *mt, _ *mtLines) error { m.interim = true; return nil },
	"25":  (*mt).account, "25P": (*mt).account,
	"28": (*mt).number, "28C": (*mt).number,
	"34F": (*mt).floor,
	"60F": (*mt).opening, "60M": (*mt).opening,
	"61":  (*mt).line61,
	"62F": (*mt).closing, "62M": (*mt).closing,
	"86":  (*mt).information,
	"NS":  (*mt).nonSwift,
	"90C": func(m *mt, f *mtLines) error { return m.sum(f, credits) },
	"90D": func(m *mt, f *mtLines) error { return m.sum(f, debits) },
}

const (
	debits = iota
	credits
)

// begin ends the previous statement, and begins a new one.
func (m *mt) begin(f *mtLines) error {
	if err := m.finish(); err != nil {
		return err
	}
	m.statement = &FileStatement{Line: f.line, Format: MT940, Message: "MT940"}
	m.sums, m.counted, m.interim, m.ended = [2]*decimal.Decimal{}, [2]*decimal.Decimal{}, false, false
	return nil
}

// finish ends the statement.
func (m *mt) finish() error {
	s := m.statement
	if s == nil {
		return nil
	}
	if err := m.flush(); err != nil {
		return err
	}
	m.statement = nil
	if err := s.Account.check(s.Line, ":25:"); err != nil {
		return err
	}
	if m.interim {
		s.Message, s.Incomplete = "MT942", !m.hasSums()
	} else {
		s.Incomplete = !m.ended
	}
	if s.Incomplete && !m.interim && s.Opening == nil {
		return at(s.Line, ":60F:", "the opening balance is missing").because(Damaged)
	}
	return m.emit(Record{Statement: s})
}

// currencySuffix matches the currency that some banks append to the account number.
var currencySuffix = regexp.MustCompile(`^(.*[0-9])\s*/?([A-Z]{3})$`)

// account reads field 25: an IBAN, or a number with or without a bank. A currency may follow.
func (m *mt) account(f *mtLines) error {
	text, a := number(f.text[0]), &m.statement.Account
	if parts := currencySuffix.FindStringSubmatch(text); parts != nil && passerelle.Currency(parts[2]).Known() {
		text, a.Currency = parts[1], passerelle.Currency(parts[2])
	}
	bank, rest, both := strings.Cut(text, "/")
	if !both {
		bank, rest = "", text
	}
	a.Bank = bank
	if a.setNumber(strings.TrimLeft(rest, "/")); a.IBAN == "" {
		a.Number = text // without its bank, a number is not unique
	}
	return nil
}

func (m *mt) number(f *mtLines) error {
	m.statement.ID = tidy(f.text[0])
	return nil
}

// floor reads the currency of an MT942 from field 34F, because an MT942 has no balances.
func (m *mt) floor(f *mtLines) error {
	m.interim = true
	if text := strings.TrimSpace(f.text[0]); len(text) >= 3 {
		return into(&m.statement.Account.Currency, currencyOf, text[:3])
	}
	return errCurrency
}

// mtBalance matches a balance: the mark, the day, the currency and the amount. Some banks omit
// the currency of a closing balance.
var mtBalance = regexp.MustCompile(`^(R?[CD])([0-9]{6})([A-Z]{3})?([0-9]+,[0-9]*)$`)

func (m *mt) balance(f *mtLines) (*StatementBalance, error) {
	parts := mtBalance.FindStringSubmatch(strings.TrimSpace(f.text[0]))
	if parts == nil {
		return nil, errors.New("must be C or D, a date of 6 digits, a currency and an amount with a comma")
	}
	day, err := dateOf(century(parts[2]) + parts[2])
	if err != nil {
		return nil, err
	}
	own := &m.statement.Account.Currency
	currency, err := currencyOf(cmp.Or(parts[3], string(*own)))
	if err != nil {
		return nil, err
	}
	if *own == "" || m.statement.Opening == nil {
		*own = currency
	}
	if *own != currency {
		return nil, errors.New("must have the currency of the opening balance")
	}
	amount, err := amountOf(parts[4], ',')
	if parts[1] == "D" || parts[1] == "RC" {
		amount = amount.Neg()
	}
	return &StatementBalance{Date: day, Amount: amount}, err
}

func (m *mt) opening(f *mtLines) error {
	b, err := m.balance(f)
	m.statement.Opening = b
	return err
}

func (m *mt) closing(f *mtLines) error {
	b, err := m.balance(f)
	m.statement.Closing, m.ended = b, true
	return err
}

// entryLine matches field 61: value day, booking day, mark, amount, kind and references. Some banks
// write other kinds than those of the standard, or none. The amount must end before other text.
var entryLine = regexp.MustCompile(`^([0-9]{6})([0-9]{4}| {4})?(R?[CD]|E[CD])([A-Z])?([0-9]+(?:,[0-9]*)?)(?:([A-Z][A-Z0-9 ]{3})(.*)|([^.,'0-9].*)?)$`)

// damagedDigit matches what follows an amount with a letter in place of a digit: the letter, the
// rest of the amount, and a kind.
var damagedDigit = regexp.MustCompile(`^[OoIlSBZ][0-9OoIlSBZ,]*[FN](?:BOE|CHG|CHK|CMI|COM|DDT|INT|LDP|MSC|STO|TRF)`)

// line61 begins an entry.
func (m *mt) line61(f *mtLines) error {
	if err := m.flush(); err != nil {
		return err
	}
	if m.ended {
		return errors.New("follows the closing balance")
	}
	parts := entryLine.FindStringSubmatch(strings.TrimSpace(f.text[0]))
	if parts == nil || damagedDigit.MatchString(parts[6]+parts[7]+parts[8]) {
		return errors.New("must be a date of 6 digits, a mark such as C or D, an amount with a comma, and a type code such as NTRF")
	}
	if err := m.statement.Account.check(f.line, ":25:"); err != nil {
		return err
	}
	e := &StatementEntry{Line: f.line, Reversal: strings.HasPrefix(parts[3], "R")}
	var err error
	if e.Value, err = dayOf(century(parts[1])+parts[1][:2], parts[1][2:]); err != nil {
		return err
	}
	if e.Booked, err = bookingDay(e.Value, parts[2]); err != nil {
		return err
	}
	if e.Amount, err = amountOf(parts[5], ','); err != nil {
		return err
	}
	if mark := parts[3]; mark == "D" || mark == "RC" || mark == "ED" {
		e.Amount = e.Amount.Neg()
	}
	customer, bank, _ := strings.Cut(parts[7]+parts[8], "//")
	e.EndToEnd, e.Reference = reference(customer), reference(bank)
	e.Type = mtKinds[strings.TrimPrefix(strings.TrimPrefix(parts[6], "N"), "F")]
	m.entry, m.more, m.texts = e, strings.Join(f.text[1:], " "), nil
	m.expected = strings.HasPrefix(parts[3], "E")
	return m.count(e)
}

// mtKinds maps codes in field 61 to types of transactions.
var mtKinds = map[string]passerelle.TransactionType{
	"TRF": "transfer", "CHK": "check", "CHG": "bank", "COM": "bank", "DDT": "order", "INT": "profit", "STO": "transfer", "LDP": "loan_repayment", "CMI": "transfer", "BOE": "payment",
}

// century returns the first digits of the year in a date YYMMDD. Years from 80 on are in the 20th
// century.
func century(text string) string {
	if text >= "80" {
		return "19"
	}
	return "20"
}

// dayOf returns the day MMDD of a year, for an entry. Banks that calculate with months of 30 days
// may write 29 or 30 February in years without these days. Both become the last day of February.
func dayOf(year, day string) (passerelle.Date, error) {
	d, err := dateOf(year + day)
	if err != nil && (day == "0229" || day == "0230") {
		first, err := dateOf(year + "0301")
		return first.AddDays(-1), err
	}
	return d, err
}

// bookingDay returns the day MMDD in the year that brings it closest to the value day. For a blank
// text, it returns the value day.
func bookingDay(value passerelle.Date, text string) (passerelle.Date, error) {
	if strings.TrimSpace(text) == "" {
		return value, nil
	}
	var closest passerelle.Date
	year := value.In(time.UTC).Year()
	for _, year := range []int{year, year - 1, year + 1} {
		day, err := dayOf(fmt.Sprintf("%04d", year), text)
		if err != nil {
			return day, err
		}
		if closest.IsZero() || between(day, value) < between(closest, value) {
			closest = day
		}
	}
	return closest, nil
}

// between returns the time between two days.
func between(a, b passerelle.Date) time.Duration { return a.In(time.UTC).Sub(b.In(time.UTC)).Abs() }

// information adds the content of field 86 to the previous entry. Outside an entry, the field
// describes the statement and is ignored.
func (m *mt) information(f *mtLines) error {
	if m.entry == nil {
		return nil
	}
	if m.texts = append(m.texts, f.text...); len(m.texts) > maxFieldLines {
		return errors.New("has too many lines")
	}
	return nil
}

// nonSwift reads field NS of German and Hungarian banks. It consists of numbered parts: 01 to 14
// are the purpose of an entry, 15 and 16 the name, 17 the posting text, and 33 and 34 the bank and
// the account number of the counterparty. Outside entries, 22 and 23 are the owner and the name of
// the account.
func (m *mt) nonSwift(f *mtLines) error {
	parts := map[string]string{}
	for _, line := range f.text {
		if code := line[:min(2, len(line))]; len(code) == 2 && strings.Trim(code, "0123456789") == "" {
			parts[code] = tidy(parts[code] + " " + line[2:])
		}
	}
	e, a := m.entry, &m.statement.Account
	if e == nil {
		a.Owner, a.Name = cmp.Or(parts["22"], a.Owner), cmp.Or(parts["23"], a.Name)
		return nil
	}
	var purpose []string
	for n := 1; n <= 14; n++ {
		purpose = append(purpose, parts[fmt.Sprintf("%02d", n)])
	}
	e.Name = tidy(parts["15"] + " " + parts["16"])
	if bank, account := parts["33"], parts["34"]; bank != "" && account != "" {
		e.Number = number(bank + account)
	}
	m.more = cmp.Or(tidy(strings.Join(purpose, " ")), parts["17"], m.more)
	return nil
}

// flush emits the entry if it is booked.
func (m *mt) flush() error {
	e := m.entry
	if e == nil {
		return nil
	}
	if m.entry = nil; m.expected {
		return nil
	}
	if len(m.texts) > 0 {
		describe(e, m.texts)
	}
	m.counterAccount(e)
	e.Wording = cmp.Or(e.Wording, tidy(m.more), e.EndToEnd)
	return m.emit(Record{Statement: m.statement, Entry: e})
}

// counterAccount takes the account number of the counterparty from the second line of field 61. The
// Rabobank writes it there, and only the name in field 86.
func (m *mt) counterAccount(e *StatementEntry) {
	var a StatementAccount
	if a.setNumber(m.more); e.Number == "" {
		e.Number = a.IBAN
	}
}

// count adds an entry to the sums that are compared with the totals in an MT942.
func (m *mt) count(e *StatementEntry) error {
	which := credits
	if e.Amount.IsNeg() {
		which = debits
	}
	sum := e.Amount.Abs()
	if m.counted[which] != nil {
		var err error
		if sum, err = plus(*m.counted[which], sum); err != nil {
			return errAmount
		}
	}
	m.counted[which] = &sum
	return nil
}

// mtSum matches the number of entries, the currency and the sum.
var mtSum = regexp.MustCompile(`^[0-9]{1,5}[A-Z]{3}([0-9]+,[0-9]*)$`)

func (m *mt) sum(f *mtLines, which int) error {
	parts := mtSum.FindStringSubmatch(strings.TrimSpace(f.text[0]))
	if parts == nil {
		return errors.New("must be a number, a currency and an amount with a comma")
	}
	amount, err := amountOf(parts[1], ',')
	m.interim, m.sums[which] = true, &amount
	return err
}

// hasSums reports whether the sums of the entries equal the sums that the MT942 contains.
func (m *mt) hasSums() bool {
	for which, sum := range m.sums {
		counted := decimal.Zero
		if m.counted[which] != nil {
			counted = *m.counted[which]
		}
		if sum != nil && !counted.Equal(*sum) {
			return false
		}
	}
	return true
}
