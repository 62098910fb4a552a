package berlingroup_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// answering is a bank that gives the same response to every call.
type answering struct {
	status   int
	header   http.Header
	body     any
	requests []received
}

type received struct {
	*http.Request
	body map[string]any
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one := received{Request: r}
	if r.ContentLength > 0 {
		if err := json.NewDecoder(r.Body).Decode(&one.body); err != nil {
			panic(err)
		}
	}
	a.requests = append(a.requests, one)
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if err := json.NewEncoder(w).Encode(a.body); err != nil {
		panic(err)
	}
}

func (w *fixture) initiator() connector.Initiator {
	w.t.Helper()
	able, pays := w.load().Connector().(connector.Initiator)
	if !pays {
		w.t.Fatal("the bank takes no payments")
	}
	return able
}

// date adds a number of days to 2 March 2026.
func date(after int) passerelle.Date { return passerelle.DateOf(noon, time.UTC).AddDays(after) }

func instruction(dates payment.DateType) payment.Instruction {
	in := payment.Instruction{
		ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Invoice 42", DateType: dates,
		Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Shop", Issuer: "AGRIFRPP"},
	}
	switch dates {
	case payment.Deferred:
		in.ExecutionDate = date(10)
	case payment.Periodic:
		in.StartDate, in.EndDate, in.Frequency = date(10), date(400), "monthly"
	}
	return in
}

func orderOf(lines ...payment.Instruction) connector.Order {
	return connector.Order{
		Domain: 1, Key: "0123456789abcdef0123456789abcdef", Now: noon, ReturnURL: "https://service.test/webauth/callback?state=s", Mechanism: "webauth",
		Payment: payment.Payment{State: payment.Validating, Created: noon, Instructions: lines},
		Device:  connector.Device{Address: netip.MustParseAddr("192.0.2.7"), UserAgent: "Browser"},
	}
}

var ordersByKind = map[string]connector.Order{
	"single":   orderOf(instruction(payment.FirstOpenDay)),
	"instant":  orderOf(instruction(payment.Instant)),
	"deferred": orderOf(instruction(payment.Deferred)),
	"bulk":     orderOf(instruction(payment.FirstOpenDay), instruction(payment.FirstOpenDay)),
	"periodic": orderOf(instruction(payment.Periodic)),
}

const (
	approvedMemory = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"authorised"}}`
	waitingMemory  = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"app","own":"/v1/payments/sepa-credit-transfers/1/authorisations/2"}}`
)

// fromThen returns the argument status and the statuses that a successful order can have after it.
func fromThen(status string) []string {
	all := []string{"ACTC", "ACCP", "ACFC", "ACSP", "ACWC", "ACWP", "ACSC", "ACCC"}
	for i, one := range all {
		if one == status {
			return all[i:]
		}
	}
	return nil
}

func expected(status, kind, last string) string {
	has := func(list []string, word string) bool {
		return strings.Contains(" "+strings.Join(list, " ")+" ", " "+word+" ")
	}
	switch {
	case status == "RJCT" || status == "CANC":
		return "rejected"
	case status == "PART", status == "PATC", status == "RCVD", status == "PDNG", status == "ZZZZ":
		return "pending"
	case kind == "periodic":
		return "accepted"
	case status == "ACSC" || status == "ACCC":
		return "done"
	case has(fromThen(last), status):
		return "accepted"
	}
	return "pending"
}

func TestStatuses(t *testing.T) {
	statuses := []string{"ACCC", "ACCP", "ACSC", "ACSP", "ACTC", "ACWC", "ACWP", "RCVD", "PDNG", "RJCT", "CANC", "ACFC", "PATC", "PART", "ZZZZ"}
	for _, last := range []string{"ACTC", "ACCP", "ACSP", "ACWC", "ACSC", "ACCC"} {
		bank := &answering{status: http.StatusOK}
		able := newFixture(t, bank, nil).with(`"embedded"]`, `"embedded"]`+"\nlast_status = \""+last+`"`).initiator()
		for kind, o := range ordersByKind {
			for _, status := range statuses {
				t.Run(strings.Join([]string{last, kind, status}, " "), func(t *testing.T) {
					messages := []any{}
					if kind == "bulk" {
						messages = append(messages, map[string]string{"category": "ERROR", "code": "ERROR", "path": "payments[1]", "text": "AM04: no funds"})
					}
					bank.body = map[string]any{"transactionStatus": status, "tppMessages": messages, "psuMessage": "A word to the payer."}
					o := o
					o.Memory = []byte(approvedMemory)
					report, err := able.Status(t.Context(), o)
					if err != nil {
						t.Fatal(err)
					}
					p := o.Payment
					p.Instructions = append([]payment.Instruction{}, o.Payment.Instructions...)
					for i := range p.Instructions {
						p.Instructions[i].State = payment.InstructionPending
					}
					if _, err := p.Apply(report, noon); err != nil {
						t.Fatal(err)
					}
					if want := expected(status, kind, last); string(p.State) != want {
						t.Errorf("%+v makes %s, want %s", report, p.State, want)
					}
					notes := p.TakeNotes()
					if len(notes) != 1 || !strings.HasPrefix(notes[0].Bank, status) || !strings.Contains(notes[0].Text, "A word to the payer.") {
						t.Errorf("the timeline has %+v", notes)
					}
				})
			}
		}
	}
}

// TestFutureDates checks approved orders with an execution date in the future. Their state does not
// depend on the day on which the connector asks.
func TestFutureDates(t *testing.T) {
	for _, last := range []string{"ACTC", "ACCP", "ACSP", "ACSC"} {
		bank := &answering{status: http.StatusOK}
		able := newFixture(t, bank, nil).with(`"embedded"]`, `"embedded"]`+"\nlast_status = \""+last+`"`).initiator()
		for _, status := range []string{"RCVD", "PDNG", "ACTC", "ACCP", "ACFC", "ACSP", "ACSC"} {
			for _, days := range []int{0, 9, 10, 11, 40} {
				bank.body = map[string]any{"transactionStatus": status}
				o := orderOf(instruction(payment.Deferred))
				o.Memory, o.Now = []byte(approvedMemory), noon.AddDate(0, 0, days)
				o.Payment.Instructions[0].State = payment.InstructionPending
				report, err := able.Status(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := o.Payment.Apply(report, o.Now); err != nil {
					t.Fatal(err)
				}
				if want := expected(status, "deferred", last); string(o.Payment.State) != want {
					t.Errorf("%s at a bank with %s, %d days after the order: %s, want %s", status, last, days, o.Payment.State, want)
				}
			}
		}
	}
}

func TestStatusesOfWaitingOrders(t *testing.T) {
	waits := map[string]bool{"RCVD": true, "PDNG": true, "ACTC": true, "ACCP": true, "ACFC": true, "ZZZZ": true}
	bank := &answering{status: http.StatusOK}
	able := newFixture(t, bank, nil).initiator()
	for _, status := range []string{"RCVD", "PDNG", "ACTC", "ACCP", "ACFC", "ZZZZ", "PATC", "ACSP", "ACWC", "ACWP", "ACSC", "ACCC"} {
		for sca, step := range map[string]string{
			"received": "waits", "psuIdentified": "waits", "psuAuthenticated": "waits", "scaMethodSelected": "waits", "started": "waits", "unconfirmed": "waits",
			"unknown": "waits", "finalised": "approved", "exempted": "approved", "failed": "failed",
		} {
			bank.body = map[string]any{"transactionStatus": status, "scaStatus": sca}
			o := ordersByKind["single"]
			o.Memory = []byte(waitingMemory)
			report, err := able.Status(t.Context(), o)
			want := payment.Processing
			switch {
			case status == "ACSC" || status == "ACCC":
				want = payment.Settled
			case waits[status] && step == "failed":
				want = payment.Declined
			case waits[status] && step == "waits":
				want = payment.Awaiting
			}
			if err != nil || report.Status != want || want == payment.Declined && report.Code != payment.AuthenticationFailed {
				t.Errorf("%s, %s: %+v, %v; want %s", status, sca, report, err, want)
			}
		}
	}
}

// approving is a bank that finds its response in bodies, by method and path. A call that is not in
// bodies gets a 404.
type approving struct {
	bodies map[string]map[string]any
	calls  map[string]int
}

func (b *approving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/v1/payments/sepa-credit-transfers/1/")
	if b.calls == nil {
		b.calls = map[string]int{}
	}
	b.calls[r.Method+" "+name]++
	body, known := b.bodies[r.Method+" "+name]
	w.Header().Set("Content-Type", "application/json")
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

func status(of, word string) map[string]any { return map[string]any{of: word} }

// TestReturnsAreNoApprovals checks orders of a bank that sends no link to the authorisation. It
// checks when the payer's return to the service counts as an approval of such an order.
func TestReturnsAreNoApprovals(t *testing.T) {
	back, refused := url.Values{"state": {"s"}}, url.Values{"nok": {"1"}}
	page := `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/1","opened":"` + noon.Format(time.RFC3339) + `"}}`
	token := strings.Replace(page, `"step":"page"`, `"step":"server","oauth":{"token":"T"}`, 1)
	unwanted := strings.Replace(page, `{"path"`, `{"unwanted":true,"path"`, 1)
	for _, test := range []struct {
		name, memory, status, last string
		callback                   url.Values
		listed                     []string
		after                      time.Duration
		want                       payment.Status
	}{
		{name: "a return", memory: page, status: "ACTC", callback: back, want: payment.Awaiting},
		{name: "a return to a bank whose last status it is", memory: page, status: "ACTC", last: "ACTC", callback: back, want: payment.Awaiting},
		{name: "a return with funds checked", memory: page, status: "ACFC", callback: back, want: payment.Awaiting},
		{name: "no return", memory: page, status: "ACTC", after: 49 * time.Hour, want: payment.Awaiting},
		{name: "a return from the refusal", memory: page, status: "ACTC", callback: refused, after: 49 * time.Hour, want: payment.Awaiting},
		{name: "executing", memory: page, status: "ACSP", callback: back, want: payment.Processing},
		{name: "an approval in the list", memory: page, status: "ACTC", callback: back, listed: []string{"9", "finalised"}, want: payment.Processing},
		{name: "an open one in the list", memory: page, status: "ACTC", callback: back, listed: []string{"9", "started"}, after: 49 * time.Hour, want: payment.Awaiting},
		{name: "one that failed in the list", memory: page, status: "ACTC", callback: back, listed: []string{"9", "failed"}, want: payment.Declined},
		{name: "a day after the time for approvals", memory: page, status: "ACTC", callback: back, after: 48 * time.Hour, want: payment.Processing},
		{name: "before the end of that day", memory: page, status: "ACTC", callback: back, after: 48*time.Hour - time.Second, want: payment.Awaiting},
		{name: "unchecked after that day", memory: page, status: "RCVD", callback: back, after: 49 * time.Hour, want: payment.Awaiting},
		{name: "after a cancellation that the bank refused", memory: unwanted, status: "ACTC", callback: back, after: 30 * 24 * time.Hour, want: payment.Awaiting},
		{name: "a token", memory: token, status: "ACTC", callback: back, want: payment.Processing},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank := &approving{bodies: map[string]map[string]any{"GET status": status("transactionStatus", test.status)}}
			if test.listed != nil {
				bank.bodies["GET authorisations"] = map[string]any{"authorisationIds": test.listed[:1]}
				bank.bodies["GET authorisations/"+test.listed[0]] = status("scaStatus", test.listed[1])
			}
			w := newFixture(t, bank, nil)
			if test.last != "" {
				w.with("sca =", `last_status = "`+test.last+"\"\nsca =")
			}
			o := ordersByKind["single"]
			o.Memory, o.Callback, o.Now = []byte(test.memory), test.callback, noon.Add(test.after)
			report, err := w.initiator().Status(t.Context(), o)
			if err != nil || report.Status != test.want || test.want == payment.Awaiting && report.Action != payment.Redirect {
				t.Errorf("%+v, %v; want %s", report, err, test.want)
			}
		})
	}
}

