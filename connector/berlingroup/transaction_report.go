package berlingroup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup/arrival"
	"passerelle/connector/berlingroup/links"
	"passerelle/connector/identity"
	"passerelle/connector/statements"
	"passerelle/statementfile"
)

// A bank reports an account's transactions as pages of JSON or as a statement file. A page can also
// link to a download. The connector reads a report of any length a few transactions at a time.

// pageSize is the number of transactions that are passed on together.
const pageSize = 500

// page passes on the transactions of one response, which contains a part of a report.
type page struct {
	*reading
	history *history
	request request
	batch   []passerelle.TransactionDetails
	// begun means that the page has had a transaction.
	begun bool
	// links are the links of the page to the next pages and downloads.
	links links.Set
	// stopped is the error of the sink. After an error, the sink accepts no more transactions.
	stopped error
}

// readReport passes on the pages of a report.
func (v *reading) readReport(ctx context.Context, s *history, first request) error {
	first.accept = formats[v.file.Profile.Accounts.formatOf(s.account.family)].media
	pages := v.pages(first)
	for !pages.end {
		p := &page{reading: v, history: s, request: pages.request, links: links.Set{}}
		p.request.take = p.take
		s.sieve.page++
		if _, err := v.fetch(ctx, p.request); err != nil {
			return err
		}
		next, download := p.links["next"].Href, p.links["download"].Href
		if err := pages.turn(cmp.Or(next, download)); err != nil {
			return err
		}
		if next == "" {
			pages.request.accept = "*/*" // a download may have any format
		}
	}
	return nil
}

// take reads a page in its format.
func (p *page) take(a answer, body *arrival.Body) error {
	in := bufio.NewReaderSize(body, 64<<10)
	read := p.takeJSON
	if isStatement(a.header, in) {
		read = p.takeStatement
	}
	if err := read(in, body); err != nil {
		return err
	}
	return p.flush()
}

// isStatement reports, from the first bytes and the media type of a response, whether it is a
// statement file rather than JSON.
func isStatement(h http.Header, in *bufio.Reader) bool {
	first, _ := in.Peek(512) // the next read returns the same error
	text := strings.TrimLeft(string(first), "\ufeff \t\r\n")
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	isJSON := text == "" || text[0] == '{' && !strings.HasPrefix(text, swiftEnvelope) || text[0] == '['
	return !isJSON && media != "" && media != "text/html" && !strings.Contains(media, "json")
}

// swiftEnvelope is the beginning of an MT940 message with the header blocks of the SWIFT network.
const swiftEnvelope = "{1:"

// lenient accepts JSON with the deviations that occur at banks.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), json.MatchCaseInsensitiveNames(true))

// takeJSON reads a page of transactions in JSON, for accounts and card accounts.
func (p *page) takeJSON(in *bufio.Reader, body *arrival.Body) error {
	d := jsontext.NewDecoder(in, lenient)
	group := func(pending bool) func(*jsontext.Decoder) error {
		return func(d *jsontext.Decoder) error {
			return elements(d, func(d *jsontext.Decoder) error { return p.takeTransaction(d, body, pending) })
		}
	}
	groups := func(d *jsontext.Decoder) error {
		return members(d, map[string]func(*jsontext.Decoder) error{"booked": group(false), "pending": group(true), "_links": p.takeLinks})
	}
	err := members(d, map[string]func(*jsontext.Decoder) error{
		"debitAccounting": p.takeDebitAccounting, "transactions": groups, "cardTransactions": groups, "_links": p.takeLinks,
	})
	if err == nil {
		err = concluded(d)
	}
	if _, isFault := errors.AsType[*connector.Fault](err); err == nil || p.stopped != nil || isFault {
		return err
	}
	return p.fault(p.request, errMalformed, errMalformed.Error())
}

// concluded fails when data follows the document.
func concluded(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return cmp.Or(err, errMalformed)
}

// members reads the given members of an object and skips the others. It accepts a null in place
// of the object.
func members(d *jsontext.Decoder, read map[string]func(*jsontext.Decoder) error) error {
	return within(d, '{', '}', func() error {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if take := read[name.String()]; take != nil {
			return take(d)
		}
		return d.SkipValue()
	})
}

// elements reads the elements of a list. It accepts a null in place of the list.
func elements(d *jsontext.Decoder, read func(*jsontext.Decoder) error) error {
	return within(d, '[', ']', func() error { return read(d) })
}

