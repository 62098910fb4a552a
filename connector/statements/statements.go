// Package statements is the connector for statement files. It converts a user's file to accounts,
// balances and transactions.
//
// It owns the mapping from the accounts and entries in a file to the accounts and transactions of
// the service. Files may overlap, arrive in any order, and arrive twice. The formats are in package
// statementfile. Callers supply the files.
//
// The package fails with a *statementfile.FileError when a file cannot be read, and with the error
// of the sink. The connector passes on no data from an unreadable file, because it reads a file to
// its end before it calls the sink. A file removes only stored transactions that it corrects. Other
// stored transactions remain, even if the file does not contain them.
package statements

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/identity"
	"passerelle/statementfile"
)

// UUID identifies the connector.
const UUID = "5b7f3c7e-6a1d-4c55-9c0e-2f1f3f0f8d21"

// Connector reads statement files. It has no state.
type Connector struct{}

var _ connector.DataReader = Connector{}

// Profile describes the connector.
func (Connector) Profile() connector.Profile {
	return connector.Profile{
		UUID: UUID, ID: 30, Name: "Statement files", Countries: []string{"FR", "AT", "BE", "CH", "DE", "ES", "IT", "LU", "NL", "PL", "PT"}, Hidden: true,
		Sources: []connector.Source{{ID: 301, Name: "files", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}}},
		Data: &connector.DataSettings{
			Capabilities: []string{"bank"}, AccountTypes: []passerelle.AccountType{"checking", "savings", "card", "loan"},
			Usages: []passerelle.Usage{passerelle.Private, passerelle.Organisation}, ConsentDays: consentDays, TakesFiles: true,
			Fields: []connector.Field{{Name: MappingField, Label: "Columns of CSV files", Description: "A JSON object that says how to read CSV files.", Type: "text"}},
		},
		Mechanism: passerelle.ByCredentials,
		Labels:    connector.Labels{Slug: "FILES", Color: "455a64"},
	}
}

const (
	// consentDays is ten years, because the connector reads only files from the user.
	consentDays = 3650
	// farDays is the number of days from today to a day later than any entry. The connector reports
	// a file as complete only from that distant day on, so that the service keeps all stored
	// entries.
	farDays = 100 * 366
	// pageSize is the number of transactions that are passed on together.
	pageSize = 500
	// maxAccounts is the maximum number of accounts of a connection.
	maxAccounts = 500
)

// MappingField is the field with the mapping for CSV files. See [statementfile.ParseMapping]. The
// last mapping is stored.
const MappingField = "mapping"

// account is the data about an account that is stored between files.
type account struct {
	Key, IBAN, Number, BIC, Name string
	Type                         passerelle.AccountType
	Currency                     passerelle.Currency
	Balance                      *decimal.Decimal
	// Day is the day of the balance. Created is when the bank made the statement with this balance,
	// or zero.
	Day     passerelle.Date `json:",omitzero"`
	Created time.Time       `json:",omitzero"`
	// Spans are the periods that the files cover from balance to balance.
	Spans []statementfile.BalanceSpan `json:",omitempty"`
	// Issues describes the statements in the files so far. Corrected holds hashes of the references
	// of corrected entries.
	Issues    []issue  `json:",omitempty"`
	Corrected []string `json:",omitempty"`
	// covered contains the texts of Spans. issued maps the names of Issues to their positions.
	covered map[string]bool
	issued  map[string]int
}

const (
	// maxSpans is the maximum number of periods stored for an account. If there are more, the
	// connector joins the oldest periods.
	maxSpans = 500
	// maxMemory is the maximum number of bytes stored for a connection. The service refuses a
	// memory of more than a mebibyte.
	maxMemory = 900_000
)

// remembered returns the accounts in the connector's memory. An invalid memory counts as empty.
func remembered(memory []byte) map[string]*account {
	known := map[string]*account{}
	_ = json.Unmarshal(memory, &known)
	return known
}

// Covered returns the periods that earlier files cover, by the keys of the accounts.
func Covered(memory []byte) map[string][]statementfile.BalanceSpan {
	covered := map[string][]statementfile.BalanceSpan{}
	for key, a := range remembered(memory) {
		if a != nil {
			covered[key] = a.Spans
		}
	}
	return covered
}

