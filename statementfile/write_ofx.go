package statementfile

import (
	"cmp"
	"strings"

	"passerelle"
)

// These are the maximum lengths of texts in OFX.
const (
	max32  = 32
	max255 = 255
)

// ofxTypes maps transaction types to OFX types. For other types, the sign of the amount decides.
var ofxTypes = map[passerelle.TransactionType]string{
	"profit": "INT", "bank": "SRVCHG", "fee": "FEE", "deposit": "DEP", "withdrawal": "ATM", "card": "POS", "transfer": "XFER", "check": "CHECK", "payment": "PAYMENT", "order": "DIRECTDEBIT",
}

func ofxDay(d passerelle.Date) string { return strings.ReplaceAll(d.String(), "-", "") }

const ofxStatus = "<STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>"

func writeOFX(o *output, s *Written) error {
	messages, transaction, statement, account := "BANKMSGSRSV1", "STMTTRNRS", "STMTRS", "BANKACCTFROM"
	if s.Account.Type == "card" {
		messages, transaction, statement, account = "CREDITCARDMSGSRSV1", "CCSTMTTRNRS", "CCSTMTRS", "CCACCTFROM"
	}
	o.text("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<?OFX OFXHEADER=\"200\" VERSION=\"211\" SECURITY=\"NONE\" OLDFILEUID=\"NONE\" NEWFILEUID=\"NONE\"?>\n")
	o.text("<OFX><SIGNONMSGSRSV1><SONRS>%s<DTSERVER>%s</DTSERVER><LANGUAGE>ENG</LANGUAGE></SONRS></SIGNONMSGSRSV1>\n", ofxStatus, s.Created.UTC().Format("20060102150405"))
	o.text("<%s><%s><TRNUID>0</TRNUID>%s<%s>", messages, transaction, ofxStatus, statement)
	o.element("CURDEF", string(s.Account.Currency))
	o.text("<%s>", account)
	o.ofxAccount(s)
	o.text("</%s>\n<BANKTRANLIST>", account)
	o.text("<DTSTART>%s</DTSTART><DTEND>%s</DTEND>\n", ofxDay(cmp.Or(s.From, s.Opening.Date)), ofxDay(cmp.Or(s.To, s.Closing.Date)))
	for e, err := range s.Entries {
		if err != nil {
			return err
		}
		o.ofxEntry(s, &e)
	}
	o.text("</BANKTRANLIST>\n<LEDGERBAL><BALAMT>%s</BALAMT><DTASOF>%s</DTASOF></LEDGERBAL>", s.signed(s.Closing.Amount.IsNeg())+s.digits(s.Closing.Amount), ofxDay(s.Closing.Date))
	o.text("</%s></%s></%s></OFX>\n", statement, transaction, messages)
	return nil
}

func (s *Written) signed(negative bool) string {
	if negative {
		return "-"
	}
	return ""
}

// ofxAccount writes the account. Except for a card, it splits a number that contains a slash into
// BANKID and ACCTID. It writes every other number completely, so that every reader gets the same
// number.
func (o *output) ofxAccount(s *Written) {
	if s.Account.Type == "card" {
		o.element("ACCTID", s.Account.number())
		return
	}
	kind := "CHECKING"
	if s.Account.Type == "savings" {
		kind = "SAVINGS"
	}
	bank, rest, both := strings.Cut(s.Account.number(), "/")
	if !both {
		bank, rest = s.Account.Bank, s.Account.number()
	}
	if s.Account.IBAN == "" && !both {
		bank = ""
	}
	o.element("BANKID", bank)
	o.element("ACCTID", rest)
	o.element("ACCTTYPE", kind)
}

func (o *output) ofxEntry(s *Written, e *StatementEntry) {
	kind := "CREDIT"
	if e.Amount.IsNeg() {
		kind = "DEBIT"
	}
	o.text("<STMTTRN>")
	o.element("TRNTYPE", cmp.Or(ofxTypes[e.Type], kind))
	o.element("DTPOSTED", ofxDay(e.Booked))
	if !e.Value.IsZero() {
		o.element("DTAVAIL", ofxDay(e.Value))
	}
	o.element("TRNAMT", s.signed(e.Amount.IsNeg())+s.digits(e.Amount))
	o.element("FITID", cut(e.Reference, max255))
	o.element("REFNUM", cut(e.EndToEnd, max32))
	o.element("NAME", cmp.Or(cut(cmp.Or(e.Name, e.Wording), max32), "-"))
	if e.Number != "" {
		o.text("<BANKACCTTO>")
		o.element("ACCTID", e.Number)
		o.text("</BANKACCTTO>")
	}
	o.element("MEMO", cut(e.Wording, max255))
	o.text("</STMTTRN>\n")
}
