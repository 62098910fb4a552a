package berlingroup_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/payment"
)

// TestLinksOfAnAddressWithAPath checks the forms of links at a bank whose address has a path. In
// the OpenAPI files of the standard, the address is https://api.testbank.com/psd2, and the examples
// of links begin with /psd2/v1, /v1 or v1.
func TestLinksOfAnAddressWithAPath(t *testing.T) {
	for _, root := range []string{"/psd2/v1", "/v1", "v1", "SERVER/psd2/v1"} {
		t.Run(root, func(t *testing.T) {
			bank := newScripted(t, nil)
			bank.with(`api = "`+bank.server.URL, `api = "`+bank.server.URL+"/psd2")
			authorisations := strings.ReplaceAll(root, "SERVER", bank.server.URL) + strings.TrimPrefix(order1, "/v1") + "/authorisations"
			bank.answers = map[string][]scriptedAnswer{
				"POST /psd2/v1/payments/sepa-credit-transfers": once(http.StatusCreated, `{"transactionStatus":"RCVD","paymentId":"1","_links":{"startAuthorisation":{"href":"`+authorisations+`"}}}`),
				"POST /psd2order/authorisations":               once(http.StatusCreated, `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/page"},"scaStatus":{"href":"`+authorisations+`/1"}}}`),
				"GET /psd2order/status":                        once(http.StatusOK, `{"transactionStatus":"ACTC"}`),
				"GET /psd2order/authorisations/1":              once(http.StatusOK, `{"scaStatus":"finalised"}`),
			}
			o := bank.order("")
			if report, err := o.keep(o.able.Initiate(t.Context(), o.Order)); err != nil || report.ValidateURI != "https://bank.example/page" {
				t.Fatalf("the order: %+v, %v; calls %q", report, err, bank.calls)
			}
			if report, err := o.status(); err != nil || report.Status != payment.Processing {
				t.Errorf("the approved order: %+v, %v; calls %q", report, err, bank.calls)
			}
		})
	}
}

