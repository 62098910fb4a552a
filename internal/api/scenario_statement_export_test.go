package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amounts "github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/store/storetest"
	"passerelle/statementfile"
)

func (s *fixture) movedDays(t *testing.T, connection int64) []string {
	t.Helper()
	var all []string
	for offset := 0; offset == len(all); offset += 1000 {
		var list struct {
			Transactions []struct {
				Date  string
				Value json.Number
			}
		}
		s.do(t, ask{method: http.MethodGet, path: fmt.Sprintf("/users/me/connections/%d/transactions?limit=1000&offset=%d", connection, offset), token: "user"}).decode(t, &list)
		for _, one := range list.Transactions {
			all = append(all, one.Date+" "+one.Value.String())
		}
	}
	slices.Sort(all)
	return all
}

// manyDays returns a file with entries of one account over 340 days. Some entries have the same day
// and text.
func manyDays(t *testing.T, entries int) string {
	t.Helper()
	day, balance := passerelle.Date{}, amounts.MustNew(10_000, 2)
	if err := day.UnmarshalText([]byte("2025-11-26")); err != nil {
		t.Fatal(err)
	}
	w := statementfile.Written{FileStatement: statementfile.FileStatement{
		ID: "1", Account: statementfile.StatementAccount{IBAN: "FR7630006000011234567890189", Currency: "EUR"}, Opening: &statementfile.StatementBalance{Date: day, Amount: balance},
	}}
	var all []statementfile.StatementEntry
	for i := range entries {
		e := statementfile.StatementEntry{Booked: day.AddDays(1 + i*340/entries), Amount: amounts.MustNew(int64(i%7)*1234-3000, 2), Wording: fmt.Sprintf("Entry é %d", i/3)}
		balance, _ = balance.Add(e.Amount)
		all = append(all, e)
	}
	w.Closing = &statementfile.StatementBalance{Date: day.AddDays(341), Amount: balance}
	w.Entries = func(yield func(statementfile.StatementEntry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
	var file bytes.Buffer
	if err := statementfile.Write(&file, statementfile.CAMT, w); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// An exported statement in any format can be imported. The import changes no amount and no day.
func TestExportedStatementsAreImported(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		var out fileReport
		s.handOver(t, connection, "", manyDays(t, 1200)).decode(t, &out)
		want := s.movedDays(t, connection)
		account := fmt.Sprintf("/users/me/accounts/%d", *out.Accounts[0].ID)
		for format, begins := range map[string]string{"camt.053": "<?xml", "mt940": ":20:", "cfonb120": "01", "ofx": "<?xml", "csv": "account,"} {
			answer := s.do(t, ask{method: http.MethodGet, path: account + "/statement?format=" + format, token: "user"})
			file := string(answer.body)
			if !strings.HasPrefix(file, begins) || !strings.Contains(answer.header.Get("Content-Disposition"), "account-") {
				t.Errorf("%s: %.100q %v", format, file, answer.header)
			}
			again := s.fileConnection(t)
			var imported fileReport
			s.handOver(t, again, "", file).decode(t, &imported)
			if a := imported.Accounts[0]; a.New != 1200 || a.Closing.Amount != out.Accounts[0].Closing.Amount || len(a.Unbalanced) > 0 {
				t.Errorf("%s: imported %+v", format, a)
			}
			if got := s.movedDays(t, again); !slices.Equal(got, want) {
				t.Errorf("%s: the days and amounts differ", format)
			}
		}
	})
}

// A statement for a period contains the balances before and after the period.
func TestStatementOfAPeriod(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		var out fileReport
		s.handOver(t, connection, "", camtFile("2026-10-31", "100.00", "2026-11-10", "122.00", "2026-11-02 10.00 Rent", "2026-11-05 5.00 Tea", "2026-11-10 7.00 Salt")).decode(t, &out)
		path := fmt.Sprintf("/users/me/accounts/%d/statement?format=mt940", *out.Accounts[0].ID)
		for query, want := range map[string]string{
			"&min_date=2026-11-03&max_date=2026-11-05": ":60F:C261102EUR110,00|:61:2611051105C5,00NMSCNONREF//|:86:999?20Tea|:62F:C261105EUR115,00",
			"&min_date=2026-11&max_date=2026-11":       ":60F:C261031EUR100,00|:61:2611021102C10,00NMSCNONREF//|:86:999?20Rent|:61:2611051105C5,00NMSCNONREF//|:86:999?20Tea|:61:2611101110C7,00NMSCNONREF//|:86:999?20Salt|:62F:C261120EUR122,00",
			"&min_date=2026-11-20&max_date=2027-12-31": ":60F:C261119EUR122,00|:62F:C261120EUR122,00",
			"&max_date=2026-11-02":                     ":60F:C261101EUR100,00|:61:2611021102C10,00NMSCNONREF//|:86:999?20Rent|:62F:C261102EUR110,00",
		} {
			body := string(s.do(t, ask{method: http.MethodGet, path: path + query, token: "user"}).body)
			at := 0
			for part := range strings.SplitSeq(want, "|") {
				found := strings.Index(body[at:], part)
				if found < 0 {
					t.Errorf("%s: %q misses %s", query, body, part)
				}
				at += max(0, found)
			}
		}
		s.elapsed.Add(int64(20 * time.Hour))
		s.do(t, ask{method: http.MethodGet, path: path + "&min_date=2026-11-22", token: "user"}).says(t, 400, "invalidValue", "min_date: must not be after 2026-11-21, the current day")
		if body := string(s.do(t, ask{method: http.MethodGet, path: path, token: "user"}).body); !strings.Contains(body, ":62F:C261120EUR122,00") {
			t.Errorf("the day after the last update: %q", body)
		}
	})
}