// TestEarlierAuthorisations checks orders that have a second authorisation. An approval in the
// first authorisation still counts.
func TestEarlierAuthorisations(t *testing.T) {
	const (
		page    = `{"step":"page","page":"https://bank.example/1","own":"/v1/payments/sepa-credit-transfers/1/authorisations/1","opened":"2026-03-02T12:00:00Z"}`
		both    = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/2","own":"/v1/payments/sepa-credit-transfers/1/authorisations/2","earlier":[` + page + `]}}`
		alone   = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":` + page + `}`
		unknown = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/2","own":"/v1/payments/sepa-credit-transfers/1/authorisations/2","unlisted":true}}`
	)
	for _, test := range []struct {
		name, memory  string
		first, second string
		callback      url.Values
		after         time.Duration
		want          payment.Status
		page          string
		// kept is a text in the memory after the test, and dropped is a text that the memory no
		// longer contains.
		kept, dropped string
		confirms      int
	}{
		{name: "both wait", memory: both, first: "received", second: "started", want: payment.Awaiting, page: "2"},
		{name: "approved in the first", memory: both, first: "finalised", second: "received", want: payment.Processing},
		{name: "approved in the second", memory: both, first: "received", second: "finalised", want: payment.Processing},
		{name: "the first has ended", memory: both, first: "failed", second: "received", want: payment.Awaiting, page: "2", kept: "authorisations/2", dropped: "authorisations/1"},
		{name: "the second has ended", memory: both, first: "received", second: "failed", want: payment.Awaiting, page: "1", kept: "authorisations/1", dropped: "authorisations/2"},
		{name: "both have ended", memory: both, first: "failed", second: "failed", want: payment.Declined},
		{name: "refused in the second", memory: both, first: "received", second: "failed", callback: url.Values{"nok": {"1"}}, want: payment.Awaiting, kept: "authorisations/1"},
		{name: "refused in both", memory: both, first: "failed", second: "failed", callback: url.Values{"nok": {"1"}}, want: payment.Declined},
		{name: "the bank forgot the first", memory: both, second: "received", want: payment.Awaiting, page: "2", kept: "authorisations/1"},
		{
			name: "a code of the first", memory: both, first: "unconfirmed", second: "received", callback: url.Values{"confirmationCode": {"C"}},
			want: payment.Processing, confirms: 1,
		},
		{name: "a page that has ended", memory: alone, first: "received", second: "received", after: time.Hour, want: payment.Awaiting, page: "2", kept: "authorisations/1"},
		{name: "an authorisation whose answer was lost", memory: unknown, first: "finalised", second: "received", want: payment.Processing},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank := &approving{bodies: map[string]map[string]any{
				"GET status":           status("transactionStatus", "ACTC"),
				"GET authorisations":   {"authorisationIds": []string{"1", "2"}},
				"GET authorisations/2": status("scaStatus", test.second),
				"PUT authorisations/1": status("scaStatus", "finalised"),
				"POST authorisations": {"scaStatus": "received", "_links": map[string]any{
					"scaRedirect": map[string]string{"href": "https://bank.example/2"}, "scaStatus": map[string]string{"href": "/v1/payments/sepa-credit-transfers/1/authorisations/2"},
				}},
			}}
			if test.first != "" {
				bank.bodies["GET authorisations/1"] = status("scaStatus", test.first)
			}
			o := ordersByKind["single"]
			o.Memory, o.Callback, o.Now = []byte(test.memory), test.callback, noon.Add(test.after)
			report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
			if err != nil || report.Status != test.want {
				t.Fatalf("%+v, %v; want %s", report, err, test.want)
			}
			if test.page != "" && report.ValidateURI != "https://bank.example/"+test.page {
				t.Errorf("the payer is sent to %s, want page %s", report.ValidateURI, test.page)
			}
			memory := string(report.Memory)
			if memory == "" {
				memory = test.memory
			}
			if !strings.Contains(memory, test.kept) || test.dropped != "" && strings.Contains(memory, test.dropped) || bank.calls["PUT authorisations/1"] != test.confirms {
				t.Errorf("%d confirmations, and the memory is %s", bank.calls["PUT authorisations/1"], memory)
			}
		})
	}
}

// starting is a bank that starts an authorisation for every POST.
type starting struct{ statuses []string }

