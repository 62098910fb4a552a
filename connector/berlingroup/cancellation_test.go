package berlingroup_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/payment"
)

// grantedMemory is the memory of an order that its payer approved at the authorisation server.
const grantedMemory = `{"path":"` + order1 + `","approval":{"step":"authorised","oauth":{"verifier":"v","token":"T1","refresh":"R1"}}}`

// TestAnswersToCancellations checks that an order counts as cancelled only when the bank says so.
func TestAnswersToCancellations(t *testing.T) {
	const start = `{"transactionStatus":"ACTC","_links":{"startAuthorisation":{"href":"` + order1 + `/cancellation-authorisations"}}}`
	for name, test := range map[string]struct {
		status  int
		body    string
		then    string
		want    payment.Cancellation
		asked   bool
		started bool
	}{
		"no content":                   {204, "", "", payment.CancellationGranted, false, false},
		"cancelled":                    {200, `{"transactionStatus":"CANC"}`, "", payment.CancellationGranted, false, false},
		"cancelled, 202":               {202, `{"transactionStatus":"CANC"}`, "", payment.CancellationGranted, false, false},
		"to be approved":               {202, start, "ACTC", payment.CancellationAwaiting, false, true},
		"to be approved, 200":          {200, start, "ACTC", payment.CancellationAwaiting, false, true},
		"nothing has happened":         {200, `{"transactionStatus":"RCVD"}`, "ACTC", "", true, false},
		"nothing has happened, 202":    {202, `{"transactionStatus":"ACTC"}`, "ACTC", "", true, false},
		"an empty answer":              {200, "", "ACTC", "", true, false},
		"an empty answer, 202":         {202, "{}", "ACSC", "", true, false},
		"no JSON":                      {200, "<html>", "CANC", payment.CancellationGranted, true, false},
		"cancelled after a while":      {200, "{}", "CANC", payment.CancellationGranted, true, false},
		"cancelled after a while, 202": {202, "{}", "CANC", payment.CancellationGranted, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newScripted(t, map[string][]scriptedAnswer{
				"DELETE order": once(test.status, test.body), "GET order/status": once(200, `{"transactionStatus":"`+test.then+`"}`),
				"POST order/cancellation-authorisations": once(201, `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/cancel"}}}`),
			})
			report, err := bank.order(approvedMemory).cancel()
			if err != nil || report.Cancellation != test.want || test.want == payment.CancellationGranted && report.Status != payment.Declined {
				t.Errorf("%+v, %v, want %q", report, err, test.want)
			}
			if asked, started := bank.count("GET order/status") > 0, bank.count("POST order/cancellation-authorisations") > 0; asked != test.asked || started != test.started {
				t.Errorf("the calls are %q", bank.calls)
			}
		})
	}
}

// TestSlowCancellations checks that the connector asks less and less often about a cancellation that
// the payer has approved, while the bank does not cancel the order. The age of the page has no
// influence.
func TestSlowCancellations(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{"GET order/status": once(200, `{"transactionStatus":"ACTC"}`)})
	for name, opened := range map[string]string{"on a page": `,"page":"https://bank.example/cancel","opened":"2026-03-02T11:51:00Z"`, "in an app": ""} {
		o := bank.order(strings.TrimSuffix(approvedMemory, "}") + `,"cancelling":{"step":"authorised"` + opened + `}}`)
		o.Payment.State, o.Payment.CancelCode = payment.Pending, payment.CancelledByClient
		for _, step := range []struct{ age, wait time.Duration }{{0, time.Second}, {8 * time.Second, 2 * time.Second}, {24 * time.Hour, 6 * time.Hour}} {
			o.Now = noon.Add(step.age)
			if report, err := o.status(); err != nil || report.Cancellation != "" || report.CheckAfter != step.wait {
				t.Errorf("%s, after %v: the next check is in %v, %v, want %v", name, step.age, report.CheckAfter, err, step.wait)
			}
		}
	}
}

