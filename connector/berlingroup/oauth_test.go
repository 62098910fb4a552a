package berlingroup_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

const tokensIssued = `{"access_token":"T2","token_type":"Bearer","refresh_token":"R2"}`

// tokenRefusals lists responses of a token endpoint that contain no token. If dead is true, the
// server will never accept the same code or refresh token again.
var tokenRefusals = map[string]struct {
	status int
	body   string
	dead   bool
	says   string
}{
	"an invalid grant":        {400, `{"error":"invalid_grant","error_description":"Anna"}`, true, ""},
	"an unknown client":       {400, `{"error":"invalid_client","error_description":"Anna"}`, false, "invalid_client: check oauth.client_id"},
	"an unknown client, 401":  {401, `{"error":"invalid_client"}`, false, "401 invalid_client: check oauth.client_id and tls.certificate"},
	"an unauthorized client":  {400, `{"error":"unauthorized_client"}`, false, "check oauth.client_id"},
	"an invalid request":      {400, `{"error":"invalid_request"}`, false, "check the table oauth"},
	"an unknown grant type":   {400, `{"error":"unsupported_grant_type"}`, false, "check the table oauth"},
	"a text of the server":    {400, `{"error":"Anna Example"}`, false, "status 400: check the table oauth"},
	"no JSON":                 {400, `Anna`, false, "status 400: check the table oauth"},
	"an answer without token": {200, `{"token_type":"Bearer"}`, false, "no access_token"},
	"a busy server":           {503, `{"error":"invalid_grant"}`, false, ""},
	"a limit":                 {429, ``, false, ""},
}

// TestRefusedCodes checks that the connector drops an authorisation code only when the
// authorisation server says that the code is invalid.
func TestRefusedCodes(t *testing.T) {
	for name, test := range tokenRefusals {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"POST /token": {{test.status, test.body}, {200, tokensIssued}}, "GET order/status": once(200, `{"transactionStatus":"RCVD"}`),
			})
			o := bank.order(`{"path":"` + order1 + `","approval":{"step":"server","page":"https://bank.example/1","oauth":{"verifier":"v"}}}`)
			o.Callback = url.Values{"code": {"K"}}
			_, err := o.status()
			checkOperator(t, err, test.says)
			if _, err := o.status(); err != nil {
				t.Error(err)
			}
			if got := bank.count("POST /token authorization_code") == 1; got != test.dead || strings.Contains(string(o.Memory), "T2") == test.dead {
				t.Errorf("the calls are %q, and the memory is %s", bank.calls, o.Memory)
			}
		})
	}
}

// TestAddressesForCertificates checks that the connector requests tokens at the address that the
// authorisation server has for clients with a certificate.
func TestAddressesForCertificates(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"POST /token": once(401, `{"error":"invalid_client"}`), "POST /mtls/token": once(200, tokensIssued), "GET order/status": once(200, `{"transactionStatus":"RCVD"}`),
	})
	bank.aliases = `,"mtls_endpoint_aliases":{"token_endpoint":"SERVER/mtls/token"}`
	o := bank.order(`{"path":"` + order1 + `","approval":{"step":"server","page":"https://bank.example/1","oauth":{"verifier":"v"}}}`)
	o.Callback = url.Values{"code": {"K"}}
	if _, err := o.status(); err != nil || bank.count("POST /token authorization_code") > 0 || !strings.Contains(string(o.Memory), "T2") {
		t.Errorf("%v; the calls are %q, and the memory is %s", err, bank.calls, o.Memory)
	}
}

// checkOperator checks the message to the operator, which must not contain texts of the server.
func checkOperator(t *testing.T, err error, says string) {
	t.Helper()
	var fault *connector.Fault
	if errors.As(err, &fault) != (says != "") || fault != nil && (!strings.Contains(fault.Says, says) || strings.Contains(fault.Says, "Anna")) {
		t.Errorf("the operator is told %v, want %q", err, says)
	}
}

