package statementfile

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"passerelle"
)

// messages maps the XML element of a message to the message's name and the element of its
// statements.
var messages = map[string]struct{ name, statement string }{
	"BkToCstmrStmt":         {"camt.053", "Stmt"},
	"BkToCstmrAcctRpt":      {"camt.052", "Rpt"},
	"BkToCstmrDbtCdtNtfctn": {"camt.054", "Ntfctn"},
}

// firstVersion is the end of the element's name in the first version of a message.
const firstVersion = "V01"

// maxDepth is the maximum depth of elements, and maxName the maximum length of their names in
// bytes. namespaces is the beginning of each namespace of ISO 20022.
const (
	maxDepth   = 40
	maxName    = 200
	namespaces = "urn:iso:std:iso:20022:tech:xsd:"
)

// readCAMT reads camt.052, camt.053 and camt.054 in any version. The message may be in an envelope.
// If two versions have an element in different places, both places are read.
func readCAMT(in *input, _ *Mapping, emit func(Record) error) error {
	tokens := &tokenLimit{in: in}
	c := &camt{emit: emit, xml: xml.NewDecoder(tokens), tokens: tokens}
	c.xml.CharsetReader = c.charset
	return c.read()
}

// charset decodes the rest of the file in the declared encoding. Joined messages may repeat the
// declaration. Another encoding is refused, because each one would add a decoder with buffers.
func (c *camt) charset(label string, r io.Reader) (io.Reader, error) {
	switch label = strings.ToLower(label); {
	case label == c.encoding:
		return r, nil
	case c.encoding != "":
		return nil, errEncodings
	}
	c.encoding = label
	return charset(label, r)
}

// charset decodes text in the encoding that label names. It leaves UTF-16 unchanged, because the
// function open has already converted the text.
func charset(label string, r io.Reader) (io.Reader, error) {
	if strings.HasPrefix(strings.ToLower(label), "utf-16") {
		return r, nil
	}
	return encoded(label, r)
}

var (
	errEncoding  = errors.New("the encoding is unknown; use UTF-8")
	errEncodings = errors.New("the file declares a second encoding; use UTF-8")
)

// tokenLimit limits the memory of one token of the XML parser.
type tokenLimit struct {
	in   *input
	used int
}

var errToken = errors.New("a value is too long")

func (t *tokenLimit) ReadByte() (byte, error) {
	if t.used++; t.used > maxToken {
		return 0, errToken
	}
	return t.in.ReadByte()
}

func (t *tokenLimit) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if t.used += n; t.used > maxToken {
		return 0, errToken
	}
	return n, err
}

// camt reads one file. The field path is the path of the current element within its statement, such
// as Ntry/Amt.
type camt struct {
	emit   func(Record) error
	xml    *xml.Decoder
	tokens *tokenLimit
	// encoding is the declared encoding, empty for UTF-8.
	encoding string

	// open lists the open elements. inside is the number of open elements when the statement
	// begins, including the statement.
	open   []string
	inside int
	path   []byte
	text   []byte
	// currency is the attribute Ccy of the current element. other is the currency of a balance that
	// is not booked.
	currency, other string

	message   string
	version   string
	statement *FileStatement
	// any means that the file contains a statement. found means that it contains a message.
	any bool
	// created is the day on which the statement was made.
	created passerelle.Date
	balance camtBalance
	interim []StatementBalance
	entry   *camtEntry
	found   bool
}

// camtBalance is a balance that is being read.
type camtBalance struct {
	kind                       string
	debit, directed, hasAmount bool
	StatementBalance
}

func (c *camt) line() int {
	line, _ := c.xml.InputPos()
	return line
}

func (c *camt) fail(field string, err error) error {
	return &FileError{Line: c.line(), Field: field, Err: err}
}

func (c *camt) read() error {
	for {
		token, err := c.xml.RawToken()
		c.tokens.used = 0
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return c.broken(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = c.start(t)
		case xml.EndElement:
			err = c.close(t.Name.Local)
		case xml.CharData:
			err = c.addText(t)
		case xml.Directive:
			err = c.fail("", errors.New("document types and entities are refused"))
		}
		if err != nil {
			return err
		}
	}
}

func (c *camt) addText(text []byte) error {
	if c.text = append(c.text, text...); len(c.text) > maxToken {
		return c.fail("", errToken)
	}
	return nil
}

