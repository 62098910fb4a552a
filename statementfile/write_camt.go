package statementfile

import (
	"encoding/xml"
	"strings"
	"time"

	"passerelle"
)

// These are the maximum lengths of texts in camt.053.
const (
	max35  = 35
	max70  = 70
	max140 = 140
	max500 = 500
)

// camtCodes maps types to their bank transaction codes for outgoing and incoming money.
var camtCodes = map[passerelle.TransactionType][2]string{
	"transfer": {"PMNT ICDT ESCT", "PMNT RCDT ESCT"}, "order": {"PMNT RDDT ESDD", "PMNT IDDT ESDD"}, "check": {"PMNT ICHQ CCHQ", "PMNT RCHQ CCHQ"},
	"card": {"PMNT CCRD POSD", "PMNT CCRD POSD"}, "withdrawal": {"PMNT CCRD CWDL", "PMNT CCRD CWDL"}, "deposit": {"PMNT CNTR CDPT", "PMNT CNTR CDPT"},
	"loan_repayment": {"LDAS FTLN PPAY", "LDAS FTLN DDWN"}, "bank": {"ACMT MDOP FEES", "ACMT MCOP FEES"},
}

var otherCode = [2]string{"PMNT MDOP OTHR", "PMNT MCOP OTHR"}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder returns no error
	return b.String()
}

// element writes an element with a text. It writes nothing when the text is empty.
func (o *output) element(name, text string) {
	if text != "" {
		o.text("<%s>%s</%s>", name, escaped(text), name)
	}
}

func writeCAMT(o *output, s *Written) error {
	id := cut(s.ID, max35)
	created := s.Created.UTC().Format(time.RFC3339)
	o.text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Document xmlns=\"%scamt.053.001.08\"><BkToCstmrStmt><GrpHdr>", namespaces)
	o.element("MsgId", id)
	o.element("CreDtTm", created)
	o.text("</GrpHdr><Stmt>")
	o.element("Id", id)
	o.element("CreDtTm", created)
	if !s.From.IsZero() && !s.To.IsZero() {
		o.text("<FrToDt><FrDtTm>%sT00:00:00</FrDtTm><ToDtTm>%sT23:59:59</ToDtTm></FrToDt>", s.From, s.To)
	}
	o.camtAccount(s)
	o.camtBalance(s, "OPBD", s.Opening)
	o.camtBalance(s, "CLBD", s.Closing)
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		o.camtEntry(s, &e)
	}
	o.text("</Stmt></BkToCstmrStmt></Document>\n")
	return nil
}

func (o *output) camtAccount(s *Written) {
	o.text("<Acct><Id>")
	if s.Account.IBAN != "" {
		o.element("IBAN", s.Account.IBAN)
	} else {
		o.text("<Othr>")
		o.element("Id", s.Account.Number)
		o.text("</Othr>")
	}
	o.text("</Id>")
	for code, kind := range camtAccounts {
		if kind == s.Account.Type && (kind != "checking" || code == "CACC") {
			o.text("<Tp><Cd>%s</Cd></Tp>", code)
		}
	}
	o.element("Ccy", string(s.Account.Currency))
	o.element("Nm", cut(s.Account.Name, max70))
	o.text("</Acct>\n")
}

func (o *output) camtBalance(s *Written, kind string, b *StatementBalance) {
	o.text("<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy=\"%s\">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Dt><Dt>%s</Dt></Dt></Bal>\n",
		kind, s.Account.Currency, s.digits(b.Amount), mark(b.Amount.IsNeg()), b.Date)
}

// mark returns the camt code for the sign of an amount.
func mark(negative bool) string {
	if negative {
		return debit
	}
	return "CRDT"
}

func (o *output) camtEntry(s *Written, e *StatementEntry) {
	o.text("<Ntry><Amt Ccy=\"%s\">%s</Amt><CdtDbtInd>%s</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>%s</Dt></BookgDt>", s.Account.Currency, s.digits(e.Amount), mark(e.Amount.IsNeg()), e.Booked)
	if !e.Value.IsZero() {
		o.text("<ValDt><Dt>%s</Dt></ValDt>", e.Value)
	}
	o.element("AcctSvcrRef", cut(e.Reference, max35))
	codes, known := camtCodes[e.Type]
	if !known {
		codes = otherCode
	}
	code, other := codes[1], "Dbtr"
	if e.Amount.IsNeg() {
		code, other = codes[0], "Cdtr"
	}
	part := strings.Fields(code)
	o.text("<BkTxCd><Domn><Cd>%s</Cd><Fmly><Cd>%s</Cd><SubFmlyCd>%s</SubFmlyCd></Fmly></Domn></BkTxCd><NtryDtls><TxDtls>", part[0], part[1], part[2])
	o.camtDetails(e, other)
	o.text("</TxDtls></NtryDtls></Ntry>\n")
}

// camtDetails writes the details of the only transaction of an entry.
func (o *output) camtDetails(e *StatementEntry, other string) {
	if e.EndToEnd != "" {
		o.text("<Refs>")
		o.element("EndToEndId", cut(e.EndToEnd, max35))
		o.text("</Refs>")
	}
	if e.Name != "" || e.Number != "" {
		o.text("<RltdPties>")
		if e.Name != "" {
			o.text("<%s><Pty>", other)
			o.element("Nm", cut(e.Name, max140))
			o.text("</Pty></%s>", other)
		}
		if e.Number != "" {
			o.camtNumber(e.Number, other)
		}
		o.text("</RltdPties>")
	}
	if e.Wording == "" {
		return
	}
	o.text("<RmtInf>")
	for _, part := range broken(cut(e.Wording, max500), max140) {
		o.element("Ustrd", part)
	}
	o.text("</RmtInf>")
}

func (o *output) camtNumber(text, other string) {
	var a StatementAccount
	a.setNumber(text)
	o.text("<%sAcct><Id>", other)
	o.element("IBAN", a.IBAN)
	if a.IBAN == "" {
		o.text("<Othr>")
		o.element("Id", cut(a.Number, max35))
		o.text("</Othr>")
	}
	o.text("</Id></%sAcct>", other)
}