// A statement of days after the last update has the balance of the last update, which it states for
// no later day. It contains no transactions, also none of the day of the last update.
func TestStatementAfterTheLastUpdate(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var out fileReport
		connection := s.fileConnection(t)
		s.handOver(t, connection, "", camtFile("2026-10-31", "100.00", "2026-11-20", "122.00", "2026-11-02 10.00 Rent", "2026-11-20 12.00 Salt")).decode(t, &out)
		want := s.movedDays(t, connection)
		path := fmt.Sprintf("/users/me/accounts/%d/statement?min_date=2026-11-21&format=", *out.Accounts[0].ID)
		s.elapsed.Add(int64(20 * time.Hour))
		for format, want := range map[string][]string{
			"camt.053": {"<Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">122.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-20<", "<Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">122.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-20<"},
			"mt940":    {":60F:C261120EUR122,00", ":62F:C261120EUR122,00"},
			"cfonb120": {"201126", "201126"},
			"ofx":      {"<DTSTART>20261120</DTSTART><DTEND>20261120<", "<BALAMT>122.00</BALAMT><DTASOF>20261120<"},
			"csv":      {"account,"},
		} {
			for _, last := range []string{"", "&max_date=2026-11-21", "&max_date=2026-12-31"} {
				answer := s.do(t, ask{method: http.MethodGet, path: path + format + last, token: "user"})
				rest, found := string(answer.body), false
				for _, part := range want {
					if _, rest, found = strings.Cut(rest, part); !found {
						t.Errorf("%s: answered %d %q, which misses %s", format, answer.status, answer.body, part)
					}
				}
				if body := strings.ToUpper(string(answer.body)); strings.Contains(body, "SALT") || strings.Contains(body, "FRTODT") {
					t.Errorf("%s: %q has a transaction or a period", format, body)
				}
			}
		}
		s.handOver(t, connection, "", string(s.do(t, ask{method: http.MethodGet, path: path + "camt.053", token: "user"}).body)).says(t, 200, "", "")
		if got := s.movedDays(t, connection); !slices.Equal(got, want) {
			t.Errorf("after the import of the statement: %v, want %v", got, want)
		}
		s.do(t, ask{method: http.MethodGet, path: path + "mt940&max_date=2026-11-20", token: "user"}).says(t, 400, "invalidValue", "max_date: must not be before min_date")
	})
}

// Without dates, a statement has the day of the last update when all transactions are later.
func TestStatementBeforeAllTransactions(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var out fileReport
		s.handOver(t, s.fileConnection(t), "", camtFile("2026-11-24", "100.00", "2026-11-25", "110.00", "2026-11-25 10.00 Rent")).decode(t, &out)
		path := fmt.Sprintf("/users/me/accounts/%d/statement?format=mt940", *out.Accounts[0].ID)
		for _, last := range []string{"", "&max_date=2026-12-31"} {
			body := string(s.do(t, ask{method: http.MethodGet, path: path + last, token: "user"}).body)
			if !strings.Contains(body, ":60F:C261119EUR100,00\r\n:62F:C261120EUR100,00") {
				t.Errorf("%s: %q", last, body)
			}
		}
		s.do(t, ask{method: http.MethodGet, path: path + "&max_date=2026-11-20", token: "user"}).says(t, 400, "invalidValue", "max_date: must not be before min_date or the first transaction, 2026-11-25")
	})
}

