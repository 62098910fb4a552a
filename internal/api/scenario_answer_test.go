package api_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// situations lists states of a payment. The label tells the simulated bank how the payment
// proceeds.
var situations = map[string]struct{ label, expected string }{
	"created":    {"", "must be validated first"},
	"redirect":   {"actn(redirect)/done - x", "expects the payer to follow validate_uri (action redirect)"},
	"decoupled":  {"actn(decoupled)/done - x", "expects the body resume (action decoupled)"},
	"fields":     {"actn(fields)/done - x", "expects the body fields (action additionalInformationNeeded)"},
	"psu":        {"actn(psu)/done - x", "expects the body psu_validate (action psuValidation)"},
	"confirm":    {"actn(confirm)/done - x", "expects the body confirm (action confirm)"},
	"pending":    {"skip/pdng:2d/done - x", "expects no answer"},
	"cancelling": {"skip/pdng:2d/done - x", "expects the payer to follow validate_uri (action redirect)"},
	"done":       {"skip/done - x", "is done and can no longer be changed"},
	"refused":    {"skip/rjct - x", "is rejected and can no longer be changed"},
}

const (
	validation   = `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`
	cancellation = `{"cancel":true,"client_redirect_uri":"https://shop.example/back","client_state":"why"}`
)

var sixBodies = map[string]string{
	"validate": validation, "resume": `{"resume":true}`, "fields": `{"fields":{"code":"1234","device":"phone"}}`,
	"psu_validate": `{"psu_validate":true}`, "confirm": `{"confirm":true}`, "cancel": cancellation,
}

func (s *fixture) in(t *testing.T, situation string) string {
	t.Helper()
	var made struct{ ID int64 }
	body := minimalDraft
	label := situations[situation].label
	if label != "" {
		body = strings.Replace(body, `"Invoice"`, strconv.Quote(label), 1)
	}
	s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: body}).decode(t, &made)
	path := "/payments/" + strconv.FormatInt(made.ID, 10)
	if label != "" {
		s.do(t, ask{method: "POST", path: path, token: "validate", body: validation}).says(t, 200, "", "")
	}
	if situation == "cancelling" {
		s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation}).says(t, 200, "", "")
	}
	return path
}

// taken lists the pairs of state and body that match, with the result.
var taken = map[string]struct {
	ends   string
	events []string
}{
	"created validate": {"validating  redirect ", events(1)},
	"created cancel":   {"rejected   CancelledByClient", events(1)},
	"redirect cancel":  {"validating cancelling redirect ", nil},
	"decoupled resume": {"done   ", events(2, 3)},
	"decoupled cancel": {"validating cancelling redirect ", nil},
	"fields fields":    {"done   ", events(2, 3)},
	"fields cancel":    {"validating cancelling redirect ", nil},
	"psu psu_validate": {"done   ", events(2, 3)},
	"psu cancel":       {"validating cancelling redirect ", nil},
	"confirm confirm":  {"done   ", events(2, 3)},
	"confirm cancel":   {"validating cancelling redirect ", nil},
	"pending cancel":   {"pending cancelling redirect ", nil},
}

func events(versions ...int) []string {
	var list []string
	for _, v := range versions {
		list = append(list, fmt.Sprint("PAYMENT_STATE_UPDATED payment ", v))
	}
	return list
}

// otherRefusals lists the unusual error messages for bodies that do not fit.
var otherRefusals = map[string]string{
	"cancelling cancel": "A cancellation of the payment is already in progress.",
	"done cancel":       "is done and can no longer be cancelled",
	"refused cancel":    "is rejected and can no longer be cancelled",
}

// A body that does not fit the payment's state gets a conflict, and changes nothing.
func TestEveryBodyInEverySituation(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for situation, about := range situations {
			for name, body := range sixBodies {
				t.Run(situation+" "+name, func(t *testing.T) {
					path := s.in(t, situation)
					before := s.record()
					r := s.do(t, ask{method: "PUT", path: path, token: "admin", body: body})
					want, fits := taken[situation+" "+name]
					if !fits {
						message := about.expected
						if other := otherRefusals[situation+" "+name]; other != "" {
							message = other
						}
						r.says(t, 409, "conflict", message)
						s.untouched(t, before)
						return
					}
					if got := standing(t, r); got != want.ends {
						t.Errorf("it is %q, want %q", got, want.ends)
					}
					if _, got := before.since(s.record()); cmp.Diff(want.events, got) != "" {
						t.Errorf("events %v, want %v", got, want.events)
					}
				})
			}
		}
	})
}

