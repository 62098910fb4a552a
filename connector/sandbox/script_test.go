package sandbox

import (
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/payment"
)

func TestReadLabel(t *testing.T) {
	for _, test := range []struct {
		label   string
		script  bool
		words   []string
		ignored []string
	}{
		{"Order 42", false, nil, nil},
		{"", false, nil, nil},
		{"Rent - May", false, nil, nil},
		{"- May", false, nil, nil},
		{"done", true, []string{"done"}, nil},
		{"done with it", false, nil, nil},
		{"pdng/pdng/done-Order 42", true, []string{"pdng", "pdng", "done"}, nil},
		{" PDNG / Rjct(InsufficientFunds) - x", true, []string{"pdng", "rjct"}, nil},
		{"pdng/what/done - x", true, []string{"pdng", "done"}, []string{"what"}},
		{"pdng/what", false, nil, nil},
		{"part(2, 4) - x", true, []string{"part"}, nil},
		{"hold:30d - x", true, []string{"hold"}, nil},
		{"hold:30y/done - x", true, []string{"done"}, []string{"hold:30y"}},
		{"hold:99999d - x", false, nil, nil},
		{"rjct(a)(b) - x", false, nil, nil},
		{"pdng/rjct(invalidDate)/done - " + strings.Repeat("x", payment.MaxLabel), true, []string{"pdng", "rjct", "done"}, nil},
	} {
		t.Run(test.label, func(t *testing.T) {
			s, ok := readLabel(test.label)
			if ok != test.script {
				t.Fatalf("it is a script: %t, want %t: %+v", ok, test.script, s)
			}
			if !ok {
				return
			}
			var read []string
			for _, c := range s.calls {
				read = append(read, c.word)
			}
			if !slices.Equal(read, test.words) || !slices.Equal(s.ignored, test.ignored) {
				t.Errorf("read %q, ignored %q", read, s.ignored)
			}
		})
	}
}

func TestReadStep(t *testing.T) {
	c, known := readStep("part( 2,x ,4):90m")
	if !known || c.word != "part" || !slices.Equal(c.args, []string{"2", "x", "4"}) || c.wait != 90*time.Minute {
		t.Fatalf("readStep = %+v, %t", c, known)
	}
	if c.number(0, 7) != 2 || c.number(1, 7) != 7 || c.number(9, 7) != 7 || c.arg(9) != "" {
		t.Errorf("arguments are read as %d, %d, %d, %q", c.number(0, 7), c.number(1, 7), c.number(9, 7), c.arg(9))
	}
}

// TestTablesAreWritten checks that every script in a table is valid, and that there is an amount
// with which a payment fails with each error code.
func TestTablesAreWritten(t *testing.T) {
	scripts := []string{unsaid}
	for _, u := range useCases {
		scripts = append(scripts, u.script)
	}
	for _, table := range []map[string]string{beneficiaries, payerScripts, britishScripts} {
		for _, steps := range table {
			scripts = append(scripts, steps)
		}
	}
	for _, steps := range scripts {
		if s := readScript(steps); steps != "" && len(s.ignored) > 0 {
			t.Errorf("%q has %q, which mean nothing", steps, s.ignored)
		}
	}
	for i, code := range payment.Bug.Values() {
		if amounts[int64(7101+i)] == "" {
			t.Errorf("no amount stands for %s", code)
		}
	}
}

// FuzzLabel checks that the plan for every label ends, can be played and can be stored.
func FuzzLabel(f *testing.F) {
	for _, steps := range amounts {
		f.Add(steps + " - x")
	}
	f.Add("part(2,4,0,-1,99)/fail(0)/kept/auto/skip/slow:0s/mute/late:9999d")
	f.Add("actn(redirect)/actn(fields)/pdng/actn(psu)/back/dupl/unkn")
	f.Fuzz(func(t *testing.T, label string) {
		for _, dates := range payment.DateTypes() {
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			o := order{
				Connector: TestConnector, DateType: dates, Frequency: "daily", Day: "2026-11-22", LastDay: "2026-11-24", Since: &now,
				Lines: []line{{Label: label}, {Label: "pdng/" + label}},
			}
			o.Plan, o.Ignored = planned(&o, variants[0].bank(), useCases[0], Faithful, len(label)%2 == 0)
			tellAll(t, o, now)
		}
	})
}

func tellAll(t *testing.T, o order, now time.Time) {
	t.Helper()
	body, err := o.encode()
	if err != nil {
		t.Fatal(err)
	}
	for o, err = decodeOrder(body); ; o.next(&now) {
		if err != nil {
			t.Fatal(err)
		}
		if r, err := (scene{&o, now, "http://bank.test/page"}).report(); err == nil && r.Status == "" {
			t.Errorf("step %d of %+v says nothing", o.At, o.Plan)
		}
		o.screen()
		if o.At == len(o.Plan.Steps)-1 {
			return
		}
	}
}
