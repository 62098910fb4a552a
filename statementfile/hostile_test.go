package statementfile_test

import (
	"runtime"
	"strings"
	"testing"

	"passerelle/statementfile"
)

func TestWrongForEveryFormat(t *testing.T) {
	const start = ":20:A\n:25:FR7630006000011234567890189\n:60F:C261104EUR100,00\n:61:261105C50,00NTRFNONREF\n"
	camt := func(booked, more string) string {
		return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>1</Id><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy></Acct>` +
			`<Ntry><Amt Ccy="EUR">5.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>` + booked + `</Dt></BookgDt></Ntry>` + more + `</Stmt></BkToCstmrStmt></Document>`
	}
	const changes, day = "the account of a statement changes after its first entry", "must be from 1900 to 2099"
	for _, c := range []struct{ name, file, want string }{
		{"MT940, another account", start + ":25:DE89370400440532013000\n:61:261105D50,00NTRFNONREF\n:62F:C261105EUR100,00\n-\n", changes},
		{"MT940, another currency", ":20:A\n:25:FR7630006000011234567890189EUR\n:61:261105C50,00NTRFNONREF\n:62F:C261105USD100,00\n-\n", changes},
		{"camt, another account", camt("2026-11-05", `<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>`), changes},
		{"camt, another currency", camt("2026-11-05", `<Acct><Ccy>USD</Ccy></Acct>`), changes},
		{"OFX, another account", "OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM><BANKID>1<ACCTID>123<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>" +
			"<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20261105<TRNAMT>5.00<FITID>1<NAME>X</STMTTRN></BANKTRANLIST><CURDEF>USD" +
			"<BANKACCTFROM><BANKID>1<ACCTID>456<ACCTTYPE>CHECKING</BANKACCTFROM><LEDGERBAL><BALAMT>5.00<DTASOF>20261105</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>", changes},
		{"camt, no day", camt("0001-01-01", ""), day},
		{"camt, the end of time", camt("9999-12-31", ""), day},
		{"camt, a balance at the end of time", camt("2026-11-05", `<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">5.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>9999-12-31</Dt></Dt></Bal>`), day},
		{"camt, a long number", strings.Replace(camt("2026-11-05", ""), "FR7630006000011234567890189", strings.Repeat("9", 201), 1), "an account number can have at most 200 bytes"},
		{"CSV, a long number", "Date;Amount;Currency;Account;Description\n2026-11-05;5,00;EUR;" + strings.Repeat("9", 201) + ";x\n", "an account number can have at most 200 bytes"},
		{"camt, an unknown encoding", `<?xml version="1.0" encoding="IBM037"?>` + camt("2026-11-05", ""), "line 1: the encoding is unknown; use UTF-8"},
		{"camt, a second encoding", `<?xml version="1.0" encoding="l1"?><?xml version="1.0" encoding="l2"?>` + camt("2026-11-05", ""), "line 1: the file declares a second encoding; use UTF-8"},
	} {
		var last error
		for _, err := range statementfile.Read(strings.NewReader(c.file), nil) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), "line ") || !strings.Contains(last.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, last, c.want)
		}
	}
}

// A declaration of an encoding needs a decoder with buffers. A repeated declaration of the same
// encoding needs no further decoder.
func TestRepeatedEncoding(t *testing.T) {
	const declaration, repeats = `<?xml version="1.0" encoding="l1"?>`, 2000
	message := declaration + `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>1</Id><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id>` +
		"<Ccy>EUR</Ccy><Ownr><Nm>Caf\xe9</Nm></Ownr></Acct></Stmt></BkToCstmrStmt></Document>\n"
	allocated := func(file string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		records := 0
		for r, err := range statementfile.Read(strings.NewReader(file), nil) {
			if records++; err != nil || r.Statement.Account.Owner != "Café" {
				t.Fatalf("%v, owner %q", err, r.Statement.Account.Owner)
			}
		}
		runtime.ReadMemStats(&after)
		if want := strings.Count(file, "<Stmt>"); records != want {
			t.Fatalf("%d records of %d", records, want)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	once := allocated(message + message)
	if again := allocated(strings.Repeat(declaration, repeats) + message); again > once+repeats*1000 {
		t.Errorf("%d declarations need %d bytes more", repeats, again-once)
	}
}

// allocated returns the number of bytes that a reader allocates. The time to read a file grows like
// this number.
func allocated(t *testing.T, file string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, err := range statementfile.Read(strings.NewReader(file), nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The work grows in proportion to the size of a file, even if many lines belong to one value.
func TestManyPartsOfAValue(t *testing.T) {
	for name, file := range map[string]func(parts int) string{
		"CFONB, parts of a label": func(parts int) string {
			return "0130004    02837EUR2 00011234567  301126                                                  0000000015000{\n" +
				"0430004000102837EUR2 0001123456706011226  021226VIR SEPA LOYER DECEMBRE          0000001000000000007505}REF0001\n" +
				strings.Repeat("0530004000102837EUR2 0001123456706011226     LIB"+strings.Repeat("A", 70)+"\n", parts) +
				"0730004    02837EUR2 00011234567  011226                                                  0000000007495{\n"
		},
		"OFX, a section with brackets": func(parts int) string { return ofx2("<MEMO><![CDATA[" + strings.Repeat(">", 3*parts) + "]]></MEMO>") },
		"OFX, a comment with brackets": func(parts int) string { return ofx2("<!--" + strings.Repeat(">", 3*parts) + "-->") },
	} {
		few, many := allocated(t, file(1000)), allocated(t, file(4000))
		if many > 6*few {
			t.Errorf("%s: four times the parts need %d bytes instead of %d", name, many, few)
		}
	}
}

// A stray quote in each line does not multiply the work by the number of lines that a row may have.
func TestManyStrayQuotes(t *testing.T) {
	const rows = 1000
	head, clean := "account,currency,date,amount,wording\n", "1,EUR,2026-11-02,-1.50,Tea\n"
	least := allocated(t, head+strings.Repeat(clean, rows))
	if most := allocated(t, head+strings.Repeat("1,EUR,2026-11-02,-1.50,\"\"\"a\n", rows)); most > 20*least {
		t.Errorf("%d bytes instead of %d", most, least)
	}
}
