package statementfile

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
)

// ofxAggregates lists the aggregates that the reader uses. An aggregate is an element with child
// elements. The reader treats all other elements as values, because in OFX 1 an empty value looks
// like the beginning of an aggregate.
var ofxAggregates = map[string]bool{
	"OFX": true, "STMTRS": true, "CCSTMTRS": true, "BANKACCTFROM": true, "CCACCTFROM": true, "BANKTRANLIST": true, "STMTTRN": true, "LEDGERBAL": true, "AVAILBAL": true,
	"BANKACCTTO": true, "CCACCTTO": true, "BALLIST": true, "BANKTRANLISTP": true, "STMTTRNP": true,
}

// entryAggregates lists the aggregates that belong to an entry. Outside an entry, for example in
// STMTTRNP, their values are ignored.
var entryAggregates = []string{"STMTTRN", "BANKACCTTO", "CCACCTTO"}

// ofxVersion matches the version in the header, which is text in OFX 1 and a processing
// instruction in OFX 2.
var ofxVersion = regexp.MustCompile(`VERSION(?::|=")\s*([0-9]{3})`)

// declaredEncoding matches the encoding in an XML declaration.
var declaredEncoding = regexp.MustCompile(`(?i)^<\?xml[^>]*encoding=["']([^"']+)["']`)

// readOFX reads OFX 1, which is SGML, and OFX 2, which is XML. In OFX 1 a value ends where the
// next element begins.
func readOFX(in *input, m *Mapping, emit func(Record) error) error {
	o := &ofx{emit: emit, text: in, line: 1, message: "OFX"}
	if m != nil {
		o.unnamed = m.Account.Currency
	}
	if v := ofxVersion.FindSubmatch(in.first); v != nil {
		o.message = "OFX " + string(v[1])
	}
	if e := declaredEncoding.FindSubmatch(bytes.TrimSpace(in.first)); e != nil && declaresEncoding(in.first) {
		decoded, err := charset(string(e[1]), in)
		if err != nil {
			return at(1, "", "%s", err)
		}
		o.text = bufio.NewReader(decoded)
	}
	return o.read()
}

// ofx reads one file.
type ofx struct {
	emit func(Record) error
	text io.ByteReader
	line int
	// open lists the open aggregates. leaf is the open value, which begins on line leafLine.
	open     []string
	leaf     string
	leafLine int
	value    []byte
	// empty is the last value without text. It may be the beginning of an aggregate.
	empty string

	message   string
	statement *FileStatement
	// unnamed is the currency of accounts for which the file omits it.
	unnamed      passerelle.Currency
	bank, branch string
	number       string
	ledger       StatementBalance
	hasLedger    bool
	entry        *StatementEntry
	hasAmount    bool
	name, memo   string
	checkNumber  string
	found        bool
}

func (o *ofx) fail(line int, field string, err error) error {
	if top := o.top(); top != "" && field != "" {
		field = top + "/" + field
	}
	return &FileError{Line: line, Field: field, Err: err}
}

func (o *ofx) top() string {
	if len(o.open) == 0 {
		return ""
	}
	return o.open[len(o.open)-1]
}

// next returns the next byte and counts lines.
func (o *ofx) next() (byte, error) {
	b, err := o.text.ReadByte()
	if b == '\n' {
		o.line++
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, readError(o.line, err)
	}
	return b, err
}

func (o *ofx) read() error {
	for {
		b, err := o.next()
		if errors.Is(err, io.EOF) {
			return o.end()
		}
		switch {
		case err != nil:
		case b == 0:
			err = o.fail(o.line, "", errors.New("the file is not text"))
		case b == '<':
			err = o.tag()
		case o.leaf != "":
			err = o.add(b)
		}
		if err != nil {
			return err
		}
	}
}

// add adds a byte to the open value.
func (o *ofx) add(b byte) error {
	if len(o.value) >= maxToken {
		return o.fail(o.leafLine, o.leaf, errToken)
	}
	o.value = append(o.value, b)
	return nil
}

func (o *ofx) end() error {
	switch {
	case len(o.open) > 0:
		return at(o.line, "", "the file ends within the element %s", o.top()).because(Damaged)
	case !o.found:
		return at(0, "", "the file is OFX and has no statement of a bank account or a card").because(NoStatement)
	}
	return nil
}