func (b *starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const order = "/v1/payments/sepa-credit-transfers/1"
	var n int
	body := map[string]any{"transactionStatus": "RCVD"}
	switch _, err := fmt.Sscanf(r.URL.Path, order+"/authorisations/%d", &n); {
	case err == nil:
		body = status("scaStatus", b.statuses[n-1])
	case r.Method == http.MethodPost:
		b.statuses = append(b.statuses, "received")
		n = len(b.statuses)
		body = map[string]any{"scaStatus": "received", "_links": map[string]any{
			"scaRedirect": map[string]string{"href": fmt.Sprintf("https://bank.example/%d", n)},
			"scaStatus":   map[string]string{"href": fmt.Sprintf("%s/authorisations/%d", order, n)},
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

// TestFailedAuthorisations checks that the connector starts only a limited number of
// authorisations. After that, the payer gets the first page again, and an approval on it counts.
func TestFailedAuthorisations(t *testing.T) {
	bank := &starting{statuses: []string{"received"}}
	able := newFixture(t, bank, nil).initiator()
	o := ordersByKind["single"]
	o.Memory = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/1","own":"/v1/payments/sepa-credit-transfers/1/authorisations/1","opened":"2026-03-02T12:00:00Z"}}`)
	o.Now = noon.Add(time.Hour)
	ask := func(page int) payment.Report {
		t.Helper()
		o.Now = o.Now.Add(time.Minute)
		report, err := able.Status(t.Context(), o)
		if err != nil || page > 0 && (report.Status != payment.Awaiting || report.ValidateURI != fmt.Sprintf("https://bank.example/%d", page)) {
			t.Fatalf("%s with %s, %v, want page %d", report.Status, report.ValidateURI, err, page)
		}
		if report.Memory != nil {
			o.Memory = report.Memory
		}
		return report
	}
	for page := 2; page <= 6; page++ {
		ask(page)
		ask(page)
		bank.statuses[page-1] = "failed"
	}
	ask(1)
	ask(1)
	if len(bank.statuses) != 6 {
		t.Errorf("the bank has %d authorisations", len(bank.statuses))
	}
	bank.statuses[0] = "finalised"
	if report := ask(0); report.Status != payment.Processing {
		t.Errorf("approved on the first page: %+v", report)
	}
}

// TestLostAuthorisations checks an order whose first request for an authorisation fails. The order
// is refused only when each started authorisation has failed.
func TestLostAuthorisations(t *testing.T) {
	const authorisations = order1 + "/authorisations"
	started := `{"scaStatus":"received","_links":{"scaStatus":{"href":"` + authorisations + `/2"}}}`
	for _, test := range []struct {
		name   string
		lost   scriptedAnswer
		first  string
		status string
		want   payment.Status
	}{
		{"approved", scriptedAnswer{http.StatusCreated, "{"}, "received", "ACSP", payment.Processing},
		{"refused", scriptedAnswer{http.StatusCreated, "{"}, "failed", "RCVD", payment.Declined},
		{"approved behind a gateway", scriptedAnswer{http.StatusBadGateway, ""}, "received", "ACSP", payment.Processing},
		{"never started", scriptedAnswer{http.StatusForbidden, ""}, "received", "RCVD", payment.Declined},
	} {
		t.Run(test.name, func(t *testing.T) {
			received := scriptedAnswer{http.StatusOK, `{"transactionStatus":"RCVD"}`}
			bank := newScripted(t, map[string][]scriptedAnswer{
				"GET order/status":           {received, received, received, {http.StatusOK, `{"transactionStatus":"` + test.status + `"}`}},
				"POST order/authorisations":  {test.lost, {http.StatusCreated, started}},
				"GET order/authorisations":   {{http.StatusOK, `{"authorisationIds":["1"]}`}, {http.StatusOK, `{"authorisationIds":["1","2"]}`}},
				"GET order/authorisations/1": {{http.StatusOK, `{"scaStatus":"received"}`}, {http.StatusOK, `{"scaStatus":"received"}`}, {http.StatusOK, `{"scaStatus":"` + test.first + `"}`}},
				"GET order/authorisations/2": once(http.StatusOK, `{"scaStatus":"failed"}`),
			})
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"start","at":"` + authorisations + `","post":true}}`)
			if _, err := o.status(); err == nil {
				t.Error("the loss is no error")
			}
			if report, err := o.status(); err != nil || report.Action != payment.Decoupled {
				t.Errorf("started again: %+v, %v", report, err)
			}
			waits := payment.Awaiting
			if test.lost.status == http.StatusForbidden {
				waits = payment.Declined
			}
			if report, err := o.status(); err != nil || report.Status != waits {
				t.Errorf("after the refusal of the second: %+v, %v, want %s", report, err, waits)
			}
			if report, err := o.status(); err != nil || report.Status != test.want {
				t.Errorf("in the end: %+v, %v, want %s", report, err, test.want)
			}
		})
	}
}

// TestStartsAreSavedAtOnce checks that the memory of an order records the start of an authorisation
// before the request. If the response is lost, the connector finds the approval through the bank's
// list.
func TestStartsAreSavedAtOnce(t *testing.T) {
	const authorisations = order1 + "/authorisations"
	for name, memory := range map[string]string{
		"at once":              `{"step":"start","at":"` + authorisations + `","post":true}`,
		"with a user name":     `{"step":"identification","at":"` + authorisations + `","post":true}`,
		"when the page is old": `{"step":"page","page":"https://bank.example/1","own":"` + authorisations + `/1","opened":"2026-01-01T12:00:00Z"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"GET order/status":           once(http.StatusOK, `{"transactionStatus":"ACTC"}`),
				"POST order/authorisations":  once(http.StatusCreated, `{"scaStatus":"received","_links":{"scaStatus":{"href":"`+authorisations+`/2"}}}`),
				"GET order/authorisations":   once(http.StatusOK, `{"authorisationIds":["1","2"]}`),
				"GET order/authorisations/1": once(http.StatusOK, `{"scaStatus":"received"}`),
				"GET order/authorisations/2": once(http.StatusOK, `{"scaStatus":"finalised"}`),
			})
			o := bank.order(`{"path":"` + order1 + `","approval":` + memory + `}`)
			var saved []byte
			o.Save = func(_ context.Context, memory []byte) {
				if bank.count("POST order/authorisations") == 0 {
					saved = memory
				}
			}
			if _, err := o.answer(connector.Answer{Action: payment.FillFields, Fields: map[string]string{"psu_id": "anna"}}); err != nil || saved == nil {
				t.Fatalf("before the start, stored %s: %v", saved, err)
			}
			o = bank.order(string(saved))
			if report, err := o.status(); err != nil || report.Status != payment.Processing {
				t.Errorf("after an approval in the lost authorisation: %+v, %v", report, err)
			}
		})
	}
}

// TestOrdersThatTimeOut checks which rejected orders get the code NoAnswerFromCustomer.
func TestOrdersThatTimeOut(t *testing.T) {
	const (
		page = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/1","own":"/v1/payments/sepa-credit-transfers/1/authorisations/2","opened":"2026-03-02T12:00:00Z"}}`
		app  = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"app"}}`
	)
	for _, test := range []struct {
		name, memory, sca string
		after             time.Duration
		status            payment.State
		callback          url.Values
		funds             bool
		message           string
		want              payment.ErrorCode
	}{
		{name: "never opened", memory: page, sca: "received", after: time.Hour, want: payment.NoAnswerFromCustomer},
		{name: "never finished", memory: page, sca: "started", after: time.Hour, want: payment.NoAnswerFromCustomer},
		{name: "with the bank's words", memory: page, sca: "received", after: time.Hour, message: "Time is up.", want: payment.NoAnswerFromCustomer},
		{name: "in the app", memory: app, after: time.Hour, want: payment.NoAnswerFromCustomer},
		{name: "its status is gone", memory: page, after: time.Hour, want: payment.NoAnswerFromCustomer},
		{name: "too early", memory: page, sca: "received", after: time.Minute, want: payment.NoSpecifiedReason},
		{name: "after a return", memory: page, sca: "received", after: time.Hour, callback: url.Values{"state": {"s"}}, want: payment.NoSpecifiedReason},
		{name: "after an approval", memory: page, sca: "finalised", after: time.Hour, want: payment.NoSpecifiedReason},
		{name: "approved before", memory: page, sca: "received", after: time.Hour, status: payment.Pending, want: payment.NoSpecifiedReason},
		{name: "failed", memory: page, sca: "failed", after: time.Hour, want: payment.AuthenticationFailed},
		{name: "no funds", memory: page, sca: "received", after: time.Hour, funds: true, want: payment.InsufficientFunds},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := map[string]any{"transactionStatus": "RJCT", "psuMessage": test.message}
			if test.funds {
				body["fundsAvailable"] = false
			}
			bank := &approving{bodies: map[string]map[string]any{"GET status": body}}
			if test.sca != "" {
				bank.bodies["GET authorisations/2"] = status("scaStatus", test.sca)
			}
			o := ordersByKind["single"]
			o.Memory, o.Callback, o.Now, o.Payment.Validated = []byte(test.memory), test.callback, noon.Add(test.after), &noon
			if test.status != "" {
				o.Payment.State = test.status
			}
			report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
			if err != nil || report.Status != payment.Declined || report.Code != test.want || report.Description != test.message {
				t.Errorf("%+v, %v; want %s", report, err, test.want)
			}
		})
	}
}

// TestTextsAboutTheOperator checks that the bank's text about our certificate reaches only the
// timeline, not the payer.
func TestTextsAboutTheOperator(t *testing.T) {
	bank := &answering{status: 200, body: map[string]any{"transactionStatus": "RJCT", "tppMessages": []any{map[string]string{"category": "ERROR", "code": "CERTIFICATE_REVOKED", "text": "Why."}}}}
	o := ordersByKind["single"]
	o.Memory = []byte(approvedMemory)
	report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
	if err != nil || report.Code != payment.Bug || report.Description != "" || report.Remark != "Why." {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestAbandonedOrders checks that the connector starts no new authorisation for an abandoned order,
// even if the payer's page is old. It also checks that the profile contains the time for approvals.
func TestAbandonedOrders(t *testing.T) {
	const memory = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"STEP","at":"/v1/x","post":true,"page":"https://bank.example/1","opened":"2026-03-02T12:00:00Z"}}`
	for step, want := range map[string]string{"page": "https://bank.example/1", "start": ""} {
		bank := &approving{bodies: map[string]map[string]any{"GET status": status("transactionStatus", "RCVD")}}
		able := newFixture(t, bank, nil).with("sca =", "authorisation_hours = 2\nsca =").initiator()
		o := ordersByKind["single"]
		o.Memory, o.Now, o.Abandoned = []byte(strings.Replace(memory, "STEP", step, 1)), noon.Add(time.Hour), true
		report, err := able.Status(t.Context(), o)
		if err != nil || report.Status != payment.Awaiting || report.ValidateURI != want || report.CheckAfter != 0 {
			t.Errorf("%s: %+v, %v", step, report, err)
		}
		if life := able.Profile().ApprovalLife; life != 2*time.Hour {
			t.Errorf("payers can approve for %v", life)
		}
		for call := range bank.calls {
			if strings.HasPrefix(call, "POST") {
				t.Errorf("%s: the bank got %s", step, call)
			}
		}
	}
}

// TestUnprovedOrders checks orders for which the bank does not say whether the payer has approved.
// Their report is Unproved only if the payer has reached a step in which an approval is possible.
func TestUnprovedOrders(t *testing.T) {
	for approval, want := range map[string]bool{
		`"step":"page","page":"https://bank.example/1"`: true, `"step":"server","page":"https://bank.example/1"`: true, `"step":"app"`: true,
		`"step":"start"`: false, `"step":"identification"`: false, `"step":"password"`: false, `"step":"additional"`: false, `"step":"method"`: false, `"step":"server"`: false,
	} {
		bank := &approving{bodies: map[string]map[string]any{"GET status": status("transactionStatus", "ACTC")}}
		o := ordersByKind["single"]
		o.Memory, o.Now, o.Abandoned = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{`+approval+`}}`), noon.Add(time.Hour), true
		report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
		if err != nil || report.Status != payment.Awaiting || report.Unproved != want {
			t.Errorf("%s: %+v, %v", approval, report, err)
		}
	}
}

// TestListsThatNeverCome checks an order whose authorisation has failed, at a bank that never lists
// authorisations. The order is declined after the time for approvals.
func TestListsThatNeverCome(t *testing.T) {
	for after, want := range map[time.Duration]payment.Status{time.Hour: payment.Awaiting, 25 * time.Hour: payment.Declined} {
		bank := &approving{bodies: map[string]map[string]any{"GET status": status("transactionStatus", "RCVD")}}
		o := ordersByKind["single"]
		o.Memory, o.Now, o.Payment.Validated = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"failed","unlisted":true}}`), noon.Add(after), &noon
		report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
		if err != nil || report.Status != want {
			t.Errorf("after %v: %+v, %v", after, report, err)
		}
	}
}

