package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/statements"
	"passerelle/internal/imports"
	"passerelle/internal/store/storetest"
)

// camtFile returns a camt.053 file with one statement. An entry has a day, an amount and a text.
func camtFile(opened, opening, closed, closing string, entries ...string) string {
	balance := func(kind, day, amount string) string {
		return `<Bal><Tp><CdOrPrtry><Cd>` + kind + `</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">` + amount + `</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>` + day + `</Dt></Dt></Bal>` + "\n"
	}
	text := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>1</Id><Acct><Id><IBAN>FR7630006000011234567890189</IBAN></Id><Ccy>EUR</Ccy><Nm>Main</Nm></Acct>` + "\n" +
		balance("OPBD", opened, opening) + balance("CLBD", closed, closing)
	for _, e := range entries {
		part := strings.Fields(e)
		text += `<Ntry><Amt Ccy="EUR">` + part[1] + `</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>` + part[0] + `</Dt></BookgDt><NtryDtls><TxDtls><RmtInf><Ustrd>` + part[2] + `</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>` + "\n"
	}
	return text + `</Stmt></BkToCstmrStmt></Document>`
}

// mtFile is an MT940 file with one statement.
const mtFile = ":20:A\n:25:FR7630006000011234567890189\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFNONREF\n:86:Rent\n:62F:C261105EUR110,00\n-\n"

type fileReport struct {
	Preview  bool
	Message  string
	Accounts []struct {
		ID                *int64
		IBAN              string
		Disabled          bool
		Changed, Removed  int
		Transactions, New int
		Sum               json.Number
		Closing           struct {
			Date   string
			Amount json.Number
		}
		Unbalanced []int
		Gaps       []struct {
			After, Before string
			Amount        json.Number
		}
	}
}

func fileForm(file string) (string, string) {
	const boundary = "b0undary"
	return "multipart/form-data; boundary=" + boundary, "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.xml\"\r\nContent-Type: application/xml\r\n\r\n" + file + "\r\n--" + boundary + "--\r\n"
}

func (s *fixture) handOver(t *testing.T, connection int64, query, file string) reply {
	t.Helper()
	contentType, body := fileForm(file)
	return s.do(t, ask{method: http.MethodPost, path: fmt.Sprintf("/users/me/connections/%d/files%s", connection, query), token: "user", contentType: contentType, body: body})
}

func (s *fixture) fileConnection(t *testing.T) int64 {
	t.Helper()
	var made struct{ ID int64 }
	s.do(t, ask{method: http.MethodPost, path: "/users/me/connections", token: "user", body: `{"connector_uuid":"` + statements.UUID + `"}`}).decode(t, &made)
	return made.ID
}

func (s *fixture) listedTransactions(t *testing.T, connection int64) []string {
	t.Helper()
	var list struct {
		Transactions []struct {
			Date            string
			Value           json.Number
			OriginalWording string `json:"original_wording"`
		}
	}
	s.do(t, ask{method: http.MethodGet, path: fmt.Sprintf("/users/me/connections/%d/transactions?limit=100", connection), token: "user"}).decode(t, &list)
	var all []string
	for _, one := range list.Transactions {
		all = append([]string{one.Date + " " + one.Value.String() + " " + one.OriginalWording}, all...)
	}
	return all
}

// The service stores each transaction of overlapping and repeated files exactly once.
func TestStatementFiles(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		first := camtFile("2026-10-31", "100.00", "2026-11-05", "125.00", "2026-11-02 10.00 Rent", "2026-11-03 5.00 Coffee", "2026-11-03 5.00 Coffee", "2026-11-05 5.00 Tea")
		next := camtFile("2026-11-02", "110.00", "2026-11-10", "132.00", "2026-11-03 5.00 Coffee", "2026-11-03 5.00 Coffee", "2026-11-05 5.00 Tea", "2026-11-10 7.00 Salt")
		before := s.record()
		var out fileReport
		s.handOver(t, connection, "?preview=true", next).decode(t, &out)
		if a := out.Accounts[0]; !out.Preview || out.Message != "camt.053.001.08" || a.ID != nil || a.Transactions != 4 || a.New != 4 || a.Sum != "22.00" || a.Closing.Date != "2026-11-10" {
			t.Errorf("the preview is %+v", out)
		}
		s.untouched(t, before)
		for _, step := range []struct {
			file         string
			transactions int
			fresh        int
		}{{next, 4, 4}, {first, 4, 1}, {next, 4, 0}, {first, 4, 0}} {
			s.handOver(t, connection, "", step.file).decode(t, &out)
			if a := out.Accounts[0]; a.ID == nil || a.Transactions != step.transactions || a.New != step.fresh {
				t.Errorf("%d transactions, %d new, want %+v", a.Transactions, a.New, step)
			}
		}
		want := []string{"2026-11-02 10.00 Rent", "2026-11-03 5.00 Coffee", "2026-11-03 5.00 Coffee", "2026-11-05 5.00 Tea", "2026-11-10 7.00 Salt"}
		if diff := cmp.Diff(want, s.listedTransactions(t, connection)); diff != "" {
			t.Error(diff)
		}
		var account struct {
			Balance  json.Number
			Disabled *string
			Covered  string `json:"covered_from"`
			Name     string
		}
		path := fmt.Sprintf("/users/me/accounts/%d", *out.Accounts[0].ID)
		s.do(t, ask{method: http.MethodGet, path: path, token: "user"}).decode(t, &account)
		if account.Balance != "132.00" || account.Disabled != nil || account.Covered != "2026-11-03" || account.Name != "Main" {
			t.Errorf("the account is %+v: the balance is that of the latest day", account)
		}

		// An account that the user does not share stays unshared.
		s.do(t, ask{method: http.MethodPut, path: path, token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		s.handOver(t, connection, "", first).decode(t, &out)
		if a := out.Accounts[0]; !a.Disabled || a.New != 0 {
			t.Errorf("a withheld account got %+v", a)
		}
		s.do(t, ask{method: http.MethodGet, path: path + "/transactions?limit=1", token: "user"}).says(t, 409, "noAccount", "")
	})
}

// The first file causes the events of a first read. The file also implies the consent.
func TestEventsOfAStatementFile(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		before := s.record()
		s.handOver(t, connection, "", camtFile("2026-10-31", "100.00", "2026-11-05", "110.00", "2026-11-02 10.00 Rent")).says(t, 200, "", "")
		rows, events := before.since(s.record())
		var names []string
		for _, e := range events {
			name, _, _ := strings.Cut(e, " ")
			names = append(names, name)
		}
		if diff := cmp.Diff([]string{"ACCOUNT_FOUND", "ACCOUNT_ENABLED", "ACCOUNTS_FETCHED", "ACCOUNT_SYNCED", "ACCOUNT_CATEGORIZED", "ACCOUNT_OWNERSHIPS_FOUND", "CONNECTION_SYNCED"}, names); diff != "" {
			t.Error(diff)
		}
		if rows["consent"] != 1 || rows["bank_transaction"] != 1 {
			t.Errorf("stored %v", rows)
		}
	})
}

// The service refuses a wrong file with the reason, and writes nothing.
func TestStatementFilesThatAreRefused(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	connection := s.fileConnection(t)
	whole := camtFile("2026-10-31", "100.00", "2026-11-05", "110.00", "2026-11-02 10.00 Rent")
	var other struct{ ID int64 }
	s.do(t, ask{method: http.MethodPost, path: "/users/me/connections", token: "user", body: connecting}).decode(t, &other)
	before := s.record()
	for name, c := range map[string]struct {
		file, about string
	}{
		"empty":      {"\n", "file: the file is empty"},
		"zip":        {"PK\x03\x04", "file: the file is a zip archive"},
		"entities":   {`<!DOCTYPE x [<!ENTITY a "b">]>` + whole, "file: line 1: document types"},
		"damaged":    {strings.Replace(whole, "2026-11-02", "2026-11-32", 1), "file: line 4, Ntry/BookgDt/Dt: must be a valid date"},
		"unbalanced": {strings.Replace(whole, "110.00", "111.00", 1), "file: line 1: the entries lead from the opening balance 100.00 to 110.00, but the closing balance is 111.00; send unbalanced=true"},
	} {
		if _, reported := s.handOver(t, connection, "", c.file).message(t); !strings.HasPrefix(reported, c.about) {
			t.Errorf("%s: %q, want %q", name, reported, c.about)
		}
	}
	var previewed struct {
		Accounts []struct {
			Imbalance           string
			Unbalanced, Outside []int
		}
	}
	s.handOver(t, connection, "?preview=true", strings.Replace(strings.Replace(whole, "110.00", "111.00", 1), "2026-11-02", "2026-11-06", 1)).decode(t, &previewed)
	if a := previewed.Accounts[0]; a.Imbalance != "the entries lead from the opening balance 100.00 to 110.00, but the closing balance is 111.00" || !slices.Equal(a.Unbalanced, []int{1}) || !slices.Equal(a.Outside, []int{1}) {
		t.Errorf("previewed %+v", a)
	}
	s.handOver(t, other.ID, "", whole).says(t, 409, "conflict", "")
	s.handOver(t, connection+other.ID+7, "", whole).says(t, 404, "notFound", "")
	s.untouched(t, before)

	s.handOver(t, connection, "", whole).says(t, 200, "", "")
	before = s.record()
	s.handOver(t, connection, "", mtFile).says(t, 409, "conflict", "")
	s.untouched(t, before)
	s.handOver(t, connection, "?unbalanced=true", strings.Replace(whole, "110.00", "111.00", 1)).says(t, 200, "", "")
}

// A connection that is deleted while a preview begins does not exist. In this test, the second query
// goes to a database without the connection.
func TestAConnectionDeletedDuringAPreview(t *testing.T) {
	s, empty := newFixture(t, storetest.SQLite(t)), newFixture(t, storetest.SQLite(t))
	connection := passerelle.ConnectionID(s.fileConnection(t))
	var me struct{ ID passerelle.UserID }
	s.do(t, ask{method: http.MethodGet, path: "/users/me", token: "user"}).decode(t, &me)
	i := imports.Imports{DB: empty.DB, Aggregation: s.Aggregation}
	f := imports.File{User: me.ID, Connection: connection, Content: strings.NewReader("text")}
	_, err := i.Preview(t.Context(), s.Domain, f)
	_, all := i.CheckAll(t.Context(), s.Domain, f)
	if !errors.Is(err, passerelle.NotFound) || !errors.Is(all, passerelle.NotFound) {
		t.Errorf("%v, %v", err, all)
	}
}

// A bank may send a statement twice in a file. The service stores its transactions once, like those
// of a file that is imported twice.
func TestStatementTwiceInAFile(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		twice := mtFile + mtFile
		var out fileReport
		for _, query := range []string{"?preview=true", "", ""} {
			fresh := 1
			if out.Accounts != nil && !out.Preview {
				fresh = 0
			}
			s.handOver(t, connection, query, twice).decode(t, &out)
			if a := out.Accounts[0]; a.Transactions != 2 || a.New != fresh || a.Closing.Amount != "110.00" {
				t.Errorf("the report is %+v, want %d new", a, fresh)
			}
		}
		s.handOver(t, connection, "", mtFile).says(t, 200, "", "")
		if diff := cmp.Diff([]string{"2026-11-02 10.00 Rent"}, s.listedTransactions(t, connection)); diff != "" {
			t.Error(diff)
		}
	})
}

// A file whose data the service cannot store is a mistake of the client. The service stores nothing,
// and the connection keeps its state.
func TestStatementFilesThatDoNotFit(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		var accounts strings.Builder
		for account := range 500 {
			fmt.Fprintf(&accounts, `<Stmt><Id>1</Id><Acct><Id><Othr><Id>%d</Id></Othr></Id><Ccy>EUR</Ccy><Nm>%s</Nm></Acct></Stmt>`, account, strings.Repeat("&lt;", 900))
		}
		before := s.record()
		for name, c := range map[string]struct{ file, about string }{
			"long names":      {`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>` + accounts.String() + `</BkToCstmrStmt></Document>`, "file: the accounts of the connection have too long names"},
			"long difference": {"account,currency,date,debit,credit\n1,EUR,2026-11-02,0.9,999999999999999999\n", "file: line 2, amount: must be an amount of at most 18 digits"},
		} {
			for _, query := range []string{"", "?preview=true"} {
				if _, reported := s.handOver(t, connection, query, c.file).message(t); !strings.HasPrefix(reported, c.about) {
					t.Errorf("%s: %q, want %q", name, reported, c.about)
				}
			}
		}
		s.untouched(t, before)
	})
}

// interruptedFile calls a function when a reader reaches its end for the nth time.
type interruptedFile struct {
	io.ReadSeeker
	ends, nth int
	then      func()
}

func (f *interruptedFile) Read(p []byte) (int, error) {
	n, err := f.ReadSeeker.Read(p)
	if errors.Is(err, io.EOF) {
		if f.ends++; f.ends == f.nth {
			f.then()
		}
	}
	return n, err
}

// Another import stores a statement in another format, after the first import has checked its file
// and before it stores anything. The first import must be refused, as if it began later. This also
// applies to files of different accounts.
func TestFormatsAtOnce(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for name, mt := range map[string]string{"same account": mtFile, "another account": strings.Replace(mtFile, "FR7630006000011234567890189", "FR1420041010050500013M02606", 1)} {
			t.Run(name, func(t *testing.T) { s.formatsAtOnce(t, mt) })
		}
	})
}

func (s *fixture) formatsAtOnce(t *testing.T, mt string) {
	t.Helper()
	connection := s.fileConnection(t)
	who := s.domainOf("")
	var stored struct {
		User passerelle.UserID `json:"id_user"`
	}
	s.do(t, ask{method: http.MethodGet, path: fmt.Sprintf("/users/me/connections/%d", connection), token: "user"}).decode(t, &stored)
	camt := camtFile("2026-10-31", "100.00", "2026-11-05", "110.00", "2026-11-02 10.00 Rent")
	content := &interruptedFile{ReadSeeker: strings.NewReader(mt)}
	use := &imports.Imports{DB: s.DB, Aggregation: s.Aggregation}
	file := imports.File{User: stored.User, Connection: passerelle.ConnectionID(connection), Content: content}
	_, err := use.Check(t.Context(), who.domain, file)
	must(t, err)

	var before record
	content.nth, content.ends, content.then = content.ends, 0, func() {
		s.handOver(t, connection, "", camt).says(t, 200, "", "")
		before = s.record()
	}
	_, err = use.Import(t.Context(), who.domain, file)
	var refused *passerelle.Error
	if !errors.As(err, &refused) || refused.Kind != passerelle.Conflict || !strings.Contains(refused.Message, "camt053") {
		t.Errorf("the other format: %v", err)
	}
	s.untouched(t, before)
	if diff := cmp.Diff([]string{"2026-11-02 10.00 Rent"}, s.listedTransactions(t, connection)); diff != "" {
		t.Error(diff)
	}
	s.handOver(t, connection, "", mt).says(t, 409, "conflict", "camt053")
	s.handOver(t, connection, "", camt).says(t, 200, "", "")
}

// Responses report a gap between the balances of two files until another file fills it.
func TestGapsBetweenStatements(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		first := camtFile("2026-10-31", "100.00", "2026-11-05", "110.00", "2026-11-02 10.00 Rent")
		middle := camtFile("2026-11-05", "110.00", "2026-11-06", "115.00", "2026-11-06 5.00 Tea")
		next := camtFile("2026-11-06", "115.00", "2026-11-10", "122.00", "2026-11-10 7.00 Salt")
		connection := s.fileConnection(t)
		for _, step := range []struct {
			query, file string
			gaps        int
		}{{"", next, 0}, {"?preview=true", first, 1}, {"", first, 1}, {"", first, 1}, {"?preview=true", middle, 0}, {"", middle, 0}, {"", next, 0}} {
			var out fileReport
			s.handOver(t, connection, step.query, step.file).decode(t, &out)
			gaps := out.Accounts[0].Gaps
			if len(gaps) != step.gaps || step.gaps == 1 && (gaps[0].After != "2026-11-05" || gaps[0].Before != "2026-11-06" || gaps[0].Amount != "5.00") {
				t.Errorf("the gaps are %+v, want %d", gaps, step.gaps)
			}
		}
	})
}

// When a later file corrects the text of an entry, the transaction changes, and its origin is the
// later file. A repeated entry does not change.
func TestCorrectionsAndOrigins(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		file := func(text string) string {
			return ":20:A\n:25:FR7630006000011234567890189\n:60F:C261031EUR100,00\n:61:261102C10,00NTRFX//R1\n:86:Rent\n:61:261103RD5,00NTRFX//R2\n:86:" + text + "\n:62F:C261105EUR115,00\n-\n"
		}
		send := func(name, text string) fileReport {
			var out fileReport
			s.do(t, ask{method: http.MethodPost, path: fmt.Sprintf("/users/me/connections/%d/files?name=%s", connection, name), token: "user", contentType: "text/plain", body: file(text)}).decode(t, &out)
			return out
		}
		for _, step := range []struct {
			name, text   string
			fresh, fixed int
		}{{"first.sta", "Tea", 2, 0}, {"again.sta", "Tea", 0, 0}, {"corrected.sta", "Salt", 0, 1}} {
			if a := send(step.name, step.text).Accounts[0]; a.New != step.fresh || a.Changed != step.fixed {
				t.Errorf("%s: %d new, %d changed, want %+v", step.name, a.New, a.Changed, step)
			}
		}
		var list struct {
			Transactions []struct {
				OriginalWording string `json:"original_wording"`
				Origin          struct {
					File string
					Line int
				}
			}
		}
		s.do(t, ask{method: http.MethodGet, path: fmt.Sprintf("/users/me/connections/%d/transactions?limit=100", connection), token: "user"}).decode(t, &list)
		var got []string
		for _, one := range list.Transactions {
			got = append(got, fmt.Sprintf("%s %s:%d", one.OriginalWording, one.Origin.File, one.Origin.Line))
		}
		if diff := cmp.Diff([]string{"Salt corrected.sta:6", "Rent first.sta:4"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestCSVFiles: with a mapping, the service reads a CSV file with column names that it does not
// know. The connection stores the mapping for later files.
func TestCSVFiles(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		path := fmt.Sprintf("/users/me/connections/%d/files", connection)
		file := "Wann;Was;Wieviel\n02.11.2026;Miete;-1.110,50\n"
		before := s.record()
		raw := ask{method: http.MethodPost, path: path, token: "user", contentType: "text/csv; charset=utf-8", body: file}
		if _, reported := s.do(t, raw).message(t); !strings.Contains(reported, "CSV with other column names needs a mapping") {
			t.Errorf("without a mapping: %s", reported)
		}
		bad := raw
		bad.path += "?mapping=" + url.QueryEscape(`{"columns":{"when":1}}`)
		if _, reported := s.do(t, bad).message(t); !strings.HasPrefix(reported, `mapping: columns has "when"`) {
			t.Errorf("a wrong mapping: %s", reported)
		}
		s.untouched(t, before)
		mapping := `{"account":{"iban":"FR7630006000011234567890189","currency":"EUR"},"columns":{"date":"Wann","wording":"Was","amount":"Wieviel"}}`
		for _, step := range []struct {
			preview string
			mapping string
			fresh   int
		}{{"preview=true", mapping, 1}, {"", mapping, 1}, {"", "", 0}} {
			var out fileReport
			one := raw
			one.path += "?" + step.preview + "&mapping=" + url.QueryEscape(step.mapping)
			s.do(t, one).decode(t, &out)
			if a := out.Accounts[0]; a.New != step.fresh || a.Sum != "-1110.50" || a.IBAN != "FR7630006000011234567890189" {
				t.Errorf("%+v, want %+v", a, step)
			}
		}
		if diff := cmp.Diff([]string{"2026-11-02 -1110.50 Miete"}, s.listedTransactions(t, connection)); diff != "" {
			t.Error(diff)
		}
	})
}

// The body of a request may be the file itself, with one of several media types.
func TestFilesThatAreTheBody(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	connection := s.fileConnection(t)
	file := camtFile("2026-10-31", "100.00", "2026-11-05", "110.00", "2026-11-02 10.00 Rent")
	for _, media := range []string{"application/xml", "text/xml; charset=utf-8", "text/plain", "text/csv", "application/x-ofx", "application/octet-stream"} {
		s.do(t, ask{method: http.MethodPost, path: fmt.Sprintf("/users/me/connections/%d/files?preview", connection), token: "user", contentType: media, body: file}).says(t, 200, "", "")
	}
	s.do(t, ask{method: http.MethodPost, path: fmt.Sprintf("/users/me/connections/%d/files?preview", connection), token: "user", contentType: "text/html", body: file}).says(t, 400, "invalidValue", "Content-Type")
}

type endless struct{ sent int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.sent += int64(len(p))
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// The service refuses a body of 4 GiB after reading at most 512 MiB.
func TestEndlessStatementFile(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	connection := s.fileConnection(t)
	before := s.record()
	body := &endless{}
	request := s.request(t, ask{method: http.MethodPost, path: fmt.Sprintf("/users/me/connections/%d/files", connection), token: "user", contentType: "application/xml"})
	request.Body, request.ContentLength = io.NopCloser(body), 4<<30
	request.Header.Set("Content-Type", "application/xml")
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	response, err := s.client.Do(request)
	runtime.ReadMemStats(&end)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("answered with %d", response.StatusCode)
		}
	}
	if body.sent > 512<<20 {
		t.Errorf("%d bytes were taken", body.sent)
	}
	if allocated := end.TotalAlloc - start.TotalAlloc; allocated > 512<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
	s.untouched(t, before)
}

// A corrected statement replaces the earlier version. A repeated import of the earlier version
// changes nothing.
func TestStatementsThatComeAgain(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		october := camtFile("2026-10-30", "90.00", "2026-10-31", "100.00", "2026-10-31 10.00 Salary")
		issued := camtFile("2026-10-31", "100.00", "2026-11-05", "125.00", "2026-11-02 10.00 Rent", "2026-11-03 5.00 Coffee", "2026-11-03 5.00 Coffee", "2026-11-05 5.00 Tea")
		corrected := camtFile("2026-10-31", "100.00", "2026-11-05", "126.00", "2026-11-02 11.00 Rent", "2026-11-03 5.00 Coffee", "2026-11-04 5.00 Coffee", "2026-11-05 5.00 Tea")
		next := camtFile("2026-11-05", "126.00", "2026-11-06", "127.00", "2026-11-06 1.00 Salt")
		unbalanced := camtFile("2026-10-31", "100.00", "2026-11-05", "125.00", "2026-11-02 10.00 Rent")
		for _, file := range []string{october, issued, next} {
			s.handOver(t, connection, "", file).says(t, 200, "", "")
		}
		var out fileReport
		before := s.record()
		if s.handOver(t, connection, "?preview=true", corrected).decode(t, &out); out.Accounts[0].New != 2 || out.Accounts[0].Removed != 2 {
			t.Errorf("the preview is %+v", out.Accounts[0])
		}
		s.untouched(t, before)
		want := []string{"2026-10-31 10.00 Salary", "2026-11-02 11.00 Rent", "2026-11-03 5.00 Coffee", "2026-11-04 5.00 Coffee", "2026-11-05 5.00 Tea", "2026-11-06 1.00 Salt"}
		for n, step := range []struct {
			file, query    string
			fresh, removed int
		}{{corrected, "", 2, 2}, {corrected, "", 0, 0}, {issued, "", 0, 0}, {october, "", 0, 0}, {unbalanced, "?unbalanced=true", 1, 0}} {
			s.handOver(t, connection, step.query, step.file).decode(t, &out)
			if a := out.Accounts[0]; a.New != step.fresh || a.Removed != step.removed {
				t.Errorf("step %d: %d new and %d removed, want %d and %d", n, a.New, a.Removed, step.fresh, step.removed)
			}
			if n == 4 {
				want = []string{want[0], "2026-11-02 10.00 Rent", want[1], want[2], want[3], want[4], want[5]}
			}
			got := s.listedTransactions(t, connection)
			if slices.Sort(got); cmp.Diff(want, got) != "" {
				t.Errorf("step %d: %s", n, cmp.Diff(want, got))
			}
		}
	})
}

// The bank's last version of a statement counts, in any order of imports.
func TestCorrectionBeforeItsOriginal(t *testing.T) {
	version := func(made, closing, entry string) string {
		return strings.Replace(camtFile("2026-10-31", "100.00", "2026-11-05", closing, entry), "<Id>1</Id>", "<Id>1</Id><CreDtTm>2026-11-06T"+made+"</CreDtTm>", 1)
	}
	original := version("08:00:00", "110.00", "2026-11-02 10.00 Rent")
	first := version("11:00:00+02:00", "120.00", "2026-11-02 20.00 Rent")
	second := version("09:30:00.5Z", "130.00", "2026-11-03 30.00 Rent")
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for n, files := range [][]string{
			{original, first, second},
			{second, first, original},
			{second, original, first, second},
			{first, second, original, first},
			{original, second, first},
		} {
			connection := s.fileConnection(t)
			for _, file := range files {
				s.handOver(t, connection, "", file).says(t, 200, "", "")
			}
			if diff := cmp.Diff([]string{"2026-11-03 30.00 Rent"}, s.listedTransactions(t, connection)); diff != "" {
				t.Errorf("order %d: %s", n, diff)
			}
			var out fileReport
			if s.handOver(t, connection, "?preview=true", first).decode(t, &out); out.Accounts[0].New != 0 || out.Accounts[0].Removed != 0 {
				t.Errorf("order %d: the preview of an older version is %+v", n, out.Accounts[0])
			}
		}
	})
}

// ofxFile returns an OFX file with transactions. Each has a day, an amount, a reference and further
// fields.
func ofxFile(transactions ...string) string {
	text := "<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR<BANKACCTFROM><BANKID>1<ACCTID>77<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>\n"
	for _, one := range transactions {
		part := append(strings.SplitN(one, " ", 4), "")
		text += "<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>" + part[0] + "<TRNAMT>" + part[1] + "<FITID>" + part[2] + part[3] + "<NAME>" + part[2] + "</STMTTRN>\n"
	}
	return text + "</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
}

// An OFX file can name a transaction that it replaces or deletes. The named transaction does not
// return after a second import of the earlier file.
func TestStatementCorrectionsInOFX(t *testing.T) {
	first := ofxFile("20261102 10.00 A", "20261103 5.00 B", "20261104 7.00 C")
	second := ofxFile("20261110 11.00 D <CORRECTFITID>A<CORRECTACTION>REPLACE", "20261110 5.00 E <CORRECTFITID>B<CORRECTACTION>DELETE", "20261111 1.00 F")
	both := ofxFile("20261102 10.00 A", "20261103 5.00 B", "20261104 7.00 C", "20261110 11.00 D <CORRECTFITID>A<CORRECTACTION>REPLACE", "20261110 5.00 E <CORRECTFITID>B<CORRECTACTION>DELETE", "20261111 1.00 F")
	again := ofxFile("20261102 12.00 A <CORRECTFITID>A<CORRECTACTION>REPLACE")
	onEachFixture(t, func(t *testing.T, s *fixture) {
		want := []string{"2026-11-04 7.00 C", "2026-11-10 11.00 D", "2026-11-11 1.00 F"}
		for name, files := range map[string][]string{"in order": {first, second, first, second}, "out of order": {second, first}, "in one file": {both, first}} {
			connection := s.fileConnection(t)
			for _, file := range files {
				s.handOver(t, connection, "", file).says(t, 200, "", "")
			}
			got := s.listedTransactions(t, connection)
			if slices.Sort(got); cmp.Diff(want, got) != "" {
				t.Errorf("%s: %s", name, cmp.Diff(want, got))
			}
		}
		connection := s.fileConnection(t)
		s.handOver(t, connection, "", first).says(t, 200, "", "")
		var out fileReport
		if s.handOver(t, connection, "", again).decode(t, &out); out.Accounts[0].New != 1 || out.Accounts[0].Removed != 1 {
			t.Errorf("a transaction under its own reference: %+v", out.Accounts[0])
		}
		s.handOver(t, connection, "", ofxFile("20261110 5.00 E <CORRECTACTION>DELETE")).says(t, 400, "invalidValue", "line 2, STMTTRN/CORRECTACTION: must name")
	})
}