// until reads up to an end mark. The result does not contain the mark.
func (o *ofx) until(end string) (string, error) {
	var read []byte
	for !bytes.HasSuffix(read, []byte(end)) {
		b, err := o.next()
		if errors.Is(err, io.EOF) {
			return "", at(o.line, "", "the file ends within an element").because(Damaged)
		}
		if err != nil {
			return "", err
		}
		if read = append(read, b); len(read) > maxToken {
			return "", at(o.line, "", "%s", errToken)
		}
	}
	return string(read[:len(read)-len(end)]), nil
}

const (
	cdata   = "![CDATA["
	comment = "!--"
)

// tag reads markup that begins with an angle bracket.
func (o *ofx) tag() error {
	text, err := o.until(">")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(text, cdata):
		return o.rest(strings.TrimPrefix(text, cdata), "]]")
	case strings.HasPrefix(text, comment):
		return o.rest(strings.TrimPrefix(text, comment), "--")
	case strings.HasPrefix(text, "!"):
		return at(o.line, "", "document types and entities are refused")
	case strings.HasPrefix(text, "?"):
		return nil
	}
	if err := o.endValue(); err != nil {
		return err
	}
	name := strings.ToUpper(strings.TrimSpace(text))
	if closed, closes := strings.CutPrefix(name, "/"); closes {
		return o.close(strings.TrimSpace(closed))
	}
	if strings.HasSuffix(name, "/") {
		return nil
	}
	if len(strings.Fields(name)) > 0 {
		name = strings.Fields(name)[0]
	}
	return o.begin(name)
}

// rest reads the rest of a CDATA section or comment, which may contain closing brackets. The
// argument begun is the part up to the first bracket. rest adds the text of a section to the value.
func (o *ofx) rest(begun, end string) error {
	text := []byte(begun)
	for !bytes.HasSuffix(text, []byte(end)) {
		more, err := o.until(">")
		if err != nil {
			return err
		}
		if text = append(append(text, '>'), more...); len(text) > maxToken {
			return at(o.line, "", "%s", errToken)
		}
	}
	if end != "]]" || o.leaf == "" {
		return nil
	}
	for _, b := range []byte(html.EscapeString(strings.TrimSuffix(string(text), end))) {
		if err := o.add(b); err != nil {
			return err
		}
	}
	return nil
}

// begin opens an aggregate or a value.
func (o *ofx) begin(name string) error {
	if !ofxAggregates[name] {
		o.leaf, o.leafLine = name, o.line
		return nil
	}
	if len(o.open) >= maxDepth {
		return at(o.line, "", "elements are nested too deeply")
	}
	if name == "STMTTRN" && slices.Contains(o.open, name) {
		return at(o.line, "", "the element %s is within another one", name).because(Damaged)
	}
	o.open = append(o.open, name)
	switch name {
	case "STMTRS", "CCSTMTRS":
		o.found = true
		o.statement = &FileStatement{Line: o.line, Format: OFX, Message: o.message}
		o.bank, o.branch, o.number, o.hasLedger = "", "", "", false
	case "STMTTRN":
		o.entry = &StatementEntry{Line: o.line}
		o.name, o.memo, o.checkNumber, o.empty, o.hasAmount = "", "", "", "", false
	case "LEDGERBAL":
		o.ledger, o.hasLedger = StatementBalance{}, false
	}
	return nil
}

// close closes an aggregate. It ignores the end tag of a value, because endValue has already
// handled the value.
func (o *ofx) close(name string) error {
	if !ofxAggregates[name] {
		return nil
	}
	if o.top() == "BANKTRANLIST" && name != o.top() {
		o.open = o.open[:len(o.open)-1] // some banks omit the end tag
	}
	if o.top() != name {
		return at(o.line, "", "the element %s is closed, but another one is open", name).because(Damaged)
	}
	end := ofxEnds[name]
	if o.statement != nil && end != nil {
		if err := end(o); err != nil {
			return err
		}
	}
	o.open = o.open[:len(o.open)-1]
	return nil
}

// ofxEnds maps aggregates to the functions that handle their end.
var ofxEnds = map[string]func(*ofx) error{
	"BANKACCTFROM": (*ofx).endAccount, "CCACCTFROM": (*ofx).endAccount, "STMTTRN": (*ofx).endEntry, "LEDGERBAL": (*ofx).endLedger,
	"STMTRS": (*ofx).endStatement, "CCSTMTRS": (*ofx).endStatement,
}

