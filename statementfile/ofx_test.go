package statementfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/statementfile"
)

const ofx1 = `OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><DTSERVER>20261130</SONRS></SIGNONMSGSRSV1>
<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STMTRS><CURDEF>EUR
<BANKACCTFROM><BANKID>30006<BRANCHID>00001<ACCTID>12345678901<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>20261101<DTEND>20261130
<STMTTRN><TRNTYPE>DIRECTDEBIT<DTPOSTED>20261102120000[+1:CET]<DTAVAIL>20261103<TRNAMT>-110,50<FITID>F1
<NAME>` + "CAF\xc9" + ` DU PARC<PAYEEID><MEMO>AT&amp;T <b>
</STMTTRN>
<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20261104<TRNAMT>1,234.56<FITID>F2<NAME>Rent<CURRENCY><CURRATE>1<CURSYM>EUR</CURRENCY><MEMO>Rent of November</STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>1500.00<DTASOF>20261130</LEDGERBAL><AVAILBAL><BALAMT>1<DTASOF>20261130</AVAILBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
`

func ofx2(transaction string) string {
	return `<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>
<OFX><!-- a > b --><CREDITCARDMSGSRSV1><CCSTMTTRNRS><CCSTMTRS><CURDEF>EUR</CURDEF><CCACCTFROM><ACCTID>4970 1234</ACCTID></CCACCTFROM>
<BANKTRANLIST>` + transaction + `</BANKTRANLIST></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>`
}

const purchase = `<STMTTRN><TRNTYPE>POS</TRNTYPE><DTPOSTED>20261102</DTPOSTED><TRNAMT>-1.5</TRNAMT><FITID>7</FITID><PAYEE><NAME>Café</NAME><CITY/></PAYEE><ORIGCURRENCY><CURRATE>2</CURRATE><CURSYM>USD</CURSYM></ORIGCURRENCY><MEMO><![CDATA[a > b & c]]></MEMO></STMTTRN>`

