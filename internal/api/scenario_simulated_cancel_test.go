package api_test

import (
	"testing"

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