// KeyOf returns the key of an account. An account with two currencies counts as two accounts.
func KeyOf(a statementfile.StatementAccount) string {
	return cmp.Or(a.IBAN, a.Number) + "/" + string(a.Currency)
}

// Read passes on the content of the file. Without a file it finds nothing.
func (Connector) Read(ctx context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	if req.File == nil {
		return connector.Outcome{}, ctx.Err()
	}
	known := remembered(req.Memory)
	file, err := opened(req)
	if err != nil {
		return connector.Outcome{}, err
	}
	inFile, err := file.survey(ctx, known)
	if err != nil {
		return connector.Outcome{}, err
	}
	memory, err := encode(known)
	if err != nil {
		return connector.Outcome{}, err
	}
	var all []passerelle.AccountDetails
	for _, key := range slices.Sorted(maps.Keys(known)) {
		all = append(all, known[key].details())
	}
	if err := out.Accounts(all); err != nil {
		return connector.Outcome{}, err
	}
	if err := file.handOver(ctx, inFile, out); err != nil {
		return connector.Outcome{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(inFile)) {
		if _, wanted := out.Wanted(key); !wanted {
			continue
		}
		if err := out.AccountRead(key, passerelle.DateOf(req.Now, req.Now.Location()).AddDays(farDays)); err != nil {
			return connector.Outcome{}, err
		}
	}
	return connector.Outcome{Memory: memory}, nil
}

var errMemory = &statementfile.FileError{Err: errors.New("the accounts of the connection have too long names and numbers; create another connection for this file")}

// encode returns the memory of a connection. If it has more than maxMemory bytes, encode halves the
// limits per account until the memory is short enough. Accounts beyond these limits lose their
// oldest data. encode refuses a file with which the memory stays too long.
func encode(known map[string]*account) ([]byte, error) {
	memory, err := json.Marshal(known)
	for most := maxSpans / 2; err == nil && len(memory) > maxMemory && most > 0; most /= 2 {
		for _, a := range known {
			a.shorten(most)
			a.forget(most)
		}
		memory, err = json.Marshal(known)
	}
	if err == nil && len(memory) > maxMemory {
		err = errMemory
	}
	return memory, err
}

// statementFile is a file with the mapping for reading it. The mapping may be nil.
type statementFile struct {
	*connector.HandedFile
	mapping *statementfile.Mapping
}

func opened(req connector.DataRequest) (statementFile, error) {
	f := statementFile{HandedFile: req.File}
	var err error
	if text := req.Values[MappingField]; text != "" {
		if f.mapping, err = statementfile.ParseMapping(text); err != nil {
			err = fmt.Errorf("read the mapping of CSV files: %w", err)
		}
	}
	return f, err
}

// records reads the file from its beginning.
func (f statementFile) records(ctx context.Context, do func(statementfile.Record) error) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the file again: %w", err)
	}
	for record, err := range statementfile.Read(f, f.mapping) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := do(record); err != nil {
			return err
		}
	}
	return nil
}

// survey adds the accounts in the file to the known accounts, each with its latest balance. For
// each account in the file, it returns the corrections that the file makes.
func (f statementFile) survey(ctx context.Context, known map[string]*account) (map[string]*corrected, error) {
	s := surveying{known: known, inFile: map[string]*corrected{}, before: map[string][]issue{}, drafts: map[string]*draft{}}
	err := f.records(ctx, s.add)
	for key, c := range s.inFile {
		a := known[key]
		a.revise(s.before[key], c)
		a.settle()
		a.forget(maxIssues)
	}
	return s.inFile, err
}

// surveying is the state of the first pass over a file. That pass collects everything except the
// transactions.
type surveying struct {
	known  map[string]*account
	inFile map[string]*corrected
	// before holds the statements that were known before the file.
	before map[string][]issue
	drafts map[string]*draft
}

func (s *surveying) add(r statementfile.Record) error {
	key := KeyOf(r.Statement.Account)
	a, err := s.account(key, r.Statement.Line)
	if err != nil {
		return err
	}
	if e := r.Entry; e != nil {
		s.drafts[key].add(e)
		a.correct(e, s.inFile[key])
		return nil
	}
	d, c := s.drafts[key], s.inFile[key]
	s.drafts[key] = &draft{number: d.number + 1}
	if one, whole := d.issue(r.Statement); whole {
		a.issue(one, r.Statement.ID, d.number, s.before[key], c)
		c.repeat(&one, r.Statement.ID, d.number)
	} else if name := d.download(r.Statement); name != "" {
		c.once(name, d.number)
	}
	if !c.omitted[d.number] {
		a.update(key, r.Statement)
		c.follow(r.Statement)
	}
	return nil
}

