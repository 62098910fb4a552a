package statementfile_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"passerelle/statementfile"
)

func csvOf(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

const csvAccount = `"account":{"iban":"FR76 3000 6000 0112 3456 7890 189","currency":"EUR"}`

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		mapping, text string
		want          []string
	}{
		"French": {
			`{` + csvAccount + `}`,
			csvOf("Compte courant;;;", "", "Date opération;Date valeur;Libellé;Débit euros;Crédit euros;Débit;Crédit;Solde", "02/11/2026;03/11/2026;LOYER;;;1 110,50;;-10,50", `04/11/2026;04/11/2026;"VIR; DUPONT";;;;20,00;9,50`),
			[]string{
				`4 2026-11-02 2026-11-03 -1110.50  ref= e2e= "LOYER" "" `, `5 2026-11-04 2026-11-04 20.00  ref= e2e= "VIR; DUPONT" "" `,
				"CSV  FR7630006000011234567890189 EUR 2026-11-01=1100.00..2026-11-04=9.50",
			},
		},
		"German, newest first": {
			"",
			csvOf(`"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"Betrag";"Saldo";"Waehrung";"Info"`,
				`"DE89370400440532013000";"04.11.26";"04.11.26";"GUTSCHRIFT";"Gehalt";"ACME";"DE02120300000000202051";"1.000,00";"1.090,00";"EUR";"Umsatz gebucht"`,
				`"DE89370400440532013000";"02.11.26";"";"LASTSCHRIFT";"Miete";"Haus";"";"-10,00";"90,00";"EUR";""`),
			[]string{
				`2 2026-11-04 2026-11-04 1000.00  ref= e2e= "GUTSCHRIFT Gehalt" "ACME" DE02120300000000202051`, `3 2026-11-02  -10.00  ref= e2e= "LASTSCHRIFT Miete" "Haus" `,
				"CSV  DE89370400440532013000 EUR 2026-11-01=100.00..2026-11-04=1090.00",
			},
		},
		"Dutch, sign in a column": {
			"", csvOf(`"Datum","Naam / Omschrijving","Rekening","Tegenrekening","Code","Af Bij","Bedrag (EUR)","Mededelingen"`, `"20261102","Albert","NL91ABNA0417164300","","BA","Af","12,50","Boodschappen"`, `"20261103","Jan","NL91ABNA0417164300","","GT","Bij","1,00",""`),
			[]string{`2 2026-11-02  -12.50  ref= e2e= "Boodschappen" "Albert" `, `3 2026-11-03  1.00  ref= e2e= "Jan" "Jan" `, "CSV  NL91ABNA0417164300 EUR none..none"},
		},
		"status, two accounts, dates of America": {
			"", csvOf("Account,Currency,Date,State,Amount,Description", "1,USD,12/31/2026,COMPLETED,$-5.00,Tea", "2,EUR,01/02/2027,PENDING,-7.00,Not yet", "2,EUR,01/02/2027,COMPLETED,\"(1,234.5)\",Salt", ",,,,,"),
			[]string{`2 2026-12-31  -5.00  ref= e2e= "Tea" "" `, `4 2027-01-02  -1234.5  ref= e2e= "Salt" "" `, "CSV  1 USD none..none", "CSV  2 EUR none..none"},
		},
		"columns by number, without header": {
			`{"no_header":true,"delimiter":"|","date_format":"YYYY.MM.DD.","decimal":",","skip":1,"negate":true,"account":{"number":"77","currency":"CHF"},"columns":{"date":1,"amount":3,"wording":[2,4]}}`,
			csvOf("made by a bank", "2026.11.02.|Tea|1.234|green"),
			[]string{`2 2026-11-02  -1234  ref= e2e= "Tea green" "" `, "CSV  77 CHF none..none"},
		},
		"months in words": {
			"", csvOf("account,currency,date,amount,wording", "1,EUR,27 Feb 2026,1.00,Tea", "1,EUR,Pending,1.00,Salt"), []string{`2 2026-02-27  1.00  ref= e2e= "Tea" "" `, "CSV  1 EUR none..none"},
		},
		"quotes": {
			"", csvOf("account,currency,date,amount,wording", `1,EUR,2026-11-02,1.00,"Tea`, `and ""salt"""`, `1,EUR,2026-11-03,2.00,The "best" tea`, `1,EUR,2026-11-04,3.00,"Stray`, `1,EUR,2026-11-05,4.00,Sugar`),
			[]string{
				`2 2026-11-02  1.00  ref= e2e= "Tea and \"salt\"" "" `, `4 2026-11-03  2.00  ref= e2e= "The \"best\" tea" "" `, `5 2026-11-04  3.00  ref= e2e= "Stray" "" `, `6 2026-11-05  4.00  ref= e2e= "Sugar" "" `,
				"CSV  1 EUR none..none",
			},
		},
		"a row that continues a wording": {
			"", csvOf("account,currency,date,amount,wording", "1,EUR,2026-11-02,1.00,Tea", ",,,,and salt", ",,,", "total,,,,1.00", ",,A note,,of the bank", ",,Footer 2,Footer 2,Footer", "1,EUR,2026-11-03,2.00,Milk"),
			[]string{`2 2026-11-02  1.00  ref= e2e= "Tea and salt" "" `, `8 2026-11-03  2.00  ref= e2e= "Milk" "" `, "CSV  1 EUR none..none"},
		},
		"columns by name": {
			`{` + csvAccount + `,"debit":["X"],"pending":["no"],"columns":{"date":"Wann","amount":"Wieviel","sign":"Art","wording":["Was"],"status":"Fertig"}}`,
			csvOf("Wann\tWieviel\tArt\tWas\tFertig", "2026-11-02\t2.50-\tX\tTea\tyes", "2026-11-02\t3.50\tY\tSalt\tyes", "2026-11-02\t4\tY\tSalt\tno"),
			[]string{`2 2026-11-02  -2.50  ref= e2e= "Tea" "" `, `3 2026-11-02  3.50  ref= e2e= "Salt" "" `, "CSV  FR7630006000011234567890189 EUR none..none"},
		},
	} {
		got, err := listedWith(c.text, c.mapping)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func listedWith(text, mapping string) ([]string, error) {
	var m *statementfile.Mapping
	if mapping != "" {
		var err error
		if m, err = statementfile.ParseMapping(mapping); err != nil {
			return nil, err
		}
	}
	return listedThrough(strings.NewReader(text), m)
}

// A mapping can name UTF-16. The file may have a byte order mark.
func TestCSVInUTF16(t *testing.T) {
	text := csvOf("account,currency,date,amount,wording", "1,EUR,2026-11-02,1.00,Café")
	want := []string{`2 2026-11-02  1.00  ref= e2e= "Café" "" `, "CSV  1 EUR none..none"}
	for name, encoding := range map[string]encoding.Encoding{
		"utf-16":   unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
		"utf-16le": unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		"utf-16be": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		"UTF-16BE": unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	} {
		file, err := encoding.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := listedWith(file, `{"encoding":"`+name+`"}`)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestCSVRefused(t *testing.T) {
	file := func(row string) string {
		return csvOf("account,currency,date,amount,balance,status,sign,wording", "1,EUR,2026-11-02,1.50,2.50,booked,C,Tea", row)
	}
	for name, c := range map[string]struct{ mapping, text, want string }{
		"other columns":    {"", csvOf("When,What", "2026-11-02,1.00"), "CSV with other column names needs a mapping"},
		"mapping of other": {`{"columns":{"date":"Wann","amount":"Was"}}`, csvOf("When,What"), `has the columns of the mapping; it has no column "Wann", "Was"`},
		"a column less":    {`{"columns":{"date":"When","amount":"What","wording":["Why",2]}}`, csvOf("When;What", "2026-11-02;1.00"), `has the columns of the mapping; it has no column "Why"`},
		"no transactions":  {"", csvOf("date,amount"), "has no transactions"},
		"no currency":      {"", csvOf("account,date,amount", "FR7630006000011234567890189,2026-11-02,1.00"), "line 2, currency: the file does not name the currency of the account; send a mapping"},
		"no account":       {"", csvOf("date,amount", "2026-11-02,1.00"), "line 2, account: the file does not name its account; send a mapping"},
		"no such day":      {"", file("1,EUR,2026-11-31,1.50,2.50,booked,C,Tea"), "line 3, date: must be a valid date YYYY-MM-DD"},
		"no day":           {"", file("1,EUR,,1.50,2.50,booked,C,Tea"), "line 3, date: is required"},
		"other form":       {"", file("1,EUR,11/12/2026,1.50,2.50,booked,C,Tea"), "line 3, date: must be a valid date"},
		"no amount":        {"", file("1,EUR,2026-11-02,,2.50,booked,C,Tea"), "line 3, amount: is required"},
		"two signs":        {"", file("1,EUR,2026-11-02,--1.50,2.50,booked,C,Tea"), "line 3, amount: must have at most one sign"},
		"two currencies":   {"", file("1,EUR,2026-11-02,EUR 1.50 USD,2.50,booked,C,Tea"), "line 3, amount: must name only one currency"},
		"an open quote":    {"", csvOf("account,currency,date,wording,amount", "1,EUR,2026-11-02,\"Tea,-5.00"), "line 2, amount: is missing, because a quote in the line is not closed"},
		"a missing cell":   {"", csvOf("account,currency,date,wording,amount", "1,EUR,2026-11-02,Tea"), "line 2, amount: must be in column 5, but the line has only 4 columns"},
		"one wrong day":    {"", csvOf("account,currency,date,amount", "1,EUR,01/11/2026,-1.00", "1,EUR,02/11/2026,-1.00", "1,EUR,30/02/2026,-1.00"), "line 4, date: must be a valid date DD/MM/YYYY"},
		"a total":          {"", csvOf("account,currency,date,amount", "1,EUR,01/11/2026,-1.00", "1,EUR,Total,-1.00"), "line 3, date: must be a valid date DD/MM/YYYY"},
		"words":            {"", file("1,EUR,2026-11-02,much,2.50,booked,C,Tea"), "line 3, amount: must be an amount"},
		"other mark":       {"", file("1,EUR,2026-11-02,\"1,50\",2.50,booked,C,Tea"), "line 3, amount: must be an amount with a point before the decimals"},
		"balance of words": {"", file("1,EUR,2026-11-02,1.50,much,booked,C,Tea"), "line 3, balance: must be an amount"},
		"status":           {"", file("1,EUR,2026-11-02,1.50,2.50,perhaps,C,Tea"), "line 3, status: is not a known word"},
		"sign":             {"", file("1,EUR,2026-11-02,1.50,2.50,booked,Z,Tea"), "line 3, sign: is not a known word"},
		"currency":         {"", file("1,XXQ,2026-11-02,1.50,2.50,booked,C,Tea"), "line 3, currency: must be an ISO 4217 currency"},
		"which mark":       {"", csvOf("account,currency,date,amount", "1,EUR,2026-11-02,\"1,234\""), "line 2, amount: may have a point or a comma for thousands"},
		"long difference":  {"", csvOf("account,currency,date,debit,credit", "1,EUR,2026-11-02,0.9,999999999999999999"), "line 2, amount: must be an amount of at most 18 digits"},
		"zero bytes":       {"", file("1,EUR,2026-11-02,1.50,2.50,booked,C,\x00"), "line 3: the file is not text"},
		"endless quote":    {"", file("1,EUR,2026-11-02,1.50,2.50,booked,C,\"" + strings.Repeat("a,b,2026-11-03\n", 1<<16)), "line 4, currency: must be an ISO 4217 currency"},
		"quoted account":   {"", file(`1","EUR",2026-11-02,1.50,2.50,booked,C,Tea`), "line 3, account: must be an IBAN or a number"},
		"endless line":     {"", file("1,EUR,2026-11-02,1.50,2.50,booked,C," + strings.Repeat("x", 1<<20)), "line 3: a line can have at most"},
	} {
		_, err := listedWith(c.text, c.mapping)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// An amount in a CSV file has at most one sign, and no separators of thousands in its decimals.
func TestSignsOfAmounts(t *testing.T) {
	for text, want := range map[string]string{
		"-5,00": "-5.00", "5,00-": "-5.00", "(5,00)": "-5.00", "+5,00": "5.00", "5,00+": "5.00", "- 5,00": "-5.00", "\u22125,00": "-5.00", "-€ 5,00": "-5.00", "-1 234,50": "-1234.50", "1'234,50": "1234.50", "-5,00 EUR": "-5.00",
		"(-5,00)": "", "--5": "", "-5,00-": "", "- - 5,00": "", "+-5": "", "-+5": "", "-(5,00)": "", "(5,00": "", "()": "", "5-5": "", "12,5 0": "", "12,5'0": "", "12,5\u00a00": "",
	} {
		got, err := listedWith(csvOf("account;currency;date;amount", "1;EUR;2026-11-02;"+text), "")
		if want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), "line 2, amount: must ") {
				t.Errorf("%s: %q, %v", text, got, err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(got[0], "2 2026-11-02  "+want+" ") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// A CSV file that is written contains no formulas, and the texts are the same after it is read. A
// text of another program stays as it is, unless its apostrophe only prevents a formula.
func TestTextsAreNoFormulas(t *testing.T) {
	g := generate(t, 3)
	day, total := g.Opening.Date.AddDays(1), decimal.Zero
	texts := []string{`=HYPERLINK("http://x";"a")`, "+1", "-1", "@SUM(A1)", "'=1", "''=1", "'quoted'", "O'Neil", "''", "12.50", "Tea"}
	g.Entries = func(yield func(statementfile.StatementEntry, error) bool) {
		for _, text := range texts {
			if !yield(statementfile.StatementEntry{Booked: day, Amount: total, Wording: text, Name: text, Number: text, Reference: text, EndToEnd: text}, nil) {
				return
			}
		}
	}
	g.Closing = g.Opening
	var file strings.Builder
	if err := statementfile.Write(&file, statementfile.CSV, g.Written); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(file.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for _, cell := range row[7:] {
			if strings.ContainsAny(cell[:1], "=+-@") {
				t.Errorf("a cell is the formula %q", cell)
			}
		}
	}
	n := 0
	for record, err := range statementfile.Read(strings.NewReader(file.String()), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e := record.Entry; e != nil {
			if want := texts[n]; e.Wording != want || e.Name != want || e.Reference != want || e.EndToEnd != want {
				t.Errorf("%q is read as %+v", want, e)
			}
			n++
		}
	}
	if n != len(texts) {
		t.Errorf("%d entries", n)
	}
}

// Invisible characters, which make a text look like another, are removed from texts.
func TestInvisibleCharacters(t *testing.T) {
	got, err := listedWith(csvOf("account,currency,date,amount,wording,name", "1,EUR,2026-11-02,1.00,Ca\u200bfé\u202egnp.exe\u00ad,سلام\u200cها\ufeff"), "")
	if want := `"Cafégnp.exe" "سلام\u200cها"`; err != nil || !strings.Contains(got[0], want) {
		t.Errorf("%q, %v, want %s", got, err, want)
	}
}

func TestMappingsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "must be a JSON object", `{`: "must be a JSON object", `{} {}`: "one JSON object", `{"kolumns":{}}`: `unknown field "kolumns"`, `{"columns":{"when":1}}`: `columns has "when"`,
		`{"columns":{"date":0}}`: "a column is a name, or a number from 1", `{"columns":{"date":[true]}}`: "a column is", `{"delimiter":":"}`: "delimiter must be", `{"decimal":"'"}`: "decimal must be",
		`{"skip":-1}`: "skip must be", `{"account":{"currency":"XXQ"}}`: "account.currency must be", `{"account":{"iban":"FR1"}}`: "account.iban must be", `{"no_header":true}`: "columns is required",
		`{"no_header":true,"columns":{"date":"Day"}}`: "columns.date must be a number", `{"date_format":"DD/MM"}`: "date_format must have", `{"skip":"1"}`: "skip must not be a string",
		`{"columns":{"wording":[` + strings.Repeat("1,", 20) + `1]}}`: "columns.wording can have at most 20 columns",
	} {
		if _, err := statementfile.ParseMapping(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("", []byte(csvOf("account,currency,date,amount,balance,status,sign,wording", "1,EUR,2026-11-02,1.50,2.50,booked,C,Tea")))
	f.Add(`{`+csvAccount+`,"skip":1}`, []byte(csvOf("", "Date;Débit;Crédit;Solde", "02/11/2026;1 110,50;;-10,50")))
	f.Add(`{"no_header":true,"delimiter":"|","date_format":"M-D-YY","decimal":",","negate":true,"account":{"number":"77","currency":"TND"},"columns":{"date":1,"amount":3,"wording":[2,4]}}`, []byte("11-2-26|Tea|(1.234)|green\n"))
	f.Fuzz(func(t *testing.T, mapping string, file []byte) {
		m, err := statementfile.ParseMapping(mapping)
		if err != nil {
			m = nil
		}
		readAny(t, file, m)
	})
}
