package connector_test

import (
	"strings"
	"testing"
	"time"

	"passerelle/connector"
)

// TestCircuit checks that a circuit opens after five consecutive failures of any calls. For one
// kind of call, it opens after 20 consecutive failures of that kind.
func TestCircuit(t *testing.T) {
	for name, test := range map[string]struct {
		calls     string // each letter is the kind of one call, in lower case if the call fails
		open      string // the kinds that are refused afterwards
		disturbed bool
	}{
		"no call":                            {},
		"four failures":                      {calls: "rrrr"},
		"five failures of one kind":          {calls: "rrrrr", open: "rs", disturbed: true},
		"five failures of several kinds":     {calls: "rsrsr", open: "rs", disturbed: true},
		"20 failures of one kind among":      {calls: strings.Repeat("rS", 20), open: "r", disturbed: true},
		"19 failures of one kind among":      {calls: strings.Repeat("rS", 19)},
		"a success among failures of a kind": {calls: strings.Repeat("rS", 19) + "R" + strings.Repeat("rS", 19)},
		"a success after failures of a kind": {calls: strings.Repeat("rS", 20) + "R"},
		"a success after five failures":      {calls: "rrrrrS"},
	} {
		t.Run(name, func(t *testing.T) {
			var c connector.Circuit
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for _, call := range strings.Split(test.calls, "") {
				kind := strings.ToLower(call)
				c.Record(kind, now, now, result(kind != call))
			}
			for _, kind := range []string{"r", "s"} {
				refused := strings.Contains(test.open, kind)
				if c.Enter(kind, now.Add(29*time.Second)) == refused {
					t.Errorf("calls of kind %q are let through: %v", kind, refused)
				}
				c.Leave(kind)
			}
			if c.Disturbed() != test.disturbed || c.Health().Open != test.disturbed {
				t.Errorf("the circuit is disturbed: %v", c.Disturbed())
			}
			if !test.disturbed {
				return
			}
			later := now.Add(31 * time.Second)
			if !c.Enter("r", later) || c.Enter("r", later) {
				t.Error("not exactly one probe is let through")
			}
			c.Record("r", later, later, connector.Answered)
			if c.Disturbed() || !c.Enter("r", later) || !c.Enter("s", later) {
				t.Error("a probe that succeeded does not close the circuit")
			}
		})
	}
}

func result(good bool) connector.CallResult {
	if good {
		return connector.Answered
	}
	return connector.Failed
}

// TestRefusedService checks that Health reports Refused after a Refused or Suspected call, until a
// call of the same kind is Answered.
func TestRefusedService(t *testing.T) {
	var c connector.Circuit
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Record("r", now, now, connector.Refused)
	c.Record("s", now, now, connector.Answered)
	if h := c.Health(); !h.Refused || h.Open || h.Calls[0].Good != 0 || h.LastFailure.IsZero() {
		t.Errorf("after a refusal of one kind: %+v", h)
	}
	for range 20 {
		c.Record("r", now, now, connector.Refused)
	}
	if h := c.Health(); !h.Refused || !h.Open || !c.Disturbed() || c.Enter("r", now) || !c.Enter("s", now) {
		t.Errorf("after refusals in a row: %+v", h)
	}
	c.Record("s", now, now, connector.Answered)
	c.Record("r", now, now, connector.Answered)
	if h := c.Health(); h.Refused || h.Open {
		t.Errorf("after an answer: %+v", h)
	}
	for range 30 {
		c.Record("r", now, now, connector.Suspected)
	}
	if h := c.Health(); !h.Refused || h.Open || c.Disturbed() {
		t.Errorf("after suspected refusals: %+v", h)
	}
}

// TestLongProbe checks that a probe which takes long, such as the read of a long list, does not keep
// other calls from a bank that has recovered. The same applies to a probe that never ends.
func TestLongProbe(t *testing.T) {
	var c connector.Circuit
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 5 {
		c.Record("read", now, now, connector.Failed)
	}
	for _, after := range []struct {
		time time.Duration
		open bool
	}{{29 * time.Second, false}, {30 * time.Second, true}, {59 * time.Second, false}, {60 * time.Second, true}, {89 * time.Second, false}, {90 * time.Second, true}} {
		if c.Enter("read", now.Add(after.time)) != after.open {
			t.Errorf("a call after %v is let through: %v", after.time, !after.open)
		}
	}
	c.Record("pay", now, now.Add(91*time.Second), connector.Answered)
	if !c.Enter("pay", now.Add(91*time.Second)) || c.Disturbed() {
		t.Error("the success of a later probe does not close the circuit")
	}
}