// TestRefusedRefreshTokens checks that a connection needs a new consent only when the authorisation
// server says that the refresh token is invalid.
func TestRefusedRefreshTokens(t *testing.T) {
	for name, test := range tokenRefusals {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"POST /token": {{test.status, test.body}, {200, tokensIssued}}, "GET /v1/accounts": {refusedWith(401, "TOKEN_EXPIRED"), refusedWith(401, "TOKEN_EXPIRED"), {200, `{"accounts":[]}`}},
			})
			bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
			reader, _ := bank.load().Connector().(connector.DataReader)
			r := &bankReader{t: t, reader: reader, now: noon}
			r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":{"oauth":{"token":"T1","refresh":"R1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
			o, _, err := r.read(false)
			if renewed := o.State == passerelle.WebauthRequired; renewed != test.dead {
				t.Errorf("the read ends with %+v, %v", o, err)
			}
			checkOperator(t, err, test.says)
			if test.dead {
				return
			}
			if o, _, err = r.read(false); err != nil || o.State != "" || !strings.Contains(string(r.memory), "R2") {
				t.Errorf("the next read ends with %+v, %v; %s", o, err, r.memory)
			}
		})
	}
}

// TestErrorsOfReturns checks with which errors (RFC 6749, section 4.1.2.1) an authorisation server
// says that the customer refused. After other errors, the customer has decided nothing, and a user
// gets a page that leads back to the new return address, because each is valid only once. If the
// operator can remove the cause, the operator reads what to do.
func TestErrorsOfReturns(t *testing.T) {
	for returned, test := range map[string]struct {
		refused bool
		fault   string
	}{
		"access_denied": {true, ""}, "user_cancelled": {true, ""}, "server_error": {false, ""}, "temporarily_unavailable": {false, ""},
		"invalid_scope":       {false, "returns invalid_scope: ask the bank to let this client request the scopes AIS and PIS"},
		"unauthorized_client": {false, "returns unauthorized_client: check oauth.client_id"},
		"invalid_request":     {false, "returns invalid_request: check the table oauth"}, "unsupported_response_type": {false, "returns unsupported_response_type: check the table oauth"},
	} {
		refused := test.refused
		bank := newScripted(t, map[string][]scriptedAnswer{
			"GET order/status": {{200, `{"transactionStatus":"RCVD"}`}, {200, `{"transactionStatus":"RJCT"}`}}, "GET consent/status": once(200, `{"consentStatus":"received"}`),
		})
		o := bank.order(`{"path":"` + order1 + `","approval":{"step":"server","page":"https://bank.example/1","oauth":{"verifier":"v"}}}`)
		o.Callback = url.Values{"error": {returned}}
		if report, err := o.status(); err != nil || report.ValidateURI != "https://bank.example/1" || !strings.Contains(report.Remark, test.fault) || test.fault == "" && report.Remark != "" {
			t.Errorf("%s: %+v, %v", returned, report, err)
		}
		if report, err := o.status(); err != nil || (report.Code == payment.CancelledByUser) != refused {
			t.Errorf("%s: the rejected order has the code %s, %v", returned, report.Code, err)
		}
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		reader, _ := bank.load().Connector().(connector.DataReader)
		request := connector.DataRequest{
			Present: true, Now: noon, Callback: url.Values{"error": {returned}}, ReturnURL: "https://hub.example/back?state=NEW",
			Memory: fmt.Appendf(nil, `{"consent":"C1","asked":%q,"approval":{"step":"server","page":"https://bank.example/2?state=OLD","oauth":{"verifier":"v","back":"https://hub.example/back?state=OLD"}}}`, noon.Format(time.RFC3339)),
		}
		read, err := reader.Read(t.Context(), request, nil)
		checkOperator(t, err, test.fault)
		if test.fault != "" {
			if read.State != passerelle.Bug {
				t.Errorf("%s: the read ends with %+v", returned, read)
			}
			request.Memory, request.Callback = read.Memory, nil
			read, err = reader.Read(t.Context(), request, nil) // the user tries again
		}
		if err != nil || read.State != passerelle.WebauthRequired || (read.Message == "Access was refused.") != refused || (read.URL != "") == refused {
			t.Errorf("%s: the read ends with %+v, %v", returned, read, err)
		}
		if page, err := url.Parse(read.URL); err != nil || !refused && (page.Query().Get("state") != "NEW" || page.Query().Get("redirect_uri") != "https://hub.example/back?state=NEW") {
			t.Errorf("%s: the new page is %q, %v", returned, read.URL, err)
		}
	}
}