// account returns the account with a key and prepares it for the file. It creates the account if
// the key is new.
func (s *surveying) account(key string, line int) (*account, error) {
	if s.known[key] == nil {
		s.known[key] = &account{}
	}
	if len(s.known) > maxAccounts {
		return nil, &statementfile.FileError{Line: line, Err: fmt.Errorf("a connection has at most %d accounts", maxAccounts)}
	}
	if s.inFile[key] == nil {
		s.inFile[key] = newCorrected(s.known[key].Corrected)
		s.before[key], s.drafts[key] = slices.Clone(s.known[key].Issues), &draft{}
	}
	return s.known[key], nil
}

// update applies a statement to its account.
func (a *account) update(key string, s *statementfile.FileStatement) {
	from := s.Account
	a.Key, a.IBAN, a.Number, a.Currency = key, from.IBAN, cmp.Or(from.Number, from.IBAN), from.Currency
	a.Name = cmp.Or(from.Name, a.Name, from.Owner, a.Number)
	a.Type = cmp.Or(from.Type, a.Type, "checking")
	a.BIC = cmp.Or(from.Bank, a.BIC)
	if span, ordered := s.Span(); ordered {
		a.addSpan(span)
	}
	if s.Closing != nil && a.precedes(s) {
		a.Balance, a.Day, a.Created = &s.Closing.Amount, s.Closing.Date, s.Created
	}
}

// precedes reports whether the balance is earlier than the closing balance of a statement. Of two
// balances of one day, the later one belongs to the statement that the bank made later. When the
// bank reports no times, the balance in the file is the later one.
func (a *account) precedes(s *statementfile.FileStatement) bool {
	days := a.Day.Compare(s.Closing.Date)
	return days < 0 || days == 0 && (s.Created.IsZero() || !s.Created.Before(a.Created))
}

// addSpan adds a span unless it is already known.
func (a *account) addSpan(span statementfile.BalanceSpan) {
	if a.covered == nil {
		a.covered = map[string]bool{}
		for _, one := range a.Spans {
			a.covered[one.String()] = true
		}
	}
	if name := span.String(); !a.covered[name] {
		a.covered[name] = true
		a.Spans = append(a.Spans, span)
	}
}

// settle limits the number of spans. It also sets the account's balance to the balance at the end
// of the last span, because the files may have the statements of one day in any order. A balance of
// a later day stays. settle joins spans only when there are too many: a joined span no longer shows
// which statements belong to it.
func (a *account) settle() {
	_, joined, err := statementfile.Gaps(a.Spans)
	if err != nil || len(joined) == 0 {
		return
	}
	if last := joined[len(joined)-1].Closing; a.Day.Compare(last.Date) <= 0 {
		a.Balance, a.Day = &last.Amount, last.Date
	}
	a.shorten(maxSpans)
}

// shorten joins the older spans when the account has more spans than the argument most. It does not
// join the latest most/2 spans.
func (a *account) shorten(most int) {
	if len(a.Spans) <= most {
		return
	}
	slices.SortStableFunc(a.Spans, func(x, y statementfile.BalanceSpan) int { return x.Closing.Date.Compare(y.Closing.Date) })
	recent := len(a.Spans) - most/2
	_, joined, err := statementfile.Gaps(a.Spans[:recent])
	if err != nil {
		joined = nil
	}
	a.Spans = append(joined[max(0, len(joined)-most/2):], a.Spans[recent:]...)
}

func (a *account) details() passerelle.AccountDetails {
	return passerelle.AccountDetails{Key: a.Key, Number: a.Number, IBAN: a.IBAN, BIC: a.BIC, Name: a.Name, Type: a.Type, Currency: a.Currency, Balance: a.Balance}
}

// page collects transactions of one account.
type page struct {
	key     string
	wanted  bool
	ids     identity.Alike
	entries []passerelle.TransactionDetails
	// number is the number of the open statement's draft.
	number    int
	corrected *corrected
}

func (p *page) flush(out connector.Sink) error {
	if len(p.entries) == 0 {
		return nil
	}
	err := out.Transactions(p.key, p.entries)
	p.entries = nil
	return err
}

