package berlingroup_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
)

// readable is a bank that approves a consent immediately. The test handles the requests about
// accounts.
type readable struct {
	t *testing.T
	*fixture
	answer http.HandlerFunc
	asked  []*http.Request
	wish   string
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func newReadable(t *testing.T, changes ...string) *readable {
	t.Helper()
	b := &readable{t: t}
	b.fixture = newFixture(t, b, nil)
	b.with(`["redirect", "oauth", "decoupled", "embedded"]`, `["redirect"]`)
	b.file += "\n[profile.accounts]\nconsents = [\"global\"]\nbooking_statuses = [\"both\"]\n"
	for i := 0; i < len(changes); i += 2 {
		b.with(changes[i], changes[i+1])
	}
	return b
}

func (b *readable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		b.wish = string(body)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"consentStatus": "received", "consentId": "C1", "_links": {"scaRedirect": {"href": "https://%s/page"}}}`, r.Host)
	case strings.HasPrefix(r.URL.Path, "/v1/consents/"):
		fmt.Fprint(w, `{"consentStatus": "valid", "validUntil": "2030-01-01"}`)
	default:
		b.asked = append(b.asked, r)
		b.answer(w, r)
	}
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

type bankReader struct {
	t      *testing.T
	reader connector.DataReader
	memory []byte
	now    time.Time
	// from is the first day that the sink wants, a month ago if it is zero.
	from passerelle.Date
	// broken means that the result of the last read was not stored.
	broken bool
}

func (b *readable) reader() *bankReader {
	b.t.Helper()
	reader, able := b.load().Connector().(connector.DataReader)
	if !able {
		b.t.Fatal("the connector does not read")
	}
	r := &bankReader{t: b.t, reader: reader, now: noon}
	if o, _, err := r.read(true); o.State != passerelle.WebauthRequired || o.URL == "" || err != nil {
		b.t.Fatalf("a first read ends with %+v, %v", o, err)
	}
	return r
}

func (r *bankReader) read(present bool) (connector.Outcome, *taken, error) {
	r.t.Helper()
	request := connector.DataRequest{Memory: r.memory, Values: map[string]string{"iban": "de03 9990 1001 0000 0000 01"}, Present: present, BrokenOff: r.broken, ReturnURL: "https://hub.example/back?state=1", Now: r.now}
	if present {
		request.Device = connector.Device{Address: netip.MustParseAddr("192.0.2.7"), UserAgent: "Browser"}
	}
	into := &taken{rows: map[string]passerelle.TransactionDetails{}, ended: map[string]passerelle.Date{}, from: cmp.Or(r.from, passerelle.DateOf(r.now, time.UTC).AddDays(-30))}
	o, err := r.reader.Read(r.t.Context(), request, into)
	if o.Memory != nil {
		r.memory = o.Memory
	}
	return o, into, err
}

type taken struct {
	connector.Sink
	from     passerelle.Date
	accounts []passerelle.AccountDetails
	rows     map[string]passerelle.TransactionDetails
	sent     int
	ended    map[string]passerelle.Date
}

func (s *taken) Accounts(all []passerelle.AccountDetails) error { s.accounts = all; return nil }

func (s *taken) Wanted(string) (passerelle.Date, bool) {
	if s.from.IsZero() {
		s.from = passerelle.DateOf(noon, time.UTC).AddDays(-30)
	}
	return s.from, true
}

func (s *taken) Transactions(_ string, page []passerelle.TransactionDetails) error {
	s.sent += len(page)
	for _, one := range page {
		s.rows[one.Key] = one
	}
	return nil
}

func (s *taken) AccountRead(account string, from passerelle.Date) error {
	s.ended[account] = from
	return nil
}

func (s *taken) keys() (all []string) {
	for key := range s.rows {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// TestErrorsOfReads checks the state in which each error ends a read. Only the state bug has a
// message for the operator.
func TestErrorsOfReads(t *testing.T) {
	bug, renewed := passerelle.Bug, passerelle.WebauthRequired
	states := map[string]passerelle.ConnectionState{
		"FORMAT_ERROR": bug, "PARAMETER_NOT_SUPPORTED": bug, "PARAMETER_NOT_CONSISTENT": bug, "SERVICE_INVALID": bug, "SERVICE_BLOCKED": passerelle.ActionNeeded,
		"RESOURCE_UNKNOWN": bug, "RESOURCE_EXPIRED": passerelle.WebsiteUnavailable, "RESOURCE_BLOCKED": passerelle.ActionNeeded, "TIMESTAMP_INVALID": bug,
		"PERIOD_INVALID": bug, "SCA_METHOD_UNKNOWN": renewed, "SCA_INVALID": renewed, "STATUS_INVALID": renewed, "UNSUPPORTED_MEDIA_TYPE": bug,
		"CONSENT_UNKNOWN": renewed, "CONSENT_INVALID": renewed, "CONSENT_EXPIRED": renewed, "ACCESS_EXCEEDED": passerelle.RateLimiting, "REQUESTED_FORMATS_INVALID": bug,
		"SESSIONS_NOT_SUPPORTED": bug, "PRODUCT_INVALID": bug, "PRODUCT_UNKNOWN": bug, "PAYMENT_FAILED": bug, "KID_MISSING": bug, "EXECUTION_DATE_INVALID": bug, "CANCELLATION_INVALID": bug,
		"CERTIFICATE_INVALID": bug, "CERTIFICATE_EXPIRED": bug, "CERTIFICATE_BLOCKED": bug, "CERTIFICATE_REVOKED": bug, "CERTIFICATE_MISSING": bug,
		"SIGNATURE_INVALID": bug, "SIGNATURE_MISSING": bug, "PSU_CREDENTIALS_INVALID": passerelle.Wrongpass, "CORPORATE_ID_INVALID": passerelle.Wrongpass,
		"TOKEN_UNKNOWN": renewed, "TOKEN_INVALID": renewed, "TOKEN_EXPIRED": renewed, "ROLE_INVALID": bug, "CARD_INVALID": bug, "NO_PIIS_ACTIVATION": bug,
		"REFERENCE_MIX_INVALID": bug, "REFERENCE_STATUS_INVALID": bug, "FUNDS_NOT_AVAILABLE": bug, "BENEFICIARY_WHITELISTING_REQUIRED": bug,
		"SERVICE_UNAVAILABLE": passerelle.WebsiteUnavailable, "INTERNAL_SERVER_ERROR": passerelle.WebsiteUnavailable, "NEVER_HEARD_OF": bug,
	}
	bank := newReadable(t)
	reader := bank.reader()
	consented := reader.memory
	for code, state := range states {
		for form, body := range map[string]string{
			"messages": `{"tppMessages": [{"category": "WARNING", "code": "WARNING"}, {"category": "ERROR", "code": "` + code + `", "text": "Personal"}]}`,
			"gateway":  `{"code": 400, "tppMessages": [{"category": "ERROR", "code": "` + code + `", "text": "Personal"}]}`,
			"problem":  `{"type": "https://bank.example/problem", "title": "Personal", "code": "` + code + `"}`,
		} {
			bank.answer, reader.memory = answers(http.StatusBadRequest, body), consented
			o, _, err := reader.read(false)
			var fault *connector.Fault
			if reported := errors.As(err, &fault); o.State != state || reported != (state == bug) {
				t.Errorf("%s as %s ends in %q, %v, want %q", code, form, o.State, err, state)
			} else if reported && (!strings.HasPrefix(fault.Says, "Example Bank") || !strings.Contains(fault.Says, ": ") || strings.Contains(fault.Says, "Personal")) {
				t.Errorf("%s as %s tells the operator %q", code, form, fault.Says)
			}
		}
	}
	for status, state := range map[int]passerelle.ConnectionState{
		400: bug, 401: bug, 403: bug, 404: bug, 405: bug, 406: bug, 408: passerelle.WebsiteUnavailable, 409: bug, 415: bug,
		429: passerelle.RateLimiting, 500: passerelle.WebsiteUnavailable, 503: passerelle.WebsiteUnavailable,
	} {
		bank.answer, reader.memory = answers(status, ""), consented
		if o, _, _ := reader.read(false); o.State != state {
			t.Errorf("%d without a body ends in %q, want %q", status, o.State, state)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	bank.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	if o, _, err := reader.read(false); o.State != passerelle.RateLimiting || o.RetryAfter != 2*time.Minute || err != nil {
		t.Errorf("%+v, %v", o, err)
	}
}

const oneAccount = `{"accounts": [{"resourceId": "A1", "iban": "DE03999010010000000001", "currency": "EUR", "name": "Current",
	"balances": [{"balanceType": "interimAvailable", "creditLimitIncluded": true, "balanceAmount": {"currency": "EUR", "amount": "900.00"}},
		{"balanceType": "expected", "balanceAmount": {"currency": "EUR", "amount": "90.50"}},
		{"balanceType": "closingBooked", "referenceDate": "2026-02-28", "balanceAmount": {"currency": "EUR", "amount": "90.00"}},
		{"balanceType": "closingBooked", "referenceDate": "2026-03-01", "balanceAmount": {"currency": "EUR", "amount": "100.00"}}]}]}`

// list responds to the request for accounts with one account, and passes all other requests to the
// handler transactions.
func (b *readable) list(transactions http.HandlerFunc) {
	b.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/accounts" {
			fmt.Fprint(w, oneAccount)
			return
		}
		transactions(w, r)
	}
}

// TestHostileAnswers: an invalid response ends the read with a fault that names the bank.
func TestHostileAnswers(t *testing.T) {
	entry := func(members string) string { return `{"transactions": {"booked": [{` + members + `}]}}` }
	endless := 0
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) {
			for page := strings.Repeat(" ", 1<<20); ; {
				if _, err := io.WriteString(w, page); err != nil {
					return
				}
			}
		}, "larger than the limit"},
		"a depth of 10,000":      {answers(200, strings.Repeat(`[`, 10000)+strings.Repeat("]", 10000)), "not valid JSON of the standard"},
		"a page for people":      {answers(200, "<html>"), "not valid JSON of the standard"},
		"half an answer":         {answers(200, `{"transactions": {"booked": [`), "not valid JSON of the standard"},
		"text for a list":        {answers(200, `{"transactions": {"booked": "none"}}`), "not valid JSON of the standard"},
		"no amount":              {answers(200, entry(`"transactionId": "1"`)), "no amount"},
		"an amount of letters":   {answers(200, entry(`"transactionAmount": {"currency": "EUR", "amount": "1e9"}`)), "no amount"},
		"an amount of 99 digits": {answers(200, entry(`"transactionAmount": {"currency": "EUR", "amount": "`+strings.Repeat("9", 99)+`"}`)), "no amount"},
		"a page elsewhere":       {answers(200, `{"transactions": {"booked": [], "_links": {"next": {"href": "https://elsewhere.example/v1"}}}}`), "leads to another host"},
		"a page without TLS":     {answers(200, `{"transactions": {"booked": [], "_links": {"next": {"href": "http://127.0.0.1/v1"}}}}`), "leads to another host"},
		"pages in a circle":      {answers(200, `{"transactions": {"booked": [], "_links": {"next": {"href": "/v1/accounts/A1/transactions?page=2"}}}}`), "leads back"},
		"pages without end": {func(w http.ResponseWriter, _ *http.Request) {
			endless++
			fmt.Fprintf(w, `{"transactions": {"booked": [], "_links": {"next": {"href": "/v1/accounts/A1/transactions?page=%d"}}}}`, endless)
		}, "did not respond in time"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		}, "redirects to another address"},
		"a second page that redirects": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("page") {
				http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
				return
			}
			answers(200, `{"transactions": {"booked": [], "_links": {"next": {"href": "/v1/accounts/A1/transactions?page=2"}}}}`)(w, r)
		}, "correct address.api"},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newReadable(t)
			reader := bank.reader()
			bank.list(test.answer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			into := &taken{rows: map[string]passerelle.TransactionDetails{}, ended: map[string]passerelle.Date{}}
			o, err := reader.reader.Read(ctx, connector.DataRequest{Memory: reader.memory, Now: noon}, into)
			var fault *connector.Fault
			if !errors.As(err, &fault) || !strings.HasPrefix(fault.Says, "Example Bank") || !strings.Contains(fault.Says, test.says) {
				t.Errorf("%+v, %v", o, err)
			}
			if len(into.ended) > 0 || o.Memory == nil {
				t.Errorf("the account was read to its end, or the memory is lost")
			}
		})
	}
}

func TestBalances(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	bank.list(answers(200, `{"transactions": {"booked": []}}`))
	o, got, err := reader.read(false)
	if err != nil || o.State != "" || len(got.accounts) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	a := got.accounts[0]
	if a.Balance.String() != "100.00" || a.Coming.String() != "-9.50" || a.Key != "DE03999010010000000001/EUR" || a.Type != "checking" {
		t.Errorf("%+v: %v and %v coming", a, a.Balance, a.Coming)
	}
	if until := time.Date(2026, 8, 30, 0, 0, 0, 0, time.UTC); o.ConsentUntil == nil || !o.ConsentUntil.Equal(until) {
		t.Errorf("the consent ends %v, want %v", o.ConsentUntil, until)
	}
}

// TestEndsThatAreOver checks that a valid consent ends after consent_days if the bank reports an end
// that is over.
func TestEndsThatAreOver(t *testing.T) {
	for reported, want := range map[string]string{"2026-03-02": "2026-03-03", "2026-03-01": "2026-08-30", "9999-12-31": "2026-08-30", "": "2026-08-30", "soon": "2026-08-30"} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"POST /v1/consents": once(201, `{"consentStatus":"valid","consentId":"C1"}`), "GET consent": once(200, `{"consentStatus":"valid","validUntil":"`+reported+`"}`),
			"GET /v1/accounts": once(200, `{"accounts":[]}`),
		})
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		reader, _ := bank.load().Connector().(connector.DataReader)
		r := &bankReader{t: t, reader: reader, now: noon}
		o, _, err := r.read(true)
		if err != nil || o.ConsentUntil == nil || o.ConsentUntil.Format(time.DateOnly) != want {
			t.Errorf("%q: %+v, %v, want %s", reported, o.ConsentUntil, err, want)
		}
	}
}

// line returns a transaction without an id.
func line(booked, valued, amount, text string) string {
	encoded, _ := json.Marshal(map[string]any{
		"bookingDate": booked, "valueDate": valued, "remittanceInformationUnstructured": text, "transactionAmount": map[string]string{"currency": "EUR", "amount": amount},
	})
	return strings.ReplaceAll(string(encoded), `"bookingDate":"",`, "")
}

func page(booked, pending []string, next string) string {
	text := `{"transactions": {"booked": [` + strings.Join(booked, ",") + `], "pending": [` + strings.Join(pending, ",") + `]`
	if next != "" {
		text += `, "_links": {"next": {"href": "` + next + `"}}`
	}
	return text + "}}"
}

// TestIdentityWithoutIDs: transactions without an id keep the keys that they had while pending,
// even when several are equal or the pages change.
func TestIdentityWithoutIDs(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	coffee, rent := line("", "2026-03-01", "-2.50", "Coffee"), line("2026-02-01", "2026-02-01", "-700.00", "Rent")
	bank.list(answers(200, page([]string{rent}, []string{coffee, coffee, line("", "2026-03-01", "-2.5", "Tea")}, "")))
	_, before, err := reader.read(false)
	if err != nil || len(before.rows) != 4 {
		t.Fatalf("%d rows, %v", len(before.rows), err)
	}
	booked := line("2026-03-02", "2026-03-01", "-2.50", "Coffee")
	bank.list(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "2" {
			fmt.Fprint(w, page([]string{rent, booked}, nil, ""))
			return
		}
		fmt.Fprint(w, page([]string{booked}, []string{line("", "2026-03-01", "-2.50", "tea")}, r.URL.Path+"?page=2"))
	})
	_, after, err := reader.read(false)
	if err != nil || !slices.Equal(before.keys(), after.keys()) {
		t.Errorf("%v: the names were\n%q and are\n%q", err, before.keys(), after.keys())
	}
	for _, row := range after.rows {
		if row.Coming != strings.EqualFold(row.Wording, "tea") {
			t.Errorf("%+v", row)
		}
	}
}

// TestIDsOfTheBank: a transaction that appears on two pages has one key.
func TestIDsOfTheBank(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\ntransaction_ids = true")
	reader := bank.reader()
	bank.list(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var lines []string
		for i := range 10 { // each page repeats the last entry of the previous page
			lines = append(lines, fmt.Sprintf(`{"transactionId": "T%d", "bookingDate": "2026-03-01", "transactionAmount": {"currency": "EUR", "amount": "1.00"}}`, n*9+i))
		}
		next := ""
		if n < 5 {
			next = r.URL.Path + "?page=" + strconv.Itoa(n+1)
		}
		fmt.Fprint(w, page(lines, nil, next))
	})
	_, got, err := reader.read(false)
	if err != nil || got.sent != 60 || len(got.rows) != 55 || len(got.ended) != 1 {
		t.Errorf("%d given, %d rows, %d accounts, %v", got.sent, len(got.rows), len(got.ended), err)
	}
}

// TestCallsWithoutThePerson: without the customer, the connector makes each call only as often per
// day as the bank allows.
func TestCallsWithoutThePerson(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	bank.list(answers(200, page(nil, nil, "")))
	for i := range 4 {
		if o, _, err := reader.read(false); o.State != "" || err != nil {
			t.Fatalf("read %d: %+v, %v", i, o, err)
		}
		reader.now = reader.now.Add(time.Hour)
	}
	asked := len(bank.asked)
	o, _, err := reader.read(false)
	if o.State != passerelle.RateLimiting || o.RetryAfter != 20*time.Hour || err != nil || len(bank.asked) != asked {
		t.Errorf("a fifth read: %+v, %v, %d more calls", o, err, len(bank.asked)-asked)
	}
	for _, r := range bank.asked {
		if r.Header.Get("PSU-IP-Address") != "" || r.Header.Get("PSU-User-Agent") != "" || r.Header.Get("Consent-ID") != "C1" {
			t.Errorf("a call without the person has %v", r.Header)
		}
	}
	if o, _, err := reader.read(true); o.State != "" || err != nil {
		t.Errorf("with the person: %+v, %v", o, err)
	}
	if h := bank.asked[len(bank.asked)-1].Header; h.Get("PSU-IP-Address") != "192.0.2.7" || h.Get("PSU-User-Agent") != "Browser" {
		t.Errorf("a call with the person has %v", h)
	}
	reader.now = reader.now.Add(21 * time.Hour)
	if o, _, err := reader.read(false); o.State != "" || err != nil {
		t.Errorf("a day later: %+v, %v", o, err)
	}
}

// TestWhatIsNew checks when the connector requests only new entries.
func TestWhatIsNew(t *testing.T) {
	entries := `{"transactionId": "T1", "entryReference": "E1", "bookingDate": "2026-02-27", "transactionAmount": {"currency": "EUR", "amount": "1.00"}},
		{"transactionId": "T2", "entryReference": "E2", "bookingDate": "2026-03-02", "transactionAmount": {"currency": "EUR", "amount": "1.00"}}`
	for knob, want := range map[string]string{"entry_reference": "entryReferenceFrom=E1", "delta_list": "deltaList=true"} {
		t.Run(knob, func(t *testing.T) {
			bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nhistory_days = 365\ntransaction_ids = true\n"+knob+" = true", "sca =", "calls_a_day = 100\nsca =")
			reader := bank.reader()
			unknown := false
			bank.list(func(w http.ResponseWriter, r *http.Request) {
				if unknown && !r.URL.Query().Has("dateFrom") {
					answers(400, `{"tppMessages": [{"category": "ERROR", "code": "RESOURCE_UNKNOWN"}]}`)(w, r)
					return
				}
				fmt.Fprint(w, page([]string{entries}, nil, ""))
			})
			last := func(present bool) (string, *taken) {
				_, got, err := reader.read(present)
				if err != nil || len(got.ended) != 1 {
					t.Fatalf("%v, %d accounts read", err, len(got.ended))
				}
				return bank.asked[len(bank.asked)-1].URL.RawQuery, got
			}
			if query, _ := last(false); !strings.Contains(query, "dateFrom=2026-01-24") {
				t.Errorf("a first read asks for %s", query)
			}
			reader.broken = true
			if query, _ := last(false); !strings.Contains(query, "dateFrom=2026-01-24") {
				t.Errorf("after a read whose process died it asks for %s", query)
			}
			reader.broken = false
			query, got := last(false)
			if !strings.Contains(query, want) || strings.Contains(query, "dateFrom") {
				t.Errorf("a second read asks for %s", query)
			}
			for _, from := range got.ended {
				if from.Compare(passerelle.DateOf(noon, time.UTC).AddDays(3650)) < 0 {
					t.Errorf("what was not told again is gone from %s on", from)
				}
			}
			if query, _ := last(true); !strings.Contains(query, "dateFrom") || strings.Contains(query, want) {
				t.Errorf("with the person it asks for %s", query)
			}
			unknown = true
			if query, _ := last(false); !strings.Contains(query, "dateFrom") || strings.Contains(query, want) {
				t.Errorf("where the bank cannot say it asks for %s", query)
			}
			unknown = false
			reader.now = noon.AddDate(0, 0, 6)
			if query, _ := last(false); !strings.Contains(query, want) || strings.Contains(query, "dateFrom") {
				t.Errorf("six days later it asks for %s", query)
			}
			reader.now = noon.AddDate(0, 0, 7)
			if query, _ := last(false); !strings.Contains(query, "dateFrom") || strings.Contains(query, want) {
				t.Errorf("a week later it asks for %s", query)
			}
		})
	}
}

// TestDeltasOfSeveralReports checks that a read requests no deltas when booked and pending
// transactions are in separate reports, because the second delta would begin where the first ended.
func TestDeltasOfSeveralReports(t *testing.T) {
	bank := newReadable(t, `["both"]`, `["booked", "pending"]`, "[profile.accounts]", "[profile.accounts]\nhistory_days = 365\ntransaction_ids = true\ndelta_list = true", "sca =", "calls_a_day = 100\nsca =")
	reader, reported := bank.reader(), 0
	entries := []string{`{"transactionId": "T1", "transactionAmount": {"currency": "EUR", "amount": "1.00"}}`}
	bank.list(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if r.URL.Query().Has("deltaList") {
			from = reported
		}
		reported = len(entries)
		if r.URL.Query().Get("bookingStatus") == "booked" {
			fmt.Fprint(w, page(nil, nil, ""))
			return
		}
		fmt.Fprint(w, page(nil, entries[from:], ""))
	})
	for range 2 {
		if _, got, err := reader.read(false); err != nil || len(got.rows) == 0 {
			t.Errorf("%d entries, %v", len(got.rows), err)
		}
		entries = append(entries, strings.Replace(entries[0], "T1", "T2", 1))
	}
	if _, got, err := reader.read(false); err != nil || !slices.Contains(got.keys(), "id/T2") {
		t.Errorf("%q, %v", got.keys(), err)
	}
}

// TestPendingInSeveralFormats checks that a transaction keeps its key when it is booked, at a bank
// that reports transactions in several formats.
func TestPendingInSeveralFormats(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nformats = [\"json\", \"camt\"]\ntransaction_ids = true")
	reader := bank.reader()
	entry := `{"transactionId": "T1", %s "remittanceInformationUnstructured": "Coffee", "transactionAmount": {"currency": "EUR", "amount": "-2.50"}}`
	bank.list(answers(200, page(nil, []string{fmt.Sprintf(entry, "")}, "")))
	_, before, err := reader.read(true)
	if err != nil || len(before.rows) != 1 {
		t.Fatalf("%q, %v", before.keys(), err)
	}
	bank.list(answers(200, page([]string{fmt.Sprintf(entry, `"entryReference": "E1", "bookingDate": "2026-03-02",`)}, nil, "")))
	for range 2 {
		if _, after, err := reader.read(true); err != nil || !slices.Equal(before.keys(), after.keys()) {
			t.Errorf("%q became %q, %v", before.keys(), after.keys(), err)
		}
	}
}

// TestOldTransactions: a bank may return transactions of more than 90 days only soon after the
// customer's approval. Later, a first read of an account requests 90 days. If the bank refuses these as
// well, the read fails.
func TestOldTransactions(t *testing.T) {
	for limit, want := range map[int]string{365: "2025-06-01", 90: "2025-12-03", 30: ""} {
		bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nhistory_days = 365")
		reader := bank.reader()
		bank.list(func(w http.ResponseWriter, r *http.Request) {
			if from := r.URL.Query().Get("dateFrom"); from < noon.AddDate(0, 0, 1-limit).Format(time.DateOnly) {
				answers(http.StatusBadRequest, `{"tppMessages":[{"category":"ERROR","code":"PERIOD_INVALID"}]}`)(w, r)
				return
			}
			fmt.Fprint(w, page([]string{line("2026-03-01", "2026-03-01", "-2.50", "Coffee")}, nil, ""))
		})
		into := &taken{rows: map[string]passerelle.TransactionDetails{}, ended: map[string]passerelle.Date{}, from: passerelle.DateOf(time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), time.UTC)}
		o, err := reader.reader.Read(t.Context(), connector.DataRequest{Memory: reader.memory, Now: noon}, into)
		got := ""
		for _, day := range into.ended {
			got = day.String()
		}
		if got != want || (err == nil) != (want != "") || (o.State == passerelle.Bug) != (want == "") || len(into.rows) != len(into.ended) {
			t.Errorf("a bank with %d days: read from %q, %+v, %v, want %q", limit, got, o, err, want)
		}
	}
}

// TestOldTransactionsWithinTheLimit checks that an account is read even if the bank permits only one
// call a day without the customer, and the first call requests transactions that the bank refuses.
// A read with the customer requests the older transactions again.
func TestOldTransactionsWithinTheLimit(t *testing.T) {
	for _, present := range []bool{false, true} {
		bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nhistory_days = 365", "sca =", "calls_a_day = 1\nsca =")
		reader, oldest := bank.reader(), noon.AddDate(0, 0, 2-90).Format(time.DateOnly)
		bank.list(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("dateFrom") < oldest && r.Header.Get("PSU-IP-Address") == "" {
				answers(http.StatusBadRequest, `{"tppMessages":[{"category":"ERROR","code":"PERIOD_INVALID"}]}`)(w, r)
				return
			}
			fmt.Fprint(w, page([]string{line("2026-03-01", "2026-03-01", "-2.50", "Coffee")}, nil, ""))
		})
		reader.from = passerelle.DateOf(noon, time.UTC).AddDays(-300)
		if o, got, err := reader.read(false); err != nil || o.State != passerelle.RateLimiting || len(got.ended) > 0 {
			t.Errorf("the first read: %+v, %v, accounts %v", o, err, got.ended)
		}
		reader.now, bank.asked = noon.AddDate(0, 0, 1), nil
		o, got, err := reader.read(present)
		if err != nil || o.State != "" || len(got.ended) != 1 || len(got.rows) != 1 {
			t.Errorf("the next day, present %t: %+v, %v, accounts %v", present, o, err, got.ended)
		}
		query := bank.asked[len(bank.asked)-1].URL.Query()
		if from := query.Get("dateFrom"); (from == oldest) == present {
			t.Errorf("the next day, present %t: from %s", present, from)
		}
	}
}

// TestEqualTransactionsAtTheFirstDay checks that no transaction counts as deleted when a read begins
// between two equal transactions, because the bank returns no older ones. The second transaction
// then gets the number of the first.
func TestEqualTransactionsAtTheFirstDay(t *testing.T) {
	for name, days := range map[string]int{"history_days": 90, "a refusal": 365} {
		bank := newReadable(t, "[profile.accounts]", fmt.Sprintf("[profile.accounts]\nhistory_days = %d", days))
		reader, last := bank.reader(), noon
		older, younger := "2026-02-10", "2026-02-13"
		bank.list(func(w http.ResponseWriter, r *http.Request) {
			from, oldest := r.URL.Query().Get("dateFrom"), last.AddDate(0, 0, 1-90).Format(time.DateOnly)
			if from < oldest {
				answers(http.StatusBadRequest, `{"tppMessages":[{"category":"ERROR","code":"PERIOD_INVALID"}]}`)(w, r)
				return
			}
			var lines []string
			for _, day := range []string{older, younger} {
				if day >= from {
					lines = append(lines, line(day, "2026-02-10", "-2.50", "Coffee"))
				}
			}
			fmt.Fprint(w, page(lines, nil, ""))
		})
		_, before, err := reader.read(false)
		if err != nil || len(before.rows) != 2 {
			t.Fatalf("%s: the first read: %v, %v", name, before.rows, err)
		}
		reader.from = passerelle.DateOf(noon, time.UTC).AddDays(-30)
		last = noon.AddDate(0, 0, 70) // the first day is 2026-02-11, between the two
		reader.now = last
		_, after, err := reader.read(false)
		if err != nil || len(after.rows) != 1 || len(after.ended) != 1 {
			t.Fatalf("%s: the second read: %v, %v, accounts %v", name, after.rows, err, after.ended)
		}
		for key, row := range before.rows {
			_, reported := after.rows[key]
			for _, from := range after.ended {
				if !reported && row.Date.Compare(from) >= 0 {
					t.Errorf("%s: %s of %v counts as deleted from %v on", name, key, row.Date, from)
				}
			}
		}
	}
}

func TestBookingStatuses(t *testing.T) {
	for statuses, want := range map[string]string{
		`["booked"]`: "booked", `["booked", "pending"]`: "pending booked", `["booked", "pending", "both", "information", "all"]`: "both",
		`["information", "all"]`: "all", `["booked", "information"]`: "booked",
	} {
		bank := newReadable(t, `["both"]`, statuses)
		reader := bank.reader()
		bank.list(answers(200, `{"transactions": {"booked": [], "information": [{"transactionId": "S1"}]}}`))
		_, got, err := reader.read(true)
		var asked []string
		for _, r := range bank.asked {
			if status := r.URL.Query().Get("bookingStatus"); status != "" {
				asked = append(asked, status)
			}
		}
		if err != nil || strings.Join(asked, " ") != want || len(got.rows) > 0 {
			t.Errorf("%s: %q with %d rows, %v, want %s", statuses, asked, len(got.rows), err, want)
		}
	}
}

// TestBookedBetweenReports checks that a read reports a transaction as booked if the bank books it
// between the reports of pending and of booked transactions.
func TestBookedBetweenReports(t *testing.T) {
	bank := newReadable(t, `["both"]`, `["booked", "pending"]`, "[profile.accounts]", "[profile.accounts]\ntransaction_ids = true")
	reader, requests := bank.reader(), 0
	entry := []string{`{"transactionId": "T1", "transactionAmount": {"currency": "EUR", "amount": "1.00"}}`}
	bank.list(func(w http.ResponseWriter, r *http.Request) {
		requests++
		pending := requests == 1
		switch status := r.URL.Query().Get("bookingStatus"); {
		case status == "pending" && pending:
			fmt.Fprint(w, page(nil, entry, ""))
		case status == "booked" && !pending:
			fmt.Fprint(w, page(entry, nil, ""))
		default:
			fmt.Fprint(w, page(nil, nil, ""))
		}
	})
	if _, got, err := reader.read(false); err != nil || len(got.rows) != 1 || got.rows["id/T1"].Coming {
		t.Errorf("%+v, %v", got.rows, err)
	}
}

// TestEndsOfConsents checks that the request to end a consent has the customer's token. If the bank
// refuses the token, the connector repeats the request without it.
func TestEndsOfConsents(t *testing.T) {
	for code, ended := range map[string]bool{
		"CONSENT_UNKNOWN": true, "CONSENT_INVALID": true, "CONSENT_EXPIRED": true, "STATUS_INVALID": true,
		"TOKEN_UNKNOWN": false, "TOKEN_INVALID": false, "TOKEN_EXPIRED": false, "SCA_INVALID": false, "CERTIFICATE_INVALID": false,
	} {
		bank := &answering{status: http.StatusUnauthorized, body: map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": code}}}}
		w := newFixture(t, bank, nil)
		w.file += "\n[profile.accounts]\nconsents = [\"global\"]\nbooking_statuses = [\"both\"]\n"
		terminator, _ := w.load().Connector().(connector.Terminator)
		err := terminator.Terminate(t.Context(), connector.DataRequest{Memory: []byte(`{"consent":"C1","approval":{"oauth":{"token":"T1"}}}`), Now: noon})
		if (err == nil) != ended {
			t.Errorf("%s: %v", code, err)
		}
		want := []string{"DELETE Bearer T1"}
		if strings.HasPrefix(code, "TOKEN_") {
			want = append(want, "DELETE ")
		}
		var got []string
		for _, r := range bank.requests {
			got = append(got, r.Method+" "+r.Header.Get("Authorization"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the bank got %q, want %q", code, got, want)
		}
	}
}

// TestFormerConsents checks that the connector ends a former consent when another consent becomes
// valid or the connection is deleted, unless the bank has ended the former one.
func TestFormerConsents(t *testing.T) {
	for code, lives := range map[string]bool{
		"TOKEN_EXPIRED": true, "TOKEN_UNKNOWN": true, "TOKEN_INVALID": true, "SCA_INVALID": true, "CONSENT_EXPIRED": false, "CONSENT_UNKNOWN": false, "CONSENT_INVALID": false,
	} {
		for _, renewed := range []bool{true, false} {
			t.Run(fmt.Sprint(code, " ", renewed), func(t *testing.T) {
				bank := newScripted(t, map[string][]scriptedAnswer{
					"GET /v1/accounts": {refusedWith(401, code), {200, `{"accounts":[]}`}}, "GET /v1/consents/C2/status": {{200, `{"consentStatus":"received"}`}, {200, `{"consentStatus":"valid"}`}},
					"POST /v1/consents":   once(201, `{"consentStatus":"received","consentId":"C2","_links":{"scaRedirect":{"href":"https://bank.example/1"}}}`),
					"GET /v1/consents/C2": once(200, `{"consentStatus":"valid"}`), "DELETE consent": {refusedWith(401, "TOKEN_EXPIRED"), {204, ""}}, "DELETE /v1/consents/C2": once(204, ""),
				})
				bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
				reader, _ := bank.load().Connector().(connector.DataReader)
				r := &bankReader{t: t, reader: reader, now: noon}
				r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":{"oauth":{"token":"T1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
				states := []passerelle.ConnectionState{passerelle.WebauthRequired, passerelle.WebauthRequired, ""}
				if !renewed {
					states = states[:1]
				}
				for i, want := range states {
					if o, _, err := r.read(i > 0 || renewed); err != nil || o.State != want {
						t.Fatalf("read %d ends with %+v, %v", i+1, o, err)
					}
					if ended := bank.count("DELETE consent") > 0; ended != (lives && want == "") {
						t.Errorf("after read %d the calls are %q", i+1, bank.calls)
					}
				}
				if err := reader.(connector.Terminator).Terminate(t.Context(), connector.DataRequest{Memory: r.memory, Now: noon}); err != nil {
					t.Error(err)
				}
				if former, now := bank.count("DELETE consent"), bank.count("DELETE /v1/consents/C2"); former != map[bool]int{true: 2, false: 0}[lives] || (now == 1) != renewed {
					t.Errorf("the calls are %q with %q", bank.calls, bank.tokens)
				}
			})
		}
	}
}

// TestReplacedConsents checks a consent that the customer can still approve after another consent
// has replaced it. If the customer approves the replaced consent, the connector uses this consent.
func TestReplacedConsents(t *testing.T) {
	wished := `{"consentStatus":"received","consentId":"C2","_links":{"scaRedirect":{"href":"https://bank.example/2"}}}`
	received, valid := scriptedAnswer{200, `{"consentStatus":"received"}`}, scriptedAnswer{200, `{"consentStatus":"valid"}`}
	for name, test := range map[string]struct {
		first, second scriptedAnswer
		declined      bool
		// ended lists the consents that the reads end. deleted adds those that Terminate ends.
		state          passerelle.ConnectionState
		ended, deleted string
	}{
		"the second is approved": {first: received, second: valid, ended: "C1", deleted: "C1 C2"},
		"the first is approved":  {first: valid, second: received, ended: "C2", deleted: "C2 C1"},
		"none is approved":       {first: received, second: received, state: passerelle.WebauthRequired, deleted: "C2 C1"},
		"the first is refused":   {first: received, second: valid, declined: true, ended: "C1", deleted: "C1 C2"},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"GET /v1/accounts": once(200, `{"accounts":[]}`), "POST /v1/consents": once(201, wished),
				"GET consent/status": {received, test.first}, "GET /v1/consents/C2/status": {test.second}, "GET consent": {valid}, "GET /v1/consents/C2": {valid},
				"DELETE consent": once(204, ""), "DELETE /v1/consents/C2": once(204, ""),
			})
			bank.with(`["redirect", "oauth", "decoupled", "embedded"]`, `["redirect"]`)
			bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
			reader, _ := bank.load().Connector().(connector.DataReader)
			memory := fmt.Appendf(nil, `{"consent":"C1","asked":%q,"approval":{"step":"page","page":"https://bank.example/1"}}`, noon.Add(-time.Hour).Format(time.RFC3339))
			read := func(callback url.Values) connector.Outcome {
				o, err := reader.Read(t.Context(), connector.DataRequest{Memory: memory, Present: true, Callback: callback, Now: noon}, &taken{})
				if err != nil {
					t.Fatal(err)
				}
				memory = o.Memory
				return o
			}
			if test.declined {
				read(url.Values{"nok": {"1"}})
			}
			if o := read(nil); o.URL != "https://bank.example/2" {
				t.Fatalf("the customer is sent to %+v", o)
			}
			if o := read(url.Values{"state": {"s"}}); o.State != test.state {
				t.Errorf("the return ends with %+v", o)
			}
			deleted := func() string {
				var all []string
				for _, call := range bank.calls {
					if what, ends := strings.CutPrefix(strings.Replace(call, "DELETE consent", "DELETE /v1/consents/C1", 1), "DELETE /v1/consents/"); ends {
						all = append(all, what)
					}
				}
				return strings.Join(all, " ")
			}
			if got := deleted(); got != test.ended {
				t.Errorf("the reads end %q, want %q", got, test.ended)
			}
			if err := reader.(connector.Terminator).Terminate(t.Context(), connector.DataRequest{Memory: memory, Now: noon}); err != nil || deleted() != test.deleted {
				t.Errorf("in the end %q, want %q, %v", deleted(), test.deleted, err)
			}
		})
	}
}

// TestConsentsThatEndDuringARead: during a read, the consent ends, and the customer has approved a
// former consent. The read must not report the accounts twice. The next read uses the former
// consent.
func TestConsentsThatEndDuringARead(t *testing.T) {
	valid := once(200, `{"consentStatus":"valid"}`)
	bank := newScripted(t, map[string][]scriptedAnswer{
		"GET /v1/accounts":                 once(200, `{"accounts":[{"resourceId":"A1","iban":"DE02120300000000202051","currency":"EUR","balances":[{"balanceAmount":{"amount":"1.00","currency":"EUR"},"balanceType":"closingBooked"}]}]}`),
		"GET /v1/accounts/A1/transactions": {refusedWith(401, "CONSENT_EXPIRED"), {200, `{"transactions":{"booked":[]}}`}},
		"GET /v1/consents/C2/status":       valid, "GET /v1/consents/C2": valid,
	})
	bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\nbooking_statuses = [\"booked\"]\n"
	reader, _ := bank.load().Connector().(connector.DataReader)
	r := &bankReader{t: t, reader: reader, now: noon}
	r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"formers":[{"consent":"C2"}]}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
	for _, want := range []passerelle.ConnectionState{passerelle.WebsiteUnavailable, ""} {
		if o, got, err := r.read(true); err != nil || o.State != want || len(got.accounts) != 1 {
			t.Errorf("%+v, %+v, %v, want %q; the calls are %q", o, got, err, want, bank.calls)
		}
	}
}

// TestTokensRenewedAtTheEnd: Terminate renews a token, and the bank then fails to end the consent.
// The connector must have stored the new tokens, because the bank accepts a refresh token only
// once.
func TestTokensRenewedAtTheEnd(t *testing.T) {
	var w *fixture
	w = newFixture(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			fmt.Fprintf(rw, `{"authorization_endpoint":"%[1]s/authorise","token_endpoint":"%[1]s/token"}`, w.server.URL)
		case r.URL.Path == "/token" && r.FormValue("refresh_token") == "R0":
			fmt.Fprint(rw, `{"access_token":"T1","token_type":"Bearer","refresh_token":"R1"}`)
		case r.Header.Get("Authorization") == "Bearer T1":
			rw.WriteHeader(http.StatusInternalServerError)
		default:
			rw.WriteHeader(http.StatusUnauthorized)
		}
	}), nil)
	w.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	terminator, _ := w.load().Connector().(connector.Terminator)
	of := connector.DataRequest{Memory: []byte(`{"consent":"C1","approval":{"oauth":{"verifier":"v","token":"T0","refresh":"R0"}}}`), Now: noon}
	of.Save = func(_ context.Context, memory []byte) { of.Memory = memory }
	if err := terminator.Terminate(t.Context(), of); err == nil {
		t.Error("the bank failed, and the consent counts as ended")
	}
	if !strings.Contains(string(of.Memory), `"refresh":"R1"`) {
		t.Fatalf("stored is %s", of.Memory)
	}
}

func TestConsentsAskedFor(t *testing.T) {
	const frame = `{"access":%s,"recurringIndicator":true,"validUntil":"2026-05-31","frequencyPerDay":2,"combinedServiceIndicator":false}`
	for name, test := range map[string]struct {
		kinds, access string
		transactions  bool
	}{
		"all that the person chooses": {`["available-accounts", "detailed", "all-psd2", "global"]`, `{"accounts":[],"balances":[],"transactions":[]}`, true},
		"everything":                  {`["detailed", "all-psd2"]`, `{"allPsd2":"allAccounts"}`, true},
		"one account":                 {`["available-accounts", "detailed"]`, `{"balances":[{"iban":"DE03999010010000000001"}],"transactions":[{"iban":"DE03999010010000000001"}]}`, true},
		"the list":                    {`["available-accounts"]`, `{"availableAccountsWithBalance":"allAccounts"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newReadable(t, `["global"]`, test.kinds+"\nconsent_days = 90", "sca =", "calls_a_day = 2\nsca =")
			reader := bank.reader()
			if want := fmt.Sprintf(frame, test.access); bank.wish != want {
				t.Errorf("the bank was asked for\n%s, want\n%s", bank.wish, want)
			}
			fields := reader.reader.Profile().Data.Fields
			if asks := len(fields) == 1 && fields[0].Name == "iban"; asks != (name == "one account") {
				t.Errorf("the person is asked for %+v", fields)
			}
			bank.list(answers(200, page([]string{line("2026-03-01", "2026-03-01", "1.00", "Gift")}, nil, "")))
			o, got, err := reader.read(true)
			if err != nil || len(got.accounts) != 1 || (len(got.rows) == 1) != test.transactions {
				t.Errorf("%+v, %v: %d accounts, %d transactions", o, err, len(got.accounts), len(got.rows))
			}
		})
	}
}

// TestGonePendingTransactionOfAShortHistory checks that a transaction with an id counts as deleted
// when it is no longer pending, even if the bank returns few days. Only transactions without an id
// have numbers that depend on earlier days.
func TestGonePendingTransactionOfAShortHistory(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nhistory_days = 7\ntransaction_ids = true")
	reader := bank.reader()
	pending := []string{`{"transactionId": "T1", "valueDate": "2026-03-01", "transactionAmount": {"currency": "EUR", "amount": "-9.00"}}`}
	bank.list(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page(nil, pending, "")) })
	_, before, err := reader.read(false)
	if err != nil || len(before.rows) != 1 {
		t.Fatalf("the first read: %v, %v", before.rows, err)
	}
	reader.now, pending = noon.AddDate(0, 0, 1), nil
	_, after, err := reader.read(false)
	if err != nil || len(after.rows) > 0 || len(after.ended) != 1 {
		t.Fatalf("the second read: %v, %v, accounts %v", after.rows, err, after.ended)
	}
	for key, row := range before.rows {
		for _, from := range after.ended {
			if row.Date.Compare(from) < 0 {
				t.Errorf("%s of %v does not count as deleted: the read is complete from %v on", key, row.Date, from)
			}
		}
	}
}