// TestTokensRefusedWithoutACode checks banks that refuse a token without a code of the standard: in
// the form of RFC 6750, or with a bare 401 when the authorisation server says that the grant has
// ended. The user then gives a new consent. The service tells the operator once that it cannot
// follow an order.
func TestTokensRefusedWithoutACode(t *testing.T) {
	for name, test := range map[string]struct {
		challenge, refresh string
		ended              bool
	}{
		"an invalid token":                        {`Bearer realm="bank", error="invalid_token", error_description="expired"`, "", true},
		"an invalid token, and an invalid grant":  {`Bearer error="invalid_token"`, `,"refresh":"R1"`, true},
		"a bare refusal, and an invalid grant":    {"", `,"refresh":"R1"`, true},
		"a refusal without a token, as the grant": {`Bearer realm="bank"`, `,"refresh":"R1"`, true},
		"a bare refusal":                          {"", "", false},
		"a scope that does not suffice":           {`Bearer error="insufficient_scope"`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			bare := scriptedAnswer{401, ""}
			bank := newScripted(t, map[string][]scriptedAnswer{
				"POST /token": {{400, `{"error":"invalid_grant"}`}}, "GET /v1/accounts": {bare}, "GET order/status": {bare},
			})
			bank.challenge = test.challenge
			bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
			reader, _ := bank.load().Connector().(connector.DataReader)
			r := &bankReader{t: t, reader: reader, now: noon}
			grant := `{"oauth":{"token":"T1"` + test.refresh + `}}`
			r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":%s}`, noon.AddDate(0, 1, 0).Format(time.RFC3339), grant)
			want := map[bool]passerelle.ConnectionState{true: passerelle.WebauthRequired, false: passerelle.Bug}[test.ended]
			if o, _, err := r.read(false); o.State != want || (err == nil) != test.ended {
				t.Errorf("the read ends with %+v, %v, want %s", o, err, want)
			}
			o := bank.order(`{"path":"` + order1 + `","approval":` + strings.Replace(grant, "{", `{"step":"authorised",`, 1) + `}`)
			o.Payment.State = payment.Pending
			if report, err := o.status(); (err == nil && strings.Contains(report.Remark, "Ask the bank")) != test.ended {
				t.Errorf("the status: %+v, %v", report, err)
			}
		})
	}
}

func TestRenewedTokensMayBeTheSame(t *testing.T) {
	for issued, kept := range map[string]string{
		`{"access_token":"T1","token_type":"Bearer","refresh_token":"R2"}`: "R2",
		`{"access_token":"T1","token_type":"Bearer"}`:                      "R1",
	} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"POST /token": {{200, issued}}, "GET /v1/accounts": {refusedWith(401, "TOKEN_EXPIRED"), {200, `{"accounts":[]}`}},
		})
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		reader, _ := bank.load().Connector().(connector.DataReader)
		r := &bankReader{t: t, reader: reader, now: noon}
		r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":{"oauth":{"token":"T1","refresh":"R1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
		if o, _, err := r.read(false); err != nil || o.State != "" || !strings.Contains(string(r.memory), kept) {
			t.Errorf("%s: the read ends with %+v, %v; %s", issued, o, err, r.memory)
		}
	}
}