// TestAnswersToAnEndedCancellation: a client sends its answer to a question about a cancellation, and the
// bank asks about the payment now. "Yes, cancel" must not become "yes, pay", and "no" must not refuse the
// payment. A password for the cancellation must not approve the payment. An answer that names the bank's
// present question, or no question, counts.
func TestAnswersToAnEndedCancellation(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for situation, answers := range map[string][]string{
			"psu": {`"psu_validate":true`, `"psu_validate":false`}, "confirm": {`"confirm":true`, `"confirm":false`},
			"fields": {`"fields":{"code":"1234","device":"phone"}`},
		} {
			path := s.in(t, situation)
			send := func(body string) reply { return s.do(t, ask{method: "POST", path: path, token: "admin", body: body}) }
			before := s.record()
			for _, said := range answers {
				send(`{`+said+`,"cancelling":true}`).says(t, 409, "conflict", "asks another one now")
				s.untouched(t, before)
			}
			if got := standing(t, send(`{`+answers[0]+`,"cancelling":false}`)); got != "done   " {
				t.Errorf("%s: the payment is %q", situation, got)
			}
		}
	})
}

func standing(t *testing.T, r reply) string {
	t.Helper()
	var p struct {
		State       string
		StateDetail string `json:"state_detail"`
		Action      string
		ErrorCode   string `json:"error_code"`
	}
	r.decode(t, &p)
	return strings.Join([]string{p.State, p.StateDetail, p.Action, p.ErrorCode}, " ")
}

// A refusal by the payer or the client ends the payment. After a wrong code, the bank asks again.
// An invalid answer changes nothing.
func TestRefusalsByPayerAndClient(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for body, want := range map[string]string{
			`psu {"psu_validate":false}`:                          "rejected   CancelledByUser",
			`confirm {"confirm":false}`:                           "rejected   confirmationRefused",
			`fields {"fields":{"code":"4321","device":"tablet"}}`: "validating  additionalInformationNeeded ",
		} {
			situation, body, _ := strings.Cut(body, " ")
			if got := standing(t, s.do(t, ask{method: "POST", path: s.in(t, situation), token: "admin", body: body})); got != want {
				t.Errorf("%s: %q, want %q", body, got, want)
			}
		}
		s.wrongAnswers(t)
	})
}

func (s *fixture) wrongAnswers(t *testing.T) {
	t.Helper()
	redirect := func(uri string) string { return strings.Replace(cancellation, "https://shop.example/back", uri, 1) }
	for body, message := range map[string]string{
		`decoupled {"resume":false}`:                                                    "resume: must be true",
		`pending ` + strings.Replace(cancellation, "true", "false", 1):                  "cancel: must be true",
		`fields {"fields":{}}`:                                                          "fields.code: ",
		`fields {"fields":{"code":"12","device":"phone"}}`:                              "fields.code: must match",
		`fields {"fields":{"code":"1234","device":"fax"}}`:                              "fields.device: must be one of",
		`fields {"fields":{"code":"1234","device":"phone"},"confirm":true}`:             "body: fields, confirm belong to different requests",
		`decoupled {"resume":true,"client_redirect_uri":"https://shop.example/pay"}`:    "body: resume, client_redirect_uri belong to different requests; send one of them at a time; client_redirect_uri goes with cancel",
		`decoupled {"cancelled":true}`:                                                  "webview_url: is required, or one of resume, fields, psu_validate, confirm, cancel (with client_redirect_uri)",
		`created {"cancel":true,"webview_url":"https://shop.example/pay"}`:              "body: cancel, webview_url belong to different requests",
		`pending ` + redirect("https://shop.example/elsewhere"):                         "client_redirect_uri: ",
		`created ` + redirect("https://shop.example/back?a=1"):                          "client_redirect_uri: ",
		`pending ` + redirect("javascript:alert(1)"):                                    "client_redirect_uri: ",
		`pending ` + strings.Replace(cancellation, "why", strings.Repeat("é", 2001), 1): "client_state: ",
	} {
		situation, body, _ := strings.Cut(body, " ")
		path := s.in(t, situation)
		before := s.record()
		r := s.do(t, ask{method: "POST", path: path, token: "admin", body: body})
		if _, reported := r.message(t); r.status != 400 || !strings.HasPrefix(reported, message) {
			t.Errorf("%s %.80s: %d %s, want %q", situation, body, r.status, r.body, message)
		}
		s.untouched(t, before)
	}
}

