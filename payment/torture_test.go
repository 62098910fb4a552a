package payment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/payment"
)

func environment(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestRandomHistories runs random histories of clients, payers, banks and the clock against a
// model. The model implements the rules of the API independently of the package.
// PASSERELLE_TEST_HISTORIES sets the number of histories, and PASSERELLE_TEST_SEED the seed.
// History n of a seed is always the same.
func TestRandomHistories(t *testing.T) {
	histories := environment(t, "PASSERELLE_TEST_HISTORIES", 20_000)
	seed := environment(t, "PASSERELLE_TEST_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d histories of PASSERELLE_TEST_SEED=%d", histories, seed)
	reached := map[payment.Edge]bool{}
	for n := range histories {
		life := newLife(t, rand.New(rand.NewPCG(seed, n)))
		if fault := life.play(); fault != "" {
			t.Fatalf("history %d of PASSERELLE_TEST_SEED=%d: %s, after\n%s", n, seed, fault, strings.Join(life.log, "\n"))
		}
		for edge := range life.reached {
			reached[edge] = true
		}
	}
	if want := len(modelEdges); histories >= 1000 && len(reached) != want {
		t.Errorf("%d of %d edges reached: %v", len(reached), want, reached)
	}
}

var modelEdges = []payment.Edge{
	{From: "created", Trigger: "validated", To: "validating"},
	{From: "created", Trigger: "refused", To: "rejected"},
	{From: "created", Trigger: "lapsed", To: "expired"},
	{From: "validating", Trigger: "approved", To: "pending"},
	{From: "validating", Trigger: "refused", To: "rejected"},
	{From: "validating", Trigger: "lapsed", To: "expired"},
	{From: "pending", Trigger: "executed", To: "done"},
	{From: "pending", Trigger: "admitted", To: "accepted"},
	{From: "pending", Trigger: "mixed", To: "partial"},
	{From: "pending", Trigger: "refused", To: "rejected"},
	{From: "pending", Trigger: "lapsed", To: "expired"},
}

func ended(s payment.State) bool {
	return s != "created" && s != "validating" && s != "pending"
}

type model struct {
	state      payment.State
	lines      []payment.InstructionState
	cancelling bool
	asked      payment.ErrorCode
	// code is the expected code of a rejected payment, if only one is possible.
	code payment.ErrorCode
	seq  int64
}

func (m *model) report(r payment.Report) (path []payment.State, stale bool) {
	granted := r.Cancellation == "granted" && r.Status != "settled"
	answers := granted || r.Cancellation != "" && m.asked != ""
	if ended(m.state) || (m.state == "pending" && r.Status == "awaiting" && !answers) {
		return nil, true
	}
	m.apply(r, granted)
	if r.Status == "awaiting" && !granted {
		return m.walk("validating"), false
	}
	refused := granted || r.Status == "declined"
	paid := slices.ContainsFunc(r.Lines, func(l payment.Line) bool { return l.State == "done" || l.State == "accepted" })
	if refused && m.state != "pending" && !paid {
		m.close("rejected")
		return m.walk("rejected"), false
	}
	path = m.walk("validating", "pending")
	for _, line := range r.Lines {
		if m.lines[line.Position] == "pending" {
			m.lines[line.Position] = line.State
		}
	}
	if refused {
		m.close("rejected")
	}
	if r.Status == "settled" {
		m.close("done")
	}
	return append(path, m.walk(rolledUp(m.lines))...), false
}

// apply updates the expected error code. It also updates the expected cancellation, unless the
// order ends for a reason other than a cancellation.
func (m *model) apply(r payment.Report, granted bool) {
	m.code = ""
	switch {
	case granted && m.asked == "":
		m.code, m.cancelling = "CancelledByUser", false
	case granted:
		m.code, m.cancelling = m.asked, false
	case r.Status == "settled" || r.Status == "declined":
	case r.Cancellation == "awaiting":
		m.cancelling = true
	case r.Cancellation == "refused":
		m.cancelling, m.asked = false, ""
	}
}

func (m *model) close(as payment.InstructionState) {
	for i, line := range m.lines {
		if line == "pending" || line == "" {
			m.lines[i] = as
		}
	}
}

// walk moves the model to the states of a path that come after the present state.
func (m *model) walk(states ...payment.State) (path []payment.State) {
	for _, next := range states {
		if slices.Index(payment.States(), next) <= slices.Index(payment.States(), m.state) {
			continue
		}
		if next == "validating" {
			m.close("pending")
		}
		path = append(path, next)
		m.state = next
		m.seq++
	}
	if ended(m.state) {
		m.cancelling = false
	}
	return path
}

type life struct {
	random  *rand.Rand
	p       *payment.Payment
	m       model
	now     time.Time
	log     []string
	reached map[payment.Edge]bool
}

func newLife(t *testing.T, random *rand.Rand) *life {
	t.Helper()
	lines := 1 + random.IntN(3)
	d := draft(lines)
	for i := range d.Instructions {
		d.Instructions[i].ReferenceID, d.Instructions[i].DateType = "R", payment.Instant
		if lines == 1 && random.IntN(2) == 0 {
			d.Instructions[i].DateType, d.Instructions[i].StartDate, d.Instructions[i].Frequency = payment.Periodic, day(t, "2026-11-30"), "monthly"
		}
	}
	p, _, err := payment.New(d, payment.Policy{Periodic: true}, random64{random}, now)
	if err != nil {
		t.Fatal(err)
	}
	return &life{random: random, p: p, now: now, m: model{state: "created", lines: make([]payment.InstructionState, lines)}, reached: map[payment.Edge]bool{}}
}

// random64 satisfies io.Reader. Nothing reads from it, because the drafts already have reference
// ids.
type random64 struct{ *rand.Rand }

func (r random64) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return len(b), nil
}