// TestCancellationsHaveTheToken checks that the calls about a cancellation have the order's token,
// and that the connector renews an expired token.
func TestCancellationsHaveTheToken(t *testing.T) {
	const page = `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/cancel"},"scaStatus":{"href":"` + order1 + `/cancellation-authorisations/3"}}}`
	expired := refusedWith(401, "TOKEN_EXPIRED")
	for name, test := range map[string]struct {
		memory string
		change map[string][]scriptedAnswer
		want   payment.Cancellation
		tokens []string
	}{
		"valid":       {grantedMemory, nil, payment.CancellationAwaiting, []string{"T1", "T1", "T1", "T1"}},
		"expired":     {grantedMemory, map[string][]scriptedAnswer{"DELETE order": {expired, {202, ""}}}, payment.CancellationAwaiting, []string{"T1", "", "T2", "T2", "T2", "T2"}},
		"expired now": {grantedMemory, map[string][]scriptedAnswer{"POST order/cancellation-authorisations": {expired, {201, page}}}, payment.CancellationAwaiting, []string{"T1", "T1", "", "T2", "T2", "T2"}},
		"without another": {
			strings.Replace(grantedMemory, `,"refresh":"R1"`, "", 1),
			map[string][]scriptedAnswer{"DELETE order": once(expired.status, expired.body)},
			payment.CancellationRefused,
			[]string{"T1", "", "T1"},
		},
		"without another, and without a status": {
			strings.Replace(grantedMemory, `,"refresh":"R1"`, "", 1),
			map[string][]scriptedAnswer{"DELETE order": once(expired.status, expired.body), "GET order/status": once(expired.status, expired.body)},
			payment.CancellationRefused,
			[]string{"T1", "", "T1", ""},
		},
		"not needed": {
			strings.Replace(grantedMemory, `,"refresh":"R1"`, "", 1),
			map[string][]scriptedAnswer{"DELETE order": {expired, {204, ""}}},
			payment.CancellationGranted,
			[]string{"T1", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := `{"transactionStatus":"ACTC","_links":{"startAuthorisation":{"href":"` + order1 + `/cancellation-authorisations"}}}`
			answers := map[string][]scriptedAnswer{
				"DELETE order": once(202, start), "GET order/status": once(200, `{"transactionStatus":"ACTC"}`), "POST /token": once(200, tokensIssued),
				"POST order/cancellation-authorisations": once(201, page), "GET order/cancellation-authorisations/3": once(200, `{"scaStatus":"received"}`),
			}
			for call, list := range test.change {
				for i := range list {
					if list[i] == (scriptedAnswer{202, ""}) {
						list[i].body = start
					}
				}
				answers[call] = list
			}
			bank := newScripted(t, answers)
			o := bank.order(test.memory)
			o.Payment.State = payment.Pending
			report, err := o.cancel()
			var fault *connector.Fault
			if err != nil || errors.As(err, &fault) || report.Cancellation != test.want {
				t.Errorf("%+v, %v, want %s", report, err, test.want)
			}
			if report.Cancellation == payment.CancellationAwaiting {
				if report, err = o.status(); err != nil || report.Cancellation != payment.CancellationAwaiting {
					t.Errorf("afterwards: %+v, %v", report, err)
				}
			}
			if !slices.Equal(bank.tokens, test.tokens) {
				t.Errorf("the calls %q have the tokens %q, want %q", bank.calls, bank.tokens, test.tokens)
			}
		})
	}
}

// TestCancellationsNeedNoConfirmation: a payer approves the cancellation of an order that its client
// had to confirm, and comes back with a code. The connector must confirm this approval itself.
func TestCancellationsNeedNoConfirmation(t *testing.T) {
	const own = order1 + "/cancellation-authorisations/3"
	for _, state := range []payment.State{payment.Validating, payment.Pending} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"GET order/status": once(200, `{"transactionStatus":"ACTC"}`), "GET order/cancellation-authorisations/3": once(200, `{"scaStatus":"unconfirmed"}`),
			"PUT order/cancellation-authorisations/3": once(200, `{"scaStatus":"finalised"}`),
		})
		o := bank.order(strings.TrimSuffix(approvedMemory, "}") + `,"cancelling":{"step":"page","page":"https://bank.example/cancel","own":"` + own + `"}}`)
		o.Payment.State, o.Payment.CancelCode, o.ManualConfirmation = state, payment.CancelledByClient, true
		o.Callback = url.Values{"confirmationCode": {"C"}}
		report, err := o.status()
		if err != nil || report.Action != "" || bank.count("PUT order/cancellation-authorisations/3") != 1 {
			t.Errorf("%s: %+v, %v after the calls %q", state, report, err, bank.calls)
		}
	}
}