// TestCancellationsOfAbandonedOrders checks that a payer who has abandoned an order can still
// approve its cancellation.
func TestCancellationsOfAbandonedOrders(t *testing.T) {
	bank := &approving{bodies: map[string]map[string]any{
		"GET status": status("transactionStatus", "RCVD"),
		"POST cancellation-authorisations": {"scaStatus": "received", "_links": map[string]any{
			"scaRedirect": map[string]string{"href": "https://bank.example/cancel"},
		}},
	}}
	o := ordersByKind["single"]
	o.Abandoned = true
	o.Memory = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"page","page":"https://bank.example/1","opened":"2026-03-02T12:00:00Z"},
		"cancelling":{"step":"start","at":"/v1/payments/sepa-credit-transfers/1/cancellation-authorisations","post":true}}`)
	report, err := newFixture(t, bank, nil).initiator().Status(t.Context(), o)
	if err != nil || report.Cancellation != payment.CancellationAwaiting || report.ValidateURI != "https://bank.example/cancel" {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestAbandonedOrdersThatAreNotRefused checks that an abandoned order never counts as approved
// merely because time has passed.
func TestAbandonedOrdersThatAreNotRefused(t *testing.T) {
	const memory = `{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"STEP","at":"/v1/x","post":true,"page":"https://bank.example/1","opened":"2026-03-02T12:00:00Z"MORE}}`
	type result struct {
		Status   payment.Status
		Unproved bool
	}
	waits, unclear := result{payment.Awaiting, false}, result{payment.Awaiting, true}
	for _, test := range []struct {
		step, more, status string
		want               result
	}{
		{"page", "", "ACTC", unclear},
		{"page", `,"back":true`, "ACTC", unclear},
		{"page", `,"back":true`, "ACFC", unclear},
		{"page", `,"back":true,"declined":true`, "ACTC", waits},
		{"page", `,"own":"/v1/payments/sepa-credit-transfers/1/authorisations/9"`, "ACTC", waits},
		{"page", `,"back":true,"confirm":"/v1/payments/sepa-credit-transfers/1/authorisations/9"`, "ACTC", waits},
		{"page", "", "RCVD", waits},
		{"page", "", "RJCT", result{Status: payment.Declined}},
		{"page", "", "ACSP", result{Status: payment.Processing}},
		{"server", `,"back":true,"oauth":{"token":"T"}`, "ACTC", result{Status: payment.Processing}},
		{"start", "", "ACTC", waits},
	} {
		for _, last := range []string{"ACSC", "ACTC"} {
			for _, after := range []time.Duration{time.Hour, 2 * time.Hour, 26 * time.Hour, 365 * 24 * time.Hour} {
				bank := &approving{bodies: map[string]map[string]any{
					"GET status": status("transactionStatus", test.status), "GET authorisations/9": status("scaStatus", "started"), "PUT authorisations/9": status("scaStatus", "started"),
				}}
				o := ordersByKind["single"]
				o.Memory, o.Now, o.Abandoned = []byte(strings.NewReplacer("STEP", test.step, "MORE", test.more).Replace(memory)), noon.Add(after), true
				w := newFixture(t, bank, nil).with("sca =", "authorisation_hours = 2\nlast_status = \""+last+"\"\nsca =")
				report, err := w.initiator().Status(t.Context(), o)
				got := result{report.Status, report.Unproved}
				if last == "ACTC" && got.Status == payment.Settled {
					got.Status = payment.Processing // this bank reports no later status
				}
				if err != nil || got != test.want {
					t.Errorf("%+v, after %v at a bank with %s: %+v, %v", test, after, last, report, err)
				}
			}
		}
	}
}

// TestCancellationsMakeOrdersUnwanted: after a request to cancel, an order does not count as
// approved merely because time passes, even if the bank refused the cancellation.
func TestCancellationsMakeOrdersUnwanted(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{"DELETE order": {refusedWith(405, "CANCELLATION_INVALID")}, "GET order/status": once(200, `{"transactionStatus":"ACTC"}`)})
	o := bank.order(`{"path":"` + order1 + `","approval":{"step":"page","page":"https://bank.example/1","back":true,"opened":"2026-03-02T12:00:00Z"}}`)
	for i, call := range []func() (payment.Report, error){o.cancel, o.status} {
		o.Now = noon.Add(time.Duration(i) * 100 * time.Hour)
		if report, err := call(); err != nil || report.Status != payment.Awaiting {
			t.Errorf("call %d: %+v, %v", i+1, report, err)
		}
	}
}

// TestCancellationsAreSavedAtOnce checks that the memory of an order records a cancellation before
// the bank receives the request.
func TestCancellationsAreSavedAtOnce(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{"DELETE order": {refusedWith(405, "CANCELLATION_INVALID")}, "GET order/status": once(200, `{"transactionStatus":"ACTC"}`)})
	o := bank.order(`{"path":"` + order1 + `","approval":{"step":"page","page":"https://bank.example/1","back":true,"opened":"2026-03-02T12:00:00Z"}}`)
	var saved []byte
	o.Save = func(_ context.Context, memory []byte) {
		if bank.count("DELETE order") == 0 {
			saved = memory
		}
	}
	_, _ = o.cancel()
	o = bank.order(string(saved))
	o.Now = noon.Add(100 * time.Hour)
	if report, err := o.status(); err != nil || report.Status != payment.Awaiting {
		t.Errorf("after a cancellation whose answer is lost: %+v, %v", report, err)
	}
}

// TestUnsentCancellationsAreForgotten: a bank that is busy or cannot be reached does not receive a
// request to cancel, and the client learns that nothing was sent. The payer's approval must then count
// as without the request.
func TestUnsentCancellationsAreForgotten(t *testing.T) {
	for name, prevent := range map[string]func(*scripted){
		"busy": func(b *scripted) { b.answers["DELETE order"] = []scriptedAnswer{refusedWith(429, "ACCESS_EXCEEDED")} },
		"closed": func(b *scripted) {
			b.answers["DELETE order"] = []scriptedAnswer{refusedWith(503, "SERVICE_UNAVAILABLE")}
		},
		"unreachable": func(b *scripted) { b.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string][]scriptedAnswer{"GET order/status": once(200, `{"transactionStatus":"ACTC"}`)}
			bank := newScripted(t, answers)
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"page","page":"https://bank.example/1","back":true,"opened":"2026-03-02T12:00:00Z"}}`)
			if report, err := o.status(); err != nil || report.Status != payment.Awaiting || report.Memory == nil {
				t.Fatalf("before: %+v, %v", report, err)
			}
			bank = newScripted(t, map[string][]scriptedAnswer{}) // no connection to it is open
			prevent(bank)
			o = bank.order(string(o.Memory))
			o.Save = func(_ context.Context, memory []byte) { o.Memory = memory }
			if report, err := o.cancel(); !errors.Is(err, connector.ErrNotSent) {
				t.Errorf("%+v, %v", report, err)
			}
			o = newScripted(t, answers).order(string(o.Memory))
			o.Now = noon.Add(100 * time.Hour)
			if report, err := o.status(); err != nil || report.Status == payment.Awaiting {
				t.Errorf("the approval does not count: %+v, %v", report, err)
			}
		})
	}
}

// TestBareCancellations: a bank refuses the token of a request to cancel, and the authorisation server
// cannot be reached, so the connector repeats the request without a token. If the bank refuses this request
// too, nothing was sent. If it fails in another way, the bank may have cancelled the order.
func TestBareCancellations(t *testing.T) {
	for status, want := range map[int]string{401: "not sent", 408: "unknown", 500: "unknown"} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"DELETE order": {refusedWith(401, "TOKEN_EXPIRED"), {status, ""}},
		})
		bank.aliases = `,"mtls_endpoint_aliases":{"token_endpoint":"https://127.0.0.1:1/token"}`
		report, err := bank.order(grantedMemory).cancel()
		if got := meantBy(err); got != want || bank.count("DELETE order") != 2 {
			t.Errorf("after %d, the cancellation is %s, want %s (%v); the calls are %q", status, got, want, err, bank.calls)
		}
		if kept := strings.Contains(string(report.Memory), `"unwanted":true`); kept != (want == "unknown") {
			t.Errorf("after %d, the memory is %s", status, report.Memory)
		}
	}
}

// operators marks codes that become a fault for the operator.
const operators = "operator"

