package berlingroup_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
)

// These are statements in three formats, all with the same two entries.
const (
	camtStatement = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>7</Id>
<Acct><Id><IBAN>DE03999010010000000001</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Ntry><Amt Ccy="EUR">12.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-01</Dt></BookgDt><ValDt><Dt>2026-03-01</Dt></ValDt>
<AcctSvcrRef>R1</AcctSvcrRef><NtryDtls><TxDtls><RltdPties><Cdtr><Nm>Shop</Nm></Cdtr></RltdPties><RmtInf><Ustrd>Shoes</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt><ValDt><Dt>2026-03-02</Dt></ValDt>
<AcctSvcrRef>R2</AcctSvcrRef><NtryDtls><TxDtls><RmtInf><Ustrd>Gift</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>`
	mt940Lines = ":20:S\r\n:25:DE03999010010000000001\r\n:28C:1\r\n:60F:C260228EUR100,00\r\n" +
		":61:2603010301D12,50NTRFNONREF//R1\r\n:86:166?00TRANSFER?20Shoes?32Shop\r\n:61:2603020302C1,00NTRFNONREF//R2\r\n:86:Gift\r\n:62F:C260302EUR88,50\r\n"
	mt940Statement = mt940Lines + "-\r\n"
	// envelopedStatement begins with the header blocks of the SWIFT network.
	envelopedStatement = "{1:F01BANKDEFFXXXX0000000000}{2:O9400000260302BANKDEFFXXXX00000000002603020000N}{4:\r\n" + mt940Lines + "-}"
	frenchStatement    = "0130004    02837EUR2 00011234567  280226                                                  0000000010000{                \n" +
		"0430004000602837EUR2 0001123456706010326  010326SHOES                            0000001000000000000125}R1              \n" +
		"0430004000502837EUR2 0001123456705020326  020326GIFT                             0000002000000000000010{R2              \n" +
		"0730004    02837EUR2 00011234567  020326                                                  0000000009885{                \n"
)

func filed(media, accepted, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != accepted {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", media)
		fmt.Fprint(w, content)
	}
}

// TestStatementFormats: a report has the format that the bank file names, and a download can be
// camt, MT940 or CFONB.
func TestStatementFormats(t *testing.T) {
	for _, test := range []struct{ name, format, media, content string }{
		{"camt asked for", "camt", "application/xml", camtStatement},
		{"MT940 asked for", "mt940", "text/plain", mt940Statement},
		{"MT940 in an envelope", "mt940", "text/plain", envelopedStatement},
		{"camt as a download", "json", "application/xml; charset=utf-8", camtStatement},
		{"MT940 as a download", "json", "application/octet-stream", mt940Statement},
		{"CFONB as a download", "json", "text/plain", frenchStatement},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nformats = [\""+test.format+"\"]", `["both"]`, `["booked", "both"]`)
			reader := bank.reader()
			var query string
			bank.list(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case test.format != "json":
					query = r.URL.RawQuery
					filed(test.media, map[string]string{"camt": "application/xml", "mt940": "text/plain"}[test.format], test.content)(w, r)
				case r.URL.Path == "/v1/file":
					filed(test.media, "*/*", test.content)(w, r)
				default:
					fmt.Fprint(w, `{"_links": {"download": {"href": "/v1/file"}}}`)
				}
			})
			_, first, err := reader.read(true)
			if err != nil || len(first.rows) != 2 || len(first.ended) != 1 {
				t.Fatalf("%d transactions, %v", len(first.rows), err)
			}
			if test.format != "json" && !strings.Contains(query, "bookingStatus=booked") {
				t.Errorf("the bank is asked for %s", query)
			}
			for _, one := range first.rows {
				shoes := one.Value.IsNeg()
				if want := map[bool]string{true: "-12.50 shoes 2026-03-01", false: "1.00 gift 2026-03-02"}[shoes]; fmt.Sprint(one.Value, " ", strings.ToLower(one.Wording), " ", one.BDate) != want || one.Coming || one.Origin != nil {
					t.Errorf("%+v", one)
				}
			}
			_, again, err := reader.read(true)
			if err != nil || strings.Join(again.keys(), " ") != strings.Join(first.keys(), " ") {
				t.Errorf("%v and then %v, %v", first.keys(), again.keys(), err)
			}
		})
	}
}

// TestHostileStatements checks that a statement which is invalid or belongs to another account ends
// the read with a fault.
func TestHostileStatements(t *testing.T) {
	for name, test := range map[string]struct{ content, says string }{
		"another account": {strings.ReplaceAll(camtStatement, "DE03999010010000000001", "DE73999010010000000002"), "about another account"},
		"half of it":      {camtStatement[:700], "its statement cannot be read: line"},
		"an archive":      {"PK\x03\x04 and so on", "its statement cannot be read"},
		"entities":        {`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><Document>&b;</Document>`, "its statement cannot be read"},
		"nothing known":   {"What you want is not here, says Anna.", "its statement cannot be read"},
	} {
		bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nformats = [\"camt\"]")
		reader := bank.reader()
		bank.list(filed("application/xml", "application/xml", test.content))
		_, got, err := reader.read(true)
		var fault *connector.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Says, test.says) || strings.Contains(fault.Says, "Anna") || len(got.ended) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type measuring struct {
	connector.Sink
	transactions, largest int
	memory                uint64
	fails                 error
}

func (*measuring) Accounts([]passerelle.AccountDetails) error { return nil }
func (*measuring) Wanted(string) (passerelle.Date, bool)      { return passerelle.Date{}, true }
func (*measuring) AccountRead(string, passerelle.Date) error  { return nil }

func (m *measuring) Transactions(_ string, page []passerelle.TransactionDetails) error {
	m.transactions += len(page)
	m.largest = max(m.largest, len(page))
	if m.transactions%20_000 == 0 {
		runtime.GC()
		m.memory = max(m.memory, heap())
	}
	return m.fails
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func manyTransactions(many int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"account": {"iban": "DE03999010010000000001"}, "transactions": {"booked": [`)
		for i := range many {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			_, err := fmt.Fprintf(w, `{"transactionId": "T%d", "entryReference": "E%d", "endToEndId": "ORDER-%d", "bookingDate": "2026-03-01", "valueDate": "2026-03-01",
				"transactionAmount": {"currency": "EUR", "amount": "-12.50"}, "creditorName": "Shop", "creditorAccount": {"iban": "FR7630006000011234567890189"},
				"remittanceInformationUnstructured": "Invoice %d of the year", "bankTransactionCode": "PMNT-ICDT-ESCT"}`, i, i, i, i)
			if err != nil {
				return
			}
		}
		fmt.Fprint(w, `], "pending": null}}`)
	}
}

