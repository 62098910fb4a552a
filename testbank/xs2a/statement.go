package xs2a

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"passerelle/testbank/bank"
	"passerelle/testbank/ledger"
)

// document is a body that is not JSON.
type document struct {
	media   string
	content []byte
}

// statementFormats lists the formats of reports besides JSON, with the media types that callers
// accept for them.
var statementFormats = []struct {
	media, name string
	write       func(statement) []byte
}{
	{"application/xml", "camt", camt},
	{"text/plain", "mt940", mt940},
}

// statement is the content of a report in one of these formats: the booked entries, oldest first.
type statement struct {
	account ledger.Account
	made    string
	entries []ledger.Entry
	// These are the balance before the first entry, the balance at the end of the last day, and the
	// last day.
	before, then int64
	until        string
}

// accepts reports whether a caller accepts a media type.
func accepts(r *http.Request, media string) bool {
	accept := r.Header.Get("Accept")
	return accept == "" || strings.Contains(accept, media) || strings.Contains(accept, "*/*")
}

// format returns the function that writes a report in the requested format, or nil for JSON.
// Reports about cards are always in JSON.
func (f family) format(a *API, r *request) (func(statement) []byte, string, error) {
	if accepts(r.Request, "json") {
		return nil, "", nil
	}
	for _, one := range statementFormats {
		if f.kind == ledger.Cash && accepts(r.Request, one.media) && slices.Contains(a.Bank.Profile.Formats, one.name) {
			return one.write, one.media, nil
		}
	}
	return nil, "", bank.Refuse("REQUESTED_FORMATS_INVALID", "Accept", "the bank does not report in this format")
}

// written returns the response with a report in a format.
func (a *API) written(report bank.Report, write func(statement) []byte, media string) answer {
	s := statement{account: report.Account.Account, made: a.Bank.Now().Format("2006-01-02T15:04:05"), then: report.Closing}
	s.until = s.made[:len(time.DateOnly)]
	if report.Until != "" {
		s.until = min(s.until, report.Until)
	}
	for _, e := range slices.Backward(report.Entries) {
		if e.Booked != "" {
			s.entries = append(s.entries, e)
		}
	}
	s.before = s.then
	for _, e := range s.entries {
		s.before -= e.Amount
	}
	return answer{status: http.StatusOK, body: document{media, write(s)}}
}

// days returns the first and the last day of a statement.
func (s statement) days() (string, string) {
	if len(s.entries) == 0 {
		return s.until, s.until
	}
	return s.entries[0].Booked, s.until
}

// sign returns an amount without its sign, and the word that stands for the sign.
func sign(amount int64, debit, credit string) (string, string) {
	if amount < 0 {
		return bank.Decimal(-amount), debit
	}
	return bank.Decimal(amount), credit
}

// camt writes a statement as camt.053.001.08.
func camt(s statement) []byte {
	var out strings.Builder
	from, to := s.days()
	balance := func(kind, day string, amount int64) {
		text, side := sign(amount, "DBIT", "CRDT")
		fmt.Fprintf(&out, `<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Dt><Dt>%s</Dt></Dt></Bal>`, kind, text, side, day)
	}
	fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>`+
		`<GrpHdr><MsgId>S1</MsgId><CreDtTm>%s</CreDtTm></GrpHdr><Stmt><Id>S1</Id><CreDtTm>%s</CreDtTm><Acct><Id><IBAN>%s</IBAN></Id><Ccy>EUR</Ccy></Acct>`, s.made, s.made, s.account.Number)
	balance("OPBD", from, s.before)
	balance("CLBD", to, s.then)
	for _, e := range s.entries {
		out.WriteString(camtEntry(e))
	}
	out.WriteString(`</Stmt></BkToCstmrStmt></Document>`)
	return []byte(out.String())
}

func camtEntry(e ledger.Entry) string {
	amount, side := sign(e.Amount, "DBIT", "CRDT")
	party := "Dbtr"
	if e.Amount < 0 {
		party = "Cdtr"
	}
	number := ""
	if e.OtherNumber != "" {
		number = fmt.Sprintf(`<%sAcct><Id><IBAN>%s</IBAN></Id></%sAcct>`, party, e.OtherNumber, party)
	}
	return fmt.Sprintf(`<Ntry><Amt Ccy="EUR">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>%s</Dt></BookgDt><ValDt><Dt>%s</Dt></ValDt>`+
		`<AcctSvcrRef>E%d</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>%s</EndToEndId></Refs><RltdPties><%s><Pty><Nm>%s</Nm></Pty></%s>%s</RltdPties>`+
		`<RmtInf><Ustrd>%s</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`,
		amount, side, e.Booked, e.Entered, e.ID, escaped(e.Reference), party, escaped(e.OtherName), party, number, escaped(e.Text))
}

func escaped(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // writing to a builder cannot fail
	}
	return out.String()
}

// mt940 writes a statement as MT940. Field 86 has the German form.
func mt940(s statement) []byte {
	var out strings.Builder
	day := func(text string) string { return strings.ReplaceAll(text, "-", "")[2:] }
	amount := func(sum int64) (string, string) {
		text, side := sign(sum, "D", "C")
		return strings.Replace(text, ".", ",", 1), side
	}
	from, to := s.days()
	before, side := amount(s.before)
	fmt.Fprintf(&out, ":20:S1\r\n:25:%s\r\n:28C:1/1\r\n:60F:%s%sEUR%s\r\n", s.account.Number, side, day(from), before)
	for _, e := range s.entries {
		sum, side := amount(e.Amount)
		fmt.Fprintf(&out, ":61:%s%s%s%sNTRFNONREF//E%d\r\n:86:166?00TRANSFER", day(e.Entered), day(e.Booked)[2:], side, sum, e.ID)
		purpose := e.Text
		if e.Reference != "" {
			purpose = "EREF+" + e.Reference + " SVWZ+" + e.Text
		}
		for i, part := range parts(purpose) {
			fmt.Fprintf(&out, "\r\n?%d%s", 20+i, part)
		}
		fmt.Fprintf(&out, "\r\n?31%s", e.OtherNumber)
		names := parts(e.OtherName)
		for i, part := range names[:min(2, len(names))] { // the field has two parts for the name
			fmt.Fprintf(&out, "?%d%s", 32+i, part)
		}
		out.WriteString("\r\n")
	}
	then, side := amount(s.then)
	fmt.Fprintf(&out, ":62F:%s%sEUR%s\r\n-\r\n", side, day(to), then)
	return []byte(out.String())
}

// parts cuts a text into the parts of field 86. A part has at most 27 characters, and a question
// mark would begin the next part.
func parts(text string) []string {
	var all []string
	for part := range slices.Chunk([]rune(strings.ReplaceAll(text, "?", " ")), 27) {
		all = append(all, string(part))
	}
	return all
}
