package statementfile_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"passerelle/statementfile"
)

// listed reads a file and returns one line for each entry and each end of a statement.
func listed(r io.Reader) ([]string, error) { return listedThrough(r, nil) }

func listedThrough(r io.Reader, m *statementfile.Mapping) ([]string, error) {
	var all []string
	for record, err := range statementfile.Read(r, m) {
		if err != nil {
			return all, err
		}
		s, e := record.Statement, record.Entry
		if e != nil {
			all = append(all, fmt.Sprintf("%d %s %s %s %s ref=%s e2e=%s %q %q %s", e.Line, e.Booked, e.Value, e.Amount, e.Type, e.Reference, e.EndToEnd, e.Wording, e.Name, e.Number))
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %s%s %s %s..%s", s.Message, s.ID, s.Account.IBAN, s.Account.Number, s.Account.Currency, shown(s.Opening), shown(s.Closing)))
	}
	return all, nil
}

func shown(b *statementfile.StatementBalance) string {
	if b == nil {
		return "none"
	}
	return b.Date.String() + "=" + b.Amount.String()
}

func camtDocument(version, entries string) string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:` + version + `"><BkToCstmrStmt><GrpHdr><MsgId>1</MsgId></GrpHdr><Stmt><Id>S1</Id>
<Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-10-31</Dt></Dt></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">10.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Dt><Dt>2026-11-30</Dt></Dt></Bal>
` + entries + `</Stmt></BkToCstmrStmt></Document>`
}

const rent = `<Ntry><Amt Ccy="EUR">110.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-02</Dt></BookgDt><ValDt><Dt>2026-11-03</Dt></ValDt><AcctSvcrRef>R1</AcctSvcrRef>
<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>
<NtryDtls><TxDtls><Refs><EndToEndId>E1</EndToEndId></Refs><RltdPties><Cdtr><Nm>Café du Parc</Nm></Cdtr><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct></RltdPties><RmtInf><Ustrd>Loyer</Ustrd><Ustrd>novembre</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
`

var rentListed = []string{
	`6 2026-11-02 2026-11-03 -110.50 transfer ref=R1 e2e=E1 "Loyer novembre" "Café du Parc" DE89370400440532013000`,
	`camt.053.001.02 S1 FR7630006000011234567890189 EUR 2026-10-31=100.00..2026-11-30=-10.50`,
}

func TestCAMT(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"version 2": {camtDocument("camt.053.001.02", rent), rentListed},
		"prefix": {
			strings.NewReplacer("<Document xmlns=", "<p:Document xmlns:p=", "</Document", "</p:Document").Replace(camtDocument("camt.053.001.02", rent)), rentListed,
		},
		"version 8": {
			camtDocument("camt.053.001.08", strings.NewReplacer("<Sts>BOOK</Sts>", "<Sts><Cd>BOOK</Cd></Sts>", "<Nm>Café du Parc</Nm>", "<Pty><Nm>Café du Parc</Nm></Pty>").Replace(rent)),
			[]string{rentListed[0], strings.Replace(rentListed[1], ".02", ".08", 1)},
		},
		"no leading zero": {
			camtDocument("camt.053.001.02", strings.Replace(rent, "110.50", ".50", 1)), []string{strings.Replace(rentListed[0], "-110.50", "-0.50", 1), rentListed[1]},
		},
		"version 1": {
			strings.NewReplacer("BkToCstmrStmt>", "BkToCstmrAcctRptV01>", "Stmt>", "Rpt>").Replace(strings.ReplaceAll(camtDocument("camt.052.001.01", rent), "BkToCstmrStmt>", "BkToCstmrAcctRptV01>")),
			[]string{rentListed[0], strings.Replace(rentListed[1], "camt.053.001.02", "camt.052.001.01", 1)},
		},
		"no day": {
			strings.Replace(camtDocument("camt.053.001.02", strings.NewReplacer("<BookgDt><Dt>2026-11-02</Dt></BookgDt>", "", "<ValDt><Dt>2026-11-03</Dt></ValDt>", "").Replace(rent)), "<Id>S1</Id>", "<Id>S1</Id><CreDtTm>2026-11-30T10:00:00</CreDtTm>", 1),
			[]string{strings.Replace(rentListed[0], "2026-11-02 2026-11-03", "2026-11-30 ", 1), rentListed[1]},
		},
		"balances of other kinds in other currencies": {
			camtDocument("camt.053.001.02", strings.ReplaceAll(`<Bal><Tp><CdOrPrtry><Cd>CLAV</Cd></CdOrPrtry></Tp><Amt Ccy="JPY">7</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-30</Dt></Dt></Bal>`, "\n", "")+rent), rentListed,
		},
		"pending entries in other currencies": {camtDocument("camt.053.001.02", strings.NewReplacer("BOOK", "PDNG", `"EUR"`, `"SEK"`).Replace(rent)), rentListed[1:]},
		"pending entries are not booked":      {camtDocument("camt.053.001.02", strings.Replace(rent, "BOOK", "PDNG", 1)), rentListed[1:]},
	} {
		got, err := listed(strings.NewReader(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// A file may name the account's currency only in its entries. An amount in the account's currency
// is not an original amount.
func TestOriginalAmountWithoutCurrencyOfTheAccount(t *testing.T) {
	for currency, want := range map[string]string{"EUR": "", "SEK": "SEK -7.00"} {
		text := strings.Replace(camtDocument("camt.053.001.02", strings.Replace(rent, "<RltdPties>", `<AmtDtls><InstdAmt><Amt Ccy="`+currency+`">7.00</Amt></InstdAmt></AmtDtls><RltdPties>`, 1)), "<Ccy>EUR</Ccy>", "", 1)
		text = text[:strings.Index(text, "<Bal>")] + text[strings.Index(text, "<Ntry>"):]
		for record, err := range statementfile.Read(strings.NewReader(text), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if e := record.Entry; e == nil {
				continue
			} else if e.OriginalAmount != nil {
				got = string(e.OriginalCurrency) + " " + e.OriginalAmount.String()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", currency, got, want)
			}
		}
	}
}

// The counterparty of a returned payment is never the owner of the account.
func TestCounterpartyOfAReturnedPayment(t *testing.T) {
	const own = `<Dbtr><Nm>Me</Nm></Dbtr><DbtrAcct><Id><IBAN>FR7630006000011234567890189</IBAN></Id></DbtrAcct>`
	returned := strings.Replace(rent, "DBIT", "CRDT", 1)
	for name, text := range map[string]string{
		"account numbers":         strings.Replace(returned, "<RltdPties>", "<RltdPties>"+own, 1),
		"names, reversal":         strings.NewReplacer("<RltdPties>", "<RltdPties><Dbtr><Nm>Me</Nm></Dbtr>", "<Sts>", "<RvslInd>true</RvslInd><Sts>").Replace(returned),
		"names, return":           strings.NewReplacer("<RltdPties>", "<RltdPties><Dbtr><Nm>Me</Nm></Dbtr>", "</RmtInf>", "</RmtInf><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>").Replace(returned),
		"account numbers, return": strings.NewReplacer("<RltdPties>", "<RltdPties>"+own, "</RmtInf>", "</RmtInf><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>").Replace(returned),
		"parties changed sides":   strings.NewReplacer("Cdtr", "Dbtr", "</RmtInf>", "</RmtInf><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>", "</RltdPties>", strings.ReplaceAll(own, "Dbtr", "Cdtr")+"</RltdPties>").Replace(returned),
	} {
		got, err := listed(strings.NewReader(camtDocument("camt.053.001.02", text)))
		if err != nil || len(got) != 2 || !strings.HasSuffix(got[0], `"Café du Parc" DE89370400440532013000`) || !strings.Contains(got[0], " 110.50 ") {
			t.Errorf("%s: %v %q", name, err, got)
		}
	}
}

func TestBatchIsOneEntry(t *testing.T) {
	details := rent[strings.Index(rent, "<TxDtls>") : strings.Index(rent, "</TxDtls>")+len("</TxDtls>")]
	got, err := listed(strings.NewReader(camtDocument("camt.053.001.02", strings.Replace(rent, details, details+details, 1))))
	want := `6 2026-11-02 2026-11-03 -110.50 transfer ref=R1 e2e= "Loyer novembre Loyer novembre" "" `
	if err != nil || len(got) != 2 || got[0] != want {
		t.Errorf("%v %q", err, got)
	}
}

func TestEncodings(t *testing.T) {
	text := camtDocument("camt.053.001.02", rent)
	for name, encode := range map[string]func(string) (string, error){
		"UTF-8 with mark": func(s string) (string, error) { return "\xef\xbb\xbf" + s, nil },
		"ISO 8859-1": func(s string) (string, error) {
			return charmap.ISO8859_1.NewEncoder().String(strings.Replace(s, "UTF-8", "ISO-8859-1", 1))
		},
		"ISO 8859-15": func(s string) (string, error) {
			return charmap.ISO8859_15.NewEncoder().String(strings.Replace(s, "UTF-8", "ISO-8859-15", 1))
		},
		"Windows-1252": func(s string) (string, error) {
			return charmap.Windows1252.NewEncoder().String(strings.Replace(s, "UTF-8", "windows-1252", 1))
		},
		"UTF-16 with mark": func(s string) (string, error) {
			return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(strings.Replace(s, "UTF-8", "UTF-16", 1))
		},
		"UTF-16 without mark": func(s string) (string, error) {
			return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(strings.Replace(s, "UTF-8", "UTF-16", 1))
		},
	} {
		file, err := encode(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := listed(strings.NewReader(file))
		if diff := cmp.Diff(rentListed, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func mt940(entries string) string {
	return ":20:START\n:25:30006/1234567890\n:28C:7/1\n:60F:C261031EUR100,00\n" + entries + ":62F:D261130EUR10,50\n-\n"
}

func TestMT940(t *testing.T) {
	const line = ":61:2611031102DR110,5NTRFE1//R1\n"
	const end = "MT940 7/1 30006/1234567890 EUR 2026-10-31=100.00..2026-11-30=-10.50"
	for name, c := range map[string]struct{ text, want string }{
		"German": {
			mt940(line + ":86:116?00UEBERWEISUNG?20EREF+E2?21SVWZ+Loyer?22novembre?31DE89370400440532013000\n?32Cafe du ?33Parc\n"),
			`5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E2 "Loyer novembre" "Cafe du Parc" DE89370400440532013000`,
		},
		"Dutch": {
			mt940(line + ":86:/TRTP/SEPA OVERBOEKING/IBAN/DE89370400440532013000/NAME/Cafe du P\narc/REMI/Loyer novembre/EREF/NOTPROVIDED\n"),
			`5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "Loyer novembre" "Cafe du Parc" DE89370400440532013000`,
		},
		"free text": {
			mt940(line + ":86:Loyer\r\nnovembre\n"), `5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "Loyer novembre" "" `,
		},
		"field 86 for each line": {
			mt940(line + ":86:Loyer\n:86:novembre\n"), `5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "Loyer novembre" "" `,
		},
		"numbered field NS": {
			mt940(line + ":NS:01Loyer\n02novembre\n15Cafe du\n16Parc\n17Posting\n3310918001\n340000004279070017\n"),
			`5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "Loyer novembre" "Cafe du Parc" 109180010000004279070017`,
		},
		"Rabobank": {
			mt940(":61:261103D000000000110,50N102EREF            \nDE89370400440532013000\n:86:/EREF/02-11-2026 12:00 0030000987654321/BENM//NAME/Cafe du P\narc/REMI/Loyer novembre/ISDT/2026-11-03/ULTB//NAME/Another\n"),
			`5 2026-11-03 2026-11-03 -110.50  ref= e2e=02-11-2026 12:00 0030000987654321 "Loyer novembre" "Cafe du Parc" DE89370400440532013000`,
		},
		"an IBAN and no field 86": {
			mt940(line + "DE89370400440532013000\n"), `5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "DE89370400440532013000" "" DE89370400440532013000`,
		},
		"other supplementary details": {
			mt940(line + "P001234567\n:86:Loyer\n"), `5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "Loyer" "" `,
		},
		"supplementary details": {
			mt940(line + "LOYER\n"), `5 2026-11-02 2026-11-03 -110.5 transfer ref=R1 e2e=E1 "LOYER" "" `,
		},
	} {
		got, err := listed(strings.NewReader(c.text))
		if diff := cmp.Diff([]string{c.want, end}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Some banks omit field 20. A file then has several statements, which begin at field 25.
func TestMT940WithoutField20(t *testing.T) {
	statement := func(iban, number, entry string) string {
		return "ABNANL2A\n940\nABNANL2A\n:25:" + iban + "\n:28:" + number + "\n:60F:C261031EUR100,00\n:61:2611021102" + entry + "\n:86:/TRTP/SEPA OVERBOEKING/NAME/CAFE/REMI/RENT\n" +
			":62F:C261130EUR110,00\n:64:C261130EUR110,00\n:65:C261201EUR110,00\n-\n"
	}
	text := statement("NL91ABNA0417164300", "17001/1", "C10,00N654NONREF") + statement("NL91ABNA0417164300", "17002/1", "D10,00N654NONREF") + statement("DE89370400440532013000", "17001/1", "C10,00N654NONREF")
	want := []string{
		`7 2026-11-02 2026-11-02 10.00  ref= e2e= "RENT" "CAFE" `, "MT940 17001/1 NL91ABNA0417164300 EUR 2026-10-31=100.00..2026-11-30=110.00",
		`19 2026-11-02 2026-11-02 -10.00  ref= e2e= "RENT" "CAFE" `, "MT940 17002/1 NL91ABNA0417164300 EUR 2026-10-31=100.00..2026-11-30=110.00",
		`31 2026-11-02 2026-11-02 10.00  ref= e2e= "RENT" "CAFE" `, "MT940 17001/1 DE89370400440532013000 EUR 2026-10-31=100.00..2026-11-30=110.00",
	}
	got, err := listed(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// The booking day of an entry in MT940 has no year. It gets the year that brings it closest to the
// value day.
func TestBookingDayAroundNewYear(t *testing.T) {
	for line, want := range map[string]string{"2701021231": "2026-12-31 2027-01-02", "2612310102": "2027-01-02 2026-12-31", "2610010105": "2027-01-05 2026-10-01", "2703311220": "2026-12-20 2027-03-31", "2607010101": "2026-01-01 2026-07-01", "2607030101": "2027-01-01 2026-07-03", "270230": "2027-02-28 2027-02-28", "280230": "2028-02-29 2028-02-29", "2702280229": "2027-02-28 2027-02-28", "2703010230": "2027-02-28 2027-03-01", "2802280230": "2028-02-29 2028-02-28", "261231": "2026-12-31 2026-12-31", "261231    ": "2026-12-31 2026-12-31"} {
		got, err := listed(strings.NewReader(mt940(":61:" + line + "C1,NTRFNONREF\n")))
		if err != nil || !strings.HasPrefix(got[0], "5 "+want) {
			t.Errorf("%s: %v %q", line, err, got)
		}
	}
}

// Banks write kinds of entries that the standard does not have.
func TestKindsOfEntries(t *testing.T) {
	for after, want := range map[string]string{
		"TRF//REF":   `ref=REF e2e=TRF`,
		"NMS":        `ref= e2e=NMS`,
		"Ntrf//REF":  `ref=REF e2e=Ntrf`,
		"CHGxNONREF": `ref= e2e=CHGxNONREF`,
		"REF123":     `ref= e2e=23`,
		"S103//REF":  `ref=REF e2e=`,
	} {
		got, err := listed(strings.NewReader(mt940(":61:261103D12,50" + after + "\n:86:Rent\n")))
		want = "5 2026-11-03 2026-11-03 -12.50  " + want + ` "Rent" "" `
		if err != nil || len(got) != 2 || got[0] != want {
			t.Errorf("%s: %v %q, want %q", after, err, got, want)
		}
	}
}

func TestMT942(t *testing.T) {
	text := ":20:A\n:25:DE89370400440532013000\n:28C:1\n:34F:EUR0,\n:13D:2611251200+0100\n:61:261125C2,50NTRFNONREF\n:86:Hello\n:90C:1EUR2,50\n:90D:0EUR0,\n-\n"
	want := []string{`6 2026-11-25 2026-11-25 2.50 transfer ref= e2e= "Hello" "" `, "MT942 1 DE89370400440532013000 EUR none..none"}
	got, err := listed(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// Expected entries count towards the sums of an MT942, but they are not booked.
func TestExpectedEntries(t *testing.T) {
	text := ":20:A\n:25:DE89370400440532013000\n:28C:1\n:34F:EUR0,\n:13D:2611251200+0100\n:61:261126EC7,NTRFNONREF\n:86:Later\n:61:261125C2,50NTRFNONREF\n:86:Hello\n:61:261126ED1,NTRFNONREF\n:86:Never\n:90C:2EUR9,50\n:90D:1EUR1,\n-\n"
	want := []string{`8 2026-11-25 2026-11-25 2.50 transfer ref= e2e= "Hello" "" `, "MT942 1 DE89370400440532013000 EUR none..none"}
	got, err := listed(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	summary, err := statementfile.Summarize(strings.NewReader(text), nil)
	if err != nil || len(summary.Accounts) != 1 || summary.Accounts[0].Unbalanced != nil {
		t.Errorf("%v %+v", err, summary.Accounts)
	}
}

// A statement without an end, one that ends before it begins, and one whose sums differ from the
// sums of its entries are read but count as unbalanced.
func TestIncompleteStatements(t *testing.T) {
	interim := ":20:A\n:25:77\n:28C:1\n:34F:EURD0,\n:13D:2611251200+0100\n:61:261125C2,50NTRFNONREF\n:90C:1EUR3,50\n-\n"
	for name, c := range map[string]struct {
		text string
		want []int
	}{
		"whole":            {mt940(":61:261102D110,5NTRFNONREF\n"), nil},
		"no closing":       {strings.Replace(mt940(":61:261102D110,5NTRFNONREF\n"), ":62F:D261130EUR10,50\n-", ":65F:Dnullnull10,5", 1), []int{1}},
		"other sum":        {interim, []int{1}},
		"sum as it is":     {strings.Replace(interim, "3,50", "2,50", 1), nil},
		"two, one cut":     {mt940("")[:len(mt940(""))-len(":62F:D261130EUR10,50\n-\n")] + mt940(":61:261102D110,5NTRFNONREF\n"), []int{1}},
		"no currency":      {strings.Replace(mt940(":61:261102D110,5NTRFNONREF\n"), ":62F:D261130EUR10,50", ":62M:D26113010,50", 1), nil},
		"end before begin": {strings.Replace(mt940(":61:261102D110,5NTRFNONREF\n"), ":62F:D261130", ":62F:D261001", 1), []int{1}},
		"other sum too":    {strings.Replace(mt940(""), ":62F:D261130", ":62F:D261001", 1), []int{1}},
		"other sum still":  {strings.Replace(interim, "1EUR3,50", "0EUR0,", 1), []int{1}},
	} {
		got, err := statementfile.Summarize(strings.NewReader(c.text), nil)
		if err != nil || len(got.Accounts) != 1 || !slices.Equal(got.Accounts[0].Unbalanced, c.want) {
			t.Errorf("%s: %v %+v, want %v", name, err, got.Accounts, c.want)
		}
	}
	for text, want := range map[string]string{
		mt940(""): "the entries lead from the opening balance 100.00 to 100.00, but the closing balance is -10.50",
		interim:   "the entries do not match the sums in :90D: and :90C:",
		strings.Replace(mt940(""), ":62F:D261130EUR10,50\n", "", 1):                           "the closing balance (:62F: or :62M:) is missing",
		strings.Replace(mt940(""), ":62F:D261130", ":62F:D261001", 1):                         "the closing balance, of 2026-10-01, is before the opening balance, of 2026-10-31",
		strings.Replace(camtDocument("camt.053.001.02", rent), "2026-11-30", "2026-10-30", 1): "the closing balance, of 2026-10-30, is before the opening balance, of 2026-10-31",
		strings.Replace(mt940(":61:261102D110,5NTRFNONREF\n"), "x", "y", 1):                   "",
	} {
		if got, err := statementfile.Summarize(strings.NewReader(text), nil); err != nil || got.Accounts[0].Imbalance != want {
			t.Errorf("%q: %v %+v, want %s", text, err, got, want)
		}
	}
}

// A summary lists the statements with entries outside their balances.
func TestEntriesOutsideTheirStatement(t *testing.T) {
	for day, want := range map[string][]int{"261030": {1}, "261031": nil, "261130": nil, "261201": {1}} {
		got, err := statementfile.Summarize(strings.NewReader(mt940(":61:261102D110,5NTRFNONREF\n:61:"+day+"C0,NTRFNONREF\n")+mt940("")), nil)
		if err != nil || len(got.Accounts) != 1 || !slices.Equal(got.Accounts[0].Outside, want) {
			t.Errorf("%s: %v %+v, want %v", day, err, got.Accounts, want)
		}
	}
}

func TestCFONB(t *testing.T) {
	text := `0130006    00001EUR2 12345678901  301126                                                  0000000015000{                
0430006    00001EUR2 1234567890106011226        LOYER DECEMBRE                   0000000000000000007505}                
0730006    00001EUR2 12345678901  011226                                                  0000000007495{                
`
	want := []string{`2 2026-12-01  -750.50 transfer ref= e2e= "LOYER DECEMBRE" "" `, "CFONB 120  300060000112345678901 EUR 2026-11-30=1500.00..2026-12-01=749.50"}
	got, err := listed(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// Some banks send records without line breaks, and balances without a currency.
func TestCFONBOfBanks(t *testing.T) {
	record := func(text string) string { return fmt.Sprintf("%-120s", text) }
	text := record("0130006    00001     12345678901  301126                                                  0000000015000{") +
		record("0430006    00001EUR2 1234567890106011226        LOYER DÉCEMBRE                   0000000000000000007505}") +
		record("0730006    00001     12345678901  011226                                                  0000000007495{")
	want := []string{`2 2026-12-01  -750.50 transfer ref= e2e= "LOYER DECEMBRE" "" `, "CFONB 120  300060000112345678901 EUR 2026-11-30=1500.00..2026-12-01=749.50"}
	got, err := listed(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// The counterparty of outgoing money is the payee, and the counterparty of incoming money the payer.
// The text of the payer continues the label of the bank.
func TestDetailsInCFONB(t *testing.T) {
	text := `0130006    00001EUR2 12345678901  301126                                                  0000000015000{
0430006    00001EUR2 1234567890106011226        LOYER                            0000000000000000007505}
0530006    00001EUR2 1234567890106011226     NBESCI DU PARC
0530006    00001EUR2 1234567890106011226     NPYMME MARTIN
0430006    00001EUR2 1234567890105011226        SALAIRE                          0000000000000000010000{
0530006    00001EUR2 1234567890105011226     NPYEMPLOYEUR SA
0530006    00001EUR2 1234567890105011226     NBEMME MARTIN
0530006    00001EUR2 1234567890105011226     LCCPAIE NOVEMBRE
0530006    00001EUR2 1234567890105011226     LC22026
0430006    00001EUR2 1234567890105011226        PRIME                            0000000000000000000100{
0530006    00001EUR2 1234567890105011226     NBECAISSE
0730006    00001EUR2 12345678901  011226                                                  0000000017595{
`
	got, err := listed(strings.NewReader(text))
	want := []string{
		`2 2026-12-01  -750.50 transfer ref= e2e= "LOYER" "SCI DU PARC" `, `5 2026-12-01  1000.00 transfer ref= e2e= "SALAIRE PAIE NOVEMBRE 2026" "EMPLOYEUR SA" `,
		`10 2026-12-01  10.00 transfer ref= e2e= "PRIME" "CAISSE" `, "CFONB 120  300060000112345678901 EUR 2026-11-30=1500.00..2026-12-01=1759.50",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// The amount in another currency has the sign of the movement. An amount that repeats the currency of
// the account, or has another form, is ignored.
func TestOriginalAmountsInCFONB(t *testing.T) {
	for detail, want := range map[string]string{
		"USD200000000001234":             "-12.34 USD",
		"JPY000000000008358300000001077": "-8358 JPY",
		"KWD300000000001234":             "-1.234 KWD",
		"EUR200000000001234":             "",
		"ZZZ200000000001234":             "",
		"USD2 1234":                      "",
	} {
		text := `0130006    00001EUR2 12345678901  301126                                                  0000000015000{
0430006    00001EUR2 1234567890128011226        PARKING GARAGE                   0000000000000000000112M
0530006    00001EUR2 1234567890128011226     MMO` + detail + `
0730006    00001EUR2 12345678901  011226                                                  0000000014887F
`
		for r, err := range statementfile.Read(strings.NewReader(text), nil) {
			if err != nil {
				t.Fatal(detail, err)
			}
			if r.Entry == nil {
				continue
			}
			got := ""
			if r.Entry.OriginalAmount != nil {
				got = fmt.Sprint(r.Entry.OriginalAmount, " ", r.Entry.OriginalCurrency)
			}
			if got != want || r.Entry.Type != "card" {
				t.Errorf("%s: %q of a %s, want %q of a card", detail, got, r.Entry.Type, want)
			}
		}
	}
}

// The error of a refused file does not contain the counterparty's name.
func TestRefusals(t *testing.T) {
	whole := camtDocument("camt.053.001.02", rent)
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "the file is empty"},
		"zip":            {"PK\x03\x04xx", "a zip archive"},
		"PDF":            {"%PDF-1.7", "a PDF"},
		"gzip":           {"\x1f\x8b\x08", "a gzip archive"},
		"other text":     {"Wann;Was\n", "is not camt"},
		"other XML":      {"<html></html>", "has no camt"},
		"other message":  {camtDocument("pain.001.001.03", rent), "line 2, Document:"},
		"entities":       {`<!DOCTYPE x [<!ENTITY a "b">]><Document/>`, "document types and entities are refused"},
		"unknown entity": {strings.Replace(whole, "Loyer", "&a;", 1), "not well-formed"},
		"cut short":      {whole[:len(whole)-30], "line 9: not well-formed XML"}, "cut between elements": {strings.TrimSuffix(whole, "</Document>"), "ends within an element"},
		"wrong nesting":      {strings.Replace(whole, "</Ustrd>", "</Ntry>", 1), "line 8: an element is closed that is not open"},
		"deep":               {strings.Repeat("<a>", 100), "nested too deeply"},
		"long name":          {strings.Replace(whole, "<Ntry>", "<"+strings.Repeat("n", 201)+"/><Ntry>", 1), "line 6: the name of an element is too long"},
		"long value":         {strings.Replace(whole, "Loyer", strings.Repeat("x", 1<<20), 1), "a value is too long"},
		"amount of letters":  {strings.Replace(whole, "110.50", "1e9", 1), "line 6, Ntry/Amt: must be an amount"},
		"no such day":        {strings.Replace(whole, "2026-11-02", "2026-02-30", 1), "line 6, Ntry/BookgDt/Dt: must be a valid date"},
		"no amount":          {strings.Replace(whole, `<Ntry><Amt Ccy="EUR">110.50</Amt>`, "<Ntry>", 1), "line 6, Ntry/Amt: is required"},
		"amount with comma":  {strings.Replace(whole, "110.50", "110,50", 1), "line 6, Ntry/Amt: must be an amount with a point before the decimals, not a comma"},
		"two amounts":        {strings.Replace(whole, `<Ntry>`, `<Ntry><Amt Ccy="EUR">1</Amt>`, 1), "line 6, Ntry/Amt: must occur only once"},
		"two directions":     {strings.Replace(whole, `<Sts>`, `<CdtDbtInd>CRDT</CdtDbtInd><Sts>`, 1), "line 6, Ntry/CdtDbtInd: must occur only once"},
		"two balances":       {strings.Replace(whole, `<Amt Ccy="EUR">100.00</Amt>`, `<Amt Ccy="EUR">1</Amt><Amt Ccy="EUR">100.00</Amt>`, 1), "line 4, Bal/Amt: must occur only once"},
		"no balance":         {strings.Replace(whole, `<Amt Ccy="EUR">100.00</Amt>`, "", 1), "line 4, Bal/Amt: is required"},
		"status":             {strings.Replace(whole, "BOOK", "FOO", 1), "line 6, Ntry/Sts: must be BOOK, PDNG, INFO or FUTR"},
		"other currency":     {strings.Replace(whole, `<Ntry><Amt Ccy="EUR"`, `<Ntry><Amt Ccy="USD"`, 1), "line 6, Ntry/Amt: must have the currency of the account"},
		"negative amount":    {strings.Replace(whole, "110.50", "-110.50", 1), "line 6, Ntry/Amt: must not be negative; CdtDbtInd has the direction"},
		"no direction":       {strings.Replace(whole, "</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>", "</Amt><Sts>", 1), "line 6, Ntry/CdtDbtInd: must be CRDT or DBIT"},
		"negative balance":   {strings.Replace(whole, ">10.50", ">-10.50", 1), "line 5, Bal/Amt: must not be negative"},
		"no sign of balance": {strings.Replace(whole, "</Amt><CdtDbtInd>DBIT</CdtDbtInd><Dt>", "</Amt><Dt>", 1), "line 5, Bal/CdtDbtInd: must be CRDT or DBIT"},
		"no account":         {strings.Replace(whole, "FR7630006000011234567890189", "", 1), "Acct: the account has no number"},
		"MT entry of words":  {mt940(":61:hello\n"), "line 5, :61:"},
		"MT letter":          {mt940(":61:261103D12,5ONTRFNONREF\n"), "line 5, :61:: must be a date of 6 digits"},
		"MT letters":         {mt940(":61:261103D1O0,50NTRFNONREF\n"), "line 5, :61:: must be a date of 6 digits"},
		"MT small letter":    {mt940(":61:261103D12,lNCHGNONREF\n"), "line 5, :61:: must be a date of 6 digits"},
		"MT point":           {mt940(":61:261103D100.00NTRFNONREF\n"), "line 5, :61:: must be a date of 6 digits"},
		"MT no such day":     {strings.Replace(mt940(""), ":62F:D261130", ":62F:D270229", 1), ":62F:: must be a valid date"},
		"MT balance of word": {":20:A\n:25:1\n:60F:hello\n", "line 3, :60F:"},
		"MT endless field":   {mt940(":61:261103C1,NTRF\n:86:" + strings.Repeat("x\n", 1000)), "line 6, :86:: has too many lines"},
		"MT endless line":    {mt940(":61:261103C1,NTRF\n:86:" + strings.Repeat("x", 1<<20)), "line 6: a line can have at most"},
		"MT zero bytes":      {mt940(":61:261103C1,NTRF\x00\n"), "line 5: the file is not text"},
	} {
		_, err := listed(strings.NewReader(c.text))
		var own *statementfile.FileError
		if !errors.As(err, &own) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "Parc") {
			t.Errorf("%s: the error repeats the file: %v", name, err)
		}
	}
}

func large(entries int) io.Reader {
	head, tail, _ := strings.Cut(camtDocument("camt.053.001.02", "|"), "|")
	readers := []io.Reader{strings.NewReader(head)}
	for range entries {
		readers = append(readers, strings.NewReader(rent))
	}
	return io.MultiReader(append(readers, strings.NewReader(tail))...)
}

func repeated(head, part string, times int, tail string) io.Reader {
	readers := []io.Reader{strings.NewReader(head)}
	for range times {
		readers = append(readers, strings.NewReader(part))
	}
	return io.MultiReader(append(readers, strings.NewReader(tail))...)
}

func TestLargeFileIsStreamed(t *testing.T) {
	const entries = 20_000
	head, tail, _ := strings.Cut(ofx2("|"), "|")
	for name, c := range map[string]struct {
		file io.Reader
		sum  string
	}{
		"camt": {large(entries), "-2210000.00"},
		"MT":   {repeated(":20:A\n:25:1\n:60F:C261031EUR0,\n", ":61:261103D1,5NTRFNONREF\n:86:Rent\n", entries, ":62F:D261103EUR30000,\n-\n"), "-30000.0"},
		"OFX":  {repeated(head, purchase, entries, tail), "-30000.0"},
		"CSV":  {repeated("account,currency,date,amount,wording\n", "1,EUR,2026-11-02,-1.50,\"Tea\nand salt\"\n", entries, ""), "-30000.00"},
	} {
		n, sum, most := streamed(t, c.file)
		if n != entries || sum != c.sum {
			t.Errorf("%s: %d entries of %s, want %s", name, n, sum, c.sum)
		}
		if most > 4<<20 {
			t.Errorf("%s: %d bytes are kept while it is read", name, most)
		}
	}
}

// streamed reads a file. It returns the number of its entries, their sum, and the peak memory use.
func streamed(t *testing.T, file io.Reader) (int, string, uint64) {
	t.Helper()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, sum, most := 0, decimal.Zero, uint64(0)
	for record, err := range statementfile.Read(file, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Entry == nil {
			continue
		}
		n++
		sum, _ = sum.Add(record.Entry.Amount)
		if n%5000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	}
	return n, sum.String(), most
}

func BenchmarkRead(b *testing.B) {
	file, err := io.ReadAll(large(10_000))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("camt", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		for range b.N {
			for _, err := range statementfile.Read(bytes.NewReader(file), nil) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("tokens", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		for range b.N {
			for d := xml.NewDecoder(bytes.NewReader(file)); ; {
				if _, err := d.Token(); err != nil {
					break
				}
			}
		}
	})
}

// fuzz checks that no file makes a reader panic, that every entry has a day, and that every
// statement has an account.
func fuzz(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) { readAny(t, file, nil) })
}

func FuzzCAMT(f *testing.F) {
	fuzz(f, camtDocument("camt.053.001.02", rent), camtDocument("camt.053.001.08", strings.ReplaceAll(rent, "BOOK", "<Cd>PDNG</Cd>")), "\xff\xfe<\x00D\x00")
}

func FuzzMT940(f *testing.F) {
	fuzz(f, mt940(":61:2611031102D110,5NTRFE1//R1\n:86:116?00A?20EREF+E2?21SVWZ+B?31DE1?32C\n"),
		mt940(":61:2611031102D110,5NTRFE1//R1\n:86:/TRTP/A/CNTP/DE1/BIC/N/C///REMI/USTD//B/\n"),
		mt940(":61:261103C110,5S051X\n:NS:01A\n15B\n33C\n34D\n:86:E\n:86:F\n"),
		":20:A\n:25:1EUR\n:34F:EUR0,\n:13D:2611251200+0100\n:61:261125C2,50NTRFNONREF\n:90C:1EUR2,50\n")
}

func FuzzOFX(f *testing.F) {
	fuzz(f, ofx1, ofx2(purchase), strings.Replace(ofx1, "<FITID>F2", "<FITID>F2<CORRECTFITID>F1<CORRECTACTION>DELETE", 1))
}

func readAny(t *testing.T, file []byte, m *statementfile.Mapping) {
	t.Helper()
	for record, err := range statementfile.Read(bytes.NewReader(file), m) {
		if err != nil {
			return
		}
		if e := record.Entry; e != nil && (e.Booked.IsZero() || e.Line == 0) {
			t.Error("an entry has no day or no line")
		}
		if a := record.Statement.Account; a.IBAN == "" && a.Number == "" || a.Currency == "" {
			t.Error("a statement has no account")
		}
	}
}