// within calls the function for every element between the begin token and the end token. It accepts
// a null in place of the object or list.
func within(d *jsontext.Decoder, begin, end jsontext.Kind, each func() error) error {
	first, err := d.ReadToken()
	if err != nil || first.Kind() == 'n' {
		return err
	}
	if first.Kind() != begin {
		return errMalformed
	}
	for d.PeekKind() != end {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

func (p *page) takeLinks(d *jsontext.Decoder) error { return json.UnmarshalDecode(d, &p.links) }

// takeDebitAccounting reads whether the amounts of debits are positive. In the standard, this member
// precedes the transactions.
func (p *page) takeDebitAccounting(d *jsontext.Decoder) error {
	reported, account := (*bool)(nil), p.history.account
	if err := json.UnmarshalDecode(d, &reported); err != nil || reported == nil {
		return err
	}
	if p.begun && *reported != account.DebitAccounting {
		return p.fault(p.request, errMalformed, "its response has debitAccounting only after the transactions")
	}
	account.DebitAccounting = *reported
	return nil
}

// takeTransaction reads one transaction.
func (p *page) takeTransaction(d *jsontext.Decoder, body *arrival.Body, pending bool) error {
	p.begun = true
	t := transaction{pending: pending, debitAccounting: p.history.account.DebitAccounting}
	if err := json.UnmarshalDecode(d, &t); err != nil {
		return err
	}
	body.Item()
	details, err := p.transactionDetails(&t)
	if err != nil {
		return p.fault(p.request, errMalformed, "a transaction of its has no amount or no currency as the standard has it")
	}
	p.history.noteReference(t.EntryReference, date(t.BookingDate))
	return p.add(t.identity(p.file.Profile.Accounts), details)
}

// add gives a transaction its key. It adds the transaction to the batch unless the key is not yet
// decided or the sieve withholds the transaction. When the batch is full, add passes the batch on.
func (p *page) add(named identity.Transaction, d passerelle.TransactionDetails) error {
	decided := p.history.names.Give(named, &d)
	if decided && (named.ID != "" || !p.history.sieve.withholds(contentOf(named), d)) {
		p.batch = append(p.batch, d)
	}
	if len(p.batch) < pageSize {
		return nil
	}
	return p.flush()
}

func (p *page) flush() error {
	batch := p.batch
	p.batch = nil
	if len(batch) > 0 {
		p.stopped = p.out.Transactions(p.history.account.key, batch)
	}
	return p.stopped
}

// takeStatement reads a statement file, which contains only booked entries.
func (p *page) takeStatement(in *bufio.Reader, body *arrival.Body) error {
	for record, err := range statementfile.Read(in, nil) {
		if wrong, is := errors.AsType[*statementfile.FileError](err); is {
			return p.fault(p.request, errMalformed, "its statement cannot be read: "+wrong.Error())
		}
		if err != nil {
			return err
		}
		if s := record.Statement.Account; s.IBAN != "" && p.history.account.IBAN != "" && s.IBAN != p.history.account.IBAN {
			return p.fault(p.request, errMalformed, "its statement is about another account than the requested one")
		}
		body.Item()
		if record.Entry == nil {
			continue
		}
		p.history.noteReference(record.Entry.Reference, record.Entry.Booked)
		if err := p.add(p.identityOf(record), statements.Transaction(record)); err != nil {
			return err
		}
	}
	return nil
}

// identityOf returns the data that distinguishes an entry of a statement from other entries.
func (p *page) identityOf(r statementfile.Record) identity.Transaction {
	e := r.Entry
	sum := e.Amount.Trim(0).String()
	one := identity.Transaction{
		Booked: e.Booked, Sum: sum + string(r.Statement.Account.Currency), EndToEnd: e.EndToEnd, Number: e.Number, Text: e.Wording + " " + e.Name,
		Content: []string{sum, string(r.Statement.Account.Currency), cmp.Or(e.Value, e.Booked).String(), e.EndToEnd, e.Name, e.Number, e.Wording},
	}
	if p.file.Profile.Accounts.TransactionIDs && e.Reference != "" {
		one.ID = entryID(sum, e.Reference)
	}
	return one
}

// formats describes the formats of reports that the service can request.
var formats = map[string]struct {
	media string
	// groups means that pending transactions are also reported.
	groups bool
}{
	"json": {"application/json", true}, "camt": {"application/xml", false}, "mt940": {"text/plain", false},
}

// formatOf returns the format that the service requests for a family, which is accounts or card
// accounts. Reports about card accounts are always in JSON.
func (a *Accounts) formatOf(family string) string {
	if family == cardAccountsPath {
		return "json"
	}
	return a.Formats[0]
}

// mixed reports whether the bank has reports in several formats, such as pages in JSON and
// downloads in camt. The key of a transaction then comes from data that all of these formats
// contain.
func (a *Accounts) mixed() bool { return len(a.Formats) > 1 }