// endValue stores the open value, if there is one.
func (o *ofx) endValue() error {
	name, text := o.leaf, strings.TrimSpace(html.UnescapeString(string(o.value)))
	o.leaf, o.value = "", o.value[:0]
	if name == "" {
		return nil
	}
	if text == "" {
		o.empty = name
		return nil
	}
	take := ofxFields[o.top()+"/"+name]
	ofEntry := slices.Contains(entryAggregates, o.top())
	if take == nil || o.statement == nil || ofEntry && o.entry == nil {
		return nil
	}
	if err := take(o, text); err != nil {
		return o.fail(o.leafLine, name, err)
	}
	return nil
}

func setText(to func(*ofx) *string) func(*ofx, string) error {
	return func(o *ofx, text string) error {
		*to(o) = tidy(text)
		return nil
	}
}

// ofxFields maps aggregates and names of values to the functions that read them.
var ofxFields = map[string]func(*ofx, string) error{
	"STMTRS/CURDEF":         (*ofx).currency,
	"CCSTMTRS/CURDEF":       (*ofx).currency,
	"BANKACCTFROM/BANKID":   setText(func(o *ofx) *string { return &o.bank }),
	"BANKACCTFROM/BRANCHID": setText(func(o *ofx) *string { return &o.branch }),
	"BANKACCTFROM/ACCTID":   setText(func(o *ofx) *string { return &o.number }),
	"BANKACCTFROM/ACCTTYPE": func(o *ofx, text string) error {
		o.statement.Account.Type = ofxAccounts[strings.ToUpper(text)]
		return nil
	},
	"CCACCTFROM/ACCTID":    (*ofx).card,
	"BANKTRANLIST/DTSTART": func(o *ofx, text string) error { return into(&o.statement.From, dateOf, text) },
	"BANKTRANLIST/DTEND":   func(o *ofx, text string) error { return into(&o.statement.To, dateOf, text) },
	"LEDGERBAL/BALAMT":     (*ofx).ledgerAmount,
	"LEDGERBAL/DTASOF": func(o *ofx, text string) error {
		o.statement.Created = timeOf(text)
		return into(&o.ledger.Date, dateOf, text)
	},
	"STMTTRN/TRNTYPE":      func(o *ofx, text string) error { o.entry.Type = ofxKinds[strings.ToUpper(text)]; return nil },
	"STMTTRN/DTPOSTED":     func(o *ofx, text string) error { return into(&o.entry.Booked, dateOf, text) },
	"STMTTRN/DTAVAIL":      func(o *ofx, text string) error { return into(&o.entry.Value, dateOf, text) },
	"STMTTRN/TRNAMT":       (*ofx).entryAmount,
	"STMTTRN/FITID":        func(o *ofx, text string) error { o.entry.Reference = reference(text); return nil },
	"STMTTRN/CORRECTFITID": func(o *ofx, text string) error { o.entry.Corrects = reference(text); return nil },
	"STMTTRN/CORRECTACTION": func(o *ofx, text string) error {
		o.entry.Deletes = strings.EqualFold(text, "DELETE")
		return nil
	},
	"STMTTRN/REFNUM":    func(o *ofx, text string) error { o.entry.EndToEnd = reference(text); return nil },
	"STMTTRN/NAME":      (*ofx).payee,
	"STMTTRN/MEMO":      setText(func(o *ofx) *string { return &o.memo }),
	"STMTTRN/CHECKNUM":  setText(func(o *ofx) *string { return &o.checkNumber }),
	"STMTTRN/CURSYM":    (*ofx).entryCurrency,
	"BANKACCTTO/ACCTID": func(o *ofx, text string) error { o.entry.Number = number(text); return nil },
	"CCACCTTO/ACCTID":   func(o *ofx, text string) error { o.entry.Number = number(text); return nil },
}

var errCorrection = errors.New("must name the transaction that is deleted in CORRECTFITID")

var ofxAccounts = map[string]passerelle.AccountType{"CHECKING": "checking", "SAVINGS": "savings", "MONEYMRKT": "savings", "CD": "savings", "CREDITLINE": "loan"}