// broken converts an error of the XML parser.
func (c *camt) broken(err error) error {
	var own *FileError
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return at(syntax.Line, "", "not well-formed XML").because(Damaged)
	case errors.Is(err, errToken):
		return c.fail("", errToken)
	case errors.Is(err, errEncoding):
		return c.fail("", errEncoding)
	case errors.Is(err, errEncodings):
		return c.fail("", errEncodings)
	}
	return at(c.line(), "", "not well-formed XML: %s", c.plain(err)).because(Damaged)
}

// plain returns a text for an error of the XML parser. It does not quote the error, which could
// contain content of the file.
func (c *camt) plain(err error) string {
	if strings.Contains(err.Error(), "encoding") {
		return "the encoding cannot be read"
	}
	return "it cannot be read"
}

func (c *camt) end() error {
	switch {
	case len(c.open) > 0:
		return at(c.line(), "", "the file ends within an element").because(Damaged)
	case c.found && !c.any:
		return at(0, "", "the message has no statement").because(NoStatement)
	case !c.found:
		return at(0, "", "the file is XML and has no camt.052, camt.053 or camt.054 message").because(NoStatement)
	}
	return nil
}

func (c *camt) start(t xml.StartElement) error {
	name := t.Name.Local
	if len(c.open) >= maxDepth {
		return c.fail("", errors.New("elements are nested too deeply"))
	}
	if len(name) > maxName {
		return c.fail("", errors.New("the name of an element is too long"))
	}
	c.open, c.text = append(c.open, name), c.text[:0]
	if c.statement != nil {
		return c.startInside(name, t.Attr)
	}
	if name == "Document" {
		return c.document(t)
	}
	if m, is := messages[strings.TrimSuffix(name, firstVersion)]; is && c.message == "" {
		if c.version != "" && !strings.HasPrefix(c.version, m.name+".") {
			return c.fail("Document", errors.New("the namespace belongs to another message"))
		}
		c.message, c.found = name, true
	}
	kind := strings.TrimSuffix(c.message, firstVersion)
	if c.message != "" && name == messages[kind].statement {
		message := messages[kind].name
		if c.version != "" {
			message = c.version
		}
		c.statement, c.any = &FileStatement{Line: c.line(), Format: CAMT, Message: message}, true
		c.inside, c.path, c.interim, c.created, c.other = len(c.open), c.path[:0], nil, passerelle.Date{}, ""
	}
	return nil
}

// document checks the namespace of the message, if the namespace belongs to ISO 20022.
func (c *camt) document(t xml.StartElement) error {
	c.version = ""
	for _, a := range t.Attr {
		own := a.Name.Space == "" && a.Name.Local == "xmlns" && t.Name.Space == "" || a.Name.Space == "xmlns" && a.Name.Local == t.Name.Space
		version, iso := strings.CutPrefix(a.Value, namespaces)
		if own && iso {
			c.version = version
		}
	}
	if c.version != "" && !isCAMT(c.version) {
		return at(c.line(), "Document", "must be a camt.052, camt.053 or camt.054 message").because(NoStatement)
	}
	return nil
}

func isCAMT(version string) bool {
	for _, m := range messages {
		if strings.HasPrefix(version, m.name+".001.") && len(version) <= len("camt.053.001.00") {
			return true
		}
	}
	return false
}

func (c *camt) startInside(name string, attributes []xml.Attr) error {
	if len(c.path) > 0 {
		c.path = append(c.path, '/')
	}
	c.path = append(c.path, name...)
	switch string(c.path) {
	case "Bal":
		c.balance = camtBalance{}
	case "Ntry":
		c.entry = &camtEntry{StatementEntry: StatementEntry{Line: c.line()}, booked: true}
	case "Ntry/NtryDtls/TxDtls":
		if c.entry.transactions++; c.entry.transactions > 1 {
			c.entry.counterparty = [2]side{}
		}
	}
	c.currency = ""
	for _, a := range attributes {
		if a.Name.Local == "Ccy" {
			c.currency = a.Value
		}
	}
	return nil
}