// unconfirmedMemory is the memory of an order after the payer's approval at the authorisation
// server.
const unconfirmedMemory = `{"path":"` + order1 + `","approval":{"step":"server","page":"https://bank.example/1","back":true,"opened":"2026-03-02T12:00:00Z",
	"confirm":"` + order1 + `/authorisations/2","oauth":{"verifier":"v","token":"T1"}LINK}}`

// TestLostConfirmations checks that the connector repeats the confirmation of an approval until the
// bank gives a final response. The approval does not count before this response.
func TestLostConfirmations(t *testing.T) {
	finalised := scriptedAnswer{200, `{"scaStatus":"finalised"}`}
	own := `,"own":"` + order1 + `/authorisations/2"`
	for name, test := range map[string]struct {
		link    string
		answers []scriptedAnswer
		want    []payment.Status
		puts    int
	}{
		"answered":                         {own, []scriptedAnswer{finalised}, []payment.Status{payment.Processing, payment.Processing}, 1},
		"failed once":                      {own, []scriptedAnswer{{500, ""}, finalised}, []payment.Status{payment.Awaiting, payment.Processing}, 2},
		"failed once, without a link":      {"", []scriptedAnswer{{500, ""}, finalised}, []payment.Status{payment.Awaiting, payment.Processing}, 2},
		"too early, without a link":        {"", []scriptedAnswer{{429, ""}, finalised}, []payment.Status{payment.Awaiting, payment.Processing}, 2},
		"our certificate":                  {"", []scriptedAnswer{refusedWith(401, "CERTIFICATE_INVALID"), finalised}, []payment.Status{payment.Awaiting, payment.Processing}, 2},
		"refused, without a link":          {"", []scriptedAnswer{refusedWith(400, "SCA_INVALID")}, []payment.Status{payment.Awaiting, payment.Awaiting}, 1},
		"answered, without an scaStatus":   {"", []scriptedAnswer{{200, "{}"}}, []payment.Status{payment.Processing, payment.Processing}, 1},
		"answered: failed, with no link":   {"", []scriptedAnswer{{200, `{"scaStatus":"failed"}`}}, []payment.Status{payment.Declined}, 1},
		"failed for more than a whole day": {"", []scriptedAnswer{{500, ""}}, []payment.Status{payment.Awaiting, payment.Awaiting, payment.Awaiting}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"PUT order/authorisations/2": test.answers, "GET order/status": once(200, `{"transactionStatus":"ACTC"}`), "GET order/authorisations/2": once(200, `{"scaStatus":"unconfirmed"}`),
			})
			o := bank.order(strings.Replace(unconfirmedMemory, "LINK", test.link, 1))
			for i, want := range test.want {
				o.Now = noon.Add(time.Duration(i) * 13 * time.Hour)
				if report, err := o.status(); err != nil || report.Status != want {
					t.Errorf("call %d: %+v, %v, want %s", i+1, report, err, want)
				}
			}
			if n := bank.count("PUT order/authorisations/2"); n != test.puts {
				t.Errorf("the approval was confirmed %d times: %q", n, bank.calls)
			}
		})
	}
}