// codes maps codes of the bank to results of meantBy.
var codes = map[string]string{
	"FORMAT_ERROR": "invalidValue", "PARAMETER_NOT_SUPPORTED": "invalidValue", "PARAMETER_NOT_CONSISTENT": "invalidValue",
	"SERVICE_INVALID": operators, "SERVICE_BLOCKED": "invalidEmitter", "RESOURCE_UNKNOWN": "invalidEmitter", "RESOURCE_EXPIRED": "noAnswerFromCustomer",
	"RESOURCE_BLOCKED": "invalidEmitter", "TIMESTAMP_INVALID": operators, "PERIOD_INVALID": "invalidDate", "SCA_METHOD_UNKNOWN": "authenticationFailed",
	"SCA_INVALID": "authenticationFailed", "STATUS_INVALID": operators, "UNSUPPORTED_MEDIA_TYPE": operators, "CONSENT_UNKNOWN": operators,
	"CONSENT_INVALID": operators, "CONSENT_EXPIRED": operators, "ACCESS_EXCEEDED": "not sent", "REQUESTED_FORMATS_INVALID": operators,
	"PRODUCT_INVALID": "invalidEmitter", "PRODUCT_UNKNOWN": operators, "PAYMENT_FAILED": "noSpecifiedReason", "KID_MISSING": operators,
	"EXECUTION_DATE_INVALID": "invalidDate", "CANCELLATION_INVALID": "noSpecifiedReason", "CERTIFICATE_INVALID": operators, "CERTIFICATE_EXPIRED": operators,
	"CERTIFICATE_BLOCKED": operators, "CERTIFICATE_REVOKED": operators, "CERTIFICATE_MISSING": operators, "SIGNATURE_INVALID": operators,
	"SIGNATURE_MISSING": operators, "PSU_CREDENTIALS_INVALID": "authenticationFailed", "CORPORATE_ID_INVALID": "authenticationFailed", "TOKEN_UNKNOWN": operators,
	"TOKEN_INVALID": operators, "TOKEN_EXPIRED": operators, "ROLE_INVALID": operators, "CARD_INVALID": "invalidEmitter", "NO_PIIS_ACTIVATION": "invalidEmitter",
	"REFERENCE_MIX_INVALID": operators, "REFERENCE_STATUS_INVALID": operators, "SESSIONS_NOT_SUPPORTED": operators,
	"FUNDS_NOT_AVAILABLE": "insufficientFunds", "BENEFICIARY_WHITELISTING_REQUIRED": "invalidBeneficiary", "SERVICE_UNAVAILABLE": "not sent",
	"INTERNAL_SERVER_ERROR": "unknown", "SOME_OTHER_CODE": "bankMessage",
}

// codeStatus maps codes to the HTTP status of their responses. The default is 400.
var codeStatus = map[string]int{
	"ACCESS_EXCEEDED": 429, "SERVICE_UNAVAILABLE": 503, "INTERNAL_SERVER_ERROR": 500, "CERTIFICATE_INVALID": 401, "CERTIFICATE_EXPIRED": 401,
	"PSU_CREDENTIALS_INVALID": 401, "TOKEN_INVALID": 401, "SERVICE_BLOCKED": 403, "RESOURCE_UNKNOWN": 404, "PRODUCT_UNKNOWN": 404, "CANCELLATION_INVALID": 405,
	"REQUESTED_FORMATS_INVALID": 406, "STATUS_INVALID": 409, "UNSUPPORTED_MEDIA_TYPE": 415,
}

func meantBy(err error) string {
	var refused *payment.Refusal
	var fault *connector.Fault
	switch {
	case errors.Is(err, connector.ErrNotSent):
		return "not sent"
	case errors.As(err, &refused) && errors.As(err, &fault):
		return operators
	case errors.As(err, &refused):
		return string(refused.Code)
	case err != nil:
		return "unknown"
	}
	return "taken"
}

// TestErrorCodes checks the meaning of each code in each form of an error body. No code counts as a
// refusal of a repeated order, because the bank may have the first order.
func TestErrorCodes(t *testing.T) {
	bank := &answering{}
	w := newFixture(t, bank, nil)
	for code, want := range codes {
		bank.status = codeStatus[code]
		if bank.status == 0 {
			bank.status = http.StatusBadRequest
		}
		for form, body := range map[string]any{
			"tppMessages": map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": code, "text": "Why."}}},
			"problem":     map[string]any{"type": "urn:x", "title": "What", "detail": "Why.", "code": code},
			"additional":  map[string]any{"type": "urn:x", "title": "What", "additionalErrors": []any{map[string]string{"code": code, "detail": "Why."}}},
		} {
			bank.body = body
			_, err := w.initiator().Initiate(t.Context(), ordersByKind["single"])
			if got := meantBy(err); got != want {
				t.Errorf("%s as %s: %s (%v), want %s", code, form, got, err, want)
			}
			var refused *payment.Refusal
			if errors.As(err, &refused) && (refused.Code == payment.Bug) != (refused.Description == "" && refused.Remark == "Why.") {
				t.Errorf("%s as %s: the payer reads %q, the operator %q", code, form, refused.Description, refused.Remark)
			}
			var fault *connector.Fault
			if errors.As(err, &fault) && !strings.Contains(fault.Says, "Example Bank") {
				t.Errorf("%s: the fault does not name the bank: %s", code, fault.Says)
			}
			repeated := ordersByKind["single"]
			repeated.Repeated = true
			_, err = w.initiator().Initiate(t.Context(), repeated)
			if got := meantBy(err); got != "unknown" && got != "not sent" {
				t.Errorf("%s as %s, of a repeated order: %s (%v), want an unknown outcome", code, form, got, err)
			}
		}
	}
}

// TestClosedBanks checks that a 503 means "not sent" only with the code SERVICE_UNAVAILABLE. With
// any other code, a gateway may have responded after the bank accepted the order.
func TestClosedBanks(t *testing.T) {
	bank := &answering{status: http.StatusServiceUnavailable}
	w := newFixture(t, bank, nil)
	for code := range codes {
		want := "unknown"
		if code == "SERVICE_UNAVAILABLE" {
			want = "not sent"
		}
		bank.body = map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": code}}}
		if _, err := w.initiator().Initiate(t.Context(), ordersByKind["single"]); meantBy(err) != want {
			t.Errorf("503 with %s: %v, want %s", code, err, want)
		}
	}
}

// TestCodesInLogs: a bank may send any text as a code. The operator sees only texts in the form of
// a code.
func TestCodesInLogs(t *testing.T) {
	bank := &answering{status: http.StatusUnauthorized}
	able := newFixture(t, bank, nil).initiator()
	for code, shown := range map[string]bool{
		"CERTIFICATE_INVALID": true, "OWN_CODE_12": true, "Anna Example": false, "DE03999010010000000001": false, strings.Repeat("A", 1000): false,
	} {
		bank.body = map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": code}}}
		_, err := able.Initiate(t.Context(), ordersByKind["single"])
		var fault *connector.Fault
		if !errors.As(err, &fault) || strings.Contains(fault.Says, code) != shown {
			t.Errorf("%.30q: %v, want it shown: %t", code, err, shown)
		}
	}
}

// TestPlacesOfErrors checks that the path in a message with the code FORMAT_ERROR decides the error
// code.
func TestPlacesOfErrors(t *testing.T) {
	bank := &answering{status: http.StatusBadRequest}
	able := newFixture(t, bank, nil).initiator()
	for path, want := range map[string]string{
		"instructedAmount": "invalidAmount", "instructedAmount.currency": "invalidCurrency", "creditorAccount.iban": "invalidBeneficiary",
		"creditorName": "invalidBeneficiary", "debtorAccount": "invalidEmitter", "remittanceInformationUnstructured": "invalidLabel",
		"endToEndIdentification": "invalidReferenceId", "requestedExecutionDate": "invalidDate", "frequency": "invalidDate", "X-Something": "invalidValue",
	} {
		bank.body = map[string]any{"tppMessages": []any{map[string]string{"category": "ERROR", "code": "FORMAT_ERROR", "path": path}}}
		if _, err := able.Initiate(t.Context(), ordersByKind["single"]); meantBy(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// TestBareErrors checks responses whose bodies do not follow the standard.
func TestBareErrors(t *testing.T) {
	bank := &answering{body: "no"}
	w := newFixture(t, bank, nil)
	for status, want := range map[int]string{
		400: "invalidValue", 401: operators, 403: operators, 404: operators, 405: operators, 406: operators, 408: "unknown", 409: "unknown", 415: operators,
		429: "not sent", 500: "unknown", 502: "unknown", 503: "unknown", 504: "unknown", 200: "unknown", 201: "unknown", 307: "unknown",
	} {
		bank.status = status
		if _, err := w.initiator().Initiate(t.Context(), ordersByKind["single"]); meantBy(err) != want {
			t.Errorf("%d: %v, want %s", status, err, want)
		}
		o := ordersByKind["single"]
		o.Memory = []byte(waitingMemory)
		if report, err := w.initiator().Status(t.Context(), o); meantBy(err) != "unknown" {
			t.Errorf("a status answered with %d is %+v, %v", status, report, err)
		}
	}
}

// TestExpiredTokens checks that the connector gets a new token when the bank refuses the stored
// one.
func TestExpiredTokens(t *testing.T) {
	var w *fixture
	w = newFixture(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			fmt.Fprintf(rw, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorise","token_endpoint":"%[1]s/token"}`, w.server.URL)
		case r.URL.Path == "/token" && r.FormValue("refresh_token") == "R1":
			fmt.Fprint(rw, `{"access_token":"T2","token_type":"Bearer","refresh_token":"R2"}`)
		case r.Header.Get("Authorization") != "Bearer T2":
			rw.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(rw, `{"transactionStatus":"ACSC"}`)
		}
	}), nil)
	o := ordersByKind["single"]
	o.Memory = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"authorised","oauth":{"token":"T1","refresh":"R1"}}}`)
	report, err := w.initiator().Status(t.Context(), o)
	if err != nil || report.Status != payment.Settled || !strings.Contains(string(report.Memory), "T2") || !strings.Contains(string(report.Memory), "R2") {
		t.Errorf("%+v, %v, memory %s", report, err, report.Memory)
	}
}

// TestStatusAfterTheGrant: the bank refuses the token in a request for the status of an order, and
// the connector cannot renew the token. The connector then repeats the request without a token.
func TestStatusAfterTheGrant(t *testing.T) {
	refused := refusedWith(http.StatusUnauthorized, "TOKEN_EXPIRED")
	for _, test := range []struct {
		name, refresh string
		tokens        scriptedAnswer
	}{
		{name: "no refresh token"},
		{"an invalid refresh token", `,"refresh":"R"`, scriptedAnswer{http.StatusBadRequest, `{"error":"invalid_grant"}`}},
		{"a server that fails", `,"refresh":"R"`, scriptedAnswer{http.StatusInternalServerError, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"GET order/status": {refused, {http.StatusOK, `{"transactionStatus":"ACSC"}`}},
				"POST /token":      {test.tokens},
			})
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"authorised","oauth":{"token":"T"` + test.refresh + `}}}`)
			o.Payment.State = payment.Pending
			if report, err := o.status(); err != nil || report.Status != payment.Settled || bank.tokens[len(bank.tokens)-1] != "" {
				t.Errorf("%+v, %v with the tokens %q", report, err, bank.tokens)
			}
		})
	}
	bank := newScripted(t, map[string][]scriptedAnswer{"GET order/status": {refused}})
	o := bank.order(`{"path":"` + order1 + `","approval":{"step":"authorised","oauth":{"token":"T"}}}`)
	o.Payment.State = payment.Pending
	if report, err := o.status(); err != nil || report.Status != payment.Processing || !strings.Contains(report.Remark, "Ask the bank") {
		t.Errorf("the first time: %+v, %v", report, err)
	}
	if report, err := o.status(); meantBy(err) != "unknown" {
		t.Errorf("the second time: %+v, %v", report, err)
	}
}