// ofxKinds maps OFX transaction types to ours. It contains only types that say more than the sign
// of the amount.
var ofxKinds = map[string]passerelle.TransactionType{
	"INT": "profit", "DIV": "profit", "FEE": "bank", "SRVCHG": "bank", "DEP": "deposit", "ATM": "withdrawal", "CASH": "withdrawal", "POS": "card", "XFER": "transfer",
	"CHECK": "check", "PAYMENT": "payment", "DIRECTDEP": "transfer", "DIRECTDEBIT": "order", "REPEATPMT": "transfer",
}

func (o *ofx) currency(text string) error {
	return into(&o.statement.Account.Currency, currencyOf, strings.ToUpper(text))
}

// entryCurrency reads the currency of an amount. It ignores the currency in the aggregate
// ORIGCURRENCY, which is not the currency of the amount. An account without a currency gets the
// currency of the first amount.
func (o *ofx) entryCurrency(text string) error {
	if o.empty == "ORIGCURRENCY" {
		return nil
	}
	currency, err := currencyOf(strings.ToUpper(text))
	own := &o.statement.Account.Currency
	if err == nil && *own == "" {
		*own = currency
	}
	if err == nil && *own != currency {
		err = errors.New("must be the currency of the account")
	}
	return err
}

func (o *ofx) card(text string) error {
	o.number, o.statement.Account.Type = tidy(text), "card"
	return nil
}

// payee reads a name: in the aggregate PAYEE the name of the counterparty, elsewhere a text of the
// bank.
func (o *ofx) payee(text string) error {
	if o.name = tidy(text); o.empty == "PAYEE" {
		o.entry.Name = o.name
	}
	return nil
}

func (o *ofx) entryAmount(text string) error {
	if o.hasAmount {
		return errRepeated
	}
	o.hasAmount = true
	return into(&o.entry.Amount, o.amount, text)
}

func (o *ofx) ledgerAmount(text string) error {
	if o.hasLedger {
		return errRepeated
	}
	o.hasLedger = true
	return into(&o.ledger.Amount, o.amount, text)
}

func (o *ofx) amount(text string) (decimal.Decimal, error) {
	return eitherAmount(text, o.statement.Account.Currency.Digits())
}

// endAccount completes the account. It joins the parts of a French number, so that the number is
// the same as in other formats.
func (o *ofx) endAccount() error {
	a := &o.statement.Account
	a.Currency = cmp.Or(a.Currency, o.unnamed)
	a.Bank = number(o.bank)
	a.setNumber(o.number)
	switch {
	case a.IBAN != "" || a.Number == "" || a.Bank == "":
	case len(a.Bank) == 5 && len(o.branch) == 5 && len(a.Number) == 11:
		a.Number = a.Bank + number(o.branch) + a.Number
	default:
		a.Number = a.Bank + "/" + a.Number
	}
	return nil
}

func (o *ofx) endLedger() error {
	if o.hasLedger && o.ledger.Date.IsZero() {
		return o.fail(o.line, "DTASOF", errRequired)
	}
	if o.hasLedger {
		balance := o.ledger
		o.statement.Closing = &balance
	}
	return nil
}

func (o *ofx) endEntry() error {
	e := o.entry
	o.entry = nil
	if err := o.statement.Account.check(e.Line, "BANKACCTFROM"); err != nil {
		return err
	}
	if e.Booked.IsZero() {
		return &FileError{Line: e.Line, Field: "STMTTRN/DTPOSTED", Err: errRequired}
	}
	if !o.hasAmount {
		return &FileError{Line: e.Line, Field: "STMTTRN/TRNAMT", Err: errRequired}
	}
	if e.Deletes && e.Corrects == "" {
		return &FileError{Line: e.Line, Field: "STMTTRN/CORRECTACTION", Err: errCorrection}
	}
	e.Wording = joined(o.name, o.memo)
	e.Wording = cmp.Or(e.Wording, o.checkNumber, e.EndToEnd)
	return o.emit(Record{Statement: o.statement, Entry: e})
}

// joined joins two texts. If one text begins with the other, joined returns the longer one.
func joined(name, memo string) string {
	if strings.HasPrefix(memo, name) {
		return memo
	}
	if strings.HasPrefix(name, memo) {
		return name
	}
	return tidy(name + " " + memo)
}

func (o *ofx) endStatement() error {
	s := o.statement
	o.statement = nil
	if err := s.Account.check(s.Line, "BANKACCTFROM"); err != nil {
		return err
	}
	return o.emit(Record{Statement: s})
}