// TestLostManualConfirmations checks that the client of a payment can confirm again when the first
// confirmation failed. Without the client's confirmation, the connector never confirms the order.
func TestLostManualConfirmations(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"PUT order/authorisations/2": {{500, ""}, {200, `{"scaStatus":"finalised"}`}}, "GET order/status": once(200, `{"transactionStatus":"RCVD"}`), "DELETE order": once(405, ""),
	})
	memory := strings.Replace(unconfirmedMemory, "LINK", "", 1)
	o := bank.order(memory)
	o.ManualConfirmation = true
	for _, want := range []payment.Status{payment.Awaiting, payment.Processing} {
		report, err := o.status()
		if err != nil || report.Action != payment.Confirm || bank.count("PUT order/authorisations/2") != 0 && want == payment.Awaiting {
			t.Fatalf("before the confirmation: %+v, %v; %q", report, err, bank.calls)
		}
		if report, err = o.answer(connector.Answer{Action: payment.Confirm, Yes: true}); err != nil || report.Status != want {
			t.Errorf("after a confirmation: %+v, %v, want %s", report, err, want)
		}
	}
	o.Memory, bank.calls, bank.tokens = []byte(memory), nil, nil
	if report, err := o.answer(connector.Answer{Action: payment.Confirm}); err != nil || report.Action == payment.Confirm {
		t.Errorf("not confirmed: %+v, %v", report, err)
	}
	o.ManualConfirmation = false
	if _, err := o.status(); err != nil || bank.count("PUT order/authorisations/2") != 0 || bank.count("DELETE order") != 1 || bank.tokens[0] != "T1" {
		t.Errorf("%v: an order that nobody confirmed has the calls %q with %q", err, bank.calls, bank.tokens)
	}
}

func TestLostConfirmationsOfConsents(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"PUT consent/authorisations/2": {{500, ""}, {200, `{"scaStatus":"finalised"}`}}, "GET consent/status": once(200, `{"consentStatus":"valid"}`),
		"GET consent": once(200, `{"consentStatus":"valid"}`), "GET /v1/accounts": once(200, `{"accounts":[]}`),
	})
	bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	reader, _ := bank.load().Connector().(connector.DataReader)
	r := &bankReader{t: t, reader: reader, now: noon}
	r.memory = []byte(`{"consent":"C1","approval":{"step":"server","page":"https://bank.example/1","back":true,"confirm":"` + consent1 + `/authorisations/2","oauth":{"verifier":"v","token":"T1"}}}`)
	if o, _, err := r.read(false); err == nil && o.State == "" {
		t.Errorf("without a confirmation: %+v", o)
	}
	if o, _, err := r.read(false); err != nil || o.State != "" || bank.count("PUT consent/authorisations/2") != 2 {
		t.Errorf("%+v, %v: the calls are %q", o, err, bank.calls)
	}
}

// TestBareRefusalsWithTheCustomer: the bank refuses a token without a refresh token with a bare 401.
// A customer who is present then gives a new consent, because every later read would also fail. If
// the bank refuses the new token as well, the operator must find the cause.
func TestBareRefusalsWithTheCustomer(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"GET /v1/accounts":           once(401, ""),
		"POST /v1/consents":          once(201, `{"consentStatus":"received","consentId":"C2","_links":{"scaOAuth":{"href":"https://bank.example/"}}}`),
		"POST /token":                once(200, `{"access_token":"T2","token_type":"Bearer"}`),
		"GET /v1/consents/C2/status": once(200, `{"consentStatus":"valid"}`), "GET /v1/consents/C2": once(200, `{"consentStatus":"valid"}`),
		"DELETE consent": once(204, ""),
	})
	bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	reader, _ := bank.load().Connector().(connector.DataReader)
	r := &bankReader{t: t, reader: reader, now: noon}
	r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":{"oauth":{"token":"T1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
	if o, _, err := r.read(false); err == nil || o.State != passerelle.Bug {
		t.Errorf("without the customer, the read ends with %+v, %v", o, err)
	}
	if o, _, err := r.read(true); err != nil || o.State != passerelle.WebauthRequired || o.URL == "" {
		t.Fatalf("the read ends with %+v, %v; the calls are %q", o, err, bank.calls)
	}
	o, err := reader.Read(t.Context(), connector.DataRequest{Present: true, Now: noon, Callback: url.Values{"code": {"K"}}, Memory: r.memory}, nil)
	if err == nil || o.State != passerelle.Bug || bank.tokens[len(bank.tokens)-1] != "T2" {
		t.Errorf("after the new consent, the read ends with %+v, %v; the calls are %q", o, err, bank.calls)
	}
}