// TestLostRefusalOfACancellation: the memory no longer has a refused cancellation, but the report of
// the refusal was lost. The next report must contain the refusal again.
func TestLostRefusalOfACancellation(t *testing.T) {
	bank := newScripted(t, map[string][]scriptedAnswer{"GET order/status": once(200, `{"transactionStatus":"ACTC"}`)})
	for detail, want := range map[payment.Detail]payment.Cancellation{payment.Cancelling: payment.CancellationRefused, "": ""} {
		o := bank.order(approvedMemory)
		o.Payment.State, o.Payment.Detail, o.Payment.CancelCode = payment.Pending, detail, payment.CancelledByClient
		if report, err := o.status(); err != nil || report.Status != payment.Processing || report.Cancellation != want {
			t.Errorf("with the detail %q: %+v, %v", detail, report, err)
		}
	}
}

// TestEndlessCancellations: a bank neither cancels an order nor refuses to, whether the payer has
// approved the cancellation or not. After a week, the cancellation must count as refused, so that
// the client can ask the bank again.
func TestEndlessCancellations(t *testing.T) {
	const (
		start = `{"transactionStatus":"ACTC","_links":{"startAuthorisation":{"href":"` + order1 + `/cancellation-authorisations"}}}`
		page  = `{"scaStatus":"received","_links":{"scaRedirect":{"href":"https://bank.example/cancel"},"scaStatus":{"href":"` + order1 + `/cancellation-authorisations/3"}}}`
		week  = 7 * 24 * time.Hour
	)
	for approval, waits := range map[string]payment.Cancellation{"finalised": "", "received": payment.CancellationAwaiting} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"DELETE order": once(202, start), "GET order/status": once(200, `{"transactionStatus":"ACTC"}`), "POST order/cancellation-authorisations": once(201, page),
			"GET order/cancellation-authorisations/3": once(200, `{"scaStatus":"`+approval+`"}`),
		})
		o := bank.order(approvedMemory)
		o.Payment.State = payment.Pending
		for earlier := range 2 {
			if report, err := o.cancel(); err != nil || report.Cancellation != payment.CancellationAwaiting || bank.count("DELETE order") != earlier+1 {
				t.Fatalf("%s: %+v, %v after the calls %q", approval, report, err, bank.calls)
			}
			o.Payment.Detail = payment.Cancelling
			asked := o.Now
			for _, step := range []struct {
				age  time.Duration
				want payment.Cancellation
			}{{time.Hour, waits}, {week - time.Second, waits}, {week, payment.CancellationRefused}} {
				o.Now = asked.Add(step.age)
				if report, err := o.status(); err != nil || report.Status != payment.Processing || report.Cancellation != step.want {
					t.Errorf("%s, after %v: %+v, %v, want %q", approval, step.age, report, err, step.want)
				}
			}
			o.Payment.Detail, o.Payment.CancelCode = "", ""
		}
	}
}