// A statement contains the transactions and balances of the institution. Transactions that a client
// created change neither the balances nor the first day.
func TestStatementsHaveWhatTheInstitutionBooked(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		connection := s.fileConnection(t)
		var out fileReport
		s.handOver(t, connection, "", camtFile("2026-10-31", "100.00", "2026-11-10", "122.00", "2026-11-02 10.00 Rent", "2026-11-05 5.00 Tea", "2026-11-10 7.00 Salt")).decode(t, &out)
		account := fmt.Sprintf("/users/me/accounts/%d", *out.Accounts[0].ID)
		formats := []string{"camt.053", "mt940", "cfonb120", "ofx", "csv"}
		export := func() (all []string) {
			for _, format := range formats {
				for _, period := range []string{"", "&min_date=2026-11-03&max_date=2026-11-05"} {
					all = append(all, string(s.do(t, ask{method: http.MethodGet, path: account + "/statement?format=" + format + period, token: "user"}).body))
				}
			}
			return all
		}
		before := export()
		s.do(t, ask{method: http.MethodPost, path: account + "/transactions", token: "user", body: `[{"wording":"Cash","date":"2026-10-01","value":-50},
			{"wording":"Cash","date":"2026-11-04","value":3.376544},{"wording":"Cash","date":"2026-11-19","value":-1}]`}).says(t, 200, "", "")
		if diff := cmp.Diff(before, export()); diff != "" {
			t.Errorf("with transactions of a client (-before +after):\n%s", diff)
		}
	})
}

// The service refuses an impossible export before the first byte of the response.
func TestStatementsThatCannotBeExported(t *testing.T) {
	s := newFixture(t, storetest.SQLite(t))
	connection := s.fileConnection(t)
	var out fileReport
	foreign := strings.Replace(camtFile("2026-10-31", "100.00", "2026-11-10", "110.00", "2026-11-02 10.00 Rent"), "FR7630006000011234567890189", "DE89370400440532013000", 1)
	s.handOver(t, connection, "", foreign).decode(t, &out)
	account := fmt.Sprintf("/users/me/accounts/%d", *out.Accounts[0].ID)
	get := func(path string) reply { return s.do(t, ask{method: http.MethodGet, path: path, token: "user"}) }
	get(account+"/statement?format=cfonb120").says(t, 400, "invalidValue", "format: CFONB 120 has accounts in France only")
	get(account+"/statement?format=mt940&min_date=1970-01-01").says(t, 400, "invalidValue", "min_date: must not be before 1980-01-02, because MT940 has the years 1980 to 2079 only")
	get(account+"/statement?format=mt940&min_date=1980-01-01").says(t, 400, "invalidValue", "min_date: must not be before 1980-01-02")
	get(account+"/statement?format=mt940&min_date=1980-01-02").says(t, 200, "", "")
	get(account+"/statement?format=mt940&min_date=2080-01-01").says(t, 400, "invalidValue", "min_date: must not be after 2026-11-20")
	s.handOver(t, s.fileConnection(t), "", camtFile("2026-10-31", "100.00", "2026-11-10", "110.00", "2026-11-02 10.00 Rent")).decode(t, &out)
	french := fmt.Sprintf("/users/me/accounts/%d/statement?format=cfonb120&min_date=", *out.Accounts[0].ID)
	get(french+"1960-01-01").says(t, 400, "invalidValue", "min_date: must not be before 1960-01-02, because CFONB 120 has the years 1960 to 2059 only")
	get(french+"1960-01-02").says(t, 200, "", "")
	get(account+"/statement?format=xls").says(t, 400, "invalidValue", "format: must be one of camt.053, mt940, cfonb120, ofx, csv")
	get(account+"/statement?min_date=2026-11-05&max_date=2026-11-04").says(t, 400, "invalidValue", "max_date: must not be before min_date")
	get(account+"/statement?min_date=2030").says(t, 400, "invalidValue", "min_date: must not be after 2026-11-20, the current day")
	get(account+"/statement?min_date="+url.QueryEscape("5 May")).says(t, 400, "invalidValue", "min_date")
	get("/users/me/accounts/999999/statement").says(t, 404, "notFound", "")
	get("/users/999999/accounts/1/statement").says(t, 404, "notFound", "")
	s.do(t, ask{method: http.MethodPut, path: account, token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
	get(account+"/statement").says(t, 409, "conflict", "is not enabled")
}