// TestBareRefusalsOfEveryCall: a bank refuses every call with a bare 401 for a time, for example
// because it does not accept the service's certificate. A read by the user in this time must not
// lose the consent and the token that are valid afterwards.
func TestBareRefusalsOfEveryCall(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{
		"GET /v1/accounts": {{401, ""}, {200, `{"accounts":[]}`}}, "POST /v1/consents": once(401, ""),
	})
	bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
	reader, _ := bank.load().Connector().(connector.DataReader)
	r := &bankReader{t: t, reader: reader, now: noon}
	r.memory = fmt.Appendf(nil, `{"consent":"C1","valid":true,"until":%q,"approval":{"oauth":{"token":"T1"}}}`, noon.AddDate(0, 1, 0).Format(time.RFC3339))
	if o, _, err := r.read(true); err == nil || o.State != passerelle.Bug {
		t.Errorf("by the user, the read ends with %+v, %v", o, err)
	}
	if o, _, err := r.read(false); err != nil || o.State != "" || bank.tokens[len(bank.tokens)-1] != "T1" {
		t.Errorf("later, the read ends with %+v, %v; the calls are %q", o, err, bank.calls)
	}
}

// TestTokensThatEnd checks that a bare 401 is about the token once the time has passed for which the
// authorisation server issued the token without a refresh token. The user then gives a new consent,
// and the operator learns that the service cannot follow an order.
func TestTokensThatEnd(t *testing.T) {
	for _, lasts := range []string{`3600`, `"3600"`} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"POST /token":        once(200, `{"access_token":"T1","token_type":"Bearer","expires_in":`+lasts+`}`),
			"GET consent/status": once(200, `{"consentStatus":"valid"}`), "GET consent": once(200, `{"consentStatus":"valid"}`),
			"GET /v1/accounts": {{200, `{"accounts":[]}`}, {401, ""}}, "GET order/status": {{200, `{"transactionStatus":"ACSP"}`}, {401, ""}},
		})
		bank.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
		loaded, clock := bank.load(), time.Now()
		loaded.SetClock(func() time.Time { return clock })
		reader, _ := loaded.Connector().(connector.DataReader)
		granting := `"approval":{"step":"server","page":"https://bank.example/1","oauth":{"verifier":"v"}}}`
		read, err := reader.Read(t.Context(), connector.DataRequest{Present: true, Now: noon, Callback: url.Values{"code": {"K"}}, Memory: []byte(`{"consent":"C1",` + granting)}, &taken{})
		if err != nil || read.State != "" {
			t.Fatalf("the first read ends with %+v, %v; the calls are %q", read, err, bank.calls)
		}
		o := bank.order(`{"path":"` + order1 + `",` + granting)
		o.able, _ = loaded.Connector().(connector.Initiator)
		o.Callback, o.Payment.State = url.Values{"code": {"K"}}, payment.Pending
		if report, err := o.status(); err != nil || report.Status != payment.Processing {
			t.Fatalf("the first status is %+v, %v", report, err)
		}
		for _, ended := range []bool{false, true} {
			clock = clock.Add(40 * time.Minute)
			r := &bankReader{t: t, reader: reader, now: noon, memory: read.Memory}
			want := map[bool]passerelle.ConnectionState{true: passerelle.WebauthRequired, false: passerelle.Bug}[ended]
			if outcome, _, err := r.read(false); outcome.State != want || (err == nil) != ended {
				t.Errorf("with a token of %s seconds, ended %v: the read ends with %+v, %v", lasts, ended, outcome, err)
			}
			if report, err := o.status(); (err == nil && strings.Contains(report.Remark, "Ask the bank")) != ended {
				t.Errorf("with a token of %s seconds, ended %v: the status is %+v, %v", lasts, ended, report, err)
			}
		}
	}
}