// handOver passes on the entries of wanted accounts page by page, and then removes the stored
// transactions that the file corrects.
func (f statementFile) handOver(ctx context.Context, inFile map[string]*corrected, out connector.Sink) error {
	pages := map[string]*page{}
	for key, c := range inFile {
		p := &page{key: key, ids: identity.Alike{}, corrected: c}
		_, p.wanted = out.Wanted(key)
		pages[key] = p
	}
	err := f.records(ctx, func(r statementfile.Record) error {
		p := pages[KeyOf(r.Statement.Account)]
		if r.Entry == nil {
			p.number++
			return nil
		}
		if !p.wanted || p.corrected.omits(r.Entry, p.number) {
			return nil
		}
		one := f.transaction(r, p.ids)
		p.corrected.keep(r.Entry, one.Key)
		if p.entries = append(p.entries, one); len(p.entries) < pageSize {
			return nil
		}
		return p.flush(out)
	})
	if err != nil {
		return err
	}
	takesAway, _ := out.(Corrections)
	for _, key := range slices.Sorted(maps.Keys(pages)) {
		p := pages[key]
		if err := p.flush(out); err != nil {
			return err
		}
		if takesAway == nil || !p.wanted {
			continue
		}
		if err := p.corrected.gone(key, takesAway); err != nil {
			return err
		}
	}
	return nil
}

// transaction converts an entry to a transaction with its key and its place in the file.
func (f statementFile) transaction(r statementfile.Record, ids identity.Alike) passerelle.TransactionDetails {
	d := Transaction(r)
	d.Key, d.Origin = keyOf(r, ids), &passerelle.Origin{File: f.Name, Line: r.Entry.Line}
	return d
}

// Transaction converts an entry to a transaction without a key.
func Transaction(r statementfile.Record) passerelle.TransactionDetails {
	e := r.Entry
	d := passerelle.TransactionDetails{
		Date: e.Booked, RDate: e.Booked, BDate: e.Booked, VDate: e.Value, Value: e.Amount, Type: cmp.Or(e.Type, passerelle.UnknownTransaction), Wording: e.Wording,
		OriginalValue: e.OriginalAmount, OriginalCurrency: e.OriginalCurrency,
	}
	if e.Name != "" || e.Number != "" {
		d.Counterparty = counterparty(e)
	}
	return d
}

// keyOf returns the key of an entry. The key begins with the format, because texts differ between
// formats. The next parts are the day and, for OFX, a hash of the reference: corrections find
// entries by these parts. The key also contains a hash of the day, the amount, and the bank's
// reference or, without a reference, the texts. Banks repeat references, so this hash always
// includes the day and the amount.
func keyOf(r statementfile.Record, ids identity.Alike) string {
	e, reference := r.Entry, ""
	if r.Statement.Format == statementfile.OFX && e.Reference != "" {
		reference = identity.Hash(e.Reference)
	}
	kind := strings.Join([]string{string(r.Statement.Format), e.Booked.String(), reference}, "/")
	return ids.Next(identity.OfContent(kind, contentOf(e)...))
}

// partsOf returns the format, the day and the reference in a key.
func partsOf(key string) (statementfile.Format, string, string) {
	parts := append(strings.SplitN(key, "/", 4), "", "", "")
	return statementfile.Format(parts[0]), parts[1], parts[2]
}

// FormatOf returns the format of the file that a transaction came from, according to its key.
func FormatOf(key string) statementfile.Format {
	format, _, _ := partsOf(key)
	return format
}

// contentOf returns the values that distinguish an entry from others.
func contentOf(e *statementfile.StatementEntry) []string {
	content := []string{e.Booked.String(), e.Amount.Trim(0).String(), e.Reference}
	if e.Reference == "" {
		content = append(content, e.EndToEnd, e.Name, e.Number, e.Wording)
	}
	return content
}

func counterparty(e *statementfile.StatementEntry) *passerelle.Counterparty {
	c := &passerelle.Counterparty{Label: e.Name, Type: "debtor"}
	if e.Amount.IsNeg() {
		c.Type = "creditor"
	}
	if e.Number == "" {
		return c
	}
	one := passerelle.Account{Scheme: passerelle.IBAN, Identification: e.Number, Label: "account"}
	if c.Scheme, c.Identification = "bban", e.Number; one.Check("") == nil {
		c.Scheme = "iban"
	}
	return c
}