func TestOFX(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"SGML": {ofx1, []string{
			`15 2026-11-02 2026-11-03 -110.50 order ref=F1 e2e= "CAFÉ DU PARC AT&T" "" `,
			`18 2026-11-04  1234.56  ref=F2 e2e= "Rent of November" "" `,
			`OFX 102  300060000112345678901 EUR none..2026-11-30=1500.00`,
		}},
		"XML": {ofx2(purchase), []string{
			`4 2026-11-02  -1.5 card ref=7 e2e= "Café a > b & c" "Café" `,
			`OFX 211  49701234 EUR none..none`,
		}},
		"counterparty outside an entry": {ofx2(purchase + "<STMTTRNP><BANKACCTTO><ACCTID>1</ACCTID></BANKACCTTO></STMTTRNP><CCACCTTO><ACCTID>1</ACCTID></CCACCTTO>"), []string{
			`4 2026-11-02  -1.5 card ref=7 e2e= "Café a > b & c" "Café" `, `OFX 211  49701234 EUR none..none`,
		}},
		"comments": {ofx2("<!-- first -->" + purchase + "<!---->" + purchase + "<!-- second --><!-- a > b -->"), []string{
			`4 2026-11-02  -1.5 card ref=7 e2e= "Café a > b & c" "Café" `,
			`4 2026-11-02  -1.5 card ref=7 e2e= "Café a > b & c" "Café" `,
			`OFX 211  49701234 EUR none..none`,
		}},
		"three decimals": {strings.ReplaceAll(ofx2(strings.Replace(purchase, "-1.5", "-1,500", 1)+strings.Replace(purchase, "-1.5", "1,000", 1)), "EUR", "TND"), []string{
			`4 2026-11-02  -1.500 card ref=7 e2e= "Café a > b & c" "Café" `,
			`4 2026-11-02  1.000 card ref=7 e2e= "Café a > b & c" "Café" `,
			`OFX 211  49701234 TND none..none`,
		}},
		"three digits of a fraction": {ofx2(strings.Replace(purchase, "-1.5", "-0,500", 1) + strings.Replace(purchase, "-1.5", "1.500", 1)), []string{
			`4 2026-11-02  -0.500 card ref=7 e2e= "Café a > b & c" "Café" `,
			`4 2026-11-02  1.500 card ref=7 e2e= "Café a > b & c" "Café" `,
			`OFX 211  49701234 EUR none..none`,
		}},
		"no header":    {ofx2("")[strings.Index(ofx2(""), "<OFX>"):], []string{`OFX  49701234 EUR none..none`}},
		"endless list": {strings.Replace(ofx2(""), "</BANKTRANLIST>", "", 1), []string{`OFX 211  49701234 EUR none..none`}},
		"declared encoding": {
			strings.NewReplacer("UTF-8", "ISO-8859-1", "Café", "Caf\xe9").Replace(ofx2(purchase)), []string{
				`4 2026-11-02  -1.5 card ref=7 e2e= "Café a > b & c" "Café" `, `OFX 211  49701234 EUR none..none`,
			},
		},
	} {
		got, err := listed(strings.NewReader(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestOFXRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"entities":          {"<!DOCTYPE x [<!ENTITY a \"b\">]>" + ofx1, "document types and entities are refused"},
		"entities inside":   {strings.Replace(ofx1, "<BANKMSGS", "<!ENTITY a \"b\"><BANKMSGS", 1), "line 12: document types and entities are refused"},
		"cut short":         {ofx1[:strings.Index(ofx1, "</BANKTRANLIST>")], "ends within the element BANKTRANLIST"},
		"within a tag":      {ofx1[:len(ofx1)-4], "ends within an element"},
		"wrong nesting":     {strings.Replace(ofx1, "</STMTTRN>\n</BANK", "</BANK", 1), "line 18: the element BANKTRANLIST is closed, but another one is open"},
		"entry in an entry": {strings.Replace(ofx1, "<STMTTRN>", "<STMTTRN><STMTTRN>", 1), "line 15: the element STMTTRN is within another one"},
		"no statement":      {"<OFX><SIGNONMSGSRSV1></SIGNONMSGSRSV1></OFX>", "has no statement"},
		"amount of letters": {strings.Replace(ofx1, "-110,50", "1e9", 1), "line 15, STMTTRN/TRNAMT: must be an amount"},
		"thousands":         {strings.Replace(ofx1, "-110,50", "-1,110", 1), "line 15, STMTTRN/TRNAMT: must not have three digits after a comma"},
		"no amount":         {strings.Replace(ofx1, "<TRNAMT>-110,50", "", 1), "line 15, STMTTRN/TRNAMT: is required"},
		"two signs":         {strings.Replace(ofx1, "-110,50", "+-110,50", 1), "line 15, STMTTRN/TRNAMT: must be an amount"},
		"two amounts":       {strings.Replace(ofx1, "-110,50", "-110,50<TRNAMT>1", 1), "line 15, STMTTRN/TRNAMT: must occur only once"},
		"two balances":      {strings.Replace(ofx1, "1500.00", "1500.00<BALAMT>1", 1), "LEDGERBAL/BALAMT: must occur only once"},
		"no day":            {strings.Replace(ofx1, "<DTPOSTED>20261104", "", 1), "line 18, STMTTRN/DTPOSTED: is required"},
		"no such day":       {strings.Replace(ofx1, "20261104", "20260230", 1), "line 18, STMTTRN/DTPOSTED: must be a valid date"},
		"no account":        {strings.Replace(ofx1, "<ACCTID>12345678901", "", 1), "line 15, BANKACCTFROM: the account has no number"},
		"no currency":       {strings.Replace(ofx1, "<CURDEF>EUR", "", 1), "line 15, BANKACCTFROM: the account has no currency"},
		"other currency":    {strings.Replace(ofx1, "<CURSYM>EUR", "<CURSYM>USD", 1), "STMTTRN/CURSYM: must be the currency of the account"},
		"no day of balance": {strings.Replace(ofx1, "<BALAMT>1500.00<DTASOF>20261130", "<BALAMT>1500.00", 1), "LEDGERBAL/DTASOF: is required"},
		"long value":        {strings.Replace(ofx1, "Rent of", strings.Repeat("x", 1<<20), 1), "line 18, STMTTRN/MEMO: a value is too long"},
		"zero bytes":        {strings.Replace(ofx1, "Rent of", "\x00", 1), "the file is not text"},
		"no correction":     {strings.Replace(ofx1, "<FITID>F2", "<FITID>F2<CORRECTACTION>DELETE", 1), "line 18, STMTTRN/CORRECTACTION: must name the transaction"},
		"deep":              {"<OFX>" + strings.Repeat("<STMTRS>", 100), "nested too deeply"},
	} {
		_, err := listed(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// The summary counts corrections. An entry that only deletes another entry is not counted as an
// entry.
func TestOFXCorrections(t *testing.T) {
	for action, want := range map[string]int{"DELETE": 1, "REPLACE": 2} {
		got, err := statementfile.Summarize(strings.NewReader(strings.Replace(ofx1, "<FITID>F2", "<FITID>F2<CORRECTFITID>F1<CORRECTACTION>"+action, 1)), nil)
		if err != nil || got.Accounts[0].Corrections != 1 || got.Accounts[0].Entries != want {
			t.Errorf("%s: %v %+v", action, err, got.Accounts)
		}
	}
}

func TestOFXWithoutCurrency(t *testing.T) {
	got, err := listedWith(strings.Replace(ofx1, "<CURDEF>EUR", "<CURDEF>", 1), `{"account":{"currency":"EUR"}}`)
	if err != nil || len(got) != 3 || got[2] != `OFX 102  300060000112345678901 EUR none..2026-11-30=1500.00` {
		t.Errorf("%v %q", err, got)
	}
}
