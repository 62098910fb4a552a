package statements_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector/statements"
	"passerelle/statementfile"
)

func dayStatement(from, to int, kind string) string {
	mark := "C"
	if to < from {
		mark = "D"
	}
	return fmt.Sprintf(":20:A\n:25:FR7630006000011234567890189\n:60%[3]s:C261105EUR%[1]d,00\n:61:261105%[4]s%[5]d,00NTRFNONREF\n:86:From %[1]d to %[2]d\n:62%[3]s:C261105EUR%[2]d,00\n-\n",
		from, to, kind, mark, max(from-to, to-from))
}

type imported struct {
	balance string
	keys    []string
	gaps    []statementfile.Gap
}

func importAll(t *testing.T, files ...string) imported {
	t.Helper()
	r, out := request(), &taken{}
	for _, text := range files {
		r.File = handed(text)
		o, err := statements.Connector{}.Read(t.Context(), r, out)
		if err != nil {
			t.Fatal(err)
		}
		r.Memory = o.Memory
	}
	all := imported{balance: out.accounts[0].Balance.String()}
	for _, e := range out.entries {
		all.keys = append(all.keys, e.Key)
	}
	slices.Sort(all.keys)
	all.keys = slices.Compact(all.keys)
	for _, spans := range statements.Covered(r.Memory) {
		gaps, _, err := statementfile.Gaps(spans)
		if err != nil {
			t.Fatal(err)
		}
		all.gaps = append(all.gaps, gaps...)
	}
	return all
}

// Statements of one day give the same transactions, balance and gaps in any order of the files,
// even if a file is repeated.
func TestStatementsOfOneDayInAnyOrder(t *testing.T) {
	files := []string{dayStatement(100, 150, "F"), dayStatement(150, 120, "M"), dayStatement(120, 170, "F"), dayStatement(170, 90, "F")}
	files = append(files, files[1]+files[2], files[0]+files[1])
	want := importAll(t, files[:4]...)
	if want.balance != "90.00" || len(want.keys) != 4 || want.gaps != nil {
		t.Fatalf("in order: %+v", want)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		order := append(slices.Clone(files), files[random.IntN(len(files))])
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if got := importAll(t, order...); got.balance != want.balance || !slices.Equal(got.keys, want.keys) || got.gaps != nil {
			t.Fatalf("got %+v, want %+v after\n%s", got, want, strings.Join(order, "\n"))
		}
	}
}

