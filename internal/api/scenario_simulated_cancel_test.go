package api_test

import (
	"fmt"
	"strconv"
	"strings"
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

// TestCancellationOfASimulatedOrder cancels payments whose states were simulated, so that no bank
// has their orders. They are rejected at once if their connector cancels orders.
func TestCancellationOfASimulatedOrder(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const unable = "d63ccdd4-0915-46da-8e2c-d7bbebe8c7b5"
		for connector, status := range map[string]int{"": 400, testConnector: 200, unable: 400} {
			for _, states := range [][]string{{"validating"}, {"validating", "pending"}} {
				draft := strings.Replace(minimalDraft, "{", fmt.Sprintf(`{"connector_uuid":%q,`, connector), 1)
				var made struct{ ID int64 }
				s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: draft}).decode(t, &made)
				path := "/payments/" + strconv.FormatInt(made.ID, 10)
				for _, state := range states {
					s.do(t, ask{method: "POST", path: "/sandbox" + path + "/simulate", token: "config", body: `{"state":"` + state + `"}`}).says(t, 200, "", "")
				}
				before := s.record()
				r := s.do(t, ask{method: "POST", path: path, token: "cancel", body: cancellation})
				_, got := before.since(s.record())
				if status == 400 {
					if r.says(t, 400, "notSupported", ""); len(got) > 0 {
						t.Errorf("%v: events %v", states, got)
					}
					continue
				}
				var out struct {
					State string
					Code  string `json:"error_code"`
				}
				r.decode(t, &out)
				if version := len(states) + 1; out.State != "rejected" || out.Code != "CancelledByClient" || !cmp.Equal(got, events(version)) {
					t.Errorf("%q, %v: %d %s, events %v", connector, states, r.status, r.body, got)
				}
			}
		}
	})
}