// TestApprovalAfterAnEndlessCancellation: a bank still waits for the payer's approval of an order when
// the cancellation of the order ends after a week. The payer must then approve the order, and must
// not see the page of the cancellation. An earlier version stored no time for its cancellation, so
// the week begins with the first report.
func TestApprovalAfterAnEndlessCancellation(t *testing.T) {
	const (
		order  = `{"path":"` + order1 + `","approval":{"step":"page","page":"https://bank.example/approve","own":"` + order1 + `/authorisations/2"},`
		cancel = `"cancelling":{"step":"page","page":"https://bank.example/cancel","own":"` + order1 + `/cancellation-authorisations/3"`
	)
	for name, returned := range map[string]string{"the payer has not returned": "}}", "the payer has returned": `,"back":true}}`} {
		bank := newScripted(t, map[string][]scriptedAnswer{
			"GET order/status": once(200, `{"transactionStatus":"RCVD"}`), "GET order/authorisations/2": once(200, `{"scaStatus":"received"}`),
			"GET order/cancellation-authorisations/3": once(200, `{"scaStatus":"received"}`),
		})
		o := bank.order(order + cancel + returned)
		o.Payment.State, o.Payment.Detail = payment.Validating, payment.Cancelling
		if report, err := o.status(); err != nil || report.Cancellation != payment.CancellationAwaiting {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		o.Now = o.Now.AddDate(0, 0, 7)
		report, err := o.status()
		if err != nil || report.Cancellation != payment.CancellationRefused || report.Status != payment.Awaiting || report.ValidateURI != "" || report.CheckAfter > time.Minute {
			t.Errorf("%s, a week later: %+v, %v; the calls are %q", name, report, err, bank.calls)
		}
		o.Payment.Detail = ""
		if report, err = o.status(); err != nil || report.Status != payment.Awaiting || report.ValidateURI != "https://bank.example/approve" {
			t.Errorf("%s, afterwards: %+v, %v; the calls are %q", name, report, err, bank.calls)
		}
	}
}

// TestOverdueCancellation: a bank cancels an order more than a week after the client asked for it. The
// cancellation counted as refused in the meantime. The payment must still end with the code and the
// actor of the request, also if the bank adds a reason of its own, or if the service ended the
// cancellation just before the connector did. When the payer refused to approve the cancellation, the
// payer cancelled the order at the bank.
func TestOverdueCancellation(t *testing.T) {
	const cancelling = `,"asked":"2026-03-02T12:00:00Z","cancelling":{"step":"page","page":"https://bank.example/cancel","own":"` + order1 + `/cancellation-authorisations/3"}}`
	for name, test := range map[string]struct {
		approval, messages string
		asked, code        payment.ErrorCode
		by                 payment.Actor
		ended              bool
	}{
		"by the client":             {"received", "", payment.CancelledByClient, payment.CancelledByClient, payment.ByClient, false},
		"ended by the service":      {"received", "", payment.CancelledByClient, payment.CancelledByClient, payment.ByClient, true},
		"by the client, approved":   {"finalised", "", payment.CancelledByClient, payment.CancelledByClient, payment.ByClient, false},
		"by the client, a reason":   {"received", `,"tppMessages":[{"category":"ERROR","code":"DS02"}]`, payment.CancelledByClient, payment.CancelledByClient, payment.ByClient, false},
		"by the payer":              {"received", "", payment.CancelledByUser, payment.CancelledByUser, payment.ByPayer, false},
		"refused before by a payer": {"failed", "", payment.CancelledByClient, payment.CancelledByUser, payment.ByPayer, false},
	} {
		t.Run(name, func(t *testing.T) {
			statuses := []scriptedAnswer{{200, `{"transactionStatus":"ACTC"}`}, {200, `{"transactionStatus":"CANC"` + test.messages + `}`}}
			if test.ended {
				statuses = slices.Insert(statuses, 0, statuses[0])
			}
			bank := newScripted(t, map[string][]scriptedAnswer{
				"GET order/status":                        statuses,
				"GET order/cancellation-authorisations/3": once(200, `{"scaStatus":"`+test.approval+`"}`),
			})
			o := bank.order(strings.TrimSuffix(approvedMemory, "}") + cancelling)
			o.Payment.State, o.Payment.Detail, o.Payment.CancelCode = payment.Pending, payment.Cancelling, test.asked
			o.Now = o.Now.AddDate(0, 0, 7)
			if test.ended {
				early := *o
				early.Now = o.Now.Add(-time.Second)
				if report, err := early.status(); err != nil || report.Cancellation != payment.CancellationAwaiting {
					t.Fatalf("before a week has passed: %+v, %v", report, err)
				}
				o.Memory, o.Payment.Detail, o.Payment.CancelCode = early.Memory, "", ""
			}
			if report, err := o.status(); err != nil || report.Cancellation != payment.CancellationRefused {
				t.Fatalf("after a week: %+v, %v", report, err)
			}
			o.Payment.Detail, o.Payment.CancelCode, o.Now = "", "", o.Now.AddDate(0, 0, 1)
			if report, err := o.status(); err != nil || report.Status != payment.Declined || report.Code != test.code || report.By != test.by {
				t.Errorf("a day later: %+v, %v", report, err)
			}
		})
	}
}