// Files with parts of a month give the same transactions, balance and gaps in any order.
func TestFilesInAnyOrder(t *testing.T) {
	var days []string
	balance := 1000
	for day := range 28 {
		date := fmt.Sprintf("2611%02d", day+1)
		text := fmt.Sprintf(":20:A\n:25:FR7630006000011234567890189\n:60F:C2611%02dEUR%d,00\n", max(1, day), balance)
		for n := range day % 4 {
			balance += day
			text += fmt.Sprintf(":61:%sC%d,00NTRFNONREF\n:86:Rent %d\n", date, day, n/2)
		}
		days = append(days, text+fmt.Sprintf(":62F:C%sEUR%d,00\n-\n", date, balance))
	}
	want := importAll(t, days...)
	if want.balance != fmt.Sprintf("%d.00", balance) || len(want.keys) != 42 || want.gaps != nil {
		t.Fatalf("in order: balance %s, %d transactions, gaps %v", want.balance, len(want.keys), want.gaps)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 15 {
		var files []string
		for from := 0; from < len(days); from += 1 + random.IntN(5) {
			files = append(files, strings.Join(days[max(0, from-random.IntN(4)):min(len(days), from+5)], ""))
		}
		random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if got := importAll(t, files...); got.balance != want.balance || !slices.Equal(got.keys, want.keys) || got.gaps != nil {
			t.Fatalf("balance %s, %d transactions, gaps %v", got.balance, len(got.keys), got.gaps)
		}
	}
}

// Of two balances of one day in OFX files, the balance with the later time counts. If one balance
// has no time, the balance in the last file counts.
func TestBalancesOfOneDayInOFX(t *testing.T) {
	ofx := func(balance int, at string) string {
		return fmt.Sprintf("<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM><BANKID>1<ACCTID>77<ACCTTYPE>CHECKING</BANKACCTFROM><LEDGERBAL><BALAMT>%d.00<DTASOF>%s</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>", balance, at)
	}
	morning, evening, dayOnly := ofx(10, "20261105080000"), ofx(20, "20261105193000.000[-5:EST]"), ofx(30, "20261105")
	for want, files := range map[string][]string{
		"20.00": {evening, morning, evening, morning},
		"30.00": {evening, dayOnly},
		"10.00": {dayOnly, morning},
	} {
		if got := importAll(t, files...); got.balance != want {
			t.Errorf("the balance is %s, want %s", got.balance, want)
		}
	}
}

// A connection keeps a limited number of spans, but still knows that no entry is missing.
func TestManyStatements(t *testing.T) {
	var text strings.Builder
	for n := range 5000 {
		text.WriteString(dayStatement(1000+n, 1001+n, "F"))
	}
	r, out := request(), &taken{}
	r.File = handed(text.String())
	o, err := statements.Connector{}.Read(t.Context(), r, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, spans := range statements.Covered(o.Memory) {
		if gaps, _, err := statementfile.Gaps(spans); err != nil || len(spans) > 501 || gaps != nil {
			t.Errorf("%v, %d spans, gaps %v", err, len(spans), gaps)
		}
	}
	if got := out.accounts[0].Balance.String(); got != "6000.00" {
		t.Errorf("the balance is %s", got)
	}
}

// A connection with many accounts and a long history stores less than the service permits.
func TestMemoryOfManyAccounts(t *testing.T) {
	var text strings.Builder
	for account := range 20 {
		for n := range 500 {
			day := time.Date(2024, 1, 1+n, 0, 0, 0, 0, time.UTC).Format("060102")
			fmt.Fprintf(&text, ":20:A\n:25:10020030/%08[1]d\n:60F:C%[2]sEUR%[3]d,00\n:61:%[2]sC1,00NTRFNONREF\n:86:Interest\n:62F:C%[2]sEUR%[4]d,00\n-\n", account, day, 1000+n, 1001+n)
		}
	}
	r, out := request(), &taken{}
	r.File = handed(text.String())
	o, err := statements.Connector{}.Read(t.Context(), r, out)
	if err != nil || len(o.Memory) > 1<<20 || len(o.Memory) < 1<<18 {
		t.Fatalf("%v, a memory of %d bytes", err, len(o.Memory))
	}
	covered := statements.Covered(o.Memory)
	for key, spans := range covered {
		if gaps, _, err := statementfile.Gaps(spans); err != nil || gaps != nil || len(spans) < 50 {
			t.Errorf("%s: %v, %d spans, gaps %v", key, err, len(spans), gaps)
		}
	}
	if len(covered) != 20 {
		t.Errorf("%d accounts are remembered", len(covered))
	}
}

// stored is a sink that stores transactions by their keys, and removes corrected transactions.
type stored struct {
	taken
	wordings map[string]string
}

func (s *stored) Transactions(_ string, page []passerelle.TransactionDetails) error {
	for _, d := range page {
		s.wordings[d.Key] = d.Wording
	}
	return nil
}

func (s *stored) Gone(_ string, _ passerelle.Date, matches func(string) bool) error {
	maps.DeleteFunc(s.wordings, func(key, _ string) bool { return matches(key) })
	return nil
}

// TestCorrectionOfTheOpeningDay checks that a corrected statement replaces its entries on the day
// of the opening balance, unless another statement has entries on that day.
func TestCorrectionOfTheOpeningDay(t *testing.T) {
	statement := func(from int, wordings ...string) string {
		text := fmt.Sprintf(":20:A\n:25:FR7630006000011234567890189\n:60F:C261105EUR%d,00\n", from)
		for _, wording := range wordings {
			text += ":61:261105C10,00NTRFNONREF\n:86:" + wording + "\n"
		}
		return text + fmt.Sprintf(":62F:C261105EUR%d,00\n-\n", from+10*len(wordings))
	}
	for name, test := range map[string]struct{ files, want []string }{
		"alone":                  {[]string{statement(100, "a", "b"), statement(100, "a", "c")}, []string{"a", "c"}},
		"corrected twice":        {[]string{statement(100, "a", "b"), statement(100, "a", "c"), statement(100, "d", "c")}, []string{"c", "d"}},
		"same text next":         {[]string{statement(100, "a"), statement(100, "b", "c"), statement(120, "a")}, []string{"a", "b", "c"}},
		"after another":          {[]string{statement(80, "x", "y"), statement(100, "a", "b"), statement(100, "a", "c")}, []string{"a", "b", "c", "x", "y"}},
		"with another in a file": {[]string{statement(100, "a", "b"), statement(80, "x", "y") + statement(100, "a", "c")}, []string{"a", "b", "c", "x", "y"}},
	} {
		out := readInTurn(t, test.files)
		if got := slices.Sorted(maps.Values(out.wordings)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestManyCorrections checks that the time to read a file grows in proportion to its corrections,
// and that a later file does not restore a corrected entry.
func TestManyCorrections(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // with quadratic growth, a read takes a minute
	defer cancel()
	const corrections = 100_000
	ofx := func(entries string) string {
		return "<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM><BANKID>1<ACCTID>77<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>" + entries + "</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
	}
	var all strings.Builder
	for n := range corrections {
		fmt.Fprintf(&all, "<STMTTRN><DTPOSTED>20261105<TRNAMT>0<FITID>d%[1]d<CORRECTFITID>%[1]d<CORRECTACTION>DELETE</STMTTRN>", n)
	}
	r, out := request(), &stored{wordings: map[string]string{}}
	for _, entries := range []string{all.String(), fmt.Sprintf("<STMTTRN><DTPOSTED>20261105<TRNAMT>1.00<FITID>%d<NAME>Tea</STMTTRN>", corrections-1)} {
		r.File = handed(ofx(entries))
		o, err := statements.Connector{}.Read(ctx, r, out)
		if err != nil {
			t.Fatal(err)
		}
		r.Memory = o.Memory
	}
	if len(out.wordings) > 0 {
		t.Errorf("stored: %v", out.wordings)
	}
}

// TestCorrectionOnOneLine checks that a file without line breaks loses no statement when one of its
// statements is an older version.
func TestCorrectionOnOneLine(t *testing.T) {
	statement := func(id int, made, opened, closed string, from int, wording string) string {
		balance := func(kind, day string, amount int) string {
			return fmt.Sprintf(`<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">%d</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>%s</Dt></Dt></Bal>`, kind, amount, day)
		}
		return fmt.Sprintf(`<Stmt><Id>%d</Id><CreDtTm>%s</CreDtTm><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy></Acct>%s%s`, id, made, balance("OPBD", opened, from), balance("CLBD", closed, from+10)) +
			`<Ntry><Amt Ccy="EUR">10</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>` + closed + `</Dt></BookgDt><AddtlNtryInf>` + wording + `</AddtlNtryInf></Ntry></Stmt>`
	}
	document := func(statements string) string {
		return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>` + statements + `</BkToCstmrStmt></Document>`
	}
	next := statement(2, "2026-11-06T20:00:00", "2026-11-05", "2026-11-06", 110, "Tea")
	r, out := request(), &stored{wordings: map[string]string{}}
	for _, text := range []string{
		document(statement(1, "2026-11-07T09:00:00", "2026-11-04", "2026-11-05", 100, "Rent of November")),
		document(statement(1, "2026-11-05T20:00:00", "2026-11-04", "2026-11-05", 100, "Rent") + next),
	} {
		r.File = handed(text)
		o, err := statements.Connector{}.Read(t.Context(), r, out)
		if err != nil {
			t.Fatal(err)
		}
		r.Memory = o.Memory
	}
	if got := slices.Sorted(maps.Values(out.wordings)); !slices.Equal(got, []string{"Rent of November", "Tea"}) || out.accounts[0].Balance.String() != "120" {
		t.Errorf("stored %q, the balance is %s", got, out.accounts[0].Balance)
	}
}

// oneDay returns a statement of one day with one entry.
func oneDay() statementfile.Written {
	day := passerelle.DateOf(time.Date(2026, time.November, 5, 0, 0, 0, 0, time.UTC), time.UTC)
	return statementfile.Written{FileStatement: statementfile.FileStatement{
		From: day, To: day, Account: statementfile.StatementAccount{IBAN: "FR7630006000011234567890189", Currency: "EUR"},
		Opening: &statementfile.StatementBalance{Date: day, Amount: decimal.MustParse("100.00")},
		Closing: &statementfile.StatementBalance{Date: day, Amount: decimal.MustParse("110.00")},
	}, Entries: func(yield func(statementfile.StatementEntry, error) bool) {
		yield(statementfile.StatementEntry{Booked: day, Value: day, Amount: decimal.MustParse("10.00"), Wording: "Rent"}, nil)
	}}
}

// TestStatementTwiceInAFile checks that a repeated statement in a file adds no transactions. Several
// statements of one day that lead from balance to balance are no repetitions.
func TestStatementTwiceInAFile(t *testing.T) {
	numbered := func(n int, text string) string {
		return strings.Replace(text, ":60", fmt.Sprintf(":28C:%d\n:60", n), 1)
	}
	week := ":20:A\n:25:FR7630006000011234567890189\n:28C:1\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR120,00\n-\n"
	up, down, further := dayStatement(100, 110, "F"), dayStatement(110, 100, "F"), dayStatement(110, 120, "F")
	made := func(at string) string {
		balance := func(kind, day string, amount int) string {
			return fmt.Sprintf(`<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">%d</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>%s</Dt></Dt></Bal>`, kind, amount, day)
		}
		return `<Stmt><Id>1</Id><CreDtTm>` + at + `</CreDtTm><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy></Acct>` + balance("OPBD", "2026-11-04", 100) + balance("CLBD", "2026-11-05", 110) +
			`<Ntry><Amt Ccy="EUR">10</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-05</Dt></BookgDt><AddtlNtryInf>Rent</AddtlNtryInf></Ntry></Stmt>`
	}
	remade := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>` + made("2026-11-05T20:00:00") + made("2026-11-06T09:00:00") + `</BkToCstmrStmt></Document>`
	var french strings.Builder
	if err := statementfile.Write(&french, statementfile.CFONB, oneDay()); err != nil {
		t.Fatal(err)
	}
	const entry = "<STMTTRN><DTPOSTED>20261102<TRNAMT>10<NAME>Rent</STMTTRN>"
	download := func(entries, asOf string) string {
		return "<OFX><STMTRS><CURDEF>EUR<BANKACCTFROM><ACCTID>7</BANKACCTFROM><BANKTRANLIST>" + entries + "</BANKTRANLIST><LEDGERBAL><BALAMT>9<DTASOF>" + asOf + "</LEDGERBAL></STMTRS></OFX>\n"
	}
	for name, c := range map[string]struct {
		file string
		want int
	}{
		"a week":                  {week + week, 2},
		"a week after another":    {week + strings.NewReplacer("C261031EUR100", "C261105EUR120", "2611021", "2611061", "261105EUR120,00\n-", "261107EUR140,00\n-").Replace(week) + week, 4},
		"a numbered day":          {numbered(1, up) + numbered(1, up), 1},
		"a day without a number":  {up + up, 1},
		"days without numbers":    {up + down + up, 3},
		"two days' worth again":   {up + further + up + further, 2},
		"days with one number":    {numbered(0, up) + numbered(0, down) + numbered(0, up), 3},
		"another time":            {remade, 1},
		"a French day":            {french.String() + french.String(), 1},
		"a download":              {download(entry+entry, "20261103") + download(entry+entry, "20261103"), 2},
		"downloads of two times":  {download(entry, "20261103080000") + download(entry, "20261103120000"), 2},
		"a circle again":          {numbered(1, up) + numbered(2, down) + numbered(1, up) + numbered(2, down), 2},
		"the latest first":        {up + dayStatement(105, 100, "F") + dayStatement(110, 105, "F") + up, 4},
		"the latest first, again": {further + up + further + up, 2},
		"days with other numbers": {numbered(1, up) + numbered(2, down) + numbered(3, up), 3},
	} {
		if got := importAll(t, c.file); len(got.keys) != c.want {
			t.Errorf("%s: %d transactions, want %d", name, len(got.keys), c.want)
		}
	}
}

// TestClosingBeforeOpening checks that a statement that ends before it begins adds its entries, but
// covers no period.
func TestClosingBeforeOpening(t *testing.T) {
	r, out := request(), &taken{}
	r.File = handed(strings.Replace(dayStatement(100, 110, "F"), ":62F:C261105", ":62F:C261101", 1))
	o, err := statements.Connector{}.Read(t.Context(), r, out)
	if err != nil {
		t.Fatal(err)
	}
	for key, spans := range statements.Covered(o.Memory) {
		if len(out.entries) != 1 || len(spans) > 0 || strings.Contains(string(o.Memory), "Digest") {
			t.Errorf("%s: %d entries, the periods are %v, the memory is %s", key, len(out.entries), spans, o.Memory)
		}
	}
}

// TestAccountsThatDoNotFit checks that a file is refused before anything is stored when the data to
// remember about its accounts is too large.
func TestAccountsThatDoNotFit(t *testing.T) {
	var text strings.Builder
	text.WriteString(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>`)
	for account := range 500 {
		fmt.Fprintf(&text, `<Stmt><Id>1</Id><Acct><Id><Othr><Id>%d</Id></Othr></Id><Ccy>EUR</Ccy><Nm>%s</Nm></Acct></Stmt>`, account, strings.Repeat("&lt;", 900))
	}
	r, out := request(), &taken{}
	r.File = handed(text.String() + `</BkToCstmrStmt></Document>`)
	_, err := statements.Connector{}.Read(t.Context(), r, out)
	var refused *statementfile.FileError
	if !errors.As(err, &refused) || out.accounts != nil {
		t.Errorf("%v, handed over %d accounts", err, len(out.accounts))
	}
}

// TestVersionsOfAStatementInAFile checks that the later version of a statement replaces the earlier
// version in the same file. Entries of both versions are stored once.
func TestVersionsOfAStatementInAFile(t *testing.T) {
	statement := func(id string, from int, wordings ...string) string {
		text := fmt.Sprintf(":20:A\n:25:FR7630006000011234567890189\n:28C:%s\n:60F:C261104EUR%d,00\n", id, from)
		for _, wording := range wordings {
			text += ":61:261105C10,00NTRFNONREF\n:86:" + wording + "\n"
		}
		return text + fmt.Sprintf(":62F:C261105EUR%d,00\n-\n", from+10*len(wordings))
	}
	first, second := statement("7", 100, "a", "b"), statement("7", 100, "a", "c", "d")
	next := ":20:A\n:25:FR7630006000011234567890189\n:28C:8\n:60F:C261105EUR120,00\n:61:261105C30,00NTRFNONREF\n:86:e\n:62F:C261105EUR150,00\n-\n"
	part := func(id string, from, to int, entries string) string {
		return fmt.Sprintf(":20:A\n:25:FR7630006000011234567890189\n:28C:%s\n:60F:C261105EUR%d,00\n%s:62F:C261105EUR%d,00\n-\n", id, from, entries, to)
	}
	const tea = ":61:261105C10,00NTRFNONREF\n:86:tea\n"
	morning := part("5/1", 0, 500, tea+":61:261105C490,00NTRFNONREF\n:86:a\n")
	noon := part("5/2", 500, 0, ":61:261105D500,00NTRFNONREF\n:86:sweep\n")
	evening := part("5/3", 0, 300, tea+":61:261105C290,00NTRFNONREF\n:86:b\n")
	for name, test := range map[string]struct {
		files, want []string
		balance     string
	}{
		"one file":             {[]string{first + second}, []string{"a", "c", "d"}, "130.00"},
		"the file again":       {[]string{first + second, first + second}, []string{"a", "c", "d"}, "130.00"},
		"after the first":      {[]string{first, first + second}, []string{"a", "c", "d"}, "130.00"},
		"before the first":     {[]string{first + second, first}, []string{"a", "c", "d"}, "130.00"},
		"three versions":       {[]string{first + second + statement("7", 100, "e")}, []string{"e"}, "110.00"},
		"statements of one id": {[]string{first + statement("7", 120, "a", "c", "d")}, []string{"a", "a", "b", "c", "d"}, "150.00"},
		// The days of both versions also have an entry of another statement.
		"after another statement": {[]string{next, first + second}, []string{"a", "c", "d", "e"}, "150.00"},
		"after the first of two":  {[]string{first + next, first + second, first + second}, []string{"a", "b", "c", "d", "e"}, "150.00"},
		// The last version in the file counts, even if an earlier file has one of them.
		"after the second":    {[]string{second, first + second}, []string{"a", "c", "d"}, "130.00"},
		"the first after all": {[]string{second, first + second, first}, []string{"a", "c", "d"}, "130.00"},
		"after the last":      {[]string{first, second + first}, []string{"a", "b"}, "120.00"},
		// On a day that returns to one balance, statements with different numbers are no versions.
		"a day after its first": {[]string{morning, morning + noon + evening}, []string{"a", "b", "sweep", "tea", "tea"}, "300.00"},
		// The balance of this day depends on the statement that was stored first.
		"a day after its last":    {[]string{evening, morning + noon + evening}, []string{"a", "b", "sweep", "tea", "tea"}, ""},
		"versions with one total": {[]string{first, first + statement("7", 100, "a", "c")}, []string{"a", "c"}, "120.00"},
	} {
		out := readInTurn(t, test.files)
		if got := slices.Sorted(maps.Values(out.wordings)); !slices.Equal(got, test.want) || test.balance != "" && out.accounts[0].Balance.String() != test.balance {
			t.Errorf("%s: %q and the balance %s, want %q and %s", name, got, out.accounts[0].Balance, test.want, test.balance)
		}
	}
}

// TestVersionsMadeAtTimes checks that the version that the bank made later counts, at any place in a
// file and in any order of files.
func TestVersionsMadeAtTimes(t *testing.T) {
	statement := func(made string, wordings ...string) string {
		balance := func(kind, day string, amount int) string {
			return fmt.Sprintf(`<Bal><Tp><CdOrPrtry><Cd>%s</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">%d</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>%s</Dt></Dt></Bal>`, kind, amount, day)
		}
		text := `<Stmt><Id>1</Id><CreDtTm>2026-11-` + made + `:00:00</CreDtTm><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy></Acct>` +
			balance("OPBD", "2026-11-04", 100) + balance("CLBD", "2026-11-05", 100+10*len(wordings))
		for _, wording := range wordings {
			text += `<Ntry><Amt Ccy="EUR">10</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-05</Dt></BookgDt><AddtlNtryInf>` + wording + `</AddtlNtryInf></Ntry>`
		}
		return text + `</Stmt>`
	}
	first, second, third := statement("06T08", "a", "b"), statement("06T09", "a", "c", "d"), statement("07T08", "a", "e")
	for _, test := range []struct {
		files, want []string
		balance     string
	}{
		{[]string{first + second}, []string{"a", "c", "d"}, "130"},
		{[]string{second + first}, []string{"a", "c", "d"}, "130"},
		{[]string{first, second + first}, []string{"a", "c", "d"}, "130"},
		{[]string{second, second + first, first}, []string{"a", "c", "d"}, "130"},
		{[]string{second, first + third}, []string{"a", "e"}, "120"},
		{[]string{third, first + second}, []string{"a", "e"}, "120"},
		{[]string{third + first + second, second}, []string{"a", "e"}, "120"},
	} {
		files := slices.Clone(test.files)
		for i, text := range files {
			files[i] = `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>` + text + `</BkToCstmrStmt></Document>`
		}
		out := readInTurn(t, files)
		if got := slices.Sorted(maps.Values(out.wordings)); !slices.Equal(got, test.want) || out.accounts[0].Balance.String() != test.balance {
			t.Errorf("%q: %q and the balance %s, want %q and %s", test.files, got, out.accounts[0].Balance, test.want, test.balance)
		}
	}
}

// TestManyVersionsInAFile checks that the time to read a file grows in proportion to its statements,
// even if all are versions of one statement.
func TestManyVersionsInAFile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // with quadratic growth, a read takes minutes
	defer cancel()
	var text strings.Builder
	for n := range 100_000 {
		text.WriteString(strings.Replace(dayStatement(1000, 1001+n, "F"), ":60", ":28C:1\n:60", 1))
	}
	r, out := request(), &taken{}
	r.File = handed(text.String())
	if _, err := (statements.Connector{}).Read(ctx, r, out); err != nil {
		t.Fatal(err)
	}
	if got := out.accounts[0].Balance.String(); got != "101000.00" || len(out.entries) != 1 {
		t.Errorf("the balance is %s, %d entries", got, len(out.entries))
	}
}

// readInTurn reads files one after the other into one connection.
func readInTurn(t *testing.T, files []string) *stored {
	t.Helper()
	r, out := request(), &stored{wordings: map[string]string{}}
	for _, text := range files {
		r.File = handed(text)
		o, err := statements.Connector{}.Read(t.Context(), r, out)
		if err != nil {
			t.Fatal(err)
		}
		r.Memory = o.Memory
	}
	return out
}