// TestTokensAreSavedAtOnce checks that a new refresh token is stored before the next request. The
// next request may fail or never end, and the server does not accept the old token again.
func TestTokensAreSavedAtOnce(t *testing.T) {
	var w *fixture
	var saved []byte
	w = newFixture(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			fmt.Fprintf(rw, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorise","token_endpoint":"%[1]s/token"}`, w.server.URL)
		case r.URL.Path == "/token":
			fmt.Fprint(rw, `{"access_token":"T2","token_type":"Bearer","refresh_token":"R2"}`)
		case r.Header.Get("Authorization") == "Bearer T2" && strings.Contains(string(saved), "R2"):
			rw.WriteHeader(http.StatusInternalServerError)
		case r.Header.Get("Authorization") == "Bearer T2":
			t.Error("the new token is used before it is stored")
		default:
			rw.WriteHeader(http.StatusUnauthorized)
		}
	}), nil)
	save := func(_ context.Context, memory []byte) { saved = memory }
	o := ordersByKind["single"]
	o.Save = save
	o.Memory = []byte(`{"path":"/v1/payments/sepa-credit-transfers/1","approval":{"step":"authorised","oauth":{"token":"T1","refresh":"R1"}}}`)
	if report, err := w.initiator().Status(t.Context(), o); err == nil || !strings.Contains(string(saved), "R2") || !strings.Contains(string(report.Memory), "R2") {
		t.Errorf("the status: %v, stored %s and %s", err, saved, report.Memory)
	}
	saved = nil
	w.with("[profile.payments]", "[profile.accounts]\nconsents = [\"global\"]\n\n[profile.payments]")
	reader, reads := w.load().Connector().(connector.DataReader)
	if !reads {
		t.Fatal("the bank has no accounts")
	}
	memory := fmt.Sprintf(`{"consent":"C","valid":true,"until":%q,"approval":{"step":"authorised","oauth":{"token":"T1","refresh":"R1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
	_, err := reader.Read(t.Context(), connector.DataRequest{Now: noon, Memory: []byte(memory), Save: save}, nil)
	if !strings.Contains(string(saved), "R2") {
		t.Errorf("the read: %v, stored %s", err, saved)
	}
}

// TestReasons checks the reasons of ISO 20022 about accounts, and reasons of each form, which a bank
// sends as a code or at the beginning of a text.
func TestReasons(t *testing.T) {
	bank := &answering{status: http.StatusOK}
	able := newFixture(t, bank, nil).initiator()
	for reason, want := range map[string]payment.ErrorCode{
		"AC01": payment.BankMessage, "AC02": payment.InvalidEmitter, "AC03": payment.InvalidBeneficiary, "AC04": payment.BankMessage,
		"AC05": payment.InvalidEmitter, "AC07": payment.InvalidBeneficiary, "CNOR": payment.InvalidBeneficiary, "U036": payment.NoAnswerFromCustomer, "ZZ99": payment.BankMessage,
	} {
		for form, message := range map[string]map[string]string{
			"code": {"category": "ERROR", "code": reason, "text": "Why."}, "text": {"category": "ERROR", "code": "ERROR", "text": reason + ": why"},
		} {
			o := ordersByKind["single"]
			o.Memory = []byte(approvedMemory)
			bank.body = map[string]any{"transactionStatus": "RJCT", "tppMessages": []any{message}}
			if report, err := able.Status(t.Context(), o); err != nil || report.Status != payment.Declined || report.Code != want {
				t.Errorf("%s as %s: %s %q, %v, want %q", reason, form, report.Status, report.Code, err, want)
			}
		}
	}
}

// TestWarningsRefuseNothing checks that a warning neither rejects an instruction nor gives the
// reason of a refused payment.
func TestWarningsRefuseNothing(t *testing.T) {
	warning := map[string]string{"category": "WARNING", "code": "FORMAT_ERROR", "path": "payments[0].creditorName"}
	refusal := map[string]string{"category": "ERROR", "code": "FUNDS_NOT_AVAILABLE", "path": "payments[1]"}
	bank := &answering{status: http.StatusOK}
	able := newFixture(t, bank, nil).initiator()
	o := ordersByKind["bulk"]
	o.Memory = []byte(waitingMemory)
	bank.body = map[string]any{"transactionStatus": "PART", "tppMessages": []any{warning, refusal}}
	report, err := able.Status(t.Context(), o)
	if err != nil || len(report.Lines) != 2 || report.Lines[0].State == payment.InstructionRejected || report.Lines[1].Code != payment.InsufficientFunds {
		t.Errorf("in part: %+v, %v", report, err)
	}
	bank.body = map[string]any{"transactionStatus": "RJCT", "tppMessages": []any{warning, refusal}}
	if report, err = able.Status(t.Context(), o); err != nil || report.Status != payment.Declined || report.Code != payment.InsufficientFunds {
		t.Errorf("refused: %+v, %v", report, err)
	}
}

// TestWarningsAboutFunds checks the one exception: the standard has FUNDS_NOT_AVAILABLE as a
// warning, which gives the reason when the bank then rejects the order without another reason.
func TestWarningsAboutFunds(t *testing.T) {
	message := func(category, code string) any { return map[string]string{"category": category, "code": code} }
	warning := message("WARNING", "FUNDS_NOT_AVAILABLE")
	bank := &answering{status: http.StatusOK}
	able := newFixture(t, bank, nil).initiator()
	for name, test := range map[string]struct {
		status   string
		messages []any
		want     payment.Report
	}{
		"the only reason":       {"RJCT", []any{warning}, payment.Report{Status: payment.Declined, Code: payment.InsufficientFunds}},
		"a reason besides":      {"RJCT", []any{warning, message("ERROR", "EXECUTION_DATE_INVALID")}, payment.Report{Status: payment.Declined, Code: payment.InvalidDate}},
		"an order that goes on": {"ACSP", []any{warning}, payment.Report{Status: payment.Processing}},
		"a cancelled order":     {"CANC", []any{warning}, payment.Report{Status: payment.Declined, Code: payment.CancelledByUser}},
	} {
		o := ordersByKind["single"]
		o.Memory = []byte(approvedMemory)
		bank.body = map[string]any{"transactionStatus": test.status, "tppMessages": test.messages}
		if report, err := able.Status(t.Context(), o); err != nil || report.Status != test.want.Status || report.Code != test.want.Code {
			t.Errorf("%s: %s %q, %v, want %s %q", name, report.Status, report.Code, err, test.want.Status, test.want.Code)
		}
	}
}

// TestPartOfABulk checks bulk payments of which the bank refuses only a part. Only the instructions
// that the bank names as refused are rejected immediately.
func TestPartOfABulk(t *testing.T) {
	for name, steps := range map[string][]partStep{
		"nothing else": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{time.Hour, "PART", []int{1}, "pending: pending rejected pending", ""},
			{24 * time.Hour, "PART", []int{1}, "partial: accepted rejected accepted", "count as accepted"},
		},
		"another refusal": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{23 * time.Hour, "PART", []int{1, 2}, "pending: pending rejected rejected", "refuses 2 of 3"},
			{25 * time.Hour, "PART", []int{1, 2}, "pending: pending rejected rejected", ""},
			{47 * time.Hour, "PART", []int{1, 2}, "partial: accepted rejected rejected", "count as accepted"},
		},
		"executed": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{time.Hour, "ACSC", nil, "partial: done rejected done", ""},
		},
		"all refused": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{time.Hour, "RJCT", nil, "rejected: rejected rejected rejected", ""},
		},
		"named once": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{time.Hour, "PART", nil, "pending: pending rejected pending", ""},
			{24 * time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"},
		},
		"named one by one": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{23 * time.Hour, "PART", []int{2}, "pending: pending rejected rejected", "refuses 2 of 3"},
			{25 * time.Hour, "PART", nil, "pending: pending rejected rejected", ""},
			{47 * time.Hour, "PART", []int{1}, "partial: accepted rejected rejected", "count as accepted"},
		},
		"over a weekend": {
			{4 * 24 * time.Hour, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{7*24*time.Hour - time.Second, "PART", []int{1}, "pending: pending rejected pending", ""},
			{7 * 24 * time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"},
		},
		"before the execution": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{10 * 24 * time.Hour, "PART", nil, "pending: pending rejected pending", ""},
			{11*24*time.Hour + 12*time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"},
		},
		"at a bank that reports executions": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{23 * time.Hour, "ACSC", nil, "partial: done rejected done", ""},
		},
		"at a bank that reports executions, but not after PART": {
			{0, "PART", []int{1}, "pending: pending rejected pending", "refuses 1 of 3"},
			{23 * time.Hour, "PART", nil, "pending: pending rejected pending", ""},
			{24 * time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"},
		},
		"none named": {
			{0, "PART", nil, "pending: pending pending pending", ""},
			{25 * time.Hour, "PART", nil, "pending: pending pending pending", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, last := bulkOfThree(approvedMemory), "ACSP"
			switch name {
			case "at a bank that reports executions", "at a bank that reports executions, but not after PART":
				last = "ACSC"
			case "before the execution":
				for i := range o.Payment.Instructions {
					o.Payment.Instructions[i].DateType, o.Payment.Instructions[i].ExecutionDate = payment.Deferred, date(10)
				}
			}
			playPart(t, o, last, steps)
		})
	}
}

// TestPartOfABulkInOldMemories checks bulk payments whose memory does not say which instructions
// the bank refused.
func TestPartOfABulkInOldMemories(t *testing.T) {
	for name, steps := range map[string][]partStep{
		"named again":    {{time.Hour, "PART", []int{1}, "pending: pending rejected pending", ""}, {24 * time.Hour, "PART", []int{1}, "partial: accepted rejected accepted", "count as accepted"}},
		"named no more":  {{time.Hour, "PART", nil, "pending: pending rejected pending", ""}, {24 * time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"}},
		"executed":       {{time.Hour, "ACSC", nil, "partial: done rejected done", ""}},
		"late":           {{100 * time.Hour, "PART", nil, "partial: accepted rejected accepted", "count as accepted"}},
		"another":        {{23 * time.Hour, "PART", []int{1, 2}, "pending: pending rejected rejected", "refuses 2 of 3"}, {25 * time.Hour, "PART", nil, "pending: pending rejected rejected", ""}},
		"only the other": {{23 * time.Hour, "PART", []int{2}, "pending: pending rejected rejected", "refuses 2 of 3"}, {25 * time.Hour, "PART", nil, "pending: pending rejected rejected", ""}, {47 * time.Hour, "PART", nil, "partial: accepted rejected rejected", "count as accepted"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := bulkOfThree(strings.Replace(approvedMemory, "{", `{"status":"PART","refused":1,"divided":"`+noon.Format(time.RFC3339)+`",`, 1))
			o.Payment.State = payment.Pending
			o.Payment.Instructions[1].State, o.Payment.Instructions[1].ErrorCode = payment.InstructionRejected, payment.InsufficientFunds
			o = playPart(t, o, "ACSP", steps)
			if code := o.Payment.Instructions[1].ErrorCode; code != payment.InsufficientFunds {
				t.Errorf("the refused line has the code %q", code)
			}
		})
	}
}

type partStep struct {
	after   time.Duration
	status  string
	refused []int
	want    string
	remark  string
}

func bulkOfThree(memory string) connector.Order {
	o := orderOf(instruction(payment.FirstOpenDay), instruction(payment.FirstOpenDay), instruction(payment.FirstOpenDay))
	for i := range o.Payment.Instructions {
		o.Payment.Instructions[i].State = payment.InstructionPending
	}
	o.Memory = []byte(memory)
	return o
}

func playPart(t *testing.T, o connector.Order, last string, steps []partStep) connector.Order {
	t.Helper()
	bank := &answering{status: http.StatusOK}
	able := newFixture(t, bank, nil).with("sca =", "last_status = \""+last+"\"\nsca =").initiator()
	for _, one := range steps {
		messages := []any{}
		for _, line := range one.refused {
			messages = append(messages, map[string]string{"category": "ERROR", "code": "ERROR", "path": fmt.Sprintf("payments[%d]", line), "text": "AM04: no funds"})
		}
		bank.body, o.Now = map[string]any{"transactionStatus": one.status, "tppMessages": messages}, noon.Add(one.after)
		report, err := able.Status(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Payment.Apply(report, o.Now); err != nil {
			t.Fatal(err)
		}
		if report.Memory != nil {
			o.Memory = report.Memory
		}
		got := string(o.Payment.State) + ":"
		for _, in := range o.Payment.Instructions {
			got += " " + string(in.State)
		}
		var remarks string
		for _, note := range o.Payment.TakeNotes() {
			remarks += note.Text
		}
		if got != one.want || !strings.Contains(remarks, one.remark) || one.remark == "" && strings.Contains(remarks, "instruction") {
			t.Errorf("after %v: %s, and the timeline has %q; want %s, %q", one.after, got, remarks, one.want, one.remark)
		}
	}
	return o
}

// TestLinks: the connector follows links only on the bank's own host, and sends browsers only to
// safe pages.
func TestLinks(t *testing.T) {
	bank := &answering{status: http.StatusCreated}
	w := newFixture(t, bank, nil)
	able := w.initiator()
	for _, test := range []struct{ name, link, want string }{
		{"scaRedirect", "https://pages.bank.example/sca/1", "redirect"},
		{"scaRedirect", "http://127.0.0.1:1/sca", "redirect"}, // allowed in a sandbox
		{"scaRedirect", "http://pages.bank.example/sca/1", ""},
		{"scaRedirect", "javascript:alert(1)", ""},
		{"scaRedirect", "https://user@pages.bank.example/", ""},
		{"scaRedirect", "/sca", ""},
		{"startAuthorisationWithPsuAuthentication", "/v1/payments/sepa-credit-transfers/1/authorisations", "additionalInformationNeeded"},
		{"startAuthorisationWithPsuAuthentication", w.server.URL + "/v1/x", "additionalInformationNeeded"},
		{"startAuthorisationWithPsuAuthentication", "https://elsewhere.example/v1/x", ""},
		{"startAuthorisationWithPsuAuthentication", "http://127.0.0.1/v1/x", ""},
		{"startAuthorisationWithPsuAuthentication", "//elsewhere.example/v1/x", ""},
		{"startAuthorisationWithEncryptedPsuAuthentication", "/v1/x", ""},
	} {
		bank.body = map[string]any{"transactionStatus": "RCVD", "paymentId": "1", "_links": map[string]any{test.name: map[string]string{"href": test.link}}}
		report, err := able.Initiate(t.Context(), ordersByKind["single"])
		if err != nil || report.Status != payment.Awaiting || string(report.Action) != test.want || report.BankPaymentID != "1" || report.Memory == nil {
			t.Errorf("%s %s: %+v, %v", test.name, test.link, report, err)
		}
	}
}

func TestOrders(t *testing.T) {
	bank := &answering{status: http.StatusCreated, body: map[string]any{
		"transactionStatus": "RCVD", "paymentId": "1", "_links": map[string]any{"scaRedirect": map[string]string{"href": "https://bank.example/1"}},
	}}
	able := newFixture(t, bank, nil).initiator()
	transfer := `"creditorAccount":{"iban":"FR7630006000011234567890189"},"creditorAgent":"AGRIFRPP","creditorName":"Shop","endToEndIdentification":"ORDER-1","instructedAmount":{"amount":"12.50","currency":"EUR"},"remittanceInformationUnstructured":"Invoice 42"`
	for kind, want := range map[string]string{
		"single":   "payments/sepa-credit-transfers {" + transfer + "}",
		"instant":  "payments/instant-sepa-credit-transfers {" + transfer + "}",
		"deferred": "payments/sepa-credit-transfers {" + transfer + `,"requestedExecutionDate":"2026-03-12"}`,
		"bulk":     `bulk-payments/sepa-credit-transfers {"payments":[{` + transfer + "},{" + transfer + "}]}",
	} {
		if _, err := able.Initiate(connector.WithTrace(t.Context(), "00-"+kind), ordersByKind[kind]); err != nil {
			t.Fatal(err)
		}
		last := bank.requests[len(bank.requests)-1]
		body, _ := json.Marshal(last.body)
		if got := strings.TrimPrefix(last.URL.Path, "/v1/") + " " + string(body); got != want {
			t.Errorf("%s:\n%s, want\n%s", kind, got, want)
		}
		h := last.Header
		if h.Get("X-Request-ID") != "01234567-89ab-cdef-0123-456789abcdef" || h.Get("Traceparent") != "00-"+kind || h.Get("PSU-IP-Address") != "192.0.2.7" || h.Get("PSU-User-Agent") != "Browser" ||
			h.Get("TPP-Redirect-URI") != "https://service.test/webauth/callback?state=s" || !strings.HasSuffix(h.Get("TPP-Nok-Redirect-URI"), "&nok=1") {
			t.Errorf("%s: the headers %v", kind, h)
		}
	}
}

func TestFrequencies(t *testing.T) {
	bank := &answering{status: http.StatusCreated, body: map[string]any{
		"transactionStatus": "RCVD", "paymentId": "1", "_links": map[string]any{"scaRedirect": map[string]string{"href": "https://bank.example/1"}},
	}}
	able := newFixture(t, bank, nil).initiator()
	words := map[payment.Frequency]string{
		"daily": "Daily <nil> <nil>", "weekly": "Weekly <nil> <nil>", "two-weekly": "EveryTwoWeeks <nil> <nil>", "monthly": "Monthly 31 <nil>",
		"two-monthly": "EveryTwoMonths 31 <nil>", "quarterly": "Quarterly 31 <nil>", "four-monthly": "MonthlyVariable 31 [3 7 11]",
		"semiannually": "SemiAnnual 31 <nil>", "yearly": "Annual 31 <nil>",
	}
	for _, frequency := range payment.Frequencies() {
		in := instruction(payment.Periodic)
		in.StartDate, in.Frequency = date(29), frequency // the last day of March
		if _, err := able.Initiate(t.Context(), orderOf(in)); err != nil {
			t.Fatal(err)
		}
		body := bank.requests[len(bank.requests)-1].body
		got := fmt.Sprint(body["frequency"], " ", body["dayOfExecution"], " ", body["monthsOfExecution"])
		if got != words[frequency] || body["startDate"] != "2026-03-31" || body["executionRule"] != "following" {
			t.Errorf("%s: %v, want %s", frequency, body, words[frequency])
		}
	}
}

func TestChallenges(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n and so on")
	bank := &answering{status: http.StatusCreated}
	able := newFixture(t, bank, nil).initiator()
	for _, test := range []struct {
		challenge map[string]any
		want      payment.Field
	}{
		{
			map[string]any{"image": png, "additionalInformation": "Take a picture.", "otpFormat": "integer", "otpMaxLength": 6},
			payment.Field{Label: "Take a picture.", Regex: "^[0-9]{1,6}$", Image: "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)},
		},
		{map[string]any{"data": []string{"1234 5678"}, "additionalInformation": "Type the number."}, payment.Field{Label: "Type the number. 1234 5678", Regex: "^.{1,100}$"}},
		{map[string]any{"otpFormat": "characters", "otpMaxLength": 1 << 30}, payment.Field{Label: "Code", Regex: "^.{1,100}$"}},
		{map[string]any{"otpFormat": "Integer", "otpMaxLength": "6"}, payment.Field{Label: "Code", Regex: "^[0-9]{1,6}$"}},
		{map[string]any{"otpMaxLength": "six"}, payment.Field{Label: "Code", Regex: "^.{1,100}$"}},
		{map[string]any{"otpMaxLength": nil}, payment.Field{Label: "Code", Regex: "^.{1,100}$"}},
		{nil, payment.Field{Label: "Code", Regex: "^.{1,100}$"}},
	} {
		bank.body = map[string]any{
			"transactionStatus": "RCVD", "paymentId": "1", "scaStatus": "scaMethodSelected", "psuMessage": "Hello.", "challengeData": test.challenge,
			"_links": map[string]any{"authoriseTransaction": map[string]string{"href": "/v1/x"}},
		}
		report, err := able.Initiate(t.Context(), ordersByKind["single"])
		test.want.Name, test.want.Type, test.want.Required = "code", "text", true
		if err != nil || report.Action != payment.FillFields || report.Description != "Hello." || len(report.Fields) != 1 || !reflect.DeepEqual(report.Fields[0], test.want) {
			t.Errorf("%v: %+v, %v", test.challenge, report, err)
		}
	}
}

type linking struct {
	answering
	picture []byte
	accept  string
}

func (l *linking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/picture" {
		l.accept = r.Header.Get("Accept")
		w.Write(l.picture)
		return
	}
	l.answering.ServeHTTP(w, r)
}

// TestLinkedPictures checks that the payer sees a linked picture of a challenge only if it is an
// image at the bank and not too large.
func TestLinkedPictures(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n and so on")
	for _, test := range []struct {
		name, link string
		picture    []byte
		want       string
	}{
		{"a picture", "/v1/picture", png, "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)},
		{"a page", "/v1/picture", []byte("<html><script>"), ""},
		{"one that is too large", "/v1/picture", append(png, make([]byte, payment.MaxFieldImage)...), ""},
		{"one elsewhere", "https://elsewhere.example/v1/picture", png, ""},
	} {
		bank := &linking{picture: test.picture, answering: answering{status: http.StatusCreated, body: map[string]any{
			"transactionStatus": "RCVD", "paymentId": "1", "scaStatus": "scaMethodSelected", "challengeData": map[string]any{"imageLink": test.link},
			"_links": map[string]any{"authoriseTransaction": map[string]string{"href": "/v1/x"}},
		}}}
		report, err := newFixture(t, bank, nil).initiator().Initiate(t.Context(), ordersByKind["single"])
		if err != nil || len(report.Fields) != 1 || report.Fields[0].Image != test.want {
			t.Errorf("%s: %+v, %v", test.name, report, err)
		}
		if (bank.accept == "image/*") == strings.Contains(test.link, "elsewhere") {
			t.Errorf("%s: the bank is asked for %q", test.name, bank.accept)
		}
	}
}

// TestUrgentPayments: if a bank file has only the TARGET product, every kind of payment that the
// bank offers uses this product.
func TestUrgentPayments(t *testing.T) {
	bank := &answering{status: 201, body: map[string]any{"transactionStatus": "RCVD", "paymentId": "P1", "_links": map[string]any{}}}
	w := newFixture(t, bank, nil).with(`single = ["sepa-credit-transfers", "instant-sepa-credit-transfers"]`, `single = ["target-2-payments"]`)
	able := w.with(`bulk = ["sepa-credit-transfers"]`, `bulk = ["target-2-payments"]`).with(`periodic = ["sepa-credit-transfers"]`, `periodic = ["target-2-payments"]`).initiator()
	for kind, service := range map[string]string{"single": "payments", "deferred": "payments", "bulk": "bulk-payments", "periodic": "periodic-payments"} {
		bank.requests = nil
		_, err := able.Initiate(t.Context(), ordersByKind[kind])
		if err != nil || len(bank.requests) != 1 || bank.requests[0].URL.Path != "/v1/"+service+"/target-2-payments" {
			t.Errorf("%s: the bank gets %+v, %v", kind, bank.requests, err)
		}
	}
}

func TestCompanies(t *testing.T) {
	for company, want := range map[string]string{"ACME-7": "ACME-7", "": ""} {
		bank := &answering{status: 201, body: map[string]any{"transactionStatus": "RCVD", "paymentId": "P1", "_links": map[string]any{}}}
		w := newFixture(t, bank, nil)
		w.with("sca =", "psu_corporate_id = true\nsca =")
		o := orderOf(instruction(payment.FirstOpenDay))
		o.Fields = map[string]string{"psu_corporate_id": company}
		if _, err := w.initiator().Initiate(t.Context(), o); err != nil {
			t.Errorf("%q: %v", company, err)
		}
		if got := bank.requests[0].Header.Get("PSU-Corporate-ID"); got != want {
			t.Errorf("the bank is told of %q, want %q", got, want)
		}
	}
}

// TestTypesOfUserNames checks that the bank gets the type of a user name only beside the user name.
func TestTypesOfUserNames(t *testing.T) {
	for name, want := range map[string]string{"anna": "DE_ONLB_DB", "": ""} {
		bank := &answering{status: 201, body: map[string]any{"transactionStatus": "RCVD", "paymentId": "P1", "_links": map[string]any{}}}
		w := newFixture(t, bank, nil)
		w.with("sca =", "psu_id_type = \"DE_ONLB_DB\"\nsca =")
		o := orderOf(instruction(payment.FirstOpenDay))
		o.Fields = map[string]string{"psu_id": name}
		if _, err := w.initiator().Initiate(t.Context(), o); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got := bank.requests[0].Header.Get("PSU-ID-Type"); got != want {
			t.Errorf("the type of %q is %q, want %q", name, got, want)
		}
	}
}

// TestRequestsAreNamed: a report names the calls that led to it, with the X-Request-ID that the
// bank got.
func TestRequestsAreNamed(t *testing.T) {
	bank := &answering{status: 200, body: map[string]any{"transactionStatus": "RCVD", "scaStatus": "started", "paymentId": "1", "_links": map[string]any{}}}
	able := newFixture(t, bank, nil).initiator()
	waiting := ordersByKind["single"]
	waiting.Memory = []byte(waitingMemory)
	for name, test := range map[string]struct {
		calls []string
		call  func() (payment.Report, error)
	}{
		"initiate": {[]string{"initiate"}, func() (payment.Report, error) { return able.Initiate(t.Context(), ordersByKind["single"]) }},
		"status":   {[]string{"status", "authorisation"}, func() (payment.Report, error) { return able.Status(t.Context(), waiting) }},
		"cancel":   {[]string{"cancel", "status", "authorisation"}, func() (payment.Report, error) { return able.(connector.Canceller).Cancel(t.Context(), waiting) }},
	} {
		bank.requests, bank.status = nil, 200
		report, err := test.call()
		var want []string
		for i, r := range bank.requests {
			want = append(want, test.calls[min(i, len(test.calls)-1)]+" "+r.Header.Get("X-Request-ID"))
		}
		if err != nil || len(bank.requests) < len(test.calls) || report.Requests != strings.Join(want, ", ") {
			t.Errorf("%s: the report names %q, want %q; %v", name, report.Requests, want, err)
		}
		bank.requests, bank.status = nil, 500
		if _, err = test.call(); err == nil || !strings.Contains(err.Error(), "X-Request-ID "+bank.requests[0].Header.Get("X-Request-ID")) {
			t.Errorf("%s: the error does not name the request: %v", name, err)
		}
	}
}