// close ends an element.
func (c *camt) close(name string) error {
	if len(c.open) == 0 || c.open[len(c.open)-1] != name {
		return at(c.line(), "", "an element is closed that is not open").because(Damaged)
	}
	c.open = c.open[:len(c.open)-1]
	switch {
	case c.statement == nil:
		if name == c.message {
			c.message = ""
		}
		return nil
	case len(c.open) < c.inside:
		return c.endStatement()
	}
	err := c.value()
	c.path = c.path[:max(0, len(c.path)-len(name)-1)]
	c.text = c.text[:0]
	return err
}

// value stores the value of an element that ends. It also ends a balance or an entry.
func (c *camt) value() error {
	switch string(c.path) {
	case "Bal":
		return c.endBalance()
	case "Ntry":
		return c.endEntry()
	}
	take, known := camtFields[string(c.path)]
	if !known {
		return nil
	}
	text := strings.TrimSpace(string(c.text))
	if text == "" {
		return nil
	}
	if err := take(c, text); err != nil {
		return c.fail(string(c.path), err)
	}
	return nil
}

// bookedBalances lists the codes of booked balances.
var bookedBalances = []string{"OPBD", "PRCD", "CLBD", "ITBD"}

func (c *camt) endBalance() error {
	b := c.balance
	if b.debit {
		b.Amount = b.Amount.Neg()
	}
	s := c.statement
	switch b.kind {
	case "OPBD":
		s.Opening = &b.StatementBalance
	case "PRCD":
		if s.Opening == nil {
			s.Opening = &b.StatementBalance
		}
	case "CLBD":
		s.Closing = &b.StatementBalance
	case "ITBD":
		c.interim = append(c.interim, b.StatementBalance)
	default:
		return nil
	}
	switch {
	case !b.hasAmount:
		return c.fail("Bal/Amt", errRequired)
	case !b.directed:
		return c.fail("Bal/CdtDbtInd", errDirection)
	case b.Date.IsZero():
		return c.fail("Bal/Dt", errRequired)
	}
	return nil
}

// begin sets the missing balances of a statement and checks its account. It runs before each entry
// and at the end of the statement. In a long camt.053, only the first page has an opening balance
// and only the last page a closing balance. The other pages have intermediate balances instead.
func (c *camt) begin() error {
	s := c.statement
	if len(c.interim) > 0 && strings.HasPrefix(s.Message, "camt.053") {
		first, last := c.interim[0], c.interim[len(c.interim)-1]
		if s.Opening == nil && (s.Closing != nil || len(c.interim) > 1) {
			s.Opening = &first
		}
		if s.Closing == nil {
			s.Closing = &last
		}
	}
	c.interim = nil
	return s.Account.check(s.Line, "Acct")
}

func (c *camt) endEntry() error {
	e := c.entry
	c.entry = nil
	if e == nil || !e.booked {
		return nil
	}
	if e.hasAmount {
		if err := c.setCurrency(e.currency); err != nil {
			return &FileError{Line: e.Line, Field: "Ntry/Amt", Err: err}
		}
	}
	if err := c.begin(); err != nil {
		return err
	}
	entry, field, err := e.entry(&c.statement.Account, cmp.Or(c.statement.To, c.created))
	if err != nil {
		return &FileError{Line: e.Line, Field: field, Err: err}
	}
	return c.emit(Record{Statement: c.statement, Entry: entry})
}

func (c *camt) endStatement() error {
	s := c.statement
	if s.Account.Currency == "" {
		s.Account.Currency, _ = currencyOf(c.other) // begin refuses a statement without a currency
	}
	err := c.begin()
	c.statement = nil
	if err != nil {
		return err
	}
	return c.emit(Record{Statement: s})
}

// setCurrency sets the account's currency from an amount, and refuses an amount in a different
// currency.
func (c *camt) setCurrency(code string) error {
	currency, err := currencyOf(code)
	if err != nil {
		return err
	}
	own := &c.statement.Account.Currency
	if *own == "" {
		*own = currency
	}
	if *own != currency {
		return errors.New("must have the currency of the account")
	}
	return nil
}

// camtAccounts maps the codes of ISO 20022 for cash accounts to our types.
var camtAccounts = map[string]passerelle.AccountType{"CACC": "checking", "CURR": "checking", "TRAN": "checking", "SVGS": "savings", "LOAN": "loan", "CARD": "card"}

func code(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "-")
}