// TestReportsAreStreamed: memory use does not grow with the size of the bank's page. The sink gets
// at most 500 transactions at once.
func TestReportsAreStreamed(t *testing.T) {
	const many = 100_000
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ntransaction_ids = true")
	reader := bank.reader()
	bank.list(manyTransactions(many))
	runtime.GC()
	before, into := heap(), &measuring{}
	if _, err := reader.reader.Read(t.Context(), connector.DataRequest{Memory: reader.memory, Present: true, Now: noon}, into); err != nil {
		t.Fatal(err)
	}
	const most = 8 << 20 // the page has more than 40 MB
	if into.transactions != many || into.largest > 500 || into.memory > before+most {
		t.Errorf("%d transactions, at most %d at once, memory grew by %d bytes", into.transactions, into.largest, int64(into.memory)-int64(before))
	}
}

// TestSinkThatFails: a failure of the sink does not count as a failure of the bank.
func TestSinkThatFails(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ntransaction_ids = true")
	reader := bank.reader()
	bank.list(manyTransactions(2000))
	failure := errors.New("the database is gone")
	into := &measuring{fails: failure}
	_, err := reader.reader.Read(t.Context(), connector.DataRequest{Memory: reader.memory, Present: true, Now: noon}, into)
	var fault *connector.Fault
	if !errors.Is(err, failure) || errors.As(err, &fault) || into.transactions != 500 {
		t.Errorf("%v, %d transactions", err, into.transactions)
	}
	if h := reader.reader.(connector.Monitored).Health(); h.Failures != 0 {
		t.Errorf("the bank has %d failures", h.Failures)
	}
}

// TestLargeReports checks that the read of an endless page fails.
func TestLargeReports(t *testing.T) {
	one := `{"transactionId": "T", "transactionAmount": {"currency": "EUR", "amount": "1.00"}, "additionalInformation": "` + strings.Repeat("x", 100_000) + `"}`
	endless := func(begin, again string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for _, err := io.WriteString(w, begin); err == nil; {
				_, err = io.WriteString(w, again)
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"blanks":       endless(`{"transactions": {"booked": [`, strings.Repeat(" ", 1<<20)),
		"a text":       endless(`{"transactions": {"booked": [{"transactionId": "`, strings.Repeat("x", 1<<20)),
		"what is lost": endless(`{"other": [`, "[],"),
		"transactions": endless(`{"transactions": {"booked": [`+one, ","+one),
	} {
		bank := newReadable(t)
		reader := bank.reader()
		bank.list(answer)
		begun := time.Now()
		_, err := reader.reader.Read(t.Context(), connector.DataRequest{Memory: reader.memory, Present: true, Now: noon}, &measuring{})
		var fault *connector.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Says, "its response is larger than the limit") {
			t.Errorf("%s: %v after %s", name, err, time.Since(begun))
		}
	}
}

// TestClocksThatDiffer checks that the message about a refused timestamp contains the difference
// between the clocks if it is at least a minute.
func TestClocksThatDiffer(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	for wrong, says := range map[time.Duration]string{
		10 * time.Minute:  "this machine's clock is 10m behind the bank's",
		-48 * time.Hour:   "this machine's clock is 48h0m ahead of the bank's",
		10 * time.Second:  "",
		-59 * time.Second: "",
	} {
		bank.answer = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(wrong).UTC().Format(http.TimeFormat))
			answers(http.StatusBadRequest, `{"tppMessages": [{"category": "ERROR", "code": "TIMESTAMP_INVALID"}]}`)(w, r)
		}
		_, _, err := reader.read(true)
		var fault *connector.Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Says, "check that this machine's clock is right") || !strings.Contains(fault.Says, says) || says == "" && strings.Contains(fault.Says, "the bank's") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