// play does up to twelve random acts and returns the first mismatch.
func (l *life) play() string {
	things := []func() string{l.receives, l.receives, l.receives, l.receives, l.receives, l.receivesNonsense, l.asks, l.lapses, l.isRefused, l.keeps}
	for range 1 + l.random.IntN(12) {
		l.now = l.now.Add(time.Duration(l.random.IntN(72)) * time.Hour)
		if fault := things[l.random.IntN(len(things))](); fault != "" {
			return fault
		}
		if fault := l.differs(); fault != "" {
			return fault
		}
	}
	return ""
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func (l *life) receives() string {
	r := payment.Report{
		Status: pick(l.random, payment.Awaiting, payment.Awaiting, payment.Processing, payment.Processing, payment.Processing, payment.Settled, payment.Declined),
		Action: payment.Redirect, ValidateURI: page, Code: pick(l.random, words...), By: pick(l.random, actors...),
		Cancellation: pick(l.random, "", "", "", payment.CancellationAwaiting, payment.CancellationGranted, payment.CancellationRefused),
	}
	for i := range l.m.lines {
		if l.random.IntN(4) == 0 {
			r.Lines = append(r.Lines, payment.Line{Position: i, State: pick(l.random, outcomes...), Code: pick(l.random, words...)})
		}
	}
	l.log = append(l.log, fmt.Sprintf("%s, cancellation %q, lines %v", r.Status, r.Cancellation, r.Lines))
	path, stale := l.m.report(r)
	steps, err := l.p.Apply(r, l.now)
	if errors.Is(err, payment.ErrStale) != stale || (err != nil && !stale) {
		return fmt.Sprintf("error %v, stale %v", err, stale)
	}
	return l.follows(steps, path)
}

func (l *life) receivesNonsense() string {
	r := pick(l.random, payment.Report{}, payment.Report{Status: "ACSC"}, payment.Report{Status: "settled", Cancellation: "perhaps"},
		payment.Report{Status: "settled", Lines: []payment.Line{{Position: 7, State: "done"}}})
	l.log = append(l.log, fmt.Sprintf("nonsense %+v", r))
	noted := len(l.p.Notes)
	steps, err := l.p.Apply(r, l.now)
	if err == nil || len(steps) > 0 || len(l.p.Notes) != noted+1 {
		return fmt.Sprintf("nonsense gives %v, %v and %d notes", steps, err, len(l.p.Notes)-noted)
	}
	return ""
}

func (l *life) asks() string {
	code := pick(l.random, payment.CancelledByClient, payment.CancelledByUser)
	l.log = append(l.log, "asks for a cancellation, "+string(code))
	conflict := ended(l.m.state) || (l.m.state != "created" && (l.p.DateType() == payment.Instant || l.m.cancelling))
	if err := l.p.MayCancel(payment.ByClient, true); errors.Is(err, passerelle.Conflict) != conflict {
		return fmt.Sprintf("may cancel: %v", err)
	}
	if l.m.state != "created" && !ended(l.m.state) {
		l.p.AskCancellation(code, "https://client.example/back", "")
		l.m.asked = code
	}
	return ""
}

func (l *life) lapses() string {
	if l.random.IntN(4) > 0 {
		return ""
	}
	l.log = append(l.log, "lapses")
	final := ended(l.m.state)
	steps, err := l.p.Expire(l.now)
	if errors.Is(err, payment.ErrIllegal) != final {
		return fmt.Sprintf("expires with %v", err)
	}
	return l.follows(steps, l.ends("expired", final))
}

func (l *life) isRefused() string {
	if l.random.IntN(4) > 0 {
		return ""
	}
	l.log = append(l.log, "is refused")
	final := ended(l.m.state)
	steps, err := l.p.Refuse(&payment.Refusal{Code: payment.ConfirmationRefused}, payment.Cause{Actor: payment.ByClient}, l.now)
	if errors.Is(err, payment.ErrIllegal) != final {
		return fmt.Sprintf("refused with %v", err)
	}
	if !final {
		l.m.code = payment.ConfirmationRefused
		l.m.close("rejected")
	}
	return l.follows(steps, l.ends("rejected", final))
}

func (l *life) ends(as payment.State, final bool) []payment.State {
	if final {
		return nil
	}
	l.m.state, l.m.cancelling = as, false
	l.m.seq++
	return []payment.State{as}
}

// keeps is an act that calls RefuseCancellation, as the service does when a cancellation was not
// sent.
func (l *life) keeps() string {
	if l.random.IntN(2) > 0 || ended(l.m.state) {
		return ""
	}
	l.log = append(l.log, "is not cancelled")
	l.p.RefuseCancellation(payment.ByBank, l.now)
	l.m.cancelling, l.m.asked = false, ""
	return ""
}

func (l *life) follows(steps []payment.Step, path []payment.State) string {
	if len(steps) != len(path) {
		return fmt.Sprintf("steps %q, want %q", statesOf(steps), path)
	}
	seq := l.m.seq - int64(len(path))
	for i, step := range steps {
		t := step.Transition
		edge := payment.Edge{From: t.From, Trigger: t.Cause.Trigger, To: t.To}
		chained := i == 0 || steps[i-1].Transition.To == t.From
		if t.To != path[i] || !chained || t.Seq != seq+int64(i)+1 || !t.At.Equal(l.now) || step.Payment.State != t.To || step.Payment.Seq != t.Seq {
			return fmt.Sprintf("step %d is %+v, want %q after %d", i, t, path, seq)
		}
		if !slices.Contains(modelEdges, edge) {
			return fmt.Sprintf("no edge %+v", edge)
		}
		l.reached[edge] = true
	}
	return ""
}

func (l *life) differs() string {
	var lines []payment.InstructionState
	for _, in := range l.p.Instructions {
		lines = append(lines, in.State)
	}
	endless := l.p.DateType() == payment.Periodic && l.m.state == "pending"
	same := map[string]bool{
		"state":      l.p.State == l.m.state && l.p.State.Final() == ended(l.m.state),
		"number":     l.p.Seq == l.m.seq,
		"lines":      slices.Equal(lines, l.m.lines),
		"cancelling": (l.p.Detail == payment.Cancelling) == l.m.cancelling,
		"code":       (l.p.ErrorCode != "") == (l.m.state == "rejected"),
		"whose code": l.m.state != "rejected" || l.m.code == "" || l.p.ErrorCode == l.m.code,
		"action":     !ended(l.m.state) || (l.p.Action == "" && l.p.ValidateURI == ""),
		"asked":      ended(l.m.state) || l.p.CancelCode == l.m.asked,
		"expiry":     (l.p.ExpiresFrom() == nil) == (ended(l.m.state) || endless),
		"answers":    l.p.Action == "" || l.p.Expects(l.p.Action) == nil,
	}
	for what, holds := range same {
		if !holds {
			return fmt.Sprintf("%s: %+v, want %+v", what, l.p, l.m)
		}
	}
	return ""
}