// answerGrants lists the status of each body with each token. It has the columns of the table
// `grants`. Some bodies do not fit the payment's state, so even the right token gets a conflict.
const answerGrants = `
validate     200 403 403 200 403 | 403 403 200 403 | 403 403 404 403 | 403 403 403 403 403
resume       409 403 403 409 403 | 403 403 409 403 | 403 403 404 403 | 403 403 403 403 403
fields       409 403 403 409 403 | 403 403 409 403 | 403 403 404 403 | 403 403 403 403 403
psu_validate 409 403 403 409 403 | 403 403 409 403 | 403 403 404 403 | 403 403 403 403 403
confirm      409 403 403 403 403 | 403 403 403 403 | 403 403 403 403 | 403 403 403 403 403
cancel       200 403 403 403 200 | 403 403 403 200 | 403 403 403 404 | 403 403 403 403 403
`

func TestEveryBodyWithEveryToken(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, line := range strings.Split(strings.TrimSpace(answerGrants), "\n") {
			words := strings.Fields(strings.ReplaceAll(line, "|", ""))
			for i, token := range columns {
				a := s.fill(t, ask{method: "POST", path: "/payments/{payment}", token: token, body: sixBodies[words[0]]})
				before := s.record()
				r := s.do(t, a)
				if want := number(t, words[1+i]); r.status != want {
					t.Errorf("%s with %s: %d %s, want %d", words[0], token, r.status, r.body, want)
				}
				if r.status >= 400 {
					s.untouched(t, before)
				}
			}
		}
	})
}

func TestNotCancellable(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const unable = "d63ccdd4-0915-46da-8e2c-d7bbebe8c7b5"
		for name, test := range map[string]struct {
			draft, bank string
			status      int
			code        string
		}{
			"instant":      {strings.Replace(minimalDraft, "first_open_day", "instant", 1), testConnector, 409, "conflict"},
			"unable bank":  {minimalDraft, unable, 400, "notSupported"},
			"both of them": {strings.Replace(minimalDraft, "first_open_day", "instant", 1), unable, 400, "notSupported"},
		} {
			var made struct{ ID int64 }
			s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: test.draft}).decode(t, &made)
			path := "/payments/" + strconv.FormatInt(made.ID, 10)
			s.do(t, ask{method: "POST", path: path, token: "validate", body: strings.Replace(validation, testConnector, test.bank, 1)}).says(t, 200, "", "")
			s.token(t, "", "cancel", 0)
			before := s.record()
			r := s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation})
			if code, _ := r.message(t); r.status != test.status || code != test.code {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
			s.untouched(t, before)
		}
	})
}

// A repeated request with the same key gets the first response, and changes nothing.
func TestRepeatedAnswers(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for pair := range taken {
			situation, name, _ := strings.Cut(pair, " ")
			a := ask{method: "POST", path: s.in(t, situation), token: "admin", body: sixBodies[name], header: map[string]string{"Idempotency-Key": pair}}
			first := s.do(t, a)
			before := s.record()
			again := s.do(t, a)
			if again.status != 200 || string(first.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s again: %d %s", pair, again.status, again.body)
			}
			s.untouched(t, before)
		}
	})
}

// Responses, errors, logs and requests to receivers do not contain the field values that a payer
// entered.
func TestFieldValuesStayInside(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.Subscribe("PAYMENT_STATE_UPDATED", "leaks")
		path := s.in(t, "fields")
		for _, body := range []string{`{"fields":{"code":"CANARY1","device":"phone"}}`, `{"fields":{"code":"1234","device":"CANARY2"}}`, `{"fields":{"code":"1234","device":"phone","CANARY3":"CANARY4"}}`} {
			r := s.do(t, ask{method: "POST", path: path, token: "validate", body: body})
			clean(t, "the answer", r.body)
		}
		open := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		kept := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","fields":{"openapiwebsite":"CANARY5"}}`
		clean(t, "the answer to a choice", s.do(t, ask{method: "POST", path: open, token: "validate", body: kept}).says(t, 200, "", "").body)
		clean(t, "the payments", s.do(t, ask{method: "GET", path: "/payments?expand=transitions", token: "admin"}).says(t, 200, "", "").body)
		raw, err := json.Marshal(s.Received("leaks"))
		if err != nil {
			t.Fatal(err)
		}
		clean(t, "what was sent", raw)
		clean(t, "the log", []byte(s.Logs.String()))
	})
}