// TestAuthorisationsBehindAGateway checks that a payer can approve although the addresses of the
// authorisation lead to a host that only the bank knows, with other paths. The connector finds the
// authorisation in the bank's list.
func TestAuthorisationsBehindAGateway(t *testing.T) {
	const inside = "http://core.bank.internal:8080/orders/1/authorisations/1"
	for name, test := range map[string]struct {
		location, scaStatus string
	}{
		"Location":      {inside, ""},
		"scaStatus":     {"", `,"scaStatus":{"href":"` + inside + `"}`},
		"only Location": {inside, `,"scaStatus":{"href":"` + order1 + `/authorisations/1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"POST order/authorisations":  once(http.StatusCreated, `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/page"}`+test.scaStatus+`}}`),
				"GET order/status":           once(http.StatusOK, `{"transactionStatus":"ACTC"}`),
				"GET order/authorisations":   once(http.StatusOK, `{"authorisationIds":["1"]}`),
				"GET order/authorisations/1": {{http.StatusOK, `{"scaStatus":"received"}`}, {http.StatusOK, `{"scaStatus":"finalised"}`}},
			})
			bank.location = test.location
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"start","at":"` + order1 + `/authorisations","post":true}}`)
			if report, err := o.status(); err != nil || report.ValidateURI != "https://bank.example/page" {
				t.Fatalf("the order: %+v, %v; calls %q", report, err, bank.calls)
			}
			for range 2 {
				if _, err := o.status(); err != nil {
					t.Fatal(err)
				}
			}
			if report, err := o.status(); err != nil || report.Status != payment.Processing || bank.count("POST order/authorisations") != 1 {
				t.Errorf("the approved order: %+v, %v; calls %q", report, err, bank.calls)
			}
		})
	}
}

// TestOwnPathsBehindAGateway checks that the connector asks for the state of an authorisation by its
// path if the link leads to a host that only the bank knows. Consents have no list of
// authorisations, and the connector does not read the one of a cancellation.
func TestOwnPathsBehindAGateway(t *testing.T) {
	const inside, page = "http://core.bank.internal:8080/gate", `{"href":"https://bank.example/page"}`
	bank := newScripted(t, map[string][]scriptedAnswer{
		"DELETE order":                            once(http.StatusAccepted, `{"transactionStatus":"ACTC","_links":{"startAuthorisation":{"href":"`+order1+`/cancellation-authorisations"}}}`),
		"POST order/cancellation-authorisations":  once(http.StatusCreated, `{"scaStatus":"received","_links":{"scaRedirect":`+page+`,"scaStatus":{"href":"`+inside+order1+`/cancellation-authorisations/7"}}}`),
		"GET order/cancellation-authorisations/7": once(http.StatusOK, `{"scaStatus":"failed"}`),
		"GET order/status":                        once(http.StatusOK, `{"transactionStatus":"ACTC"}`),
		"POST /v1/consents":                       once(http.StatusCreated, `{"consentStatus":"received","consentId":"C1","_links":{"scaRedirect":`+page+`,"scaStatus":{"href":"`+inside+consent1+`/authorisations/8"}}}`),
		"GET consent/status":                      once(http.StatusOK, `{"consentStatus":"received"}`),
		"GET consent/authorisations/8":            once(http.StatusOK, `{"scaStatus":"failed"}`),
	})
	o := bank.order(approvedMemory)
	o.Payment.State = payment.Pending
	if report, err := o.cancel(); err != nil || report.Cancellation != payment.CancellationAwaiting {
		t.Fatalf("the cancellation: %+v, %v; calls %q", report, err, bank.calls)
	}
	if report, err := o.status(); err != nil || report.Cancellation != payment.CancellationRefused {
		t.Errorf("the refused cancellation: %+v, %v; calls %q", report, err, bank.calls)
	}
	bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	reader, _ := bank.load().Connector().(connector.DataReader)
	r := &bankReader{t: t, reader: reader, now: noon}
	if read, _, err := r.read(true); err != nil || read.URL != "https://bank.example/page" {
		t.Fatalf("the consent: %+v, %v; calls %q", read, err, bank.calls)
	}
	read, err := reader.Read(t.Context(), connector.DataRequest{Present: true, Now: noon, Callback: url.Values{}, Memory: r.memory}, nil)
	if err != nil || read.Message != "Access was refused." {
		t.Errorf("the refused consent: %+v, %v; calls %q", read, err, bank.calls)
	}
}

// TestAccountsBehindAGateway checks that the connector reads an account although its links, and the
// links between pages, lead to a host that only the bank knows. It does not follow links with other
// paths.
func TestAccountsBehindAGateway(t *testing.T) {
	const inside = "http://core.bank.internal:8080/gate"
	for transactions, read := range map[string]bool{inside + "/v1/accounts/A1/transactions": true, inside + "/v1/accounts/A2/transactions": false, "https://elsewhere.example/": false} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"GET /psd2/v1/accounts": {
				{http.StatusOK, `{"accounts":[],"_links":{"next":{"href":"` + inside + `/v1/accounts?page=2"}}}`},
				{http.StatusOK, `{"accounts":[{"resourceId":"A1","iban":"DE02120300000000202051","currency":"EUR","_links":{"balances":{"href":"` + inside + `/v1/accounts/A1/balances"},"transactions":{"href":"` + transactions + `"}}}]}`},
			},
			"GET /psd2/v1/accounts/A1/balances": once(http.StatusOK, `{"balances":[{"balanceType":"closingBooked","balanceAmount":{"currency":"EUR","amount":"7.00"}}]}`),
			"GET /psd2/v1/accounts/A1/transactions": {
				{http.StatusOK, page([]string{line("2026-03-01", "2026-03-01", "-2.50", "Coffee")}, nil, inside+"/v1/accounts/A1/transactions?page=2")},
				{http.StatusOK, page([]string{line("2026-02-01", "2026-02-01", "-700.00", "Rent")}, nil, "")},
			},
		})
		bank.with(`api = "`+bank.server.URL, `api = "`+bank.server.URL+"/psd2")
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		reader, _ := bank.load().Connector().(connector.DataReader)
		r := &bankReader{t: t, reader: reader, now: noon}
		r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
		_, got, err := r.read(true)
		if err == nil != read || len(got.accounts) != 1 || got.accounts[0].Balance.String() != "7.00" || (len(got.rows) == 2) != read || (len(got.ended) == 1) != read {
			t.Errorf("%s: %v; %+v; calls %q", transactions, err, got, bank.calls)
		}
	}
}

// TestOldForms checks responses in the form of the standard's OpenAPI files before version 1.3.4:
// links that are texts, and a challenge with a single text.
func TestOldForms(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"PUT order/authorisations/1": once(http.StatusOK, `{"scaStatus":"scaMethodSelected","challengeData":{"data":"1234 5678"},"_links":{"authoriseTransaction":"`+order1+`/authorisations/1"}}`),
		"GET order/status":           once(http.StatusOK, `{"transactionStatus":"RCVD"}`),
	})
	o := bank.order(`{"path":"` + order1 + `","approval":{"step":"method","at":"` + order1 + `/authorisations/1","methods":[{"authenticationMethodId":"m"}]}}`)
	report, err := o.answer(connector.Answer{Action: payment.FillFields, Fields: map[string]string{"method": "m"}})
	asked := func(f payment.Field) bool { return f.Name == "code" && f.Label == "1234 5678" }
	if err != nil || !slices.ContainsFunc(report.Fields, asked) {
		t.Errorf("%s, %v", fmt.Sprintf("%+v", report), err)
	}
}

// TestLinksToStartedAuthorisations checks that the connector continues an authorisation that the
// bank has already started, although the name of the link begins with start. Such a link leads to
// the same address as the link to the state.
func TestLinksToStartedAuthorisations(t *testing.T) {
	for link, call := range map[string]string{"/authorisations/2": "PUT order/authorisations/2", "/authorisations": "POST order/authorisations"} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"POST /v1/payments/sepa-credit-transfers": once(http.StatusCreated, `{"transactionStatus":"RCVD","paymentId":"1","_links":{
				"scaStatus":{"href":"`+order1+`/authorisations/2"},"startAuthorisationWithPsuAuthentication":{"href":"`+order1+link+`"}}}`),
			call:               once(http.StatusOK, `{"scaStatus":"finalised"}`),
			"GET order/status": once(http.StatusOK, `{"transactionStatus":"ACTC"}`),
		})
		o := bank.order("")
		if report, err := o.keep(o.able.Initiate(t.Context(), o.Order)); err != nil || report.Action != payment.FillFields {
			t.Fatalf("%s: the order: %+v, %v", link, report, err)
		}
		report, err := o.answer(connector.Answer{Action: payment.FillFields, Fields: map[string]string{"psu_id": "anna", "password": "secret"}})
		if want := call + ` {"psuData":{"password":"secret"}}`; err != nil || report.Status != payment.Processing || !slices.Contains(bank.calls, want) {
			t.Errorf("%s: %+v, %v, want the call %s in %q", link, report, err, want, bank.calls)
		}
	}
}

// TestStartOfStartedAuthorisations checks that the connector does not start an authorisation twice
// if the link startAuthorisation leads to the authorisation that the bank has already started.
func TestStartOfStartedAuthorisations(t *testing.T) {
	for link, call := range map[string]string{"/authorisations/2": "PUT order/authorisations/2", "/authorisations": "POST order/authorisations"} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"POST /v1/payments/sepa-credit-transfers": once(http.StatusCreated, `{"transactionStatus":"RCVD","paymentId":"1","_links":{
				"scaStatus":{"href":"`+order1+`/authorisations/2"},"startAuthorisation":{"href":"`+order1+link+`"}}}`),
			call: once(http.StatusOK, `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/page"}}}`),
		})
		o := bank.order("")
		report, err := o.keep(o.able.Initiate(t.Context(), o.Order))
		if want := call + " {}"; err != nil || report.ValidateURI != "https://bank.example/page" || !slices.Contains(bank.calls, want) {
			t.Errorf("%s: %+v, %v, want the call %s in %q", link, report, err, want, bank.calls)
		}
	}
}
