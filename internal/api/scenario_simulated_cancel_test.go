package api_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCancellationAfterASimulatedApproval cancels a payment whose approval was only simulated, so
// that the bank still waits for the payer. The bank asks the payer about the cancellation. The
// payment must show this, and must end as the bank reports afterwards.
func TestCancellationAfterASimulatedApproval(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		type shown struct {
			State       string
			Detail      *string `json:"state_detail"`
			Action      *string
			ValidateURI *string `json:"validate_uri"`
		}
		path := s.in(t, "redirect")
		simulate := func(state string) {
			t.Helper()
			s.do(t, ask{method: "POST", path: "/sandbox" + path + "/simulate", token: "config", body: `{"state":"` + state + `"}`}).says(t, 200, "", "")
		}
		wants := func(r reply, state, detail string) {
			t.Helper()
			r.says(t, 200, "", "")
			var got shown
			r.decode(t, &got)
			waits := got.Detail != nil && *got.Detail == "cancelling" && got.Action != nil && *got.Action == "redirect" && got.ValidateURI != nil
			idle := got.Detail == nil && got.Action == nil && got.ValidateURI == nil
			if got.State != state || detail != "" && !waits || detail == "" && !idle {
				t.Errorf("%s, want %s %s", r.body, state, detail)
			}
		}
		before := s.record()
		simulate("pending")
		wants(s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation}), "pending", "cancelling")
		s.do(t, ask{method: "POST", path: "/sandbox/run", token: "config"}).says(t, 200, "", "")
		wants(s.do(t, ask{method: "GET", path: path, token: "admin"}), "pending", "cancelling")
		s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation}).says(t, 409, "conflict", "A cancellation of the payment is already in progress.")
		simulate("done")
		wants(s.do(t, ask{method: "GET", path: path, token: "admin"}), "done", "")
		if _, got := before.since(s.record()); !cmp.Equal(got, events(2, 3)) {
			t.Errorf("events: %v", got)
		}
	})
}

// TestCancellationOfASimulatedOrder cancels payments whose states were simulated, so that no bank
// has their orders. They end at once if their connector cancels orders, as if a bank had granted
// the cancellation. An instruction that has ended keeps its state.
func TestCancellationOfASimulatedOrder(t *testing.T) {
	const (
		unable     = "d63ccdd4-0915-46da-8e2c-d7bbebe8c7b5"
		validating = `{"state":"validating"}`
		pending    = `{"state":"pending"}`
		refused    = `{"state":"rejected","error_code":"insufficientFunds","instruction":0}`
	)
	line := minimalDraft[strings.Index(minimalDraft, `{"amount"`):strings.Index(minimalDraft, `]`)]
	bulk := strings.Replace(minimalDraft, line, line+","+line, 1)
	tests := []struct {
		draft, connector string
		simulated        []string
		// want is the state and the error code of the payment, and then of each instruction. It is
		// empty when the cancellation fails.
		want string
	}{
		{draft: minimalDraft, simulated: []string{validating}},
		{draft: minimalDraft, simulated: []string{validating, pending}},
		{draft: minimalDraft, connector: unable, simulated: []string{validating}},
		{draft: minimalDraft, connector: unable, simulated: []string{validating, pending}},
		{draft: minimalDraft, connector: testConnector, simulated: []string{validating}, want: "rejected CancelledByClient, rejected CancelledByClient"},
		{draft: minimalDraft, connector: testConnector, simulated: []string{validating, pending}, want: "rejected CancelledByClient, rejected CancelledByClient"},
		{draft: bulk, connector: testConnector, want: "rejected CancelledByClient, rejected CancelledByClient, rejected CancelledByClient"},
		{
			draft: bulk, connector: testConnector, simulated: []string{validating, pending},
			want: "rejected CancelledByClient, rejected CancelledByClient, rejected CancelledByClient",
		},
		{
			draft: bulk, connector: testConnector, simulated: []string{validating, pending, `{"state":"done","instruction":0}`},
			want: "partial , done , rejected CancelledByClient",
		},
		{
			draft: bulk, connector: testConnector, simulated: []string{validating, pending, `{"state":"accepted","instruction":0}`},
			want: "partial , accepted , rejected CancelledByClient",
		},
		{
			draft: bulk, connector: testConnector, simulated: []string{validating, pending, refused},
			want: "rejected CancelledByClient, rejected insufficientFunds, rejected CancelledByClient",
		},
		{draft: bulk, connector: unable, simulated: []string{validating, pending, `{"state":"done","instruction":0}`}},
	}
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, test := range tests {
			draft := strings.Replace(test.draft, "{", fmt.Sprintf(`{"connector_uuid":%q,`, test.connector), 1)
			var made struct{ ID int64 }
			s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: draft}).decode(t, &made)
			path := "/payments/" + strconv.FormatInt(made.ID, 10)
			for _, body := range test.simulated {
				s.do(t, ask{method: "POST", path: "/sandbox" + path + "/simulate", token: "config", body: body}).says(t, 200, "", "")
			}
			version := 1 + min(len(test.simulated), 2) // the state of one instruction is no transition of the payment
			before := s.record()
			r := s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation})
			_, got := before.since(s.record())
			if test.want == "" {
				if r.says(t, 400, "notSupported", ""); len(got) > 0 {
					t.Errorf("%v: events %v", test.simulated, got)
				}
				continue
			}
			stored := s.do(t, ask{method: "GET", path: path, token: "admin"})
			if outcomeOf(t, r) != test.want || outcomeOf(t, stored) != test.want || !cmp.Equal(got, events(version)) {
				t.Errorf("%v: %d %s, want %s, events %v", test.simulated, r.status, r.body, test.want, got)
			}
		}
		if breaches, err := s.DB.CheckInvariants(t.Context(), 0, time.Time{}); err != nil || len(breaches) > 0 {
			t.Errorf("%+v, %v", breaches, err)
		}
	})
}

// outcomeOf returns the state and the error code of a payment in a response, and then of each of
// its instructions.
func outcomeOf(t *testing.T, r reply) string {
	t.Helper()
	type ended struct {
		State string
		Code  string `json:"error_code"`
	}
	var p struct {
		ended
		Instructions []ended
	}
	r.decode(t, &p)
	words := []string{p.State + " " + p.Code}
	for _, in := range p.Instructions {
		words = append(words, in.State+" "+in.Code)
	}
	return strings.Join(words, ", ")
}
